"""Small clusters in which preemption is needed, one for each kind of demand and of victim.

Each has the initial objects, the demand, and the expected victims: no other pod may be evicted.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.kubelet import STOP_SECONDS
from reprieve_minicluster.store import Key, Part
from tests.simulation.objects import a_group, node, pod, pod_spec

GANG = {"gang": {"minCount": 2}}


@dataclass(frozen=True)
class Scene:
    """``beginning``: its argument: how many seconds victims take to end. ``served``: the preemptors."""

    name: str
    beginning: Callable[[float], list[Json]]
    ask: Callable[[MiniCluster], object]
    victims: frozenset[str]
    served: tuple[str, ...]

    def is_over(self, mini: MiniCluster) -> bool:
        return all(map(_has_what_it_wants, (mini.read("Pod", "default", name) for name in self.served)))


def _has_what_it_wants(body: Json | None) -> bool:
    if body is None or body["status"].get("phase") != "Running":
        return False
    wants = body["spec"]["containers"][0]["resources"]
    has: Json = body["status"].get("containerStatuses", [{}])[0].get("resources") or wants
    return bool(has["requests"] == wants["requests"])


def running(name: str, cpu: str, on: str, priority: int = 0, leaves: float = 1.0, **more: Any) -> Json:
    spec = pod_spec(cpu, nodeName=on, priority=priority, terminationGracePeriodSeconds=int(leaves), **more)
    return pod(name, spec, annotations={STOP_SECONDS: str(leaves)})


def waiting(name: str, cpu: str, priority: int = 9, **more: Any) -> Json:
    return pod(name, pod_spec(cpu, priority=priority, **more))


def member_of(group: str) -> Json:
    return {"schedulingGroup": {"podGroupName": group}}


def asking(*objects: Json) -> Callable[[MiniCluster], object]:
    return lambda mini: mini.apply(objects)


def growing(name: str, cpu: str) -> Callable[[MiniCluster], object]:
    def resized(body: Json) -> Json:
        body["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
        return body

    return lambda mini: mini.store.patch(Key("pods", "default", name), resized, Part.MAIN)


def several(names: Iterable[str], on: str, leaves: float, **more: Any) -> list[Json]:
    return [running(name, "1", on, leaves=leaves, **more) for name in names]


# On all other nodes the pods have a higher priority than the victims, and a lower one than the preemptor.
LONE = Scene(
    "a pod",
    lambda leaves: [
        node("n1", "z"),
        node("n2", "z"),
        *several(("a", "b", "c"), "n1", leaves),
        running("kept", "1", "n1", priority=5),
        *(running(f"dear-{i}", "1", "n2", priority=5) for i in range(4)),
    ],
    asking(waiting("urgent", "3")),
    frozenset("abc"),
    ("urgent",),
)
GANGS = Scene(
    "a gang",
    lambda leaves: [
        *(node(f"n{i}", "z") for i in range(3)),
        *several(("a", "b"), "n0", leaves),
        *several(("c",), "n1", leaves),
        *(running(f"dear-{i}", "2", f"n{i}", priority=5) for i in range(2)),
        running("dear-2", "4", "n2", priority=5),
        a_group("g", 9, GANG, "single"),
    ],
    asking(*(waiting(f"g-{i}", "2", **member_of("g")) for i in range(2))),
    frozenset("abc"),
    ("g-0", "g-1"),
)
WHOLE = Scene(
    "a group goes as a whole",
    lambda leaves: [
        node("n1", "z"),
        node("n2", "z"),
        a_group("train", 0, GANG, "all"),
        running("t-0", "3", "n1", leaves=leaves, **member_of("train")),
        running("t-1", "1", "n2", leaves=leaves, **member_of("train")),
        *(running(f"dear-{i}", "1", "n2", priority=5) for i in range(3)),
    ],
    asking(waiting("urgent", "3")),
    frozenset({"t-0", "t-1"}),
    ("urgent",),
)
GANG_AND_GROUP = Scene(
    "a gang takes a group and a pod",
    lambda leaves: [
        *(node(f"n{i}", "z") for i in range(2)),
        a_group("train", 0, GANG, "all"),
        running("t-0", "2", "n0", leaves=leaves, **member_of("train")),
        running("t-1", "1", "n1", leaves=leaves, **member_of("train")),
        running("single", "1", "n1", leaves=leaves),
        *(running(f"dear-{i}", "2", f"n{i}", priority=5) for i in range(2)),
        a_group("g", 9, GANG, "single"),
    ],
    asking(*(waiting(f"g-{i}", "2", **member_of("g")) for i in range(2))),
    frozenset({"t-0", "t-1", "single"}),
    ("g-0", "g-1"),
)
RESIZE = Scene(
    "a resize",
    lambda leaves: [
        node("n1", "z"),
        running("grows", "1", "n1", priority=9),
        *several(("a", "b"), "n1", leaves),
        running("kept", "1", "n1", priority=5),
    ],
    growing("grows", "3"),
    frozenset("ab"),
    ("grows",),
)
SCENES = (LONE, GANGS, WHOLE, GANG_AND_GROUP, RESIZE)
