"""How fast requests may follow one another, and how long to wait after a failure. Time is an argument."""

from dataclasses import dataclass
from math import inf
from zlib import crc32


class TokenBucket:
    """``burst`` requests at once, and then ``rate`` a second; a rate of nothing, or less, is no limit."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(max(burst, 1))
        self._tokens = self._burst
        self._filled_at = 0.0

    def take(self, now: float, longest: float = inf) -> float:
        """Takes the next turn; says in how many seconds it comes.

        If that is later than in ``longest`` seconds, nobody waits for it, and it is left to others.
        """
        start = max(now, self._filled_at)
        if self._rate <= 0:
            return start - now
        grown = (start - self._filled_at) * self._rate
        tokens = min(self._burst, self._tokens + grown) - 1
        pause = start - now + max(0.0, -tokens / self._rate)
        if pause <= longest:
            self._tokens, self._filled_at = tokens, start
        return pause

    def rest(self, until: float) -> None:
        """No turn comes before then. Afterwards there is no burst: it would be too much at once again."""
        self._tokens = min(self._tokens, 1.0)
        self._filled_at = max(self._filled_at, until)


@dataclass(frozen=True, slots=True)
class RetryBackoff:
    """Pauses that double. Whoever fails at the same moment as others must not come back together with them:
    the pauses of each are stretched by a part of their own, which follows from the name."""

    name: str
    first: float = 0.8
    longest: float = 30.0

    def after(self, failures: int) -> float:
        """How long to wait after so many failures in a row."""
        return spread(self.name, min(self.first * 2.0 ** min(max(failures - 1, 0), 16), self.longest))


def spread(name: str, seconds: float) -> float:
    """Between once and one and a half times as long."""
    return seconds * (1 + crc32(name.encode()) % 1000 / 2000)
