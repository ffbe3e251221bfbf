"""One connection to an API server: rate limit, timeouts, credentials, and fencing of writes."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from math import inf
from types import SimpleNamespace
from typing import Protocol, TypeVar
from urllib.parse import quote

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from reprieve.cluster.kube.auth import Access, Grant, RequestObserver
from reprieve.cluster.kube.http_pool import HttpPool, NoResponseError, NotSentError
from reprieve.cluster.kube.kubeconfig import AccessError
from reprieve.cluster.kube.requests import (
    ApiCall,
    KubeRequest,
    KubeResponse,
    NoAnswerError,
    QuietError,
    RefusedError,
)
from reprieve.cluster.port import Answer, Lost, Refused
from reprieve.model.urgency import FIRST, CallQueue, Urgency

_USER_AGENT = f"reprieve/{version('reprieve')}"
_BUSY, _UNAVAILABLE, _UNAUTHORIZED = 429, 503, 401
_TOO_LATE = "not sent: the leader lease has expired, and another replica may lead"
_PLAIN_IN_PATHS, _PLAIN_IN_QUERIES = "/%:@!$&'()*+,;=", "/:@!$'()*,;?"
_LONGEST_REST = 60.0  # seconds; a longer Retry-After is cut to this


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """``rate``, ``burst``: requests per second, and at once. The others are seconds.

    ``turn_seconds``: how long a write may wait for the rate limiter. ``silence_seconds``: after so long
    without a byte a watch may be dead even though the connection is open, and is begun anew on another; most
    servers send a bookmark about every minute.
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
    """The part of ``Connection`` that discovery and reflectors use."""

    async def send(self, request: KubeRequest) -> KubeResponse: ...

    def lines(self, request: KubeRequest) -> AsyncGenerator[list[bytes], None]: ...


