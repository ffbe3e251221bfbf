"""Pods and groups as effects name them: with their UID, so that no later object of that name is hit."""

from collections.abc import Iterable

from reprieve.model.effects import Target
from reprieve.model.groups import Group
from reprieve.model.objects import Pod
from reprieve.model.snapshot import Snapshot


def pod_target(pod: Pod) -> Target:
    return Target("Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def group_target(group: Group) -> Target:
    return Target(type(group).__name__, group.metadata.namespace, group.metadata.name, group.metadata.uid)


def target_at(view: Snapshot, row: int) -> Target:
    meta = view.pods.compiled[row].pod.metadata
    return Target("Pod", meta.namespace, meta.name, meta.uid)


def rows_of(view: Snapshot, pods: Iterable[Target]) -> list[int]:
    """The rows of the pods that still exist; another pod of the same name is not one of them."""
    found, known, compiled = [], view.pods.rows, view.pods.compiled
    for pod in pods:
        row = known.get((pod.namespace, pod.name))
        if row is not None and compiled[row].pod.metadata.uid == pod.uid:
            found.append(row)
    return found
