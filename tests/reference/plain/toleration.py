"""Tolerations as a reader of the rules would work them out, pod by pod, from the objects themselves."""

import math
from collections.abc import Iterable

from reprieve.model.objects import (
    CompositePodGroup,
    Condition,
    KubernetesObject,
    Pod,
    PodGroup,
    PriorityClass,
)
from tests.reference.plain.victims import groups_around, unit_of

PREFIX = "preemption-toleration.scheduling.x-k8s.io/"


def may_be_taken_from(objects: tuple[KubernetesObject, ...], pods: Iterable[Pod], priority: int) -> float:
    """The moment from which pods that go together may be taken by a demand of this priority."""
    return max(_tolerates_until(objects, pod, priority) for pod in pods)


def _tolerates_until(objects: tuple[KubernetesObject, ...], pod: Pod, priority: int) -> float:
    around = groups_around(objects, pod)
    names = [pod.spec.priority_class_name, *(group.spec.priority_class_name for group in around[-1:])]
    classes = [c for c in objects if isinstance(c, PriorityClass) and c.metadata.name in names if any(names)]
    return max((_end(c, priority, _clock(objects, pod, around)) for c in classes), default=-math.inf)


def _end(of_class: PriorityClass, priority: int, since: float) -> float:
    try:
        minimum = _number(of_class, "minimum-preemptable-priority", of_class.value + 1, 32)
        seconds = _number(of_class, "toleration-seconds", 0, 64)
    except ValueError:
        return -math.inf
    if priority >= minimum or seconds == 0:
        return -math.inf
    return math.inf if seconds < 0 else since + seconds


def _number(of_class: PriorityClass, name: str, default: int, bits: int) -> int:
    text = of_class.metadata.annotations.get(PREFIX + name)
    if text is None:
        return default
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits or any(digit not in "0123456789" for digit in digits):
        raise ValueError(text)
    if not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
        raise ValueError(text)
    return int(text)


def _clock(
    objects: tuple[KubernetesObject, ...], pod: Pod, around: list[PodGroup | CompositePodGroup]
) -> float:
    """A group that goes whole counts from the start of its run, every other pod from its own."""
    kind, name = unit_of(objects, pod)
    names = [(type(group).__name__, group.metadata.name) for group in around]
    together = around[: names.index((kind, name)) + 1] if (kind, name) in names else []
    for group in reversed(together):
        since = _since(group.status.conditions, "reprieve.dev/RunStarted")
        if since != math.inf:
            return since
    return _since(pod.status.conditions, "PodScheduled")


def _since(conditions: Iterable[Condition], kind: str) -> float:
    for condition in conditions:
        if condition.type == kind:
            turned = condition.last_transition_time
            if condition.status != "True" or turned is None:
                return math.inf
            return turned.timestamp()
    return math.inf
