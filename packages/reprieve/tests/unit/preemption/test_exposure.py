"""Which preemptor could preempt a pod, and when."""

from typing import Any

from reprieve.model.snapshot import Snapshot, build
from reprieve.preemption.exposure import Exposure, LeastPreemptor, exposure
from reprieve.preemption.policy import Policy
from reprieve.preemption.searches import REPRIEVE
from tests.scenarios.making import decoded, moment, world_objects
from tests.scenarios.reading import ClassLine, GroupLine, PodLine, WorldLine

NOW = moment(5)
CLASSES = {
    "low": ClassLine(value=8),
    "low-10min": ClassLine(value=8, minimum=100, seconds=600),
    "low-forever": ClassLine(value=8, minimum=50, seconds=-1),
    "top": ClassLine(value=2**31 - 1),
}


def a_view(pods: dict[str, PodLine], groups: dict[str, GroupLine] | None = None) -> Snapshot:
    world = WorldLine(nodes={"n1": "cpu 4"}, classes=CLASSES, pods=pods, groups=groups or {})
    return build(map(decoded, world_objects(world, world.groups))).snapshot


def exposures(view: Snapshot, policy: Policy | None = None) -> dict[str, Exposure]:
    found = exposure(view, policy or REPRIEVE, NOW)
    return {view.pods.compiled[one.pod].pod.metadata.name: one for one in found}


def protections(one: Exposure) -> list[tuple[int, float, tuple[str, ...]]]:
    return [(found.from_priority, found.until, found.by) for found in one.protections]


def of_class(name: str, **more: Any) -> PodLine:
    return PodLine(on="n1", class_name=name, **more)


def test_until_its_time_is_over_only_the_minimum_will_do() -> None:
    one = exposures(a_view({"p": of_class("low-10min", scheduled=2)}))["p"]
    assert protections(one) == [(100, moment(12), ("low-10min",))]
    assert one.least_preemptors(NOW) == (LeastPreemptor(NOW, 100), LeastPreemptor(moment(12), 9))


def test_no_pod_can_take_the_highest() -> None:
    assert exposures(a_view({"p": of_class("top")}))["p"].least_preemptors(NOW) == (
        LeastPreemptor(NOW, None),
    )


def test_a_group_is_protected_by_all_that_go_along() -> None:
    pods = {
        "a": of_class("low-10min", group="g", scheduled=1),
        "b": of_class("low-forever", group="g"),
        "c": of_class("low", group="g"),
    }
    found = exposures(a_view(pods, {"g": GroupLine(priority=8, disruption="all")}))
    assert {one.unit for one in found.values()} == {"PodGroup/default/g"}
    assert protections(found["c"]) == [
        (100, moment(11), ("low-10min",)),
        (50, float("inf"), ("low-forever",)),
    ]
    assert found["c"].least_preemptors(NOW) == (LeastPreemptor(NOW, 100), LeastPreemptor(moment(11), 50))


def test_a_gang_weighs_what_it_would_lose() -> None:
    """The members that it needs stop all of it; of one with a pod to spare, any pod can go."""
    pods = {"alone": of_class("low")}
    pods |= {f"{name}-{i}": of_class("low", group=name) for name in ("tight", "spare") for i in range(3)}
    groups = {"tight": GroupLine(priority=8, min=3), "spare": GroupLine(priority=8, min=2)}
    found = exposures(a_view(pods, groups))
    stopped = {name: (one.unit_pods, one.pods_stopped) for name, one in found.items()}
    assert (stopped["alone"], stopped["tight-0"], stopped["spare-0"]) == ((1, 1), (1, 3), (1, 1))


def test_a_tree_weighs_what_it_would_lose() -> None:
    """Without its leader a job stops, also where its workers are evicted as one."""
    pods = {"leader": of_class("low", group="lead")}
    pods |= {f"worker-{i}": of_class("low", group="work") for i in range(2)}
    groups = {
        "job": GroupLine(priority=8, min=2, composite=True),
        "lead": GroupLine(priority=8, min=1, parent="job"),
        "work": GroupLine(priority=8, min=2, parent="job", disruption="all"),
    }
    found = exposures(a_view(pods, groups))
    stopped = {name: (one.unit_pods, one.pods_stopped) for name, one in found.items()}
    assert stopped == {"leader": (1, 3), "worker-0": (2, 3), "worker-1": (2, 3)}
