"""What goes wrong, and when: a pure function of a seed, a counter and the time.

A plan decides; the adapter between the scheduler and the store suffers. The store itself never lies.
"""

import hashlib
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TypeVar

F = TypeVar("F", bound=Enum)


class CallFault(Enum):
    """What befalls a request."""

    CONFLICT = "somebody changed the object meanwhile"
    FORBIDDEN = "not allowed"
    INTERNAL = "the server is broken"
    TOO_MANY = "the server is busy"
    TIMEOUT_BEFORE = "no answer, and it did not happen"
    TIMEOUT_AFTER = "no answer, and it did happen"


class WatchFault(Enum):
    """What befalls a change on its way to a watcher."""

    LATE = "it is delivered late"
    DROP = "the connection breaks after it, and resumes where it was"
    RELIST = "the connection breaks after it, and the watcher has to list again"
    STALE = "as RELIST, and at first the list is older than what was seen"


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Probabilities for each request and for each change; ``until`` the moment at which all is well again.

    Probabilities of one kind may add up to 1 at most. The same plan gives the same faults.
    """

    seed: int
    calls: tuple[tuple[CallFault, float], ...] = ()
    changes: tuple[tuple[WatchFault, float], ...] = ()
    late_seconds: float = 2.0
    reconnect_seconds: float = 1.0
    timeout_seconds: float = 5.0
    until: float = inf

    def on_call(self, number: int, now: float) -> CallFault | None:
        if now >= self.until:
            return None
        return _drawn(self.calls, _chance(self.seed, "call", number)) if self.calls else None

    def on_change(self, number: int, now: float) -> WatchFault | None:
        if now >= self.until:
            return None
        return _drawn(self.changes, _chance(self.seed, "change", number)) if self.changes else None

    def lateness(self, number: int) -> float:
        """How late a late change is, between nothing and ``late_seconds``."""
        return self.late_seconds * _chance(self.seed, "late", number)


NO_FAULTS = FaultPlan(seed=0)


def everything(seed: int, rate: float, until: float = inf) -> FaultPlan:
    """Every fault there is, each at the same rate."""
    return FaultPlan(
        seed,
        calls=tuple((fault, rate) for fault in CallFault),
        changes=tuple((fault, rate) for fault in WatchFault),
        until=until,
    )


def _chance(seed: int, stream: str, number: int) -> float:
    """Between 0 and 1, and without memory: any number of any stream can be asked for at any time."""
    digest = hashlib.blake2b(f"{seed}/{stream}/{number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def _drawn(choices: tuple[tuple[F, float], ...], chance: float) -> F | None:
    for fault, probability in choices:
        if chance < probability:
            return fault
        chance -= probability
    return None
