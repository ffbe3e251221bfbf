"""Availability of a pod: ready for at least the minReadySeconds of its owner."""

from reprieve.cluster.mini.controllers.objects import PodFacts


def available_at(pod: PodFacts, seconds: int) -> float | None:
    """When it becomes available; None for a pod that is not ready."""
    ready = next((c for c in pod.status.conditions if c.type == "Ready" and c.status == "True"), None)
    if ready is None:
        return None
    turned = ready.last_transition_time
    return (turned.timestamp() if turned is not None else 0.0) + seconds


def is_available(pod: PodFacts, seconds: int, now: float) -> bool:
    """Without minReadySeconds, do not compare times: timestamps of pods are truncated to seconds."""
    at = available_at(pod, seconds)
    return at is not None and (seconds == 0 or at <= now)