class Connection:
    """Made by ``connected``. Requests may run concurrently."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        access: Access,
        limits: ClientLimits,
        may_write_for: Seconds,
        pool: HttpPool | None = None,
    ) -> None:
        """``pool``: for writes; without it, the session sends them, too."""
        self._session = session
        self._access = access
        self._limits = limits
        self._may_write_for = may_write_for
        self._turns = Turns(TokenBucket(limits.rate, limits.burst))
        self._pool = pool

    async def perform(self, call: ApiCall, urgency: Urgency = FIRST) -> Answer:
        """Runs an API call; a lost response becomes an answer."""
        try:
            return await self.run(call, urgency)
        except NoAnswerError as error:
            return Refused(str(error), again=True) if error.harmless else Lost(str(error))

    async def run(self, call: Generator[KubeRequest, KubeResponse, T], urgency: Urgency = FIRST) -> T:
        """Sends the requests that a generator yields; NoAnswerError if there is no response."""
        try:
            request = next(call)
            while True:
                request = call.send(await self.send(request, urgency))
        except StopIteration as end:
            result: T = end.value
            return result

    async def send(self, request: KubeRequest, urgency: Urgency = FIRST) -> KubeResponse:
        """NoAnswerError if there is no response."""
        grant = await self._granted()
        response = await self._send(request, grant, urgency)
        # Once per request: a token may have been rotated since it was read. A second 401 goes to the caller.
        if response.status == _UNAUTHORIZED and self._access.renew(grant):
            return await self._send(request, await self._granted(), urgency)
        return response

    async def _granted(self) -> Grant:
        try:
            return await self._access.grant()
        except AccessError as error:
            raise NoAnswerError(str(error)) from error

    async def _send(self, request: KubeRequest, grant: Grant, urgency: Urgency) -> KubeResponse:
        await self._wait_for_turn(request, urgency)
        if request.writes and self._pool is not None:
            return await self._written(self._pool, request, grant)
        async with self._opened(request, grant, self._time_for(request)) as response:
            return await self._read(response)

    def _time_for(self, request: KubeRequest) -> aiohttp.ClientTimeout:
        """A list may take any time while bytes arrive."""
        limits = self._limits
        total = self._time_to_write() if request.writes else None
        return aiohttp.ClientTimeout(
            total=total, sock_connect=limits.connect_seconds, sock_read=limits.request_seconds
        )

    def _time_to_write(self) -> float:
        """A write must end before the lease may expire: one that outlives it could take effect while another
        replica leads."""
        seconds = min(self._limits.request_seconds, self._may_write_for())
        if seconds <= 0:
            raise NoAnswerError(_TOO_LATE)
        return seconds

    async def _written(self, pool: HttpPool, request: KubeRequest, grant: Grant) -> KubeResponse:
        """A write on a kept connection."""
        access, elapsed = self._access, asyncio.get_running_loop().time
        began, code = elapsed(), None
        try:
            message = pool.message(request.method, _target(request), _headers(request, grant), request.body)
            response = await pool.exchange(message, grant.tls, self._time_to_write(), self._check_lease)
            code = response.status
        except NotSentError as error:
            # A failed TLS handshake looks like this, too: certificates may have been rotated.
            access.recheck_files()
            raise NoAnswerError(f"{access.server} cannot be reached: {error}") from error
        except NoResponseError as error:
            access.recheck_files()
            sentence = f"{request.method} {request.path}: {error}"
            raise NoAnswerError(sentence, harmless=False) from error
        finally:
            access.observer(pool.authority, request.method, code, elapsed() - began)
        return self._response_of(response.status, response.body, response.headers.get("retry-after", ""))

    def _check_lease(self) -> None:
        """When a request is sent, and not when it is made: between the two lie a TCP and TLS handshake, and
        perhaps a suspended process."""
        if self._may_write_for() <= 0:
            raise NoAnswerError(_TOO_LATE)

    async def lines(self, request: KubeRequest) -> AsyncGenerator[list[bytes], None]:
        """Batches of whole lines as they arrive, until the server ends the stream.

        NoAnswerError if the stream does not start or breaks, QuietError if it falls silent,
        RefusedError if the server rejects it.
        """
        limits = self._limits
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=limits.connect_seconds, sock_read=limits.silence_seconds
        )
        grant = await self._granted()
        await self._wait_for_turn(request, FIRST)
        async with self._opened(request, grant, timeout) as response:
            if response.status != 200:
                if response.status == _UNAUTHORIZED:
                    self._access.renew(grant)
                raise RefusedError(await self._read(response))
            splitter, pause, elapsed = LineSplitter(), ReadPause(), asyncio.get_running_loop().time
            waiting_since = elapsed()
            while chunk := await self._next_chunk(response):
                waited = elapsed() - waiting_since
                if found := splitter.feed(chunk):
                    yield found
                if seconds := pause.after(waited, len(chunk)):
                    await _left_unread(response, seconds)
                waiting_since = elapsed()

    async def _next_chunk(self, response: aiohttp.ClientResponse) -> bytes:
        """Empty at the end of the stream."""
        try:
            return await response.content.readany()
        except aiohttp.SocketTimeoutError as error:
            raise QuietError(f"nothing was sent for {self._limits.silence_seconds:g} s") from error

    @asynccontextmanager
    async def _opened(
        self, request: KubeRequest, grant: Grant, timeout: aiohttp.ClientTimeout
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
            # A failed TLS handshake looks like this, too: certificates may have been rotated.
            access.recheck_files()
            raise NoAnswerError(f"{access.server} cannot be reached: {_reason(error)}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            # aiohttp wraps what the body raises: that must not pass for a broken connection.
            if body is not None and body.too_late:
                raise NoAnswerError(_TOO_LATE, harmless=not body.sent) from error
            access.recheck_files()
            sentence = f"{request.method} {request.path}: {_reason(error)}"
            raise NoAnswerError(sentence, harmless=not request.writes) from error

    def _body(self, request: KubeRequest) -> "_Body | None":
        """A write has one even if it is empty: it checks the lease when it is sent."""
        may = self._may_write_for if request.writes else for_ever
        return _Body(request.body, may) if request.body or request.writes else None

    async def _wait_for_turn(self, request: KubeRequest, urgency: Urgency) -> None:
        """Waits for the rate limiter. A write waits briefly, so that its caller learns in time that nothing
        was sent and may decide anew; a read waits as long as it takes."""
        longest = self._limits.turn_seconds if request.writes else inf
        if not await self._turns.wait(urgency, longest):
            why = f"the rate limit is reached, or {self._access.server} sent Retry-After"
            raise NoAnswerError(f"not sent within {longest:g} s: {why}")

    async def _read(self, response: aiohttp.ClientResponse) -> KubeResponse:
        body = await response.read()
        return self._response_of(response.status, body, response.headers.get("Retry-After", ""))

    def _response_of(self, status: int, body: bytes, retry_after: str) -> KubeResponse:
        """Retry-After holds back every request on this connection, and not only the one that was rejected."""
        if status in (_BUSY, _UNAVAILABLE) and retry_after.isascii() and retry_after.isdigit():
            seconds = min(float(retry_after), _LONGEST_REST)
            self._turns.rest(asyncio.get_running_loop().time() + seconds)
        return KubeResponse(status, body)


class _Body(aiohttp.BytesPayload):
    """A body that checks the lease at the moment it is sent, and not when the request is made.

    Between the two lie the rate limiter, a TCP and TLS handshake, and perhaps a suspended process: the lease
    may have expired on the way.
    """

    def __init__(self, body: bytes, may_write_for: Seconds) -> None:
        super().__init__(body)
        self._may_write_for = may_write_for
        self.sent = False
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
        self.sent = True


async def _left_unread(response: aiohttp.ClientResponse, seconds: float) -> None:
    connection = response.connection
    transport = connection.transport if connection is not None else None
    if transport is None:
        return  # the stream has ended; all of it has arrived
    transport.pause_reading()
    try:
        await asyncio.sleep(seconds)
    finally:
        transport.resume_reading()


def _target(request: KubeRequest) -> str:
    path = quote(request.path, safe=_PLAIN_IN_PATHS)
    query = "&".join(f"{quote(name)}={quote(value, safe=_PLAIN_IN_QUERIES)}" for name, value in request.query)
    return f"{path}?{query}" if query else path


def _headers(request: KubeRequest, grant: Grant) -> list[tuple[str, str]]:
    headers = [("Accept", "application/json"), ("User-Agent", _USER_AGENT), *grant.headers]
    return [*headers, ("Content-Type", request.content_type)] if request.body else headers


def _reason(error: Exception) -> str:
    """A connection that failed is described by the system's error; aiohttp describes its internals."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    return str(cause) or type(error).__name__


