"""The queue: which demand is next, which waits for what, and when it may come back."""

import pytest
from tests.unit.scheduler.making import a_key as key

from reprieve.model.events import Change
from reprieve.model.moment import Due, Moment, on_one_clock
from reprieve.scheduler.queue.queue import DEFAULT_BACKOFF, Queue, Standing
from reprieve.supervision.backoff import Backoff

ROOM = frozenset({Change.POD_LEFT, Change.NODE_ADDED})
LABELS = frozenset({Change.NODE_LABELS})


def queue_of(*names: str, backoff: Backoff | None = None) -> Queue:
    """All came at time zero, with the same priority."""
    queue = Queue(backoff or DEFAULT_BACKOFF)
    for name in names:
        queue.add(key(name), 0, 0.0)
    return queue


def popped(queue: Queue, now: float) -> list[str]:
    """All demands that are due, in order."""
    names = []
    while (found := queue.pop(on_one_clock(now))) is not None:
        names.append(found.name)
    return names


# --- which is next -------------------------------------------------------------------------------


def test_the_more_important_comes_first_then_what_came_first_then_the_name() -> None:
    queue = Queue()
    queue.add(key("late"), 5, 2.0)
    queue.add(key("b"), 5, 1.0)
    queue.add(key("a"), 5, 1.0)
    queue.add(key("small"), -1, 0.0)
    queue.add(key("large"), 9, 3.0)
    assert popped(queue, 3.0) == ["large", "a", "b", "late", "small"]


def test_no_pod_is_next_in_an_empty_line() -> None:
    assert Queue().pop(on_one_clock(0.0)) is None
    assert Queue().next_time() is None


def test_a_pod_that_is_being_decided_is_not_handed_out_again() -> None:
    queue = queue_of("p")
    assert popped(queue, 0.0) == ["p"]
    assert queue.standing(key("p")) is Standing.DECIDING
    assert popped(queue, 1000.0) == []


def test_a_new_priority_counts_at_once() -> None:
    queue = queue_of("a", "b")
    queue.add(key("b"), 7, 1.0)
    assert popped(queue, 1.0) == ["b", "a"]


def test_a_pod_that_was_removed_is_not_next() -> None:
    queue = queue_of("a", "b")
    queue.remove(key("a"))
    queue.remove(key("never-there"))
    assert popped(queue, 0.0) == ["b"]
    assert key("a") not in queue
    assert key("b") in queue


def test_a_pod_that_was_removed_and_came_again_is_handed_out_once() -> None:
    queue = queue_of("a")
    queue.remove(key("a"))
    queue.add(key("a"), 0, 1.0)
    assert popped(queue, 1.0) == ["a"]


def test_a_pod_that_failed_stands_behind_those_that_have_not() -> None:
    queue = queue_of("a", "b")
    assert queue.pop(on_one_clock(0.0)) == key("a")
    queue.retry(key("a"), 0.5)
    assert popped(queue, 60.0) == ["b", "a"]


# --- backoff -------------------------------------------------------------------------------------


def test_pauses_double_from_one_second_to_ten() -> None:
    queue, now, pauses = queue_of("p"), 0.0, []
    for _ in range(7):
        assert queue.pop(on_one_clock(now)) == key("p")
        queue.retry(key("p"), now)
        back = queue.next_time()
        assert back is not None
        assert queue.pop(on_one_clock(back - 0.001)) is None
        pauses.append(back - now)
        now = back
    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0, 10.0]


def test_no_pod_is_woken_out_of_a_backoff() -> None:
    queue = queue_of("p")
    queue.pop(on_one_clock(0.0))
    queue.retry(key("p"), 0.0)
    queue.wake(Change.POD_LEFT, 0.5)
    assert popped(queue, 0.9) == []
    assert popped(queue, 1.0) == ["p"]


# --- waiting -------------------------------------------------------------------------------------


def waiting(waits_for: frozenset[Change] = ROOM) -> Queue:
    """One that did not fit at time zero, and may come back from the first second on."""
    queue = queue_of("p")
    queue.pop(on_one_clock(0.0))
    queue.wait(key("p"), waits_for, 0.0)
    return queue


def test_a_pod_that_does_not_fit_waits() -> None:
    queue = waiting()
    assert queue.standing(key("p")) is Standing.WAITING
    assert popped(queue, 299.0) == []


