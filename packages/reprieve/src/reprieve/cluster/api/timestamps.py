"""How does the API write times? In UTC, with whole seconds, or microseconds for events and leases.

The years 1000 to 9999 can be written; a moment before or after is written as their first or last second.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

Clock = Callable[[], float]
_FIRST_MOMENT, _LAST_MOMENT = -30_610_224_000, 253_402_300_799


def stamp(moment: float) -> str:
    """Truncated to the second, as Kubernetes writes times."""
    return _whole_second(int(_writable(moment)))


@lru_cache(maxsize=1024)
def _whole_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(moment: float) -> str:
    return datetime.fromtimestamp(_writable(moment), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _writable(moment: float) -> float:
    return min(max(moment, _FIRST_MOMENT), _LAST_MOMENT)


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
