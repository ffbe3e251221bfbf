"""How long simulated kubelets take to start, resize and collect pods."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KubeletTiming:
    """``speed`` divides all of these but heartbeats, and the durations in annotations of pods."""

    start_seconds: float = 1.0
    resize_seconds: float = 1.0  # from the allocation of a resize until it is actual
    orphan_seconds: float = 5.0  # from the deletion of a node to that of its pods
    job_seconds: float | None = None  # how long a pod of a Job runs that does not say; None: for ever
    heartbeat_seconds: float | None = None  # between renewals of the leases of nodes; None: no leases
    speed: float = 1.0


DEFAULT_TIMING = KubeletTiming()
