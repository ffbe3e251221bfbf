"""ReplicaSet: as many active pods as it asks for, and a status that counts them."""

from collections.abc import Iterable, Iterator

from reprieve.cluster.api.templates import pod_of
from reprieve.cluster.mini.controllers.adoption import matches, settled
from reprieve.cluster.mini.controllers.mirror import PODS, REPLICA_SETS, Described, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import PodFacts, ReplicaSet, controller_uid
from reprieve.cluster.mini.controllers.templates import maker
from reprieve.cluster.mini.controllers.writes import Create, Remove, Report, Write
from reprieve.cluster.mini.history import Key

BURST = 500  # pods made or removed in one go, so that nobody else has to wait long


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case ReplicaSet():
            yield key_in(REPLICA_SETS, thing)
        case PodFacts():
            uid = controller_uid(thing.metadata)
            owner = mirror.replica_sets.by_uid(uid)
            if owner is not None:
                yield key_in(REPLICA_SETS, owner)
            elif not uid:
                yield from _interested(mirror, thing)


def _interested(mirror: Mirror, pod: PodFacts) -> Iterator[Key]:
    for replica_set in mirror.replica_sets.inside(pod.metadata.namespace):
        if matches(replica_set.spec.selector, pod.metadata.labels):
            yield key_in(REPLICA_SETS, replica_set)


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    owner = mirror.replica_sets.get(Name(key.namespace, key.name))
    if owner is None:
        return
    active = [pod for pod in mirror.pods.owned_by(owner.metadata.uid) if pod.is_active]
    if owner.metadata.deletion_timestamp is None:
        adopter = maker("apps/v1", "ReplicaSet", owner.metadata)
        free = (pod for pod in mirror.pods.free(key.namespace) if pod.is_active)
        moves = list(settled(PODS, owner.spec.selector, adopter, active, free))
        # Whoever comes or goes is counted when that is seen.
        yield from moves or _difference(owner, active)
    yield Report(key, owner.metadata.uid, _counts(owner, active))


def _difference(owner: ReplicaSet, active: list[PodFacts]) -> Iterable[Write]:
    missing = owner.spec.replicas - len(active)
    if missing > 0:
        body = pod_of(owner.spec.template, maker("apps/v1", "ReplicaSet", owner.metadata))
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
