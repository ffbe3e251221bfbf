"""Which workload is a pod part of: its outermost group, or else the topmost controller that is known?

A workload is known by kind, namespace and name, as in ``Deployment/team-a/web``: one that is created again
under its name is the same workload. Which evictions of workloads there were is data here, and no more.
"""

from collections.abc import Iterable, Mapping, Sequence

from reprieve.model.groups import GroupKey, Groups, group_key
from reprieve.model.objects import ObjectMeta, Pod, Record
from reprieve.model.owners import Owner, Owners

_DEEPEST = 8  # owners above a pod; real ones have two, and a circle of references must end


class PastEviction(Record, frozen=True):
    """``key``: what counts once: the UID of a pod, or a whole unit and the decision that evicted it."""

    workload: str
    key: str
    at: float


def workload_of(pod: Pod, groups: Groups, owners: Owners) -> str:
    return root_name(groups, group_key(pod)) or own_workload(pod, owners)


def own_workload(pod: Pod, owners: Owners) -> str:
    """Whatever its groups say. A pod without a controller is its own workload."""
    meta = pod.metadata
    return _topmost_controller(meta, owners.controllers) or f"Pod/{meta.namespace}/{meta.name}"


def root_name(groups: Groups, key: GroupKey | None) -> str:
    """The outermost group that is known; empty if none is."""
    return next((name for name, _ in reversed([*groups.chain(key)])), "")


def _topmost_controller(meta: ObjectMeta, known: Mapping[str, Owner]) -> str:
    """Above the first controller that is not known as an object, nothing is known. Empty: it has none."""
    namespace, found = meta.namespace, ""
    for _ in range(_DEEPEST):
        owner = next((owner for owner in meta.owner_references if owner.controller), None)
        if owner is None:
            break
        found = f"{owner.kind}/{namespace}/{owner.name}"
        above = known.get(owner.uid)
        if above is None:
            break
        meta = above.metadata
    return found


def shown_workload(workload: str) -> str:
    """For sentences: ``Deployment team-a/web``."""
    return workload.replace("/", " ", 1)


def moments_of(evictions: Iterable[PastEviction]) -> dict[str, Sequence[float]]:
    """When each workload was evicted, the oldest first."""
    distinct = {one.key: one for one in evictions}
    moments: dict[str, list[float]] = {}
    for one in sorted(distinct.values(), key=lambda one: one.at):
        moments.setdefault(one.workload, []).append(one.at)
    return {**moments}
