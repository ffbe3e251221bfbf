"""Work since the last checkpoint, as workloads publish it."""

from dataclasses import replace

import pytest
from msgspec import structs
from tests.unit.scheduler.crowds import a_group, a_member, only_decision
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.model.annotations import CHECKPOINT
from reprieve.model.objects import KubernetesObject, Pod, PodGroup
from reprieve.model.snapshot import build
from reprieve.preemption.least_disturbance.lost_work import lost_work
from reprieve.preemption.searches import LEAST_DISTURBANCE, REPRIEVE
from reprieve.preemption.units import pods_and_groups

World = list[KubernetesObject]
NOW = 10_000.0  # 02:46:40 on the first day


def saved(pod: Pod, at: str) -> Pod:
    return structs.replace(pod, metadata=structs.replace(pod.metadata, annotations={CHECKPOINT: at}))


def saved_group(group: PodGroup, at: str) -> PodGroup:
    return structs.replace(group, metadata=structs.replace(group.metadata, annotations={CHECKPOINT: at}))


def lost(name: str, *things: KubernetesObject, now: float = NOW, cap: float = 3600) -> int:
    units = pods_and_groups(build(list(things)).snapshot)
    number = units.of_pod[units.view.pods.rows["default", name]]
    return int(lost_work(units, units.size > 0, now, cap)[number])


def test_the_time_since_then_and_the_share_of_a_node() -> None:
    """A minute and 40 seconds of half a node."""
    half = saved(a_pod("p", cpu="2", on="n1"), "1970-01-01T02:45:00Z")
    assert lost("p", a_node("n1", cpu="4"), half) == 50


def test_no_more_than_the_cap() -> None:
    whole = saved(a_pod("p", cpu="4", on="n1"), "1970-01-01T00:00:00Z")
    assert lost("p", a_node("n1", cpu="4"), whole) == 3600
    assert lost("p", a_node("n1", cpu="4"), whole, cap=60) == 60


@pytest.mark.parametrize(
    "at",
    [
        *("1970-01-02T00:00:00Z", "1970-01-01T02:45:00", "noon", ""),
        *("1970-W01-4T02:45:00Z", "1970-01-01X02:45:00Z", "19700101T024500Z", "1970-01-01T0٢:45:00Z"),
        *("1970-01-01T02:45:00Z ", "1970-13-01T02:45:00Z", "1970-01-01T02:45:00+99:00"),
    ],
)
def test_what_cannot_be_right_counts_nothing(at: str) -> None:
    assert lost("p", a_node("n1"), saved(a_pod("p", on="n1"), at)) == 0


def test_what_is_not_published_counts_nothing() -> None:
    assert lost("p", a_node("n1"), a_pod("p", on="n1")) == 0


def test_a_group_publishes_for_its_pods_and_a_pod_for_itself() -> None:
    group = saved_group(a_group("train", 0, 2, disruptedWhole=True), "1970-01-01T02:45:00Z")
    first = a_member("t0", "train", cpu="2", on="n1")
    second = saved(a_member("t1", "train", cpu="2", on="n1"), "1970-01-01T02:46:30Z")
    assert lost("t0", a_node("n1", cpu="4"), group, first, second) == 50 + 5


def test_of_two_equal_victims_the_one_goes_that_was_saved_last() -> None:
    """The clock of the scheduler stands at the beginning of 1970."""
    world: World = [
        a_node("n1"),
        a_node("n2"),
        saved(a_pod("a-long-ago", cpu="4", on="n1"), "1969-12-31T23:10:00Z"),
        saved(a_pod("b-lately", cpu="4", on="n2"), "1969-12-31T23:50:00Z"),
        a_group("g", 9, 1),
        a_member("g-0", cpu="4", priority=9),
    ]
    least = replace(REPRIEVE, search=LEAST_DISTURBANCE)
    decision = only_decision(*world, policy=least)
    assert decision.victims == ("Pod/default/b-lately",)
    assert decision.preemption is not None and decision.preemption.quality is not None
    assert (decision.preemption.quality.cost["LostWork"] or 0) > 0
