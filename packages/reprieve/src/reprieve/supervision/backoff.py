"""How long to wait after so many failures in a row?"""

from dataclasses import dataclass
from zlib import crc32

_ENOUGH_DOUBLINGS = 64  # to reach any limit; a thousand would be too large a number


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds after the first failure that counts, twice as many after each further one, up to the longest.

    ``harmless``: failures in a row that cost no time, as they may be chance.
    ``jitter``: the part by which every pause is longer, see ``jitter_of``.
    """

    first: float
    longest: float
    harmless: int = 0
    jitter: float = 0.0

    def after(self, failures: int) -> float:
        """How long to wait after so many failures in a row; ``longest`` is without the jitter."""
        counted = failures - self.harmless
        if counted <= 0:
            return 0.0
        return min(self.first * 2.0 ** min(counted - 1, _ENOUGH_DOUBLINGS), self.longest) * (1 + self.jitter)


def jitter_of(name: str) -> float:
    """Between 0 and 0.5. It follows from the name, so that those that fail together do not retry together,
    and a simulation still repeats exactly."""
    return crc32(name.encode()) % 1000 / 2000
