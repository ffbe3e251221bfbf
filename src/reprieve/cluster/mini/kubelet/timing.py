"""How long simulated things take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KubeletTiming:
    """All of it, and what pods declare, passes ``speed`` times as fast."""

    start_seconds: float = 1.0
    resize_seconds: float = 1.0  # from the granting of a resize until it is enforced
    orphan_seconds: float = 5.0  # from the loss of a node to the deletion of its pods
    speed: float = 1.0


DEFAULT_TIMING = KubeletTiming()
