"""One connection to an API server: requests out, responses in, at a bounded pace and within bounded time.

What a request is about is not known here; of a failure, only whether the server may have acted on it.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from math import inf
from types import SimpleNamespace
from typing import Protocol, TypeVar

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from reprieve.cluster.kube.auth import Access, Grant, RequestObserver
from reprieve.cluster.kube.flow_control import TokenBucket
from reprieve.cluster.kube.kubeconfig import AccessError
from reprieve.cluster.kube.requests import ApiCall, ApiRequest, ApiResponse
from reprieve.cluster.port import Answer, Lost, Refused

_USER_AGENT = f"reprieve/{version('reprieve')}"
_BUSY, _UNAVAILABLE, _UNAUTHORIZED = 429, 503, 401
_TOO_LATE = "nothing is written any more: somebody else may lead"
_LONGEST_REST = 60.0  # however long a server asks us to stay away


class NoAnswerError(Exception):
    """The server was not reached, the connection broke, or the time was over.

    ``harmless``: whatever was asked cannot have happened, or would have changed nothing.
    """

    def __init__(self, message: str, *, harmless: bool = True) -> None:
        super().__init__(message)
        self.harmless = harmless


class RefusedError(Exception):
    """A stream was asked for and something else was the answer."""

    def __init__(self, response: ApiResponse) -> None:
        super().__init__(response.message)
        self.response = response


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """``rate``, ``burst``: of requests, per second and at once. The rest are seconds.

    ``turn``: for which a write waits to be sent. ``silence``: after which a stream is held to be dead, though
    nobody closed it; servers say something about every minute.
    """

    rate: float = 50.0
    burst: int = 100
    request_seconds: float = 30.0
    connect_seconds: float = 10.0
    turn_seconds: float = 8.0
    silence_seconds: float = 150.0


DEFAULT_LIMITS = ClientLimits()


T = TypeVar("T")
Seconds = Callable[[], float]


def for_ever() -> float:
    return inf


class Channel(Protocol):
    """What those who read need of a connection; ``Connection`` tells what may be raised."""

    async def send(self, request: ApiRequest) -> ApiResponse: ...

    def lines(self, request: ApiRequest) -> AsyncGenerator[list[bytes], None]: ...


class Connection:
    """Made by ``connected``; requests may be made side by side."""

    def __init__(
        self, session: aiohttp.ClientSession, access: Access, limits: ClientLimits, may_write_for: Seconds
    ) -> None:
        self._session = session
        self._access = access
        self._limits = limits
        self._may_write_for = may_write_for
        self._bucket = TokenBucket(limits.rate, limits.burst)

    async def converse(self, conversation: ApiCall) -> Answer:
        """Carries on a conversation until it has ended."""
        try:
            return await self.ask(conversation)
        except NoAnswerError as error:
            return Refused(str(error), again=True) if error.harmless else Lost(str(error))

    async def ask(self, dialogue: Generator[ApiRequest, ApiResponse, T]) -> T:
        """The same for whatever is to be learned; NoAnswerError if there is no response."""
        try:
            request = next(dialogue)
            while True:
                request = dialogue.send(await self.send(request))
        except StopIteration as end:
            learned: T = end.value
            return learned

    async def send(self, request: ApiRequest) -> ApiResponse:
        """NoAnswerError if there is no response."""
        grant = await self._granted()
        response = await self._send(request, grant)
        if response.status == _UNAUTHORIZED and self._access.renew(grant):
            return await self._send(request, await self._granted())
        return response

    async def _granted(self) -> Grant:
        try:
            return await self._access.grant()
        except AccessError as error:
            raise NoAnswerError(str(error)) from error

    async def _send(self, request: ApiRequest, grant: Grant) -> ApiResponse:
        await self._wait_for_turn(request)
        async with self._opened(request, grant, self._time_for(request)) as response:
            return await self._read(response)

    def _time_for(self, request: ApiRequest) -> aiohttp.ClientTimeout:
        """A long list may take as long as something of it arrives; a write ends with the right to write."""
        seconds, total = self._limits.request_seconds, None
        if request.writes:
            total = min(seconds, self._may_write_for())
            if total <= 0:
                raise NoAnswerError(_TOO_LATE)
        return aiohttp.ClientTimeout(
            total=total, sock_connect=self._limits.connect_seconds, sock_read=seconds
        )

    async def lines(self, request: ApiRequest) -> AsyncGenerator[list[bytes], None]:
        """Whole lines as they come, until the server ends the stream.

        NoAnswerError if it does not begin or breaks off, RefusedError if it is none.
        """
        limits = self._limits
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=limits.connect_seconds, sock_read=limits.silence_seconds
        )
        grant = await self._granted()
        await self._wait_for_turn(request)
        async with self._opened(request, grant, timeout) as response:
            if response.status != 200:
                if response.status == _UNAUTHORIZED:
                    self._access.renew(grant)
                raise RefusedError(await self._read(response))
            splitter = LineSplitter()
            async for chunk in response.content.iter_any():
                if found := splitter.feed(chunk):
                    yield found

    @asynccontextmanager
    async def _opened(
        self, request: ApiRequest, grant: Grant, timeout: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        access, body = self._access, self._body(request)
        try:
            async with self._session.request(
                request.method,
                access.server + request.path,
                params=request.query,
                data=body,
                headers=_headers(request, grant),
                timeout=timeout,
                ssl=grant.tls if grant.tls is not None else True,
                server_hostname=access.server_name or None,
                proxy=access.proxy or None,
                allow_redirects=False,
            ) as response:
                yield response
        except (
            aiohttp.ClientConnectorError,
            aiohttp.ClientHttpProxyError,
            aiohttp.ConnectionTimeoutError,
        ) as error:
            access.doubt()
            raise NoAnswerError(f"{access.server} cannot be reached: {_reason(error)}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if body is not None and body.too_late:
                raise NoAnswerError(_TOO_LATE, harmless=not body.said) from error
            access.doubt()
            sentence = f"{request.method} {request.path}: {_reason(error)}"
            raise NoAnswerError(sentence, harmless=not request.writes) from error

    def _body(self, request: ApiRequest) -> "_Body | None":
        may = self._may_write_for if request.writes else for_ever
        return _Body(request.body, may) if request.body else None

    async def _wait_for_turn(self, request: ApiRequest) -> None:
        """Who wants to write does not wait for long, so that he learns in time that nothing has happened."""
        longest = self._limits.turn_seconds if request.writes else inf
        pause = self._bucket.take(asyncio.get_running_loop().time(), longest)
        await asyncio.sleep(max(0.0, min(pause, longest)))
        if pause > longest:
            why = f"so many requests are waiting, or {self._access.server} asked to be left alone"
            raise NoAnswerError(f"nothing was sent for {longest:g} s: {why}")

    async def _read(self, response: aiohttp.ClientResponse) -> ApiResponse:
        body = await response.read()
        if response.status in (_BUSY, _UNAVAILABLE):
            self._rest(response.headers.get("Retry-After", ""))
        return ApiResponse(response.status, body)

    def _rest(self, retry_after: str) -> None:
        """A server that asks to be left alone for a while is left alone, by everybody here."""
        if retry_after.isascii() and retry_after.isdigit():
            seconds = min(float(retry_after), _LONGEST_REST)
            self._bucket.rest(asyncio.get_running_loop().time() + seconds)


class _Body(aiohttp.BytesPayload):
    """What a request says. Whether it may be said is asked when it is, for much may have come between: turns,
    new connections, and a process that stood still."""

    def __init__(self, body: bytes, may_write_for: Seconds) -> None:
        super().__init__(body)
        self._may_write_for = may_write_for
        self.said = False
        self.too_late = False

    async def write(self, writer: AbstractStreamWriter) -> None:
        self._begin()
        await super().write(writer)

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        self._begin()
        await super().write_with_length(writer, content_length)

    def _begin(self) -> None:
        self.too_late = self._may_write_for() <= 0
        if self.too_late:
            raise NoAnswerError(_TOO_LATE)
        self.said = True


def _headers(request: ApiRequest, grant: Grant) -> list[tuple[str, str]]:
    headers = [("Accept", "application/json"), ("User-Agent", _USER_AGENT), *grant.headers]
    return [*headers, ("Content-Type", request.content_type)] if request.body else headers


def _reason(error: Exception) -> str:
    """Of a connection that was not made, what the system says: the rest is about the program."""
    told = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    return str(told) or type(error).__name__


class LineSplitter:
    """Bytes in, whole lines out. A line may come in any number of pieces."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        first, *rest = chunk.split(b"\n")
        self._pieces.append(first)
        if not rest:
            return []
        lines = [b"".join(self._pieces), *rest[:-1]]
        self._pieces = [rest[-1]]
        return [line for line in lines if line]


