"""In-place resizes as objects report them: whether one is pending, why, and what disables preemption for it.

How much a pod holds meanwhile is for ``footprint``; preemption is not known here.
"""

from reprieve.model.objects import Condition, Node, Pod

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