def test_a_change_that_helps_wakes() -> None:
    queue = waiting()
    queue.wake(Change.POD_LEFT, 5.0)
    assert popped(queue, 5.0) == ["p"]


def test_a_change_that_does_not_help_lets_sleep() -> None:
    queue = waiting()
    queue.wake(Change.NODE_LABELS, 5.0)
    assert popped(queue, 5.0) == []


def test_a_pod_that_is_woken_too_early_waits_for_the_end_of_the_backoff() -> None:
    queue = waiting()
    queue.wake(Change.POD_LEFT, 0.25)
    assert queue.standing(key("p")) is Standing.BACKOFF
    assert queue.next_time() == 1.0
    assert popped(queue, 1.0) == ["p"]


def test_a_change_wakes_all_it_may_help_and_no_other() -> None:
    queue = queue_of("a", "b", "c", "d")
    for name, waits_for in (("a", ROOM), ("b", LABELS), ("c", ROOM | LABELS), ("d", ROOM)):
        queue.pop(on_one_clock(0.0))
        queue.wait(key(name), waits_for, 0.0)
    queue.wake(Change.NODE_LABELS, 5.0)
    assert popped(queue, 5.0) == ["b", "c"]
    queue.wake(Change.POD_LEFT, 6.0)
    assert popped(queue, 6.0) == ["a", "d"]


def test_some_can_be_left_asleep() -> None:
    queue = queue_of("a", "b")
    for name in ("a", "b"):
        queue.pop(on_one_clock(0.0))
        queue.wait(key(name), ROOM, 0.0)
    queue.wake(Change.POD_LEFT, 5.0, but={key("a")})
    assert popped(queue, 5.0) == ["b"]


def test_a_pod_that_asks_differently_while_waiting_is_next_at_once() -> None:
    queue = waiting()
    queue.add(key("p"), 0, 0.1)
    assert popped(queue, 0.1) == ["p"]


def test_no_pod_waits_longer_than_five_minutes() -> None:
    queue = waiting()
    assert queue.next_time() == 300.0
    assert popped(queue, 299.9) == []
    assert popped(queue, 300.0) == ["p"]


def test_the_five_minutes_start_anew_with_every_wait() -> None:
    queue = waiting()
    queue.wake(Change.POD_LEFT, 200.0)
    queue.pop(on_one_clock(200.0))
    queue.wait(key("p"), ROOM, 200.0)
    assert popped(queue, 300.0) == []
    assert popped(queue, 500.0) == ["p"]


def test_a_pod_that_is_removed_while_waiting_is_not_woken() -> None:
    queue = waiting()
    queue.remove(key("p"))
    queue.wake(Change.POD_LEFT, 5.0)
    assert popped(queue, 1000.0) == []
    assert queue.next_time() is None


def test_what_is_said_of_a_pod_that_left_is_ignored() -> None:
    queue = Queue()
    queue.wait(key("p"), ROOM, 0.0)
    queue.retry(key("p"), 0.0)
    queue.hold(key("p"))
    queue.again(key("p"), 0.0)
    queue.gate(key("p"))
    queue.let_wait(key("p"), 0.0)
    assert key("p") not in queue


# --- gates ---------------------------------------------------------------------------------------


def test_a_gate_holds_until_it_is_opened() -> None:
    queue = Queue()
    queue.add(key("p"), 0, 0.0, gated=True)
    queue.wake(Change.NODE_ADDED, 1.0)
    assert popped(queue, 1000.0) == []
    queue.add(key("p"), 0, 1000.0)
    assert popped(queue, 1000.0) == ["p"]


@pytest.mark.parametrize("moment", ["active", "waiting", "backoff"])
def test_a_gate_closes_behind_any(moment: str) -> None:
    queue = queue_of("p")
    if moment != "active":
        queue.pop(on_one_clock(0.0))
    if moment == "waiting":
        queue.wait(key("p"), ROOM, 0.0)
    if moment == "backoff":
        queue.retry(key("p"), 0.0)
    queue.add(key("p"), 0, 0.0, gated=True)
    queue.wake(Change.POD_LEFT, 5.0)
    assert popped(queue, 1000.0) == []


def test_a_pod_that_is_held_comes_back_where_it_stood() -> None:
    queue = queue_of("p")
    queue.hold(key("p"))
    queue.add(key("later"), 0, 1.0)
    assert popped(queue, 1.0) == ["later"]
    queue.again(key("p"), 0.0)
    assert popped(queue, 1.0) == ["p"]


