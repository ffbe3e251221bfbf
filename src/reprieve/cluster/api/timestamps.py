"""How does the API write times? In UTC, with whole seconds, or microseconds for events and leases."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

Clock = Callable[[], float]


def stamp(moment: float) -> str:
    """Truncated to the second, as Kubernetes writes times."""
    return _whole_second(int(moment))


@lru_cache(maxsize=1024)
def _whole_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
