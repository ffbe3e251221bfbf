"""Which pods a kubelet preempts so that a critical pod fits: as few as possible, by quality of service.

A function of the pods on the node; when it is called, and how pods stop, is not known here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reprieve.cluster.api.values import part
from reprieve.cluster.apiserver.validation.resources import quality_of
from reprieve.cluster.mini.stored_objects import Key
from reprieve.model.json import Json
from reprieve.model.resources import CPU, MEMORY, Amounts

SYSTEM_CRITICAL = 2_000_000_000
_STATIC = ("kubernetes.io/config.mirror", "kubernetes.io/config.source")


@dataclass(frozen=True, slots=True)
class RankedPod:
    """A pod with its priority, its quality of service, and the resources that it holds."""

    key: Key
    priority: int
    is_critical: bool
    quality: str
    weight: Amounts

    def may_preempt(self, other: "RankedPod") -> bool:
        return (self.is_critical and not other.is_critical) or self.priority > other.priority


def ranked(key: Key, body: Json, weight: Amounts) -> RankedPod:
    spec, annotations = part(body, "spec"), part(body, "metadata", "annotations")
    priority = spec.get("priority")
    priority = priority if isinstance(priority, int) else 0
    source = annotations.get(_STATIC[1], "api")
    static = _STATIC[0] in annotations or source != "api"
    return RankedPod(key, priority, static or priority >= SYSTEM_CRITICAL, quality_of(spec), weight)


def victims_for(
    preemptor: RankedPod, others: Iterable[RankedPod], missing: Mapping[str, int]
) -> list[RankedPod] | None:
    """None when not even all candidates together would be enough."""
    candidates = sorted((o for o in others if preemptor.may_preempt(o)), key=lambda o: o.key)
    if _left(missing, candidates):
        return None
    best_effort, burstable, guaranteed = (
        [o for o in candidates if o.quality == quality]
        for quality in ("BestEffort", "Burstable", "Guaranteed")
    )
    of_guaranteed = _fewest(guaranteed, _left(missing, [*best_effort, *burstable]))
    of_burstable = _fewest(burstable, _left(missing, [*best_effort, *of_guaranteed]))
    of_best_effort = _fewest(best_effort, _left(missing, [*of_burstable, *of_guaranteed]))
    return [*of_best_effort, *of_burstable, *of_guaranteed]


def _left(missing: Mapping[str, int], gone: Iterable[RankedPod]) -> Amounts:
    """What is still missing without these pods."""
    left = dict(missing)
    for other in gone:
        for resource in left:
            left[resource] -= other.weight.get(resource, 0)
    return {resource: amount for resource, amount in left.items() if amount > 0}


def _fewest(pods: Sequence[RankedPod], missing: Amounts) -> list[RankedPod]:
    """Take the pod closest to what is missing until nothing is; of equally close ones, the smallest."""
    waiting, taken = list(pods), list[RankedPod]()
    while missing:
        nearest = min(waiting, key=lambda pod: (_distance(pod, missing), _size(pod)))
        waiting.remove(nearest)
        taken.append(nearest)
        missing = _left(missing, [nearest])
    return taken


def _distance(pod: RankedPod, missing: Amounts) -> float:
    """Squared relative shortfalls, so that every resource counts the same."""
    lacks = (max(0, amount - pod.weight.get(name, 0)) / amount for name, amount in missing.items())
    return sum(lack * lack for lack in lacks)


def _size(pod: RankedPod) -> tuple[int, int, Key]:
    return pod.weight.get(MEMORY, 0), pod.weight.get(CPU, 0), pod.key
