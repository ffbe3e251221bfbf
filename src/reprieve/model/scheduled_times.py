"""When pods were scheduled and runs of groups started, according to conditions: Unix time, or infinity."""

import math
from collections.abc import Iterable

from reprieve.model.groups import Group
from reprieve.model.objects import Condition, Pod

NEVER = math.inf
LONG_AGO = -math.inf

RUN_STARTED = "reprieve.dev/RunStarted"  # on a PodGroup; its lastTransitionTime is the start of the run


def scheduled_at(pod: Pod) -> float:
    """When a pod was scheduled; NEVER without the condition PodScheduled."""
    return _since(pod.status.conditions, "PodScheduled")


def run_started_at(group: Group) -> float:
    """When the present run of a group started; pods that join or leave do not change it.

    PodGroupInitiallyScheduled cannot say it: a group that is preempted and runs again keeps that condition.
    """
    return _since(group.status.conditions, RUN_STARTED)


def _since(conditions: Iterable[Condition], kind: str) -> float:
    """Since when a condition is True; LONG_AGO if it has no lastTransitionTime."""
    for condition in conditions:
        if condition.type == kind:
            turned = condition.last_transition_time
            since = turned.timestamp() if turned is not None else LONG_AGO
            return since if condition.status == "True" else NEVER
    return NEVER
