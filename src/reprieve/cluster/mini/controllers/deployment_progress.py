"""The condition ``Progressing`` of a Deployment: in progress, complete, or past its deadline."""

from dataclasses import dataclass

from reprieve.cluster.mini.conditions import StatusCondition

DONE = "NewReplicaSetAvailable"
_TYPE = "Progressing"


@dataclass(frozen=True, slots=True)
class Progress:
    """Numbers of pods: wanted, present, of the newest template, and ready.

    ``reported``: the reason of the condition so far. ``last``: the time of the last progress. ``deadline``:
    how many seconds may pass without progress.
    """

    wanted: int
    present: int
    updated: int
    ready: int
    reported: str
    last: float
    deadline: float

    @property
    def is_done(self) -> bool:
        """A complete rollout stays complete, whatever becomes of its pods, until the template changes."""
        if self.updated != self.present:
            return False
        return self.reported == DONE or self.wanted == self.present == self.ready

    @property
    def ends(self) -> float:
        return self.last + self.deadline


def progressing(progress: Progress, now: float, *, paused: bool) -> StatusCondition:
    if paused:
        return StatusCondition(_TYPE, "Unknown", "DeploymentPaused", "Deployment is paused")
    if progress.is_done:
        return StatusCondition(
            _TYPE, "True", DONE, "the ReplicaSet of the newest template has successfully progressed"
        )
    if now >= progress.ends:
        why = f"the ReplicaSet of the newest template has made no progress for {progress.deadline:g} seconds"
        return StatusCondition(_TYPE, "False", "ProgressDeadlineExceeded", why)
    return StatusCondition(
        _TYPE, "True", "ReplicaSetUpdated", "the ReplicaSet of the newest template is progressing"
    )
