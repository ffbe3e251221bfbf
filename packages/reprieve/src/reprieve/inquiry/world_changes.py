"""What is in the cluster if these nodes and pods were other than they are?

Functions from one set of records to another.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from reprieve.cluster.api.codec import Decoded
from reprieve.cluster.api.values import part, text_in
from reprieve.inquiry.controller_objects import created_again
from reprieve.inquiry.decoded_cluster import decoded_bodies
from reprieve.inquiry.object_names import ObjectName, absent_text, similar_hint
from reprieve.model.formatting import counted, listed
from reprieve.model.groups import group_key, groups_table
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Node, Pod, PodGroup, runs

MIRROR = "kubernetes.io/config.mirror"  # a pod that its kubelet runs from a file
_HOSTNAME = "kubernetes.io/hostname"

Seen = Decoded[KubernetesObject]


@dataclass(frozen=True, slots=True)
class Cordon:
    node: str


@dataclass(frozen=True, slots=True)
class Drain:
    """Cordoned, and its pods are evicted; those that a controller owns are created again and need room."""

    node: str


@dataclass(frozen=True, slots=True)
class AddNodes:
    template: Json
    count: int = 1


@dataclass(frozen=True, slots=True)
class Remove:
    """A pod, or all pods of a PodGroup, are gone."""

    object: ObjectName


WorldChange = Cordon | Drain | AddNodes | Remove


@dataclass(slots=True)
class ChangedWorld:
    """``drained``: for each drained node, the pods that its pods' controllers create again."""

    seen: Sequence[Seen]
    drained: dict[str, tuple[Pod, ...]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def changed(seen: Sequence[Seen], changes: Iterable[WorldChange]) -> ChangedWorld:
    """Makes the changes in their order: a node that was added can be cordoned."""
    world = ChangedWorld(seen)
    for change in changes:
        match change:
            case Cordon(node):
                _cordon(world, node, "--cordon")
            case Drain(node):
                _drain(world, node)
            case AddNodes(template, count):
                _add_nodes(world, template, count)
            case Remove(name):
                _remove(world, name)
    return world


def _cordon(world: ChangedWorld, name: str, flag: str) -> bool:
    found = False
    cordoned: list[Seen] = []
    for one in world.seen:
        node = one.object
        if isinstance(node, Node) and node.metadata.name == name:
            found = True
            spec = msgspec.structs.replace(node.spec, unschedulable=True)
            one = Decoded(object=msgspec.structs.replace(node, spec=spec), unserved=one.unserved)  # noqa: PLW2901
        cordoned.append(one)
    world.seen = cordoned
    if not found:
        nodes = (one.object.metadata.name for one in world.seen if isinstance(one.object, Node))
        world.problems.append(f"{flag} {name}: there is no such node{similar_hint(name, nodes)}")
    return found


def _drain(world: ChangedWorld, name: str) -> None:
    if not _cordon(world, name, "--drain"):
        return
    here = [p for one in world.seen if isinstance(p := one.object, Pod) and p.spec.node_name == name]
    leaving = [pod for pod in here if not _is_left_alone(pod)]
    again = tuple(created_again(pod, pod.metadata.name) for pod in leaving if _controller(pod))
    lost = [pod.metadata.name for pod in leaving if not _controller(pod)]
    _remove_pods(world, leaving)
    world.seen = [*world.seen, *(Decoded(object=pod) for pod in again)]
    world.drained[name] = again
    if lost:
        have = "has" if len(lost) == 1 else "have"
        pods = counted(len(lost), "pod")
        world.notes.append(f"{pods} on {name} {have} no controller and would be lost: {listed(lost)}.")


def _is_left_alone(pod: Pod) -> bool:
    """`kubectl drain` leaves pods of DaemonSets and static pods alone; pods that have ended need no room."""
    return not runs(pod) or MIRROR in pod.metadata.annotations or _controller(pod) == "DaemonSet"


def _controller(pod: Pod) -> str:
    return next((ref.kind for ref in pod.metadata.owner_references if ref.controller), "")


def _remove_pods(world: ChangedWorld, pods: Sequence[Pod]) -> None:
    gone = {(pod.metadata.namespace, pod.metadata.name) for pod in pods}

    def stays(thing: KubernetesObject) -> bool:
        return not isinstance(thing, Pod) or (thing.metadata.namespace, thing.metadata.name) not in gone

    world.seen = [one for one in world.seen if stays(one.object)]


def _add_nodes(world: ChangedWorld, template: Json, count: int) -> None:
    taken = {one.object.metadata.name for one in world.seen if isinstance(one.object, Node)}
    base = text_in(part(template, "metadata"), "name") or "added"
    names = _free_names(base, taken)
    bodies = [_node(template, next(names)) for _ in range(count)]
    found = [*decoded_bodies(bodies)]
    if len(found) < count or not all(isinstance(one.object, Node) for one in found):
        world.problems.append(f"--add-node {base}: expected the template of a Node")
        return
    world.seen = [*world.seen, *found]


def _free_names(base: str, taken: set[str]) -> Iterator[str]:
    number = 0
    while True:
        name = f"{base}-new-{number}"
        number += 1
        if name not in taken:
            yield name


def _node(template: Json, name: str) -> Json:
    """A node that is ready and empty: taints and conditions of the template's own node are not copied."""
    meta = part(template, "metadata")
    labels = {**part(meta, "labels"), _HOSTNAME: name}
    spec = {k: v for k, v in part(template, "spec").items() if k != "unschedulable"}
    status = part(template, "status")
    amounts = {k: status[k] for k in ("allocatable", "capacity") if k in status}
    amounts.setdefault("allocatable", amounts.get("capacity", {}))
    ready = {"type": "Ready", "status": "True"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": part(meta, "annotations")},
        "spec": spec,
        "status": {**amounts, "conditions": [ready]},
    }


def _remove(world: ChangedWorld, name: ObjectName) -> None:
    pods = pods_of_name(world.seen, name)
    if pods is None:
        world.problems.append(f"--remove: {absent_text(name, (one.object for one in world.seen))}")
        return
    _remove_pods(world, pods)


def pods_of_name(seen: Iterable[Seen], name: ObjectName) -> list[Pod] | None:
    """The pod, or the pods of the group or tree; None if there is none of them."""
    key = (name.namespace, name.name)
    if name.kind == "CompositePodGroup":
        groups = groups_table(one.object for one in seen)
        inside = {*groups.beneath(key)}
        found = (one.object for one in seen if isinstance(one.object, Pod))
        return [pod for pod in found if group_key(pod) in inside] if key in groups.composites else None
    pods = [one.object for one in seen if isinstance(one.object, Pod)]
    alone = [pod for pod in pods if (pod.metadata.namespace, pod.metadata.name) == key]
    if alone and name.kind in ("", "Pod"):
        return alone
    grouped = [pod for pod in pods if group_key(pod) == key]
    is_group = bool(grouped) or any(
        isinstance(one.object, PodGroup) and (one.object.metadata.namespace, one.object.metadata.name) == key
        for one in seen
    )
    return grouped if is_group and name.kind in ("", "PodGroup") else None
