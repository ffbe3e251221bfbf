"""What do conditions of pods and groups say: since when it runs, and whether an in-place resize is pending?

Times are Unix time, or infinity. How much a pod holds during a resize is for ``footprint``; preemption is not
known here.
"""

import math
from collections.abc import Iterable

from reprieve.model.groups import Group
from reprieve.model.objects import Condition, Node, Pod

NEVER = math.inf
LONG_AGO = -math.inf

MARK = "DisruptionTarget"  # on a pod or group that is about to be evicted
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


PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
DEFERRED, INFEASIBLE = "Deferred", "Infeasible"
PREEMPTION_DISABLED = "PodResizePreemptionDisabled"


def resize_reason(pod: Pod) -> str:
    """Why a resize is pending: Deferred or Infeasible; empty if none is."""
    condition = _first(pod, PENDING)
    return condition.reason if condition is not None else ""


def is_deferred(pod: Pod) -> bool:
    """Whether the node lacks only the room for the resize; the status of the condition does not matter."""
    return resize_reason(pod) == DEFERRED


def deferred_since(pod: Pod) -> float | None:
    condition = _first(pod, PENDING)
    since = condition.last_transition_time if condition is not None else None
    return since.timestamp() if since is not None else None


def resize_preemption_disabled(pod: Pod) -> bool:
    """Whether the kubelet reports that no pod may be preempted for this resize."""
    condition = _first(pod, PREEMPTION_DISABLED)
    return condition is not None and condition.status == "True"


def resize_preemption_opponents(node: Node) -> tuple[str, ...]:
    """The names of the controllers that disable preemption for resizes on this node; one is enough."""
    return node.spec.pod_preemption_policy.disable_resize_preemption


def _first(pod: Pod, kind: str) -> Condition | None:
    for condition in pod.status.conditions:  # a loop, for it is asked of every pod that is seen
        if condition.type == kind:
            return condition
    return None
