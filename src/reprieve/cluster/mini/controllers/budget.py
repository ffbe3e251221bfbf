"""PodDisruptionBudget status: how many of the pods it guards are healthy, and how many may go.

As the API server counts evictions it has granted in ``disruptedPods``, an entry stays until the pod is seen
leaving, or until it is clear that it will not.
"""

from collections.abc import Iterator
from functools import lru_cache

import msgspec

from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.mini.conditions import Condition
from reprieve.cluster.mini.controllers.mirror import BUDGETS, Described, Mirror, Name, key_in
from reprieve.cluster.mini.controllers.objects import (
    Budget,
    Deployment,
    PodFacts,
    ReplicaSet,
    StatefulSet,
    controller_uid,
)
from reprieve.cluster.mini.controllers.templates import scaled
from reprieve.cluster.mini.controllers.writes import LookAgain, Report, Write
from reprieve.cluster.mini.history import Key
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import Selector, compile_selector

DELETION_TIMEOUT = 120.0


def concerned(mirror: Mirror, thing: Described) -> Iterator[Key]:
    match thing:
        case Budget():
            yield key_in(BUDGETS, thing)
        case PodFacts():
            for budget in mirror.budgets.inside(thing.metadata.namespace):
                if _selector(budget).matches(thing.metadata.labels):
                    yield key_in(BUDGETS, budget)
        case Deployment() | ReplicaSet() | StatefulSet():
            for budget in mirror.budgets.inside(thing.metadata.namespace):
                yield key_in(BUDGETS, budget)


def _selector(budget: Budget) -> Selector:
    return _compiled(msgspec.json.encode(budget.spec.selector))


@lru_cache(maxsize=4096)
def _compiled(selector: bytes) -> Selector:
    """A malformed selector selects nothing, and is reported by whoever admits or schedules."""
    nobody = Problems(Ref(kind="PodDisruptionBudget", namespace="", name=""))
    return compile_selector(msgspec.json.decode(selector, type=LabelSelector | None), "spec.selector", nobody)


def reconcile(mirror: Mirror, key: Key, now: float) -> Iterator[Write]:
    budget = mirror.budgets.get(Name(key.namespace, key.name))
    if budget is None:
        return
    selector = _selector(budget)
    pods = [pod for pod in mirror.pods.inside(key.namespace) if selector.matches(pod.metadata.labels)]
    disrupted = _still_disrupted(budget, pods, now)
    healthy = sum(pod.is_ready and not pod.is_leaving and pod.metadata.name not in disrupted for pod in pods)
    expected, desired = _demanded(mirror, budget, pods)
    allowed = max(0, healthy - desired) if expected > 0 else 0
    fields = {
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "disruptionsAllowed": allowed,
        "disruptedPods": {name: stamp(since) for name, since in disrupted.items()},
        "observedGeneration": budget.metadata.generation,
    }
    yield Report(key, budget.metadata.uid, fields, (_condition(allowed),))
    if disrupted:
        yield LookAgain(min(disrupted.values()) + DELETION_TIMEOUT)


def _still_disrupted(budget: Budget, pods: list[PodFacts], now: float) -> dict[str, float]:
    granted = budget.status.disrupted_pods
    here = sorted(pod.metadata.name for pod in pods if not pod.is_leaving and pod.metadata.name in granted)
    since = {name: granted[name].timestamp() for name in here}
    return {name: moment for name, moment in since.items() if moment + DELETION_TIMEOUT > now}


def _demanded(mirror: Mirror, budget: Budget, pods: list[PodFacts]) -> tuple[int, int]:
    """How many pods there should be, and how many of them healthy."""
    least, most = budget.spec.min_available, budget.spec.max_unavailable
    if most is None and isinstance(least, int):
        return len(pods), least
    total = _scale(mirror, pods)
    if most is not None:
        unavailable = scaled(most, total, round_up=True)
        return total, max(0, total - (unavailable or 0))
    healthy = scaled(least, total, round_up=True) if least is not None else 0
    return total, total if healthy is None else healthy


def _scale(mirror: Mirror, pods: list[PodFacts]) -> int:
    """What the owners of the pods ask for, each counted once."""
    asked: dict[str, int] = {}
    for pod in pods:
        owner = _owner(mirror, controller_uid(pod.metadata))
        if owner is not None:
            asked[owner.metadata.uid] = owner.spec.replicas
    return sum(asked.values())


def _owner(mirror: Mirror, uid: str) -> Deployment | ReplicaSet | StatefulSet | None:
    """Who decides how many there are: of a ReplicaSet, its Deployment if it has one."""
    replica_set = mirror.replica_sets.by_uid(uid)
    if replica_set is None:
        return mirror.stateful_sets.by_uid(uid) or mirror.replication_controllers.by_uid(uid)
    return mirror.deployments.by_uid(controller_uid(replica_set.metadata)) or replica_set


def _condition(allowed: int) -> Condition:
    if allowed:
        return Condition("DisruptionAllowed", "True", "SufficientPods")
    return Condition("DisruptionAllowed", "False", "InsufficientPods")