def held() -> Queue:
    """One that did not fit at time zero, and is held since."""
    queue = waiting()
    queue.hold(key("p"))
    return queue


def test_nothing_wakes_what_is_held() -> None:
    queue = held()
    queue.wake(Change.POD_LEFT, 5.0)
    queue.add(key("p"), 7, 5.0)
    queue.retry(key("p"), 5.0)
    assert popped(queue, 1000.0) == []
    assert queue.standing(key("p")) is Standing.HELD


def test_a_pod_that_is_held_can_be_let_wait() -> None:
    queue = held()
    queue.let_wait(key("p"), 0.0)
    assert popped(queue, 5.0) == []
    queue.wake(Change.POD_LEFT, 5.0)
    assert popped(queue, 5.0) == ["p"]


def test_what_happened_while_it_was_held_wakes_what_is_let_wait() -> None:
    queue = held()
    queue.wake(Change.POD_LEFT, 2.0)
    queue.let_wait(key("p"), 5.0)
    assert popped(queue, 5.0) == ["p"]


@pytest.mark.parametrize("change", [Change.NODE_LABELS, Change.POD_LEFT])
def test_what_does_not_concern_what_is_held_lets_it_wait(change: Change) -> None:
    queue = held()
    queue.wake(change, 2.0, but={key("p")} if change is Change.POD_LEFT else ())
    queue.let_wait(key("p"), 5.0)
    assert popped(queue, 5.0) == []


def test_what_happened_before_it_was_held_does_not_count() -> None:
    queue = held()
    queue.wake(Change.POD_LEFT, 2.0)
    queue.let_wait(key("p"), 5.0)
    assert queue.pop(on_one_clock(5.0)) == key("p")
    queue.wait(key("p"), ROOM, 5.0)
    queue.hold(key("p"))
    assert not queue.has_missed(key("p"))


def test_a_pod_that_asks_differently_while_it_is_held_gets_another_look() -> None:
    queue = held()
    queue.add(key("p"), 7, 2.0)
    queue.let_wait(key("p"), 5.0)
    assert popped(queue, 5.0) == ["p"]


def test_only_that_is_held_is_let_wait() -> None:
    queue = queue_of("p")
    queue.let_wait(key("p"), 0.0)
    assert popped(queue, 0.0) == ["p"]


def test_a_gate_closes_behind_what_is_held() -> None:
    queue = held()
    queue.add(key("p"), 0, 2.0, gated=True)
    queue.let_wait(key("p"), 5.0)
    assert queue.standing(key("p")) is Standing.GATED


def test_several_mishaps_in_a_row_are_one_failure() -> None:
    queue = queue_of("p")
    queue.pop(on_one_clock(0.0))
    for _ in range(5):
        queue.retry(key("p"), 0.0)
    assert popped(queue, 1.0) == ["p"]


# --- keeping order -------------------------------------------------------------------------------


def test_where_each_stands() -> None:
    queue = queue_of("active", "backoff", "waiting", "held", "deciding")
    for _ in range(5):
        queue.pop(on_one_clock(0.0))
    queue.add(key("gated"), 0, 0.0, gated=True)
    queue.retry(key("backoff"), 0.0)
    queue.wait(key("waiting"), ROOM, 0.0)
    queue.hold(key("held"))
    queue.again(key("active"), 0.0)
    names = {"waiting": Standing.WAITING, **{one.value: one for one in Standing}}
    for name in ("active", "backoff", "waiting", "held", "deciding", "gated"):
        assert queue.standing(key(name)) is names[name]


def test_stale_entries_do_not_pile_up() -> None:
    """A demand is woken again and again: what that leaves behind is gone when its time is over."""
    queue, now = queue_of("p"), 0.0
    for _ in range(1000):
        assert queue.pop(on_one_clock(now)) == key("p")
        queue.wait(key("p"), ROOM, now)
        now += 10.0
        queue.wake(Change.POD_LEFT, now)
    queue.remove(key("p"))
    assert popped(queue, now + 1000.0) == []
    assert (queue._active, queue._timed, queue._waiting, queue._held) == ([], [], {}, set())


# --- moments -------------------------------------------------------------------------------------

TOLERATED = frozenset({Change.TOLERATIONS})


def waiting_until(due: Due, backoff: Backoff | None = None) -> Queue:
    """A demand that failed at time zero, and expects something at a moment."""
    queue = queue_of("p", backoff=backoff)
    popped(queue, 0.0)
    queue.wait(key("p"), ROOM, 0.0)
    queue.expect(key("p"), TOLERATED, due, 0.0)
    return queue


