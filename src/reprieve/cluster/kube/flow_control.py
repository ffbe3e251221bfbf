"""The client's rate limiter, backoff between retries, and pauses between reads. Time is an argument."""

from dataclasses import dataclass
from math import inf
from zlib import crc32

_CLOSE_SECONDS = 0.005  # messages that come within this time follow one another closely
_PAUSE_GROWTH = 0.001
_LONGEST_PAUSE = 0.02
_SMALL_READ = 32 * 1024  # bytes


class TokenBucket:
    """``burst`` requests at once, then ``rate`` per second; a rate of 0 or less means no limit."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(max(burst, 1))
        self._tokens = self._burst
        self._filled_at = 0.0

    def take(self, now: float, longest: float = inf) -> float:
        """Takes a token; returns in how many seconds it is available.

        If that is more than ``longest`` seconds, no token is taken: the caller gives up.
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
        """No token before then, and no burst after it: the server has just said that it is overloaded."""
        self._tokens = min(self._tokens, 1.0)
        self._filled_at = max(self._filled_at, until)


@dataclass(frozen=True, slots=True)
class RetryBackoff:
    """Exponential backoff. Its jitter follows from the name, so that those that fail together do not retry
    together, and a simulation still repeats exactly."""

    name: str
    first: float = 0.8
    longest: float = 30.0

    def after(self, failures: int) -> float:
        """How long to wait after so many failures in a row."""
        return spread(self.name, min(self.first * 2.0 ** min(max(failures - 1, 0), 16), self.longest))


class ReadPause:
    """For how long a stream of small messages is left unread after a read.

    Every wake-up of the event loop costs more than the message that causes it. So while messages follow one
    another closely, they are left to arrive and are read together; the pause grows with every such read. A
    message that was waited for ends it: on a quiet stream every message is read at once.
    """

    def __init__(self) -> None:
        self._seconds = 0.0

    def after(self, waited: float, size: int) -> float:
        """The pause after a read of so many bytes that came after so many seconds."""
        if waited >= _CLOSE_SECONDS:
            self._seconds = 0.0
        elif size < _SMALL_READ:
            self._seconds = min(self._seconds + _PAUSE_GROWTH, _LONGEST_PAUSE)
        else:
            return 0.0  # enough arrives without a pause, as in a list; a pause would only delay it
        return self._seconds


def spread(name: str, seconds: float) -> float:
    """With jitter: 1 to 1.5 times as long, depending on the name."""
    return seconds * (1 + crc32(name.encode()) % 1000 / 2000)
