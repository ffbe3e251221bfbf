"""Disruption costs that are ignored are reported once, on pods for which they would count."""

import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, later
from tests.unit.scheduler.stage import Stage, remains

from reprieve.model.annotations import DISRUPTION_COST
from reprieve.model.effects import Announce
from reprieve.model.events import Seen, Synced
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting import annotation_reports
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

SINGLE, WHOLE = a_group("g"), a_group("g", disruptedWhole=True)


def faulty(pod: Pod, value: str = "much") -> Pod:
    return later(pod, annotations={DISRUPTION_COST: value})


MEMBER = faulty(a_member("m", on="n1"))


def stage(*things: KubernetesObject) -> Stage:
    on = Stage(Scheduler(Settings(policies={SCHEDULER_NAME: REPRIEVE})))
    return on.happens(*map(Seen, (a_node(), *things)), Synced())


def warned(on: Stage) -> list[str]:
    found = [effect for effect in on.take() if isinstance(effect, Announce)]
    return [one.target.name for one in found if one.reason == "InvalidDisruptionCost"]


@pytest.mark.parametrize("things", [(SINGLE, MEMBER), (MEMBER, SINGLE)], ids=["group first", "pod first"])
def test_a_cost_that_is_ignored_is_reported_once(things: tuple[KubernetesObject, ...]) -> None:
    on = stage(*things)
    assert warned(on) == ["m"]
    assert warned(on.see(later(MEMBER), later(SINGLE))) == []
    assert warned(on.see(faulty(later(later(MEMBER)), "more"))) == ["m"]


@pytest.mark.parametrize(
    "things",
    [
        pytest.param((faulty(a_pod("p", on="n1")),), id="in no group"),
        pytest.param((MEMBER,), id="in a group that does not exist"),
        pytest.param((WHOLE, MEMBER), id="in a group that is evicted whole"),
        pytest.param((SINGLE, faulty(a_member("m", on="n1", schedulerName="other"))), id="not ours"),
    ],
)
def test_nothing_is_reported_where_costs_do_not_count(things: tuple[KubernetesObject, ...]) -> None:
    assert warned(stage(*things)) == []


def test_a_cost_is_reported_when_the_group_appears() -> None:
    on = stage(MEMBER)
    assert warned(on.see(SINGLE)) == ["m"]


def test_a_pod_that_is_gone_is_forgotten() -> None:
    on = stage(MEMBER)
    on.lose(MEMBER)
    assert warned(on.see(SINGLE)) == []
    assert not [path for path in remains(on.scheduler) if "victim_reports" in path]


def test_a_pod_that_a_namesake_replaced_is_forgotten() -> None:
    """Its Gone was never seen."""
    on = stage(MEMBER)
    namesake = later(MEMBER, uid="another")
    found = on.see(namesake, SINGLE).take()
    assert [one.target.uid for one in found if isinstance(one, Announce)] == ["another"]
    on.lose(namesake)
    assert not [path for path in remains(on.scheduler) if "victim_reports" in path]


def test_warnings_for_more_objects_than_are_remembered_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annotation_reports, "_MOST", 2)
    members = [faulty(a_member(f"m{number}", on="n1")) for number in range(3)]
    on = stage(SINGLE, *members)
    assert warned(on) == ["m0", "m1"]
    assert warned(on.see(*map(later, members))) == []
    on.lose(members[0])
    assert warned(on.see(later(later(members[2])))) == ["m2"]
