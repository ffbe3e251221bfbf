"""ReplicaSet and ReplicationController: keep the number of active pods at spec.replicas."""

from collections.abc import Iterable, Iterator

from reprieve.cluster.api.rollouts import DeletionRank
from reprieve.cluster.api.templates import pod_of
from reprieve.model.annotations import member_cost
from reprieve_minicluster.controllers.api_writes import Create, Delete, UpdateStatus, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import (
    PodFacts,
    ReplicaSetFacts,
    ReplicationControllerFacts,
    Thing,
    owner_of,
)
from reprieve_minicluster.controllers.owners import (
    BURST,
    adoptions,
    is_available,
    matches,
    next_batch,
    owners_of,
    requeues,
)
from reprieve_minicluster.store import Key

REPLICA_FAILURE = "ReplicaFailure"


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case ReplicaSetFacts():
            yield key_of(thing)
        case PodFacts():
            for kind in (ReplicaSetFacts, ReplicationControllerFacts):
                yield from owners_of(
                    cache, kind, thing, lambda owner: matches(owner.selector, thing.metadata.labels)
                )


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    older = key.resource == ReplicationControllerFacts.resource
    owner = cache.find(ReplicationControllerFacts if older else ReplicaSetFacts, key)
    if owner is None:
        return
    active = [pod for pod in cache.of(PodFacts).owned_by(owner.metadata.uid) if pod.is_active]
    if not owner.is_leaving:
        free = (pod for pod in cache.of(PodFacts).free(key.namespace) if pod.is_active)
        # Count adopted and released pods once the cache shows them.
        yield from adoptions(owner.selector, owner_of(owner), active, free) or _difference(owner, active)
    # The manager sets the condition when a pod cannot be created.
    recovered = (REPLICA_FAILURE,) if len(active) >= owner.spec.replicas else ()
    yield UpdateStatus(key, owner.metadata.uid, _counts(owner, active, now), without=recovered)
    yield from requeues(active, owner.spec.min_ready_seconds, now)


def _difference(owner: ReplicaSetFacts, active: list[PodFacts]) -> Iterable[Write]:
    missing = owner.spec.replicas - len(active)
    if missing > 0:
        body = pod_of(owner.spec.template, owner_of(owner))
        return [Create(PodFacts.resource, body)] * next_batch(missing, active)
    surplus = sorted(active, key=lambda pod: _rank(pod).order)[: min(-missing, BURST)]
    return [Delete.of(pod) for pod in surplus]


def _rank(pod: PodFacts) -> DeletionRank:
    running = pod.status.phase == "Running"
    cost = member_cost(pod.metadata)[1]
    return DeletionRank(bool(pod.spec.node_name), running, pod.is_ready, cost, pod.created, pod.metadata.name)


def _counts(owner: ReplicaSetFacts, active: list[PodFacts], now: float) -> dict[str, int]:
    return {
        "replicas": len(active),
        "fullyLabeledReplicas": len(active),
        "readyReplicas": sum(pod.is_ready for pod in active),
        "availableReplicas": sum(is_available(pod, owner.spec.min_ready_seconds, now) for pod in active),
        "observedGeneration": owner.metadata.generation,
    }
