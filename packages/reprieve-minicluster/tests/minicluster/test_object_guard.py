"""An object whose work fails is logged, reported and retried; the work on others goes on."""

import logging

import pytest

from reprieve.supervision.quarantine import SetAside
from reprieve_minicluster.control.object_guard import Guard


class StorageLostError(Exception):
    pass


class Workshop:
    """A guard with a clock that is set by hand, and work that fails for some names."""

    def __init__(self) -> None:
        self.now = 0.0
        self.failing: set[str] = set()
        self.done: list[str] = []
        self.reported: list[tuple[str, str, SetAside]] = []
        self.guard: Guard[str] = Guard("workshop", lambda: self.now, self._report, (StorageLostError,))

    def _report(self, name: str, error: Exception, aside: SetAside) -> None:
        self.reported.append((name, str(error), aside))

    def work(self, name: str, what: str = "", *, at_once: bool = False) -> None:
        def act() -> None:
            if name in self.failing:
                raise ValueError(f"no {name}")
            self.done.append(what or name)

        self.guard.run(name, act, at_once=at_once)


def test_others_go_on(mishaps: list[logging.LogRecord]) -> None:
    shop = Workshop()
    shop.failing = {"b"}
    for name in "abc":
        shop.work(name)
    assert shop.done == ["a", "c"]
    assert shop.reported == [("b", "no b", SetAside(1, 1.0))]
    (record,) = mishaps
    assert record.getMessage() == "workshop: b failed: ValueError: no b; retrying in 1 s"
    assert record.exc_info is not None


@pytest.mark.usefixtures("mishaps")
def test_it_is_retried_ever_more_slowly_and_then_as_ever() -> None:
    shop = Workshop()
    shop.failing = {"a"}
    shop.work("a")
    moments: list[float] = []
    while (at := shop.guard.next_at()) is not None and len(moments) < 5:
        moments.append(at)
        shop.now = at - 0.01
        shop.guard.retry_due()
        shop.now = at
        shop.guard.retry_due()
    assert moments == [1, 3, 7, 15, 31]
    shop.failing.clear()
    shop.now = shop.guard.next_at() or 0.0
    shop.guard.retry_due()
    assert (shop.done, shop.guard.next_at()) == (["a"], None)
    shop.failing = {"a"}
    shop.work("a")
    assert shop.reported[-1][2] == SetAside(1, shop.now + 1)


@pytest.mark.usefixtures("mishaps")
def test_of_what_comes_meanwhile_the_latest_is_done() -> None:
    shop = Workshop()
    shop.failing = {"a"}
    shop.work("a", "first")
    shop.failing.clear()
    shop.work("a", "second")
    shop.work("a", "third")
    assert shop.done == []
    shop.now = 1.0
    shop.guard.retry_due()
    assert shop.done == ["third"]


@pytest.mark.usefixtures("mishaps")
def test_what_makes_it_obsolete_is_done_at_once() -> None:
    shop = Workshop()
    shop.failing = {"a"}
    shop.work("a", "changed")
    shop.failing.clear()
    shop.work("a", "deleted", at_once=True)
    assert (shop.done, shop.guard.next_at()) == (["deleted"], None)


def test_what_concerns_everything_is_passed_on() -> None:
    shop = Workshop()

    def lose() -> None:
        raise StorageLostError

    with pytest.raises(StorageLostError):
        shop.guard.run("a", lose)
    assert shop.guard.next_at() is None
