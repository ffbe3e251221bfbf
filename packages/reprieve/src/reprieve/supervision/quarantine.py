"""Which objects are set aside after an unexpected exception, and when each of them is retried.

Times are arguments.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from reprieve.supervision.backoff import Backoff

K = TypeVar("K", bound=Hashable)

PAUSES = Backoff(first=1.0, longest=300.0)  # of whatever failed with an unexpected exception
# A sleep may end this much early: a float of seconds since 1970 is exact to a quarter of a microsecond.
_TOLERANCE = 1e-6


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
        self._aside[key] = aside = SetAside(failures, now + PAUSES.after(failures))
        return aside

    def release(self, key: K) -> None:
        self._aside.pop(key, None)

    def due(self, now: float) -> list[K]:
        """The keys to retry; each stays set aside until it is released."""
        return [key for key, aside in self._aside.items() if aside.until <= now + _TOLERANCE]

    def next_at(self) -> float | None:
        return min((aside.until for aside in self._aside.values()), default=None)
