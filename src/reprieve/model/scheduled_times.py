"""When pods and groups were scheduled, according to their conditions: Unix time, or infinity."""

import math
from collections.abc import Iterable

from reprieve.model.groups import Group
from reprieve.model.objects import Condition, Pod

NEVER = math.inf
LONG_AGO = -math.inf


def scheduled_at(pod: Pod) -> float:
    """When a pod was scheduled; NEVER without the condition PodScheduled."""
    return _since(pod.status.conditions, "PodScheduled")


def first_scheduled_at(group: Group) -> float:
    """When a group was first scheduled; pods that join later do not change it."""
    return _since(group.status.conditions, "PodGroupInitiallyScheduled")


def _since(conditions: Iterable[Condition], kind: str) -> float:
    """Since when a condition is True; LONG_AGO if it has no lastTransitionTime."""
    found = next((condition for condition in conditions if condition.type == kind), None)
    if found is None or found.status != "True":
        return NEVER
    turned = found.last_transition_time
    return turned.timestamp() if turned is not None else LONG_AGO
