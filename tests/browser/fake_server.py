"""Serves the page and its API from a scripted cluster, as the contract of the page says.

It decides nothing. A test can make it drop its readers, forget the past, or end its token.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from aiohttp import web

import reprieve
from reprieve.model.json import Json
from tests.browser.background import Background
from tests.browser.scripted import NOW, World

STATIC = Path(reprieve.__file__).parent / "page" / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
TOKEN = "secret"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FakeServer:
    def __init__(self, background: Background, world: World) -> None:
        self.world = world
        self.token = TOKEN
        self.revision = 1
        self.answers: dict[str, tuple[int, Json]] = {}
        self.asked: list[tuple[str, str]] = []
        self._ring: list[Json] = []
        self._readers: set[asyncio.Queue[Json | None]] = set()
        self._past: list[tuple[float, Json]] = []
        self._background = background
        self._runner = background.run(self._started())
        self.address = f"http://127.0.0.1:{self.port}/page/"

    async def _started(self) -> web.AppRunner:
        application = web.Application(middlewares=[self._guard])
        application.router.add_get("/page/", self._index)
        application.router.add_get("/page/static/{name}", self._static)
        application.router.add_get("/page/api/picture", self._picture)
        application.router.add_get("/page/api/changes", self._changes)
        application.router.add_get("/page/api/decisions/{id}", self._decision)
        application.router.add_get("/page/api/history", self._history)
        for name in ("why", "exposure", "example"):
            application.router.add_get(f"/page/api/{name}", self._answered)
        for name in ("whatif", "apply"):
            application.router.add_post(f"/page/api/{name}", self._answered)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        return runner

    # --- what a test does to it ---

    def change(self, *changes: Json) -> None:
        self._background.run(self._change(list(changes)))

    async def _change(self, changes: list[Json]) -> None:
        message = {
            "after": self.revision,
            "revision": self.revision + 1,
            "time": self.world.time,
            "changes": changes,
        }
        self.revision += 1
        self._ring.append(message)
        for reader in self._readers:
            reader.put_nowait(message)

    def drop_readers(self) -> None:
        self._background.run(self._drop())

    async def _drop(self) -> None:
        for reader in self._readers:
            reader.put_nowait(None)

    def forget(self) -> None:
        """As a ring does that has turned over."""
        self._ring.clear()

    def remember(self, time: float) -> None:
        """What the cluster is now is what the page sees at this time."""
        self._past.append((time, self.world.keyframe(self.revision)))

    @property
    def readers(self) -> int:
        return len(self._readers)

    def close(self) -> None:
        self._background.run(self._drop())
        self._background.run(self._runner.cleanup())

    # --- what it answers ---

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if "/api/" in request.path and request.headers.get("Authorization") != f"Bearer {self.token}":
            return _json({"message": "the token is not valid"}, 401)
        return await handler(request)

    async def _index(self, request: web.Request) -> web.Response:
        return _file("index.html")

    async def _static(self, request: web.Request) -> web.Response:
        return _file(request.match_info["name"])

    async def _picture(self, request: web.Request) -> web.Response:
        if (at := request.query.get("at")) is None:
            return _json(self.world.keyframe(self.revision))
        before = [frame for time, frame in self._past if time <= float(at)]
        frame = before[-1] if before else {**self.world.keyframe(0), "pods": [], "decisions": []}
        return _json({**frame, "time": float(at)})

    async def _changes(self, request: web.Request) -> web.StreamResponse:
        after = int(request.query["after"])
        response = web.StreamResponse(headers={**HEADERS, "Content-Type": "text/event-stream"})
        await response.prepare(request)
        missed = [one for one in self._ring if one["revision"] > after]
        if len(missed) != self.revision - after:
            await response.write(b'event: reload\ndata: {"message": "the ring has turned over"}\n\n')
            return response
        reader: asyncio.Queue[Json | None] = asyncio.Queue()
        for one in missed:
            reader.put_nowait(one)
        self._readers.add(reader)
        try:
            await response.write(b":\n\n")
            while (message := await reader.get()) is not None:
                await response.write(f"id: {message['revision']}\ndata: {json.dumps(message)}\n\n".encode())
        finally:
            self._readers.discard(reader)
        if request.transport is not None:
            request.transport.abort()
        return response

    async def _decision(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        if (found := self.world.decisions.get(name)) is None:
            return _json({"message": f"decision {name} is not kept any more"}, 404)
        detail = self.world.details.get(name, {"id": name, "preemption": None, "findings": []})
        return _json({"cli": f"reprieve why {name}", **detail, "summary": found})

    async def _history(self, request: web.Request) -> web.Response:
        if not self.world.can["history"]:
            return _json({"message": "there is no journal"}, 404)
        first = NOW - 3600
        counts = [[first + 60 * i, (i * 7 % 11) if i % 3 == 0 else i % 2] for i in range(60)]
        return _json({"from": first, "to": NOW, "knownSince": self.world.known_since, "preemptions": counts})

    async def _answered(self, request: web.Request) -> web.Response:
        name = request.path.rpartition("/")[2]
        self.asked.append((name, await request.text() or request.query_string))
        status, answer = self.answers.get(name, (404, {"message": f"nothing is scripted for {name}"}))
        return _json(answer, status)


def _json(document: Json, status: int = 200) -> web.Response:
    return web.json_response(document, status=status, headers=HEADERS)


def _file(name: str) -> web.Response:
    path = STATIC / name
    if not path.is_file():
        return web.Response(status=404, headers=HEADERS)
    return web.Response(
        body=path.read_bytes(),
        headers={**HEADERS, "Content-Type": TYPES.get(path.suffix, "application/octet-stream")},
    )
