"""Watches repeat themselves, and lists may be stale: a deleted object does not come back by that."""

from dataclasses import replace

import msgspec
import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, finished, later, target
from tests.unit.scheduler.stage import Stage, remains, stage_with

from reprieve.model.annotations import CHECKPOINT
from reprieve.model.effects import Bind
from reprieve.model.events import Gone, Seen, Synced
from reprieve.model.objects import Pod, PodGroup, PriorityClass
from reprieve.preemption.searches import LEAST_DISTURBANCE, REPRIEVE
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.mirror import tombstones
from reprieve.scheduler.mirror.tombstones import Tombstones
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

POD = a_pod("p", cpu="3")


def room_for_another(stage: Stage) -> bool:
    stage.take()
    return stage.see(a_pod("other", cpu="3")).binds() == {"other": "n1"}


@pytest.mark.parametrize("on", ["", "n1"])
def test_an_older_sight_of_a_pod_that_is_gone_does_not_revive_it(on: str) -> None:
    pod = a_pod("p", cpu="3", on=on)
    stage = stage_with(a_node("n1"), pod).happens(Gone(target(pod), "107"))
    stage.take()
    assert stage.see(pod).wanted == []
    assert room_for_another(stage)


def test_an_older_sight_of_a_pod_that_has_finished_does_not_revive_it() -> None:
    pod = a_pod("p", cpu="3", on="n1")
    stage = stage_with(a_node("n1"), pod).see(finished(pod), pod)
    assert room_for_another(stage)


def test_an_older_sight_of_a_node_that_is_gone_does_not_revive_it() -> None:
    node = a_node("n1")
    stage = stage_with(node).happens(Gone(target(node), "107"))
    assert stage.see(node, POD).binds() == {}


def test_a_pod_that_was_missing_in_an_old_list_and_is_shown_with_a_newer_version_is_there() -> None:
    stage = stage_with(a_node("n1"), POD).happens(Gone(target(POD), "99"))
    stage.take()
    assert stage.see(POD).wanted == [Bind(target(POD), "n1")]


def test_a_namesake_is_another_client() -> None:
    stage = stage_with(a_node("n1"), POD).happens(Gone(target(POD), "107"))
    stage.take()
    assert stage.see(a_pod("p", cpu="3", uid="uid-2")).binds() == {"p": "n1"}


SAVED = {CHECKPOINT: "in a while"}
TRAINING = later(a_group("g", 5, priorityClassName="steady"), annotations=SAVED)
STEADY = msgspec.convert({"metadata": {"name": "steady", "uid": "u", "resourceVersion": "1"}}, PriorityClass)


@pytest.mark.parametrize(
    "thing",
    [later(a_pod("p", cpu="3", on="n1"), annotations=SAVED), POD, later(a_member("m", on="n1")), TRAINING],
    ids=["running", "waiting", "member", "group"],
)
def test_nothing_is_kept_of_an_object_that_a_namesake_replaced(thing: Pod | PodGroup) -> None:
    """Whether or not the watch showed that it is gone."""
    policies = {SCHEDULER_NAME: replace(REPRIEVE, search=LEAST_DISTURBANCE)}
    namesake, kept = later(thing, uid="another"), list[list[str]]()
    for events in ([Seen(namesake)], [Gone(target(thing)), Seen(namesake)]):
        stage = Stage(Scheduler(Settings(policies=policies)))
        stage.happens(Seen(a_node("n1")), Seen(STEADY), Seen(thing), Synced()).happens(*events)
        stage.happens(Gone(target(namesake)), Gone(target(STEADY)))
        kept.append(remains(stage.scheduler))
    assert kept[0] == kept[1]
    assert not [path for path in kept[0] if "report" in path or "runs" in path or "policies" in path]


def test_without_a_version_anything_is_believed() -> None:
    stage = stage_with(a_node("n1"), POD).happens(Gone(target(POD)), Seen(later(POD)))
    assert stage.binds() == {"p": "n1"}
    assert "scheduler._state.tombstones._versions" not in remains(stage.scheduler)


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tombstones, "_MOST", 2)
    found = Tombstones()
    for name in "abc":
        found.bury(f"uid-{name}", "200")
    held = [name for name in "abc" if found.hold(a_pod(name).metadata)]
    assert held == ["b", "c"]
