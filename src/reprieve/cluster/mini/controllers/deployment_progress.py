"""How far a rollout is, as the condition ``Progressing`` tells it: going on, done, or stuck for too long."""

from dataclasses import dataclass

from reprieve.cluster.mini.conditions import StatusCondition

DONE = "NewReplicaSetAvailable"
_TYPE = "Progressing"


@dataclass(frozen=True, slots=True)
class Progress:
    """Pods that are wanted, that there are, of the newest template, and ready.

    ``told``: the reason of the condition so far. ``last``: when something last went on, and ``patience``: how
    many seconds may pass then.
    """

    wanted: int
    present: int
    updated: int
    ready: int
    told: str
    last: float
    patience: float

    @property
    def is_done(self) -> bool:
        """Who was done once stays so, whatever becomes of the pods, until there is a new template."""
        if self.updated != self.present:
            return False
        return self.told == DONE or self.wanted == self.present == self.ready

    @property
    def ends(self) -> float:
        return self.last + self.patience


def progressing(progress: Progress, now: float, *, paused: bool) -> StatusCondition:
    if paused:
        return StatusCondition(_TYPE, "Unknown", "DeploymentPaused", "the rollout is paused")
    if progress.is_done:
        return StatusCondition(_TYPE, "True", DONE, "the pods of the newest template have become available")
    if now >= progress.ends:
        why = f"nothing has gone on for {progress.patience:g} seconds"
        return StatusCondition(_TYPE, "False", "ProgressDeadlineExceeded", why)
    return StatusCondition(
        _TYPE, "True", "ReplicaSetUpdated", "pods of the newest template take the place of others"
    )
