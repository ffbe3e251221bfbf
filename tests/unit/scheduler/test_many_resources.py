"""Any pod can name a resource that no node has: such names must not be kept for ever."""

import msgspec

from reprieve.model.objects import Node, Pod
from tests.unit.scheduler.making import a_node, a_pod, later
from tests.unit.scheduler.stage import Stage, stage_with


def asking(name: str, resource: str, on: str = "") -> Pod:
    return a_pod(name, on=on, containers=[{"name": "c", "resources": {"requests": {resource: "1"}}}])


def with_device(node: Node, resource: str) -> Node:
    allocatable = {**node.status.allocatable, resource: "1"}
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


def test_a_pod_that_waits_for_a_name_is_served_when_a_pod_has_it() -> None:
    node = a_node("n1")
    stage = stage_with(node)
    stage.see(asking("early", "example.com/new"))
    names_that_come_and_go(stage, 200)
    assert stage.see(with_device(node, "example.com/new")).after(20).binds() == {"early": "n1"}
