"""What can befall a connection to an API server, drawn from a seed: a relay that mistreats bytes, and a front
that is not always in the mood to answer."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from random import Random

from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.errors import ApiError, conflict
from reprieve.cluster.mini.rest.exchange import Answer, Request
from reprieve.cluster.mini.rest.front import Front
from reprieve.cluster.mini.rest.statuses import refusal


def now() -> float:
    return asyncio.get_running_loop().time()


class Fate(Enum):
    """What becomes of a connection."""

    PEACE = "nothing"
    CUT_REQUEST = "it is cut in the middle of what the client says"
    CUT_ANSWER = "it is cut in the middle of what the server says"
    SILENT = "nothing gets through any more, and nobody is told"
    SLOW = "everything takes its time"


_FATES = {Fate.PEACE: 30, Fate.CUT_REQUEST: 5, Fate.CUT_ANSWER: 10, Fate.SILENT: 1, Fate.SLOW: 10}


@dataclass(frozen=True, slots=True)
class Chaos:
    """``until``: the moment at which all is well again."""

    seed: int
    until: float

    def fate(self, connection: int) -> tuple[Fate, int, float]:
        """What befalls it, after how many bytes, and how slow it is."""
        rng = self._drawn("connection", connection)
        (fate,) = rng.choices(list(_FATES), list(_FATES.values()))
        return fate, int(10 ** rng.uniform(1, 4.5)), rng.uniform(0.01, 2.0)

    def mood(self, request: int) -> float:
        return self._drawn("request", request).random()

    def _drawn(self, what: str, number: int) -> Random:
        return Random(f"{self.seed}/{what}/{number}")

    @property
    def reigns(self) -> bool:
        return now() < self.until


class Relay:
    """Passes bytes on between clients and the server behind a port of this machine."""

    def __init__(self, behind: int, chaos: Chaos) -> None:
        self._behind = behind
        self._chaos = chaos
        self._connections = 0
        self.fates: Counter[Fate] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """The port to connect to."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            self.cut_all()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut_all(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._connections += 1
        fate = self._chaos.fate(self._connections)
        self.fates[fate[0]] += self._chaos.reigns
        behind, onwards = await asyncio.open_connection("127.0.0.1", self._behind)
        try:
            pumps = [
                asyncio.create_task(self._pump(reader, onwards, fate, Fate.CUT_REQUEST)),
                asyncio.create_task(self._pump(behind, writer, fate, Fate.CUT_ANSWER)),
            ]
            with suppress(asyncio.CancelledError):
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        finally:
            writer.transport.abort()
            onwards.transport.abort()

    async def _pump(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        drawn: tuple[Fate, int, float],
        cut: Fate,
    ) -> None:
        """Ends when the source does, or when the connection has met its fate."""
        fate, left, delay = drawn
        while data := await source.read(4096):
            if self._chaos.reigns and fate is Fate.SLOW:
                await asyncio.sleep(delay)
            if self._chaos.reigns and fate in (cut, Fate.SILENT):
                data, left = data[:left], left - len(data)
            sink.write(data)
            await sink.drain()
            if left <= 0 and fate is Fate.SILENT:
                await asyncio.sleep(10_000)
            if left <= 0:
                return


TOKEN = "secret"


class MoodyFront(Front):
    """Refuses now and then, and sometimes does what it was asked and says that it failed."""

    def __init__(self, cluster: MiniCluster, chaos: Chaos) -> None:
        super().__init__(cluster.store, cluster.clock, cluster.features, TOKEN)
        self._chaos = chaos
        self._requests = 0
        self.refusals = 0

    def answer(self, request: Request) -> Answer:
        self._requests += 1
        mood = self._chaos.mood(self._requests) if self._chaos.reigns else 1.0
        refused = _refused(mood, request)
        if refused is None:
            answer = super().answer(request)
            if mood >= 0.14 or request.method == "GET":
                return answer
            refused = ApiError(500, "InternalError", "it happened, and then something went wrong")
        self.refusals += 1
        return refusal(refused)


def _refused(mood: float, request: Request) -> ApiError | None:
    if mood < 0.05:
        return ApiError(429, "TooManyRequests", "the server is busy", retry_after=1)
    if mood < 0.08:
        return ApiError(503, "ServiceUnavailable", "the server is not ready")
    if mood < 0.10 and request.method == "PATCH":
        return conflict("it", "somebody changed it meanwhile")
    if mood < 0.10 and request.query.get("resourceVersion"):
        return ApiError(410, "Expired", "the history does not reach back that far")
    return None
