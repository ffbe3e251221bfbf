"""Which examples hypothesis tries, and that no test passes over an exception that supervision has contained.

`make test` tries the same few examples on every run, `make soak` as many new ones as it is allowed.
"""

import logging
from collections.abc import Iterator
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
    collecting, log = _Collecting(), logging.getLogger("reprieve.supervision.mishaps")
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
