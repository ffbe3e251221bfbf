"""Connections without a request cannot keep others out, however many there are. Over loopback."""

import asyncio
import errno
import logging
import os
import resource
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from reprieve.supervision import listening
from reprieve.supervision.listening import (
    BoundedSite,
    ConnectionBounds,
    ConnectionPlaces,
    accept_connections,
    bounds_of_process,
)
from reprieve_minicluster.virtual_time import run


def in_real_time(scene: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    return lambda: asyncio.run(scene())


FEW = ConnectionBounds(most=4, each=4, spare=2)


@dataclass
class Served:
    """``busy``: how many requests wait for ``release``."""

    port: int
    places: ConnectionPlaces
    arrived: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def asked(self, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await self.opened()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        return reader, writer

    async def probe(self) -> bytes:
        reader, writer = await self.asked("/livez")
        line = await reader.readline()
        writer.close()
        return line


@asynccontextmanager
async def served(bounds: ConnectionBounds) -> AsyncIterator[Served]:
    async def probe(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def slow(_: web.Request) -> web.Response:
        found.arrived.release()
        await found.release.wait()
        return web.Response(text="done")

    app = web.Application()
    app.router.add_get("/livez", probe)
    app.router.add_get("/slow", slow)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    places = ConnectionPlaces(bounds)
    await BoundedSite(runner, ("127.0.0.1", 0), places).start()
    found = Served(runner.addresses[0][1], places)
    try:
        yield found
    finally:
        found.release.set()
        await runner.cleanup()


@in_real_time
async def test_idle_connections_give_way_the_oldest_first() -> None:
    async with served(FEW) as there:
        idle = [await there.opened() for _ in range(40)]
        assert await there.probe() == b"HTTP/1.1 200 OK\r\n"
        assert len(there.places) <= FEW.most
        for reader, _ in idle[:36]:
            assert await reader.read() == b""
        for _, writer in idle:
            writer.close()


@in_real_time
async def test_half_of_a_head_is_as_idle_as_none() -> None:
    async with served(FEW) as there:
        half = [await there.opened() for _ in range(20)]
        for _, writer in half:
            writer.write(b"GET /livez HTTP/1.1\r\n")
        assert await there.probe() == b"HTTP/1.1 200 OK\r\n"
        for _, writer in half:
            writer.close()


@in_real_time
async def test_requests_in_progress_go_on_and_probes_have_places_of_their_own() -> None:
    async with served(FEW) as there:
        busy = [await there.asked("/slow") for _ in range(FEW.most)]
        for _ in busy:
            await there.arrived.acquire()
        idle = [await there.opened() for _ in range(10)]
        for _ in range(5):
            assert await there.probe() == b"HTTP/1.1 200 OK\r\n"
        assert len(there.places) <= FEW.most + FEW.spare
        there.release.set()
        for reader, writer in busy:
            assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
            writer.close()
        for _, writer in idle:
            writer.close()


def test_a_connection_that_says_nothing_is_closed() -> None:
    async def scene() -> None:
        async with served(FEW) as there:
            reader, writer = await there.opened()
            assert await reader.read() == b""
            assert asyncio.get_running_loop().time() == FEW.head_seconds
            writer.close()

    run(scene())


def test_one_peer_does_not_take_the_places_of_others() -> None:
    places, closed = ConnectionPlaces(ConnectionBounds(most=4, each=3)), list[str]()

    class Taken(listening._Place):
        is_open = is_idle = True

        def close(self) -> None:
            closed.append(self.peer)

    for peer in ("a", "a", "a", "a", "a", "b"):
        places.add(Taken(peer))
    assert closed == ["a", "a"]
    assert len(places) == 4


def test_there_are_descriptors_left_for_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    assert bounds_of_process(256) == ConnectionBounds(256, 192)
    assert bounds_of_process(4096) == ConnectionBounds(512, 384)


def test_no_descriptor_left_is_logged_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        async def refused(*_: object) -> None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

        monkeypatch.setattr(asyncio.get_running_loop(), "sock_accept", refused)
        with socket.socket() as nothing:
            task = asyncio.create_task(accept_connections(nothing, lambda *_: None))
            await asyncio.sleep(179.5)
            task.cancel()

    with caplog.at_level(logging.WARNING):
        run(scene())
    assert [record.message.rpartition(" (")[2] for record in caplog.records] == [
        "1 times so far)",
        "61 times so far)",
        "121 times so far)",
    ]
