"""The log: every line is JSON, as much as is wanted, and no secrets."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from reprieve.runtime.logs import DECISIONS, log_to


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    root, ours, decisions = (logging.getLogger(name) for name in (None, "reprieve", DECISIONS))
    handlers, levels = root.handlers[:], [(log, log.level) for log in (root, ours, decisions)]
    yield
    root.handlers[:] = handlers
    for log, level in levels:
        log.setLevel(level)


def lines(verbosity: int = 0) -> list[dict[str, Any]]:
    told = io.StringIO()
    log_to(told, verbosity)
    logging.getLogger("reprieve.x").info("it %s", "begins")
    logging.getLogger("reprieve.x").debug("a detail")
    logging.getLogger(DECISIONS).info("Pod a/b: Placed", extra={"nodes": ("n1",)})
    logging.getLogger("asyncio").info("not ours")
    return [json.loads(line) for line in told.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("verbosity", "said"),
    [
        (0, ["it begins"]),
        (2, ["it begins", "Pod a/b: Placed"]),
        (4, ["it begins", "a detail", "Pod a/b: Placed"]),
    ],
)
def test_how_much_is_told(verbosity: int, said: list[str]) -> None:
    assert [line["msg"] for line in lines(verbosity)] == said


def test_a_line_has_its_parts() -> None:
    first, decision = lines(2)
    assert (first["level"], first["logger"]) == ("info", "reprieve.x")
    assert decision["nodes"] == ["n1"]


@pytest.mark.parametrize(
    "secret", ["Authorization: Bearer abc.def", "token eyJhbGci.eyJzdWIi.c2ln", "Basic dXNlcjpwYXNz"]
)
def test_no_secret_gets_out(secret: str) -> None:
    told = io.StringIO()
    log_to(told)
    try:
        raise ValueError(secret)
    except ValueError:
        logging.getLogger("reprieve.x").exception("it said %s", secret)
    assert secret.rpartition(" ")[2] not in told.getvalue()
    assert "[hidden]" in json.loads(told.getvalue())["error"]
