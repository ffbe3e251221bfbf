"""When pods and groups were scheduled, as the cluster tells it: seconds, or infinity."""

import math
from collections.abc import Iterable

from reprieve.model.groups import Group
from reprieve.model.objects import Condition, Pod

NEVER = math.inf
LONG_AGO = -math.inf


def scheduled_at(pod: Pod) -> float:
    """Since when a pod has had its node; one of which the cluster does not say so has not got it yet."""
    return _since(pod.status.conditions, "PodScheduled")


def first_scheduled_at(group: Group) -> float:
    """When a group was scheduled for the first time; who joins later does not change that."""
    return _since(group.status.conditions, "PodGroupInitiallyScheduled")


def _since(conditions: Iterable[Condition], kind: str) -> float:
    """Since when a condition holds. Of one that forgot when it turned, that is long ago."""
    found = next((condition for condition in conditions if condition.type == kind), None)
    if found is None or found.status != "True":
        return NEVER
    turned = found.last_transition_time
    return turned.timestamp() if turned is not None else LONG_AGO
