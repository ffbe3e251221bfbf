"""How is the page served to a browser on this machine? On a loopback port of its own, behind a token.

The token is in the fragment of the address that is printed, which no browser sends to a server. Requests that
name another host, or come from a page of another site, are rejected.
"""

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hmac import compare_digest
from http import HTTPStatus

from aiohttp import web

from reprieve.assembly.serving_thread import in_own_thread
from reprieve.page.server import PAGE_PATH, page_routes
from reprieve.page.sources import PageGate, PageParts, PageRefusedError, ReaderSight, SeesAll
from reprieve.supervision.listening import BoundedSite, ConnectionPlaces, bounds_of_process
from reprieve.supervision.supervisor import Supervisor

_HOST = "127.0.0.1"
_LAST_ANSWERS_SECONDS = 0.5
_IDLE_SECONDS = 60.0
_MOST_CONNECTIONS = 256


@dataclass(slots=True)
class LoopbackGate:
    """``port``: known once it listens. ``again``: where a valid address can be had."""

    again: str
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    port: int = 0

    def check_origin(self, request: web.Request) -> None:
        hosts = {f"{name}:{self.port}" for name in (_HOST, "localhost", "[::1]")}
        if request.headers.get("Host", "").lower() not in hosts:
            text = f"expected the host {_HOST}:{self.port}: this page is for this machine alone"
            raise PageRefusedError(text, HTTPStatus.MISDIRECTED_REQUEST)
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in hosts}:
            text = "requests from pages of other sites are rejected"
            raise PageRefusedError(text, HTTPStatus.FORBIDDEN)

    async def enter(self, request: web.Request) -> ReaderSight:
        kind, _, token = request.headers.get("Authorization", "").strip().partition(" ")
        is_ours = compare_digest(token.strip().encode(errors="surrogateescape"), self.token.encode())
        if kind.lower() != "bearer" or not is_ours:
            text = f"the token is missing, or of an earlier run: open the address again that {self.again}"
            raise PageRefusedError(text, HTTPStatus.UNAUTHORIZED)
        return SeesAll()


MakeParts = Callable[[PageGate], PageParts]


@asynccontextmanager
async def loopback_page(make: MakeParts, again: str) -> AsyncIterator[str]:
    """Serves the page in a thread of its own, and yields its address with the token.

    ``make`` is called in that thread: what it makes belongs to the event loop there.
    """
    gate = LoopbackGate(again)

    @asynccontextmanager
    async def serve() -> AsyncIterator[int]:
        async with page_listening(make(gate)) as port:
            gate.port = port
            yield port

    async with in_own_thread(serve) as port:
        yield f"http://{_HOST}:{port}{PAGE_PATH}#token={gate.token}"


@asynccontextmanager
async def page_listening(parts: PageParts) -> AsyncIterator[int]:
    """Serves the page in this event loop; yields the port."""
    supervisor, live = Supervisor(), parts.live
    app = web.Application()
    app.add_routes(page_routes(parts))
    # No compressed bodies: a small one may be of any size when it is read.
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=_LAST_ANSWERS_SECONDS,
        auto_decompress=False,
        keepalive_timeout=_IDLE_SECONDS,
    )
    await runner.setup()
    try:
        places = ConnectionPlaces(bounds_of_process(_MOST_CONNECTIONS))
        await BoundedSite(runner, (_HOST, 0), places).start()
        if live is not None:
            supervisor.start("page", live.keep_fresh)
        for name, task in parts.tasks.items():
            supervisor.start(name, task)
        yield int(runner.addresses[0][1])
    finally:
        if live is not None:
            live.close()
        await supervisor.stop()
        await runner.cleanup()
