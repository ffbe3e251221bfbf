"""Since when a pod is available: ready, and for as long as its owner wants to see it so."""

from reprieve.cluster.mini.controllers.objects import PodFacts


def available_at(pod: PodFacts, seconds: int) -> float | None:
    """None for a pod that is not ready."""
    ready = next((c for c in pod.status.conditions if c.type == "Ready" and c.status == "True"), None)
    if ready is None:
        return None
    turned = ready.last_transition_time
    return (turned.timestamp() if turned is not None else 0.0) + seconds


def is_available(pod: PodFacts, seconds: int, now: float) -> bool:
    """The moments that pods tell are whole seconds: who wants no wait gets none."""
    at = available_at(pod, seconds)
    return at is not None and (seconds == 0 or at <= now)
