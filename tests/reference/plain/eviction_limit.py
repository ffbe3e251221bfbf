"""The eviction limit as a reader of the rules would work it out, pod by pod, from the objects themselves."""

import math
from collections.abc import Iterable, Mapping, Sequence

from reprieve.model.objects import KubernetesObject, Pod, ReplicaSet
from tests.reference.plain.victims import groups_around


def workload(objects: Iterable[KubernetesObject], pod: Pod) -> str:
    """Its outermost group; else the Deployment of its ReplicaSet; else its controller; else itself."""
    things = tuple(objects)
    if around := groups_around(things, pod):
        group = around[-1]
        return f"{type(group).__name__}/{group.metadata.namespace}/{group.metadata.name}"
    namespace = pod.metadata.namespace
    for owner in pod.metadata.owner_references:
        if not owner.controller:
            continue
        for thing in things:
            if isinstance(thing, ReplicaSet) and thing.metadata.uid == owner.uid:
                for above in thing.metadata.owner_references:
                    if above.controller:
                        return f"{above.kind}/{namespace}/{above.name}"
        return f"{owner.kind}/{namespace}/{owner.name}"
    return f"Pod/{namespace}/{pod.metadata.name}"


def protected_until(moments: Sequence[float], evictions: int, window: float) -> float:
    """The first moment at which fewer than so many evictions are within the window before it."""
    for end in sorted(moment + window for moment in moments):
        if sum(moment + window > end for moment in moments) < evictions:
            return end if len(moments) >= evictions else -math.inf
    return -math.inf


def may_be_evicted_from(
    objects: tuple[KubernetesObject, ...],
    pods: Iterable[Pod],
    evicted: Mapping[str, Sequence[float]],
    evictions: int,
    window: float,
) -> float:
    """The moment from which the limit does not protect pods that go together."""
    ends = (protected_until(evicted.get(workload(objects, pod), ()), evictions, window) for pod in pods)
    return max(ends)