class LineSplitter:
    """Bytes in, whole lines out. A line may arrive in any number of chunks."""

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
    """TCP connections are reused; each watch occupies one.

    ``may_write_for``: for how many seconds from now this process may write; 0 or less if it does not lead.
    """
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=90.0)
    # No compression, as in kube-scheduler: decompression costs more than the network does.
    async with aiohttp.ClientSession(
        connector=connector,
        skip_auto_headers=("Accept-Encoding",),
        cookie_jar=aiohttp.DummyCookieJar(),
        trace_configs=[_reporting_to(access.observer)],
    ) as session:
        pool = _pool(access, limits)
        try:
            yield Connection(session, access, limits, may_write_for, pool)
        finally:
            if pool is not None:
                pool.close()


def _pool(access: Access, limits: ClientLimits) -> HttpPool | None:
    """None if the way to the server is not a plain one."""
    if access.proxy or "@" in access.server:
        return None
    return HttpPool(access.server, access.server_name, limits.connect_seconds)


def _reporting_to(observer: RequestObserver) -> aiohttp.TraceConfig:
    """A watch is reported when its response begins."""

    async def begin(_: aiohttp.ClientSession, about: SimpleNamespace, __: object) -> None:
        about.since = asyncio.get_running_loop().time()

    async def end(
        _: aiohttp.ClientSession,
        about: SimpleNamespace,
        params: aiohttp.TraceRequestEndParams | aiohttp.TraceRequestExceptionParams,
    ) -> None:
        code = params.response.status if isinstance(params, aiohttp.TraceRequestEndParams) else None
        observer(params.url.authority, params.method, code, asyncio.get_running_loop().time() - about.since)

    config = aiohttp.TraceConfig()
    config.on_request_start.append(begin)
    config.on_request_end.append(end)
    config.on_request_exception.append(end)
    return config


