"""Which examples hypothesis tries, how long a test may take, and that none passes over a contained exception.

`make test` tries the same few examples on every run, `make soak` as many new ones as it is allowed.
"""

import logging
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from reprieve.scheduler.set_aside import SchedulerFailure

settings.register_profile(
    "default",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    # A busy machine makes drawing slow, which says nothing about the code.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak",
    settings.get_profile("default"),
    derandomize=False,
    max_examples=3000,
    print_blob=True,
)
settings.load_profile("default")


# The slowest takes a tenth of that on two cores; whatever waits longer for a process waits for ever.
_DEADLINE_SECONDS = 600


def pytest_configure() -> None:
    """A job in the background starts with SIGINT ignored, and so would all processes that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Every wait has a deadline, also one that blocks the interpreter."""

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"{item.nodeid} has not ended within {_DEADLINE_SECONDS} s")

    if settings().derandomize:  # a soak tries more examples than could be done by then
        signal.signal(signal.SIGALRM, expire)
        signal.alarm(_DEADLINE_SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)


class _Collecting(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(autouse=True)
def _contained(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[logging.LogRecord]]:
    """Supervision logs an unexpected exception and goes on, where a test should fail.

    A scheduler without a loop around it logs nothing: there, the record of the exception tells.
    """
    collecting, log = _Collecting(), logging.getLogger("reprieve.supervision.supervisor")
    log.addHandler(collecting)
    if "mishaps" in request.fixturenames:
        yield collecting.records
    else:
        make = SchedulerFailure.__init__

        def raise_it(failure: SchedulerFailure, *args: Any) -> None:
            make(failure, *args)
            raise failure.error

        monkeypatch.setattr(SchedulerFailure, "__init__", raise_it)
        yield collecting.records
        told = [logging.Formatter().format(record) for record in collecting.records]
        assert not told, "\n".join(told)
    log.removeHandler(collecting)


@pytest.fixture
def mishaps(_contained: list[logging.LogRecord]) -> list[logging.LogRecord]:
    """For a test that causes such exceptions: what was logged about them."""
    return _contained
