"""Probes are answered while a decision runs, and tell of it. In real time: a thread waits for another."""

import asyncio
import logging
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.assembly.decision_pages import DECISIONS_PATH
from reprieve.assembly.endpoints import (
    Observers,
    ReviewOptions,
    ReviewServers,
    ServingEndpoint,
    serve_endpoints,
)
from reprieve.assembly.serving_thread import BetweenSteps, in_own_thread
from reprieve.assembly.trust import EndpointError
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve.config import default_configuration
from reprieve.model.events import Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.runtime import http_endpoints
from reprieve.runtime.http_endpoints import PROBES
from reprieve.runtime.readiness import Heartbeat, report_slow_steps
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.deciding import deciding
from reprieve_minicluster.virtual_time import run

PATIENCE = 30.0  # seconds that a machine with much to do may take; no test waits so long
READ_BY_SCHEDULER = ("/metrics", DECISIONS_PATH)
HERE = ServingEndpoint("127.0.0.1", 0, for_all=(*PROBES, *READ_BY_SCHEDULER))
NO_SERVER = Access(Login(KubeconfigCluster(server="http://127.0.0.1:9"), KubeconfigUser()))
REVIEW_SERVERS = ReviewServers(NO_SERVER, NO_SERVER, ReviewOptions(looks_up=False))

Get = Callable[[str], tuple[int, str]]


def get(port: int, path: str) -> tuple[int, str]:
    blind = ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(
            f"https://127.0.0.1:{port}{path}", context=blind, timeout=PATIENCE
        ) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def during_a_decision(
    monkeypatch: pytest.MonkeyPatch, visit: Callable[[Get, list[float]], None]
) -> list[tuple[int, str]]:
    """Visits the pages from another thread while this one decides. Returns what those say in the end that the
    scheduler reads."""
    seconds, begun, visited = [0.0], threading.Event(), threading.Event()
    decide = deciding.decide

    def long_decision(*args: Any) -> Any:
        begun.set()
        assert visited.wait(PATIENCE)
        return decide(*args)

    async def main() -> list[tuple[int, str]]:
        observers, scheduler = Observers(), Scheduler()
        readiness = observers.readiness
        readiness.heartbeat = Heartbeat(lambda: seconds[0])
        readiness.heartbeat.read_from(scheduler.working_on)
        pages = partial(
            serve_endpoints, HERE, default_configuration(), REVIEW_SERVERS, observers, BetweenSteps()
        )
        async with in_own_thread(pages) as port:
            found: list[tuple[int, str]] = []

            def client() -> None:
                assert begun.wait(PATIENCE)
                try:
                    visit(partial(get, port), seconds)
                finally:
                    visited.set()
                found.extend(get(port, path) for path in READ_BY_SCHEDULER)

            scheduler.observe([Seen(a_node()), Seen(a_pod("x")), Synced()], on_one_clock(0.0))
            readiness.heartbeat.beat()
            visitor = asyncio.create_task(asyncio.to_thread(client))
            await asyncio.sleep(0)
            scheduler.decide(on_one_clock(0.0))
            readiness.heartbeat.beat()
            await visitor
            return found

    with monkeypatch.context() as patch:
        patch.setattr(deciding, "decide", long_decision)
        return asyncio.run(main())


def test_probes_are_answered_and_tell_of_a_decision_that_runs_long(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, str, int, str]] = []

    def visit(page: Get, seconds: list[float]) -> None:
        for now in (9.0, 12.0, 61.0):
            seconds[0] = now
            for path in ("/livez", "/readyz"):
                status, text = page(path)
                seen.append((now, path, status, next((t for t in text.split("\n") if "[-]" in t), text)))

    assert [status for status, _ in during_a_decision(monkeypatch, visit)] == [200, 200]
    told = "[-]scheduling-loop failed: blocked for {} s, deciding Pod default/x"
    assert seen == [
        (9.0, "/livez", 200, "ok"),
        (9.0, "/readyz", 200, "ok"),
        (12.0, "/livez", 200, "ok"),
        (12.0, "/readyz", 500, told.format(12)),
        (61.0, "/livez", 500, told.format(61)),
        (61.0, "/readyz", 500, told.format(61)),
    ]


def test_pages_that_the_scheduler_reads_are_unavailable_while_a_decision_runs_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long they wait: here not at all, so that no time passes. After the decision, they are there."""
    seen: list[tuple[int, str]] = []

    def visit(page: Get, _: list[float]) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(http_endpoints, "_CONTENT_SECONDS", 0.0)
            seen.extend(map(page, READ_BY_SCHEDULER))

    after = during_a_decision(monkeypatch, visit)
    assert seen == [(503, "scheduling has been blocked for 10 s: see /readyz\n")] * 2
    assert [status for status, _ in after] == [200, 200]
    assert '"items":[]' in after[1][1], "no decision was recorded, and the page says so"


def test_why_pages_cannot_be_served_reaches_the_caller() -> None:
    async def main() -> None:
        pages = partial(
            serve_endpoints, HERE, default_configuration(), REVIEW_SERVERS, Observers(), BetweenSteps()
        )
        async with in_own_thread(pages) as port:
            taken = ServingEndpoint("127.0.0.1", port)
            again = partial(
                serve_endpoints, taken, default_configuration(), REVIEW_SERVERS, Observers(), BetweenSteps()
            )
            with pytest.raises(EndpointError, match="is in use"):
                async with in_own_thread(again):
                    pass

    asyncio.run(main())


def test_a_blocked_loop_is_logged_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    seconds = [0.0]
    heartbeat = Heartbeat(lambda: seconds[0])
    heartbeat.read_from(lambda: "deciding Pod default/x")

    async def main() -> None:
        task = asyncio.create_task(report_slow_steps(heartbeat))
        heartbeat.beat()
        for now in (5.0, 11.0, 20.0, 34.0):
            seconds[0] = now
            await asyncio.sleep(1.0)
        heartbeat.beat()
        await asyncio.sleep(1.0)
        task.cancel()

    with caplog.at_level(logging.WARNING):
        run(main())
    assert caplog.messages == [
        "scheduling is blocked for 11 s, deciding Pod default/x",
        "scheduling goes on, after it was blocked for 34 s",
    ]