# --- rate limits and pauses; time is an argument ---------------------------------------------------


_CLOSE_SECONDS = 0.005  # messages that come within this time follow one another closely
_PAUSE_GROWTH = 0.001
_LONGEST_PAUSE = 0.02
_ROUNDING = 1e-6  # tokens
_SMALL_READ = 32 * 1024  # bytes


class TokenBucket:
    """``burst`` requests at once, then ``rate`` per second; a rate of 0 or less means no limit."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate = rate
        self._burst = float(max(burst, 1))
        self._tokens = self._burst
        self._filled_at = 0.0

    def take(self, now: float) -> float:
        """Takes a token if there is one, and returns 0; or in how many seconds there is."""
        rest = max(0.0, self._filled_at - now)
        if self._rate <= 0 or rest:
            return rest
        tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        # A moment that was computed from the rate may be a rounding error early.
        if tokens < 1 - _ROUNDING:
            return (1 - tokens) / self._rate
        self._tokens, self._filled_at = max(0.0, tokens - 1), now
        return 0.0

    def rest(self, until: float) -> None:
        """No token before then, and no burst after it: the server has just said that it is overloaded."""
        self._tokens = min(self._tokens, 1.0)
        self._filled_at = max(self._filled_at, until)


class Turns:
    """Hands out the tokens of a bucket: the most urgent call of those that wait gets the next one."""

    def __init__(self, bucket: TokenBucket) -> None:
        self._bucket = bucket
        self._waiting = CallQueue[asyncio.Future[None]]()
        self._next: asyncio.TimerHandle | None = None

    async def wait(self, urgency: Urgency, longest: float) -> bool:
        """False if the turn did not come within so many seconds: then no token is taken."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.put(turn, urgency)
        if self._next is None:
            self._hand_out()
        try:
            async with asyncio.timeout(None if longest == inf else longest):
                await turn
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(turn)
        return True

    def rest(self, until: float) -> None:
        self._bucket.rest(until)

    def _hand_out(self) -> None:
        """Whoever waits now, and again when the next token is there."""
        loop, self._next = asyncio.get_running_loop(), None
        while len(self._waiting):
            pause = self._bucket.take(loop.time())
            if pause:
                self._next = loop.call_later(pause, self._hand_out)
                return
            turn = self._waiting.pop()
            if not turn.done():
                turn.set_result(None)


class ReadPause:
    """Tells for how long a stream of small messages is left unread after a read.

    Every wake-up of the event loop costs more than the message that causes it. So while messages follow one
    another closely, they are left to arrive and are read together; the pause grows with every such read. A
    message that was waited for ends it: on a quiet stream every message is read at once.
    """

    def __init__(self) -> None:
        self._seconds = 0.0

    def after(self, waited: float, size: int) -> float:
        """The pause after a read of so many bytes that came after so many seconds."""
        if waited >= _CLOSE_SECONDS:
            self._seconds = 0.0
        elif size < _SMALL_READ:
            self._seconds = min(self._seconds + _PAUSE_GROWTH, _LONGEST_PAUSE)
        else:
            return 0.0  # enough arrives without a pause, as in a list; a pause would only delay it
        return self._seconds
