"""Which examples hypothesis tries, and that no test passes over an exception that supervision has contained.

`make test` tries the same few examples on every run, `make soak` as many new ones as it is allowed.
"""

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

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
def _contained(request: pytest.FixtureRequest) -> Iterator[list[logging.LogRecord]]:
    """Supervision logs an unexpected exception and goes on, where a test should fail."""
    collecting, log = _Collecting(), logging.getLogger("reprieve.supervision.mishaps")
    log.addHandler(collecting)
    yield collecting.records
    log.removeHandler(collecting)
    if "mishaps" not in request.fixturenames:
        told = [logging.Formatter().format(record) for record in collecting.records]
        assert not told, "\n".join(told)


@pytest.fixture
def mishaps(_contained: list[logging.LogRecord]) -> list[logging.LogRecord]:
    """For a test that causes such exceptions: what was logged about them."""
    return _contained
