"""What can befall a connection to an API server, drawn from a seed: a relay that mistreats bytes, and a front
that is not always in the mood to answer."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from random import Random

from reprieve.cluster.certificates import CertificateSubject
from reprieve_minicluster.auth.authentication import UserInfo
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.errors import ApiError, conflict
from reprieve_minicluster.rest.http_messages import Answer, ApiRequest, refusal
from reprieve_minicluster.rest.http_server import ApiServer
from tests.contract.relay import Pump, Relay


def now() -> float:
    return asyncio.get_running_loop().time()


class Fate(Enum):
    """What becomes of a connection."""

    PEACE = "nothing"
    CUT_REQUEST = "it is cut in the middle of what the client says"
    CUT_ANSWER = "it is cut in the middle of what the server says"
    SILENT = "nothing gets through any more, without an error"
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


class BadRelay(Relay):
    """Connections through it meet a fate each."""

    def __init__(self, behind: int, chaos: Chaos) -> None:
        super().__init__("127.0.0.1", behind)
        self._chaos = chaos
        self._met = 0
        self.fates: Counter[Fate] = Counter()

    def met(self) -> tuple[Pump, Pump]:
        self._met += 1
        drawn = self._chaos.fate(self._met)
        self.fates[drawn[0]] += self._chaos.reigns
        pump = partial(self._pump, drawn)
        return partial(pump, Fate.CUT_REQUEST), partial(pump, Fate.CUT_ANSWER)

    async def _pump(
        self,
        drawn: tuple[Fate, int, float],
        cut: Fate,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
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


SECRET = "secret"


class MoodyFront(ApiServer):
    """Refuses now and then, and sometimes does what it was asked and says that it failed.

    ``known``: the only client that is let in, at the moment.
    """

    def __init__(self, cluster: MiniCluster, chaos: Chaos) -> None:
        super().__init__(cluster.store, cluster.clock, cluster.features, SECRET)
        self._chaos = chaos
        self._requests = 0
        self.known = ""
        self.refusals = 0
        self.strangers = 0

    def authenticate(
        self, path: str, headers: Mapping[str, str], certificate: CertificateSubject | None = None
    ) -> UserInfo:
        user = super().authenticate(path, headers, certificate)
        if user.name != self.known:
            self.strangers += 1
            raise ApiError(401, "Unauthorized", f"{user.name} is not known any more")
        return user

    def answer(self, request: ApiRequest) -> Answer:
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


def _refused(mood: float, request: ApiRequest) -> ApiError | None:
    if mood < 0.05:
        return ApiError(429, "TooManyRequests", "the server is busy", retry_after=1)
    if mood < 0.08:
        return ApiError(503, "ServiceUnavailable", "the server is not ready")
    if mood < 0.10 and request.method == "PATCH":
        return conflict("it", "the object has been modified")
    if mood < 0.10 and request.query.get("resourceVersion"):
        return ApiError(410, "Expired", "the history does not reach back that far")
    return None
