"""Terminating pods: which should be gone soon, and which are stuck."""

import pytest
from tests.unit.scheduler.making import a_pod, target

from reprieve.scheduler.ledger.terminating import TerminatingPods

OLD = target(a_pod("old"))


def test_a_pod_that_is_not_gone_in_time_is_stuck_and_reported_once() -> None:
    pods = TerminatingPods(patience=300.0)
    pods.begin(OLD, 0.0)
    assert pods.next_time() == 300.0
    assert (pods.overdue(299.9), pods.stuck) == ([], frozenset())
    assert (pods.overdue(300.0), pods.stuck) == ([OLD], frozenset({OLD}))
    assert (pods.overdue(400.0), pods.next_time()) == ([], None)


def test_a_second_eviction_makes_it_no_later() -> None:
    pods = TerminatingPods(patience=300.0)
    for now in (0.0, 200.0):
        pods.begin(OLD, now)
    assert pods.next_time() == 300.0


def test_a_pod_that_is_gone_or_stays_is_not_stuck() -> None:
    pods = TerminatingPods(patience=300.0)
    pods.begin(OLD, 0.0)
    pods.overdue(300.0)
    pods.end(OLD)
    assert (pods.stuck, pods.next_time(), OLD in pods) == (frozenset(), None, False)
    pods.begin(OLD, 400.0)
    assert pods.next_time() == 700.0


def test_a_pod_that_was_deleted_long_before_its_first_sight_has_a_minute_left() -> None:
    pods = TerminatingPods(patience=300.0)
    pods.begin(OLD, 1000.0, asked=600.0)
    assert pods.next_time() == 1060.0
    pods.begin(OLD, 1010.0)
    assert pods.next_time() == 1060.0


@pytest.mark.parametrize(("asked", "due"), [(900.0, 1200.0), (5000.0, 1300.0)])
def test_a_pod_that_was_deleted_a_while_ago_has_the_rest_of_its_time(asked: float, due: float) -> None:
    """A clock that is ahead of ours gives no pod more time."""
    pods = TerminatingPods(patience=300.0)
    pods.begin(OLD, 1000.0, asked=asked)
    assert pods.next_time() == due


def test_of_a_pod_that_was_seen_before_our_own_clock_counts() -> None:
    pods = TerminatingPods(patience=300.0)
    pods.begin(OLD, 1000.0)
    pods.begin(OLD, 1001.0, asked=100.0)
    assert pods.next_time() == 1300.0
