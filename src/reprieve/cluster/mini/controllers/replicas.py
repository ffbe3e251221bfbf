"""ReplicaSet and ReplicationController: as many active pods as asked for, and a status that counts them."""

from collections.abc import Iterable, Iterator
from itertools import chain

from reprieve.cluster.api.templates import ControllerOwner, pod_of
from reprieve.cluster.mini.controllers.adoption import matches, settled
from reprieve.cluster.mini.controllers.mirror import (
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    Described,
    Mirror,
    Name,
    key_in,
)
from reprieve.cluster.mini.controllers.objects import (
    PodFacts,
    ReplicaSet,
    ReplicationController,
    controller_uid,
)
from reprieve.cluster.mini.controllers.templates import maker
from reprieve.cluster.mini.controllers.writes import Create, Remove, Report, Write
from reprieve.cluster.mini.history import Key

BURST = 500  # pods made or removed in one go, so that nobody else has to wait long


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case ReplicaSet():
            yield _key(thing)
        case PodFacts():
            uid = controller_uid(thing.metadata)
            owner = mirror.replica_sets.by_uid(uid) or mirror.replication_controllers.by_uid(uid)
            if owner is not None:
                yield _key(owner)
            elif not uid:
                yield from _interested(mirror, thing)


def _interested(mirror: Mirror, pod: PodFacts) -> Iterator[Key]:
    namespace = pod.metadata.namespace
    everyone = chain(mirror.replica_sets.inside(namespace), mirror.replication_controllers.inside(namespace))
    for owner in everyone:
        if matches(owner.selector, pod.metadata.labels):
            yield _key(owner)


def _key(owner: ReplicaSet) -> Key:
    older = isinstance(owner, ReplicationController)
    return key_in(REPLICATION_CONTROLLERS if older else REPLICA_SETS, owner)


def _maker(owner: ReplicaSet) -> ControllerOwner:
    if isinstance(owner, ReplicationController):
        return maker("v1", "ReplicationController", owner.metadata)
    return maker("apps/v1", "ReplicaSet", owner.metadata)


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    older = key.resource == REPLICATION_CONTROLLERS
    name = Name(key.namespace, key.name)
    owner = mirror.replication_controllers.get(name) if older else mirror.replica_sets.get(name)
    if owner is None:
        return
    active = [pod for pod in mirror.pods.owned_by(owner.metadata.uid) if pod.is_active]
    if owner.metadata.deletion_timestamp is None:
        free = (pod for pod in mirror.pods.free(key.namespace) if pod.is_active)
        moves = list(settled(PODS, owner.selector, _maker(owner), active, free))
        # Whoever comes or goes is counted when that is seen.
        yield from moves or _difference(owner, active)
    yield Report(key, owner.metadata.uid, _counts(owner, active))


def _difference(owner: ReplicaSet, active: list[PodFacts]) -> Iterable[Write]:
    missing = owner.spec.replicas - len(active)
    if missing > 0:
        body = pod_of(owner.spec.template, _maker(owner))
        return [Create(PODS, body)] * min(missing, BURST)
    surplus = sorted(active, key=_least_loss)[: min(-missing, BURST)]
    return [Remove(key_in(PODS, pod), pod.metadata.uid) for pod in surplus]


def _least_loss(pod: PodFacts) -> tuple[bool, bool, bool, float, str]:
    """Those that do the least go first: waiting, not started, not ready; then the youngest."""
    created = pod.metadata.creation_timestamp
    age = -created.timestamp() if created is not None else 0.0
    return bool(pod.spec.node_name), pod.status.phase == "Running", pod.is_ready, age, pod.metadata.name


def _counts(owner: ReplicaSet, active: list[PodFacts]) -> dict[str, int]:
    ready = sum(pod.is_ready for pod in active)
    return {
        "replicas": len(active),
        "fullyLabeledReplicas": len(active),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "observedGeneration": owner.metadata.generation,
    }
