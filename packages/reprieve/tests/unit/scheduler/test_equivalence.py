"""Equivalent demands get the same answer at the same time, and it is computed once."""

from dataclasses import replace

import pytest
from msgspec import structs
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, respecified
from tests.unit.scheduler.serving import Served, served
from tests.unit.scheduler.test_demands import group_in
from tests.unit.scheduler.test_toleration_changes import a_class, tolerant

from reprieve.model.effects import Announce
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import Pod
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands import WaitingPod
from reprieve.scheduler.queue.equivalence import equivalence_key_of
from reprieve.scheduler.reporting.decision import Outcome

NAMES = ["new-0", "new-1", "new-2"]


def a_newcomer(name: str) -> Pod:
    return a_pod(name, cpu="4", priority=9)


def alike(*more: Pod) -> Served:
    return served(a_node(), a_class(), tolerant(), *map(a_newcomer, NAMES), *more)


def test_the_answer_is_the_one_that_all_gets_alone() -> None:
    together = {d.demand.name: d for d in alike().stage.decisions}
    for name in NAMES:
        (alone,) = served(a_node(), a_class(), tolerant(), a_newcomer(name)).stage.decisions
        assert structs.replace(together[name], id=alone.id) == alone


def test_no_two_decisions_share_an_id() -> None:
    assert len({decision.id for decision in alike().stage.decisions}) == 3


def test_all_is_told_and_comes_back() -> None:
    cluster = alike()
    assert [e.target.name for e in cluster.stage.wanted if isinstance(e, Announce)] == NAMES
    cluster.stage.after(600.0)
    outcomes = {d.demand.name: d.outcome for d in cluster.stage.decisions if d.at == 600.0}
    assert outcomes == {
        "new-0": Outcome.PREEMPTS,
        "new-1": Outcome.UNSCHEDULABLE,
        "new-2": Outcome.UNSCHEDULABLE,
    }


def asked(pod: Pod) -> object:
    """The equivalence key of a pod, as the scheduler finds it."""
    state = served(pod).stage.scheduler._state
    found = state.demands.requester(DemandKey.of_pod(pod))
    assert isinstance(found, WaitingPod)
    return equivalence_key_of(found)


def test_names_make_no_difference() -> None:
    assert asked(a_newcomer("a")) == asked(a_newcomer("b"))


@pytest.mark.parametrize(
    "other",
    [
        a_pod(cpu="3", priority=9),
        a_pod(cpu="4", priority=8),
        a_pod(cpu="4", priority=9, preemptionPolicy="Never"),
        a_pod(cpu="4", priority=9, nodeSelector={"disk": "ssd"}),
    ],
)
def test_everything_else_does(other: Pod) -> None:
    assert asked(other) != asked(a_newcomer("a"))


def test_gangs_whose_pods_have_other_priorities_are_not_equivalent() -> None:
    """Without workload-aware preemption each pod preempts with its own."""
    gang = group_in(a_group("g", 0, 2), a_member("a"), a_member("b"))
    first, second = gang.pods
    lower = structs.replace(second, pod=respecified(second.pod, priority=-5))
    assert equivalence_key_of(replace(gang, pods=(first, lower))) != equivalence_key_of(gang)


def test_nothing_is_equivalent_to_a_pod_with_an_ephemeral_claim() -> None:
    volume = {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    assert asked(a_pod("a", cpu="4", priority=9, volumes=[volume])) is None


def test_an_answer_is_good_only_until_something_happens() -> None:
    cluster = alike()
    state = cluster.stage.scheduler._state
    key = asked(a_newcomer("new"))
    assert state.refusals.of(key, state.stamp(), on_one_clock(0.0)) is not None
    cluster.show(a_pod("small", cpu="0", priority=1))
    found = state.refusals.of(key, state.stamp(), on_one_clock(0.0))
    assert found is not None, "a pod that comes helps none"
    assert not found[1], "a pod was placed since, so the reasons may be others"
    cluster.gone("small")
    assert state.refusals.of(key, state.stamp(), on_one_clock(0.0)) is None, "a pod left"


def test_no_room_is_missed_by_what_comes_a_moment_later() -> None:
    cluster = alike()
    cluster.gone("young")
    cluster.stage.after(2.0)
    assert set(cluster.places_wanted()) == {"new-0"}