@asynccontextmanager
async def connected(
    access: Access, limits: ClientLimits = DEFAULT_LIMITS, may_write_for: Seconds = for_ever
) -> AsyncIterator[Connection]:
    """Connections are kept and used again; each watch has one of its own.

    ``may_write_for``: for how long something may be written from now on.
    """
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=90.0)
    # Nothing is compressed, as with kube-scheduler: a network is faster than that.
    async with aiohttp.ClientSession(
        connector=connector,
        skip_auto_headers=("Accept-Encoding",),
        cookie_jar=aiohttp.DummyCookieJar(),
        trace_configs=[_shown_to(access.onlooker)],
    ) as session:
        yield Connection(session, access, limits, may_write_for)


def _shown_to(onlooker: RequestObserver) -> aiohttp.TraceConfig:
    """A stream is told of when it begins."""

    async def begin(_: aiohttp.ClientSession, about: SimpleNamespace, __: object) -> None:
        about.since = asyncio.get_running_loop().time()

    async def end(
        _: aiohttp.ClientSession,
        about: SimpleNamespace,
        told: aiohttp.TraceRequestEndParams | aiohttp.TraceRequestExceptionParams,
    ) -> None:
        code = told.response.status if isinstance(told, aiohttp.TraceRequestEndParams) else None
        onlooker(told.url.authority, told.method, code, asyncio.get_running_loop().time() - about.since)

    config = aiohttp.TraceConfig()
    config.on_request_start.append(begin)
    config.on_request_end.append(end)
    config.on_request_exception.append(end)
    return config
