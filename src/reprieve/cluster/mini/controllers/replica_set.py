"""ReplicaSet and ReplicationController: keep the number of active pods at spec.replicas."""

from collections.abc import Iterable, Iterator
from itertools import chain

from reprieve.cluster.api.templates import ControllerOwner, pod_of
from reprieve.cluster.mini.controllers.adoption import adopt_and_release, matches
from reprieve.cluster.mini.controllers.api_writes import Create, Delete, UpdateStatus, Write
from reprieve.cluster.mini.controllers.batches import BURST, next_batch
from reprieve.cluster.mini.controllers.controller_cache import (
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    ControllerCache,
    HasMetadata,
    NamespacedName,
    key_in,
)
from reprieve.cluster.mini.controllers.objects import (
    PodFacts,
    ReplicaSetFacts,
    ReplicationControllerFacts,
    controller_uid,
    owner_of,
)
from reprieve.cluster.mini.stored_objects import Key

REPLICA_FAILURE = "ReplicaFailure"


def affected(cache: ControllerCache, thing: HasMetadata) -> Iterator[Key]:
    match thing:
        case ReplicaSetFacts():
            yield _key(thing)
        case PodFacts():
            uid = controller_uid(thing.metadata)
            owner = cache.replica_sets.by_uid(uid) or cache.replication_controllers.by_uid(uid)
            if owner is not None:
                yield _key(owner)
            elif not uid:
                yield from _selecting_owners(cache, thing)


def _selecting_owners(cache: ControllerCache, pod: PodFacts) -> Iterator[Key]:
    namespace = pod.metadata.namespace
    owners = chain(cache.replica_sets.inside(namespace), cache.replication_controllers.inside(namespace))
    for owner in owners:
        if matches(owner.selector, pod.metadata.labels):
            yield _key(owner)


def _key(owner: ReplicaSetFacts) -> Key:
    older = isinstance(owner, ReplicationControllerFacts)
    return key_in(REPLICATION_CONTROLLERS if older else REPLICA_SETS, owner)


def _owner_ref(owner: ReplicaSetFacts) -> ControllerOwner:
    if isinstance(owner, ReplicationControllerFacts):
        return owner_of("v1", "ReplicationController", owner.metadata)
    return owner_of("apps/v1", "ReplicaSet", owner.metadata)


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    older = key.resource == REPLICATION_CONTROLLERS
    name = NamespacedName(key.namespace, key.name)
    owner = cache.replication_controllers.get(name) if older else cache.replica_sets.get(name)
    if owner is None:
        return
    active = [pod for pod in cache.pods.owned_by(owner.metadata.uid) if pod.is_active]
    if owner.metadata.deletion_timestamp is None:
        free = (pod for pod in cache.pods.free(key.namespace) if pod.is_active)
        adoptions = list(adopt_and_release(PODS, owner.selector, _owner_ref(owner), active, free))
        # Count adopted and released pods once the cache shows them.
        yield from adoptions or _difference(owner, active)
    # The manager sets the condition when a pod cannot be created.
    recovered = (REPLICA_FAILURE,) if len(active) >= owner.spec.replicas else ()
    yield UpdateStatus(key, owner.metadata.uid, _counts(owner, active), without=recovered)


def _difference(owner: ReplicaSetFacts, active: list[PodFacts]) -> Iterable[Write]:
    missing = owner.spec.replicas - len(active)
    if missing > 0:
        body = pod_of(owner.spec.template, _owner_ref(owner))
        return [Create(PODS, body)] * next_batch(missing, active)
    surplus = sorted(active, key=_deletion_order)[: min(-missing, BURST)]
    return [Delete(key_in(PODS, pod), pod.metadata.uid) for pod in surplus]


def _deletion_order(pod: PodFacts) -> tuple[bool, bool, bool, float, str]:
    """Delete unscheduled pods first, then pods not running, then unready ones; then the youngest."""
    created = pod.metadata.creation_timestamp
    age = -created.timestamp() if created is not None else 0.0
    return bool(pod.spec.node_name), pod.status.phase == "Running", pod.is_ready, age, pod.metadata.name


def _counts(owner: ReplicaSetFacts, active: list[PodFacts]) -> dict[str, int]:
    ready = sum(pod.is_ready for pod in active)
    return {
        "replicas": len(active),
        "fullyLabeledReplicas": len(active),
        "readyReplicas": ready,
        "availableReplicas": ready,
        "observedGeneration": owner.metadata.generation,
    }
