"""Pauses double up to a limit."""

from reprieve.supervision.backoff import Backoff, jitter_of
from reprieve.supervision.quarantine import PAUSES


def test_pauses_double_up_to_the_longest() -> None:
    pauses = Backoff(first=1.0, longest=10.0)
    assert [pauses.after(failures) for failures in range(7)] == [0, 1, 2, 4, 8, 10, 10]
    assert Backoff(first=1.0, longest=1e9).after(5000) == 1e9


def test_failures_that_may_be_chance_cost_no_time() -> None:
    pauses = Backoff(first=30.0, longest=3600.0, harmless=2)
    assert [pauses.after(failures) for failures in range(5)] == [0, 0, 0, 30, 60]


def test_jitter_follows_from_the_name() -> None:
    jitters = [jitter_of(name) for name in ("Pod", "Node", "Service")]
    assert len(set(jitters)) == 3
    assert all(0 <= jitter < 0.5 for jitter in jitters)
    assert Backoff(first=1.0, longest=10.0, jitter=0.25).after(2) == 2.5
    assert Backoff(first=1.0, longest=10.0, jitter=0.25).after(10_000) == 12.5


def test_after_unexpected_exceptions_no_pause_is_longer_than_five_minutes() -> None:
    assert [PAUSES.after(failures) for failures in (1, 2, 9, 10, 10_000)] == [1, 2, 256, 300, 300]
