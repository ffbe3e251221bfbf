"""What was recorded: a case read from its file, with the cluster as a snapshot.

Knows the form of the files and nothing of how a decision is made.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from reprieve.cluster.api.codec import Decoded, UnknownKind, Unreadable, decode_value
from reprieve.model.objects import CompositePodGroup, KubernetesObject, Pod, PodGroup, ref_of
from reprieve.model.snapshot import NOWHERE, Snapshot, build


class UnreadableCaseError(ValueError):
    """A file that is not a case; the message is one sentence that names it."""


class Observation(msgspec.Struct, frozen=True):
    """What was done: by kube-scheduler when it was recorded, or by us."""

    outcome: str
    placed: dict[str, str] = {}
    nominated: dict[str, str] = {}
    victims: frozenset[str] = frozenset()

    def __str__(self) -> str:
        parts = [f"{pod} on {node}" for pod, node in sorted(self.placed.items())]
        parts += [f"{pod} nominated for {node}" for pod, node in sorted(self.nominated.items())]
        if self.victims:
            parts.append(f"victims {', '.join(sorted(self.victims))}")
        return f"{self.outcome} ({'; '.join(parts)})" if parts else self.outcome


class Resize(msgspec.Struct, frozen=True):
    pod: str
    to: dict[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    name: str
    family: str
    objects: tuple[KubernetesObject, ...]
    view: Snapshot
    newcomers: tuple[int, ...]  # rows of the view, which are nowhere yet
    is_gang: bool
    is_tree: bool
    resize: Resize | None
    observed: tuple[Observation, ...]


class _File(msgspec.Struct, frozen=True, rename="camel"):
    family: str
    nodes: list[Any]
    observed: Annotated[tuple[Observation, ...], msgspec.Meta(min_length=1)]
    pods: list[Any] = []
    workloads: list[Any] = []
    composite_pod_groups: list[Any] = []
    pod_groups: list[Any] = []
    pod_disruption_budgets: list[Any] = []
    new_workloads: list[Any] = []
    new_composite_pod_groups: list[Any] = []
    new_pod_groups: list[Any] = []
    new_pods: list[Any] = []
    resize: Resize | None = None


def read_case(path: Path) -> Case:
    try:
        file = msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, ValueError) as error:
        raise UnreadableCaseError(f"{path.name}: expected a recorded case: {error}") from error
    pods = [_resized(pod, file.resize) for pod in file.pods]
    groups = (file.workloads, file.composite_pod_groups, file.pod_groups)
    new_groups = (file.new_workloads, file.new_composite_pod_groups, file.new_pod_groups)
    around = (file.nodes, pods, *groups, file.pod_disruption_budgets, *new_groups)
    cluster = [_decoded(value, path) for values in around for value in values]
    newcomers = [_decoded(value, path) for value in file.new_pods]
    built = build([*cluster, *newcomers])
    if built.problems:
        raise UnreadableCaseError(f"{path.name}: {built.problems[0]}")
    return Case(
        name=path.stem,
        family=file.family,
        objects=(*cluster, *newcomers),
        view=built.snapshot,
        newcomers=tuple(_waiting_row(built.snapshot, pod, path) for pod in newcomers),
        is_gang=bool(file.new_pod_groups),
        is_tree=bool(file.new_composite_pod_groups),
        resize=file.resize,
        observed=file.observed,
    )


def _resized(pod: Any, resize: Resize | None) -> Any:
    """As the API server shows a pod whose resize its node has put off: its status tells what it still has."""
    if resize is None or pod["metadata"]["name"] != resize.pod:
        return pod
    (container,) = pod["spec"]["containers"]
    has = container["resources"]["requests"]
    wants = {**container, "resources": {**container["resources"], "requests": {**has, **resize.to}}}
    granted = {"name": container["name"], "allocatedResources": has, "resources": container["resources"]}
    pending = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    conditions = [*pod["status"].get("conditions", ()), pending]
    status = {**pod["status"], "containerStatuses": [granted], "conditions": conditions}
    return {**pod, "spec": {**pod["spec"], "containers": [wants]}, "status": status}


def _decoded(value: object, path: Path) -> KubernetesObject:
    match decode_value(value):
        case Decoded(object=Pod() | PodGroup() | CompositePodGroup() as thing):
            return _admitted(thing)
        case Decoded(object=thing):
            return thing
        case Unreadable(problem=problem) | UnknownKind(problem=problem):
            raise UnreadableCaseError(f"{path.name}: {problem}")


def _admitted(thing: Pod | PodGroup | CompositePodGroup) -> Pod | PodGroup | CompositePodGroup:
    """With what the API server takes from the priority class, which is named after it: `p100-never`."""
    value, _, never = thing.spec.priority_class_name.removeprefix("p").partition("-")
    spec = thing.spec
    if spec.priority is None and value:
        spec = msgspec.structs.replace(spec, priority=int(value))
    if never and not spec.preemption_policy:
        spec = msgspec.structs.replace(spec, preemption_policy="Never")
    return msgspec.structs.replace(thing, spec=spec)


def _waiting_row(view: Snapshot, pod: KubernetesObject, path: Path) -> int:
    row = view.pods.rows.get((pod.metadata.namespace, pod.metadata.name))
    if not isinstance(pod, Pod) or row is None or view.where[row] != NOWHERE:
        raise UnreadableCaseError(f"{path.name}: newPods: expected pods that wait, got {ref_of(pod)}")
    return row
