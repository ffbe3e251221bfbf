"""The disruption controller: status of PodDisruptionBudgets, such as currentHealthy and disruptionsAllowed.

The API server records evictions that it has granted in ``disruptedPods``. An entry stays until the pod is
terminating, or until a timeout shows that its deletion failed.
"""

from collections.abc import Iterator

import msgspec

from reprieve.cluster.api.rollouts import scaled
from reprieve.cluster.api.timestamps import stamp
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import Selector, compile_selector
from reprieve.model.sized_cache import cached_by_text
from reprieve_minicluster.controllers.api_writes import RequeueAt, UpdateStatus, Write
from reprieve_minicluster.controllers.controller_cache import ControllerCache, key_of
from reprieve_minicluster.controllers.objects import (
    BudgetFacts,
    DeploymentFacts,
    PodFacts,
    ReplicaSetFacts,
    ReplicationControllerFacts,
    StatefulSetFacts,
    Thing,
    controller_uid,
)
from reprieve_minicluster.store import Key
from reprieve_minicluster.store.conditions import StatusCondition

DELETION_TIMEOUT = 120.0


def affected(cache: ControllerCache, thing: Thing) -> Iterator[Key]:
    match thing:
        case BudgetFacts():
            yield key_of(thing)
        case PodFacts():
            for budget in cache.of(BudgetFacts).inside(thing.metadata.namespace):
                if _selector(budget).matches(thing.metadata.labels):
                    yield key_of(budget)
        case DeploymentFacts() | ReplicaSetFacts() | StatefulSetFacts():
            for budget in cache.of(BudgetFacts).inside(thing.metadata.namespace):
                yield key_of(budget)


def _selector(budget: BudgetFacts) -> Selector:
    return _compiled(msgspec.json.encode(budget.spec.selector))


@cached_by_text(entries=4096, size=1 << 24)
def _compiled(selector: bytes) -> Selector:
    """A malformed selector selects nothing; admission and the scheduler report it."""
    unread = Problems(Ref(kind="PodDisruptionBudget", namespace="", name=""))
    return compile_selector(msgspec.json.decode(selector, type=LabelSelector | None), "spec.selector", unread)


def reconcile(cache: ControllerCache, key: Key, now: float) -> Iterator[Write]:
    budget = cache.find(BudgetFacts, key)
    if budget is None:
        return
    selector = _selector(budget)
    pods = [pod for pod in cache.of(PodFacts).inside(key.namespace) if selector.matches(pod.metadata.labels)]
    disrupted = _still_disrupted(budget, pods, now)
    healthy = sum(pod.is_ready and not pod.is_leaving and pod.metadata.name not in disrupted for pod in pods)
    expected, desired = _demanded(cache, budget, pods)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    fields = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "disruptionsAllowed": allowed,
        "disruptedPods": {name: stamp(since) for name, since in disrupted.items()},
        "observedGeneration": budget.metadata.generation,
    }
    yield UpdateStatus(key, budget.metadata.uid, fields, (_condition(allowed),))
    if disrupted:
        yield RequeueAt(min(disrupted.values()) + DELETION_TIMEOUT)


def _still_disrupted(budget: BudgetFacts, pods: list[PodFacts], now: float) -> dict[str, float]:
    granted = budget.status.disrupted_pods
    here = sorted(pod.metadata.name for pod in pods if not pod.is_leaving and pod.metadata.name in granted)
    since = {name: granted[name].timestamp() for name in here}
    return {name: moment for name, moment in since.items() if moment + DELETION_TIMEOUT > now}


def _demanded(cache: ControllerCache, budget: BudgetFacts, pods: list[PodFacts]) -> tuple[int, int]:
    """How many pods are expected, and how many of them must be healthy."""
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    if most is None and isinstance(least, int):
        return len(pods), least
    total = _scale(cache, pods)
    if most is not None:
        unavailable = scaled(most, total, round_up=True)
        return total, max(0, total - (unavailable or 0))
    healthy = scaled(least, total, round_up=True) if least is not None else 0
    return total, total if healthy is None else healthy


def _scale(cache: ControllerCache, pods: list[PodFacts]) -> int:
    """The replicas of the owners of the pods, each owner counted once."""
    asked: dict[str, int] = {}
    for pod in pods:
        owner = _owner(cache, controller_uid(pod.metadata))
        if owner is not None:
            asked[owner.metadata.uid] = owner.spec.replicas
    return sum(asked.values())


def _owner(cache: ControllerCache, uid: str) -> DeploymentFacts | ReplicaSetFacts | StatefulSetFacts | None:
    """The object that sets the number of replicas: the Deployment of a ReplicaSet, if it has one."""
    replica_set = cache.of(ReplicaSetFacts).by_uid(uid)
    if replica_set is None:
        return cache.of(StatefulSetFacts).by_uid(uid) or cache.of(ReplicationControllerFacts).by_uid(uid)
    return cache.of(DeploymentFacts).by_uid(controller_uid(replica_set.metadata)) or replica_set


def _condition(allowed: int) -> StatusCondition:
    if allowed:
        return StatusCondition("DisruptionAllowed", "True", "SufficientPods")
    return StatusCondition("DisruptionAllowed", "False", "InsufficientPods")
