"""Promises: to one very pod, in one state at a time, due at most once."""

from dataclasses import replace

from reprieve.model.effects import Bind, Target
from reprieve.scheduler.ledger import Assumed, Ledger, Promise

POD = Target("Pod", "default", "p", "uid-1")
NAMESAKE = Target("Pod", "default", "p", "uid-2")
SENT = Assumed(POD, "n1", Promise.SENT)


def ledger_with(*promises: Assumed) -> Ledger:
    ledger = Ledger()
    for assumed in promises:
        ledger.promise(assumed)
    return ledger


def test_a_promise_stands_until_it_is_settled() -> None:
    ledger = ledger_with(SENT)
    assert ledger.of(POD) == SENT
    assert list(ledger) == [SENT]
    assert ledger.settle(POD) == SENT
    assert len(ledger) == 0
    assert ledger.settle(POD) is None


def test_a_namesake_was_promised_nothing() -> None:
    ledger = ledger_with(SENT)
    assert ledger.of(NAMESAKE) is None
    assert ledger.settle(NAMESAKE) is None
    assert len(ledger) == 1


def test_a_promise_knows_how_it_is_kept() -> None:
    assert SENT.bind == Bind(POD, "n1")


def test_a_new_state_takes_the_place_of_the_old() -> None:
    ledger = ledger_with(SENT, replace(SENT, state=Promise.UNKNOWN, due=10.0))
    assert [assumed.state for assumed in ledger] == [Promise.UNKNOWN]


def test_a_promise_without_a_time_is_never_overdue() -> None:
    ledger = ledger_with(SENT)
    assert ledger.next_time() is None
    assert list(ledger.overdue(1e9)) == []


def test_a_promise_is_overdue_once() -> None:
    unknown = replace(SENT, state=Promise.UNKNOWN, due=10.0)
    ledger = ledger_with(unknown)
    assert ledger.next_time() == 10.0
    assert list(ledger.overdue(9.9)) == []
    assert list(ledger.overdue(10.0)) == [unknown]
    assert list(ledger.overdue(10.0)) == []


def test_promises_are_overdue_in_the_order_of_their_times() -> None:
    early, late = (
        replace(SENT, pod=replace(POD, name=name), due=due) for name, due in (("a", 5.0), ("b", 9.0))
    )
    ledger = ledger_with(late, early)
    assert list(ledger.overdue(20.0)) == [early, late]


def test_only_the_newest_time_counts() -> None:
    ledger = ledger_with(replace(SENT, due=5.0), replace(SENT, due=50.0))
    assert ledger.next_time() == 50.0
    assert list(ledger.overdue(49.0)) == []


def test_a_time_that_was_taken_back_is_forgotten() -> None:
    ledger = ledger_with(replace(SENT, due=5.0), SENT)
    assert ledger.next_time() is None


def test_a_settled_promise_is_never_overdue() -> None:
    ledger = ledger_with(replace(SENT, due=5.0))
    ledger.settle(POD)
    assert list(ledger.overdue(6.0)) == []


def test_the_same_time_twice_is_one_time() -> None:
    promise = replace(SENT, state=Promise.PREPARING, due=5.0)
    ledger = ledger_with(promise, replace(promise, shown=frozenset()))
    assert len(list(ledger.overdue(5.0))) == 1
