"""Any pod can name a resource that no node has: such names must not be kept for ever."""

import msgspec
from tests.unit.scheduler.making import a_node, a_pod, later, target
from tests.unit.scheduler.stage import Stage, stage_with
from tests.unit.scheduler.validation import validate

from reprieve.model.events import Gone, Seen
from reprieve.model.objects import Node, Pod


def asking(name: str, *resources: str, on: str = "") -> Pod:
    requests = dict.fromkeys(resources, "1")
    return a_pod(name, on=on, containers=[{"name": "c", "resources": {"requests": requests}}])


def with_device(node: Node, *resources: str) -> Node:
    allocatable = {**node.status.allocatable, **dict.fromkeys(resources, "1")}
    return msgspec.structs.replace(
        later(node), status=msgspec.structs.replace(node.status, allocatable=allocatable)
    )


def names_that_come_and_go(stage: Stage, count: int) -> None:
    for i in range(count):
        pod = asking(f"strange-{i}", f"example.com/strange-{i}")
        stage.see(pod).lose(pod).take()


def resources(stage: Stage) -> tuple[str, ...]:
    return stage.scheduler._state.world.snapshot().axis.names


def test_names_that_none_uses_any_more_are_forgotten() -> None:
    stage = stage_with(a_node("n1"))
    names_that_come_and_go(stage, 1000)
    assert len(resources(stage)) <= 65


def test_what_is_in_use_is_counted_as_before() -> None:
    node = with_device(a_node("n1"), "example.com/gpu")
    stage = stage_with(node, asking("holder", "example.com/gpu", on="n1"))
    names_that_come_and_go(stage, 200)
    stage.see(asking("second", "example.com/gpu"))
    assert stage.binds() == {}
    stage.lose(asking("holder", "example.com/gpu", on="n1"))
    assert stage.after(20).binds() == {"second": "n1"}


def test_a_pod_may_ask_for_nothing_of_a_name_that_is_forgotten() -> None:
    """Merits are cached for the first such pod; for the second, the node that changed is looked at alone."""
    nothing = [{"name": "c", "resources": {"requests": {"cpu": "1", "example.com/gpu": "0"}}}]
    stage = stage_with(a_node("n1", cpu="2"), a_pod("first", containers=nothing))
    assert stage.binds() == {"first": "n1"}
    strange = [asking(f"strange-{i}", f"example.com/strange-{i}") for i in range(61)]
    come_and_go = [event for pod in strange for event in (Seen(pod), Gone(target(pod)))]
    stage.happens(Seen(a_pod("second", containers=nothing)), *come_and_go)
    assert "example.com/gpu" not in resources(stage)
    assert stage.binds() == {"second": "n1"}


def test_a_pod_that_waits_for_a_name_is_served_when_a_pod_has_it() -> None:
    node = a_node("n1")
    stage = stage_with(node)
    stage.see(asking("early", "example.com/new"))
    names_that_come_and_go(stage, 200)
    assert stage.see(with_device(node, "example.com/new")).after(20).binds() == {"early": "n1"}


# --- an object with a name that is forgotten for its sake, and with one that is new --------------

BOTH = ("example.com/strange-0", "example.com/new")


def full_of_names(*objects: Node | Pod) -> Stage:
    """One more name, and those that no object has are forgotten."""
    stage = stage_with(*objects)
    names_that_come_and_go(stage, 60)
    assert len(resources(stage)) == 64
    return stage


def test_a_pod_that_asks_for_both_counts_as_those_seen_with_it() -> None:
    stage = full_of_names(a_node("n1", cpu="2"))
    stage.see(a_pod("big", cpu="2", on="n1"), asking("both", *BOTH, on="n1"), a_pod("late", cpu="2"))
    assert stage.binds() == {}
    view = stage.scheduler._state.world.snapshot()
    requested = dict(zip(view.axis.names, view.requested[:, 0].tolist(), strict=True))
    assert [requested[name] for name in ("cpu", *BOTH)] == [2000, 1, 1]


def test_a_pod_that_changes_to_both_counts_with_both() -> None:
    stage = full_of_names(a_node("n1"), a_pod("p", on="n1"))
    stage.see(later(asking("p", *BOTH, on="n1")))
    assert {*BOTH} <= {*resources(stage)}
    validate(stage.scheduler)


def test_a_node_that_has_both_has_all_its_room() -> None:
    stage = full_of_names(a_node("n1", cpu="1"))
    stage.see(with_device(a_node("n2", cpu="4"), *BOTH))
    assert stage.see(asking("both", *BOTH), a_pod("large", cpu="4")).binds() == {"both": "n2", "large": "n2"}


def test_a_node_that_changes_to_both_has_all_its_room() -> None:
    node = a_node("n1", cpu="4")
    stage = full_of_names(node)
    stage.see(with_device(node, *BOTH))
    assert stage.see(asking("both", *BOTH), a_pod("large", cpu="4")).binds() == {"both": "n1", "large": "n1"}