def test_a_moment_that_is_expected_wakes() -> None:
    queue = waiting_until(Due(42.0))
    assert queue.next_time() == 42.0
    assert popped(queue, 41.999) == []
    assert popped(queue, 42.0) == ["p"]


def test_a_moment_comes_before_the_end_of_a_backoff() -> None:
    queue = waiting_until(Due(3.0), Backoff(10.0, 10.0))
    assert popped(queue, 2.999) == []
    assert popped(queue, 3.0) == ["p"]


def test_a_pod_that_is_woken_before_a_moment_backs_off_no_longer_than_that() -> None:
    queue = waiting_until(Due(3.0), Backoff(10.0, 10.0))
    queue.wake(Change.POD_LEFT, 1.0)
    assert queue.standing(key("p")) is Standing.BACKOFF
    assert queue.next_time() == 3.0
    assert popped(queue, 3.0) == ["p"]


@pytest.mark.parametrize("change", [Change.POD_LEFT, Change.TOLERATIONS])
def test_what_was_waited_for_before_wakes_as_well_as_what_was_added(change: Change) -> None:
    queue = waiting_until(Due())
    queue.wake(change, 5.0)
    assert popped(queue, 5.0) == ["p"]


def test_no_backoff_delays_what_wakes_at_once() -> None:
    queue = waiting_until(Due(), Backoff(10.0, 10.0))
    queue.wake(Change.POD_LEFT, 1.0)
    assert popped(queue, 1.0) == []
    queue.wake(Change.TOLERATIONS, 1.0)
    assert popped(queue, 1.0) == ["p"]


def test_a_pod_that_is_not_in_line_expects_nothing() -> None:
    queue = Queue()
    queue.expect(key("p"), TOLERATED, Due(3.0), 0.0)
    assert queue.next_time() is None


# --- times of day --------------------------------------------------------------------------------


def at(wall: float, elapsed: float) -> Moment:
    return Moment(1000.0 + wall, elapsed)


def dated(backoff: Backoff = DEFAULT_BACKOFF) -> Queue:
    """A demand that failed at time zero, and expects something 42 seconds later, as clocks go then."""
    return waiting_until(Due(wall=1042.0), backoff)


def test_a_time_of_day_wakes() -> None:
    queue = dated()
    assert (queue.next_date(), queue.next_time()) == (1042.0, 300.0)
    assert queue.pop(at(41.9, 41.9)) is None
    assert queue.pop(at(42.0, 42.0)) == key("p")


def test_it_wakes_as_soon_as_the_clock_is_set_forward() -> None:
    queue = dated()
    assert queue.pop(at(3600.0, 5.0)) == key("p")


def test_it_does_not_wake_before_a_clock_that_was_set_back_shows_it() -> None:
    queue = dated()
    assert queue.pop(at(-8.0, 42.0)) is None
    assert queue.next_date() == 1042.0
    assert queue.pop(at(41.0, 91.0)) is None
    assert queue.pop(at(42.0, 92.0)) == key("p")


def test_no_time_of_day_makes_it_wait_for_more_than_five_minutes() -> None:
    queue = dated()
    assert queue.pop(at(-3600.0, 300.0)) == key("p")


def test_a_backoff_ends_at_a_time_of_day_at_the_latest() -> None:
    queue = dated(Backoff(100.0, 100.0))
    queue.wake(Change.POD_LEFT, 1.0)
    assert queue.pop(at(41.0, 41.0)) is None
    assert queue.pop(at(42.0, 41.5)) == key("p")


def test_a_clock_that_is_set_ends_no_backoff() -> None:
    queue = queue_of("p")
    popped(queue, 0.0)
    queue.retry(key("p"), 0.0)
    assert queue.pop(at(3600.0, 0.9)) is None
    assert queue.pop(at(-3600.0, 1.0)) == key("p")


def test_what_is_expected_sooner_than_at_first_ends_a_backoff() -> None:
    queue = waiting_until(Due(), Backoff(100.0, 100.0))
    queue.wake(Change.POD_LEFT, 1.0)
    queue.hasten(Change.TOLERATIONS, 1042.0)
    assert queue.pop(at(41.0, 41.0)) is None
    assert queue.pop(at(42.0, 42.0)) == key("p")
