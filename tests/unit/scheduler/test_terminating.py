"""Who should be gone soon, and who takes too long."""

import pytest

from reprieve.scheduler.terminating import TerminatingPods
from tests.unit.scheduler.making import a_pod, target

OLD = target(a_pod("old"))


def test_who_does_not_go_in_time_is_stuck_and_told_of_once() -> None:
    departures = TerminatingPods(patience=300.0)
    departures.begin(OLD, 0.0)
    assert departures.next_time() == 300.0
    assert (departures.overdue(299.9), departures.stuck) == ([], frozenset())
    assert (departures.overdue(300.0), departures.stuck) == ([OLD], frozenset({OLD}))
    assert (departures.overdue(400.0), departures.next_time()) == ([], None)


def test_being_asked_again_makes_it_no_later() -> None:
    departures = TerminatingPods(patience=300.0)
    for now in (0.0, 200.0):
        departures.begin(OLD, now)
    assert departures.next_time() == 300.0


def test_nobody_is_stuck_before_his_own_grace_is_over() -> None:
    departures = TerminatingPods(patience=300.0)
    departures.begin(OLD, 0.0)
    departures.begin(OLD, 1.0, grace=600.0)
    departures.begin(OLD, 2.0)
    assert departures.next_time() == 600.0


def test_who_is_gone_or_stays_is_not_stuck() -> None:
    departures = TerminatingPods(patience=300.0)
    departures.begin(OLD, 0.0)
    departures.overdue(300.0)
    departures.end(OLD)
    assert (departures.stuck, departures.next_time(), OLD in departures) == (frozenset(), None, False)
    departures.begin(OLD, 400.0)
    assert departures.next_time() == 700.0


def test_a_clock_that_is_put_back_changes_no_patience() -> None:
    departures = TerminatingPods(patience=300.0)
    departures.begin(OLD, 1000.0)
    departures.shift(-500.0)
    assert departures.next_time() == 800.0
    departures.begin(OLD, 600.0, grace=400.0)
    assert departures.next_time() == 900.0


def test_who_was_asked_long_before_we_came_has_a_minute_left() -> None:
    departures = TerminatingPods(patience=300.0)
    departures.begin(OLD, 1000.0, asked=600.0)
    assert departures.next_time() == 1060.0
    departures.begin(OLD, 1010.0, grace=30.0)
    assert departures.next_time() == 1060.0


@pytest.mark.parametrize(("asked", "due"), [(900.0, 1200.0), (5000.0, 1300.0)])
def test_who_was_asked_a_while_ago_has_the_rest_of_his_time(asked: float, due: float) -> None:
    """A clock that is ahead of ours gives nobody more time."""
    departures = TerminatingPods(patience=300.0)
    departures.begin(OLD, 1000.0, asked=asked)
    assert departures.next_time() == due


def test_of_one_whom_we_saw_before_our_own_clock_counts() -> None:
    departures = TerminatingPods(patience=300.0)
    departures.begin(OLD, 1000.0)
    departures.begin(OLD, 1001.0, asked=100.0)
    assert departures.next_time() == 1300.0
