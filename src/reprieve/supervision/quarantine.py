"""Which objects are set aside after an unexpected exception, and when each of them is retried.

Times are arguments. What an object is, and what is done with it, is not known here.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_FIRST_PAUSE = 1.0  # seconds; doubles with every failure
_LONGEST_PAUSE = 300.0
_ENOUGH_DOUBLINGS = 16  # to reach the longest pause
# A sleep may end this much early: a float of seconds since 1970 is exact to a quarter of a microsecond.
_TOLERANCE = 1e-6


def pause_after(failures: int) -> float:
    """Seconds until the next attempt after so many failures in a row."""
    return min(_FIRST_PAUSE * 2.0 ** min(failures - 1, _ENOUGH_DOUBLINGS), _LONGEST_PAUSE)


@dataclass(frozen=True, slots=True)
class SetAside:
    failures: int
    until: float


class Quarantine(Generic[K]):
    def __init__(self) -> None:
        self._aside: dict[K, SetAside] = {}

    def __contains__(self, key: K) -> bool:
        return key in self._aside

    def set_aside(self, key: K, now: float) -> SetAside:
        """After a further failure."""
        before = self._aside.get(key)
        failures = before.failures + 1 if before is not None else 1
        self._aside[key] = aside = SetAside(failures, now + pause_after(failures))
        return aside

    def release(self, key: K) -> None:
        self._aside.pop(key, None)

    def due(self, now: float) -> list[K]:
        """The keys to retry; each stays set aside until it is released."""
        return [key for key, aside in self._aside.items() if aside.until <= now + _TOLERANCE]

    def next_at(self) -> float | None:
        return min((aside.until for aside in self._aside.values()), default=None)

    def shift(self, seconds: float) -> None:
        """The clock was put back."""
        self._aside = {key: SetAside(a.failures, a.until + seconds) for key, a in self._aside.items()}
