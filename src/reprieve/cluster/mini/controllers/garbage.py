"""Garbage collection: what belongs to owners that are all gone goes too.

Only owners of the kinds that controllers here watch can be known to be gone.
"""

from collections.abc import Iterator

from reprieve.cluster.mini.controllers.job import TRACKED, untrack
from reprieve.cluster.mini.controllers.mirror import (
    COMPOSITES,
    GROUPS,
    PODS,
    REPLICA_SETS,
    Described,
    Mirror,
    Name,
    key_in,
)
from reprieve.cluster.mini.controllers.objects import (
    Composite,
    Deployment,
    Group,
    Job,
    PodFacts,
    ReplicaSet,
    Workload,
)
from reprieve.cluster.mini.controllers.writes import Amend, Remove, Write
from reprieve.cluster.mini.history import Key
from reprieve.model.objects import ObjectMeta


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    uid = thing.metadata.uid
    if isinstance(thing, Deployment | ReplicaSet | Job) and not _exists(mirror, type(thing).__name__, uid):
        yield from (key_in(REPLICA_SETS, owned) for owned in mirror.replica_sets.owned_by(uid))
        yield from (key_in(PODS, owned) for owned in mirror.pods.owned_by(uid))
    if isinstance(thing, ReplicaSet | PodFacts) and _is_orphan(mirror, thing.metadata):
        yield key_in(PODS if isinstance(thing, PodFacts) else REPLICA_SETS, thing)


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    thing = mirror.tables[key.resource].get(Name(key.namespace, key.name))
    if thing is None or not _is_orphan(mirror, thing.metadata):
        return
    meta = thing.metadata
    if meta.deletion_timestamp is None:
        yield Remove(key, meta.uid)
    if TRACKED in meta.finalizers:
        yield Amend(key, meta.uid, untrack)


def _is_orphan(mirror: Mirror, meta: ObjectMeta) -> bool:
    owners = meta.owner_references
    return bool(owners) and not any(_exists(mirror, owner.kind, owner.uid) for owner in owners)


def _exists(mirror: Mirror, kind: str, uid: str) -> bool:
    """An owner of a kind we do not watch is taken to exist."""
    match kind:
        case "Deployment":
            return mirror.deployments.by_uid(uid) is not None
        case "ReplicaSet":
            return mirror.replica_sets.by_uid(uid) is not None
        case "Job":
            return mirror.jobs.by_uid(uid) is not None
        case _:
            return True
