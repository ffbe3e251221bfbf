"""Fault injection: which call or change fails, as a pure function of a seed, a counter and the time.

The adapter between the scheduler and the store injects the faults. The store itself stays consistent.
"""

import hashlib
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TypeVar

F = TypeVar("F", bound=Enum)


class CallFault(Enum):
    """How a request fails."""

    CONFLICT = "the object has been modified"
    FORBIDDEN = "forbidden"
    INTERNAL = "internal server error"
    TOO_MANY = "too many requests"
    TIMEOUT_BEFORE = "timed out before the write"
    TIMEOUT_AFTER = "timed out after the write"


class WatchFault(Enum):
    """How the delivery of a change to a watcher fails."""

    LATE = "delivered late"
    DROP = "the connection breaks after it and resumes at its version"
    RELIST = "the connection breaks after it and the watcher must relist"
    STALE = "as RELIST, and the first list is older than what the watcher has seen"


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Probabilities for each request and for each change; faults end at the time ``until``.

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
        """How late a late change is: between 0 and ``late_seconds``."""
        return self.late_seconds * _chance(self.seed, "late", number)


NO_FAULTS = FaultPlan(seed=0)


def everything(seed: int, rate: float, until: float = inf) -> FaultPlan:
    """A plan with every fault at the same rate."""
    return FaultPlan(
        seed,
        calls=tuple((fault, rate) for fault in CallFault),
        changes=tuple((fault, rate) for fault in WatchFault),
        until=until,
    )


def _chance(seed: int, stream: str, number: int) -> float:
    """A number between 0 and 1 that depends on the arguments alone, so calls may come in any order."""
    digest = hashlib.blake2b(f"{seed}/{stream}/{number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def _drawn(choices: tuple[tuple[F, float], ...], chance: float) -> F | None:
    for fault, probability in choices:
        if chance < probability:
            return fault
        chance -= probability
    return None
