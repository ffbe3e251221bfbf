"""How is a request sent on a kept HTTP/1.1 connection, and its whole response awaited?

For writes, which are small and many: what aiohttp does for a request costs several times as much as the rest
of a bind. There are no proxies, redirects or streams here.
"""

import asyncio
import socket
import ssl
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from reprieve.supervision.call_slots import CallSlots

_LONGEST_HEAD = 256 * 1024  # bytes
_LONGEST_CHUNK_LINE = 4096
_NO_BODY = (204, 304)
_LENGTH = "content-length"
_DIGITS = {10: b"0123456789", 16: b"0123456789abcdefABCDEF"}
_HEAD_END, _LINE_END = b"\r\n\r\n", b"\r\n"


class MalformedError(Exception):
    """These bytes are no HTTP/1.1 response."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """``headers``: by name in lower case. ``keeps_open``: another request may follow on the connection."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    keeps_open: bool


@dataclass(frozen=True, slots=True)
class _Head:
    """``length``: of the body; None if its end is told otherwise."""

    status: int
    headers: Mapping[str, str]
    length: int | None
    is_chunked: bool
    keeps_open: bool


class ResponseReader:
    """Bytes of one response in, the response out as soon as it is whole: only a whole one counts."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: _Head | None = None
        self._chunks: list[bytes] = []

    def feed(self, data: bytes) -> HttpResponse | None:
        self._buffer += data
        head = self._head = self._head or self._read_head()
        if head is None:
            return None
        if head.is_chunked:
            return self._response(head, b"".join(self._chunks)) if self._read_chunks() else None
        if head.length is None or len(self._buffer) < head.length:
            return None
        body = bytes(self._buffer[: head.length])
        del self._buffer[: head.length]
        return self._response(head, body)

    def end(self) -> HttpResponse | None:
        """The server has closed the connection, which ends a body whose length was not told."""
        head = self._head
        if head is None or head.is_chunked or head.length is not None:
            return None
        body = bytes(self._buffer)
        self._buffer.clear()
        return self._response(head, body)

    def _response(self, head: _Head, body: bytes) -> HttpResponse:
        # A server that sends more than it was asked for cannot be understood from here on.
        return HttpResponse(head.status, head.headers, body, head.keeps_open and not self._buffer)

    def _read_head(self) -> _Head | None:
        while (end := self._buffer.find(_HEAD_END)) >= 0:
            head = _head(bytes(self._buffer[:end]))
            del self._buffer[: end + len(_HEAD_END)]
            if head.status >= 200:
                return head  # others are interim: the response follows
        if len(self._buffer) > _LONGEST_HEAD:
            raise MalformedError("the header of the response is too long")
        return None

    def _read_chunks(self) -> bool:
        """Whether the last chunk has come."""
        buffer = self._buffer
        while (line_end := buffer.find(_LINE_END)) >= 0:
            size = _number(bytes(buffer[:line_end]).partition(b";")[0], base=16)
            if size == 0:
                end = buffer.find(_HEAD_END, line_end)  # trailers may come before it
                if end < 0:
                    return False
                del buffer[: end + len(_HEAD_END)]
                return True
            begin = line_end + len(_LINE_END)
            if len(buffer) < begin + size + len(_LINE_END):
                return False
            if buffer[begin + size : begin + size + len(_LINE_END)] != _LINE_END:
                raise MalformedError("a chunk is longer than it says")
            self._chunks.append(bytes(buffer[begin : begin + size]))
            del buffer[: begin + size + len(_LINE_END)]
        if len(buffer) > _LONGEST_CHUNK_LINE:
            raise MalformedError("the length of a chunk is not told")
        return False


def _head(text: bytes) -> _Head:
    first, *lines = text.decode("latin-1").split("\r\n")
    protocol, _, rest = first.partition(" ")
    if not protocol.startswith("HTTP/1."):
        raise MalformedError("the response is not HTTP/1.1")
    status = _number(rest[:3].encode("latin-1"))
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        if name.lower() == _LENGTH and headers.get(_LENGTH, value.strip()) != value.strip():
            raise MalformedError("the response has two lengths")
        headers[name.lower()] = value.strip()
    is_chunked = "chunked" in headers.get("transfer-encoding", "").lower()
    if is_chunked and _LENGTH in headers:
        raise MalformedError("the response has a length and chunks")
    told = headers.get(_LENGTH)
    length = 0 if status in _NO_BODY else None if told is None else _number(told.encode("latin-1"))
    keeps_open = protocol != "HTTP/1.0" and "close" not in headers.get("connection", "").lower()
    ends_itself = is_chunked or length is not None
    return _Head(status, headers, length, is_chunked and length != 0, keeps_open and ends_itself)


def _number(text: bytes, base: int = 10) -> int:
    """Digits alone: Python's own reading is more lenient than that of other servers and clients."""
    digits = text.strip()
    if not digits or digits.translate(None, _DIGITS[base]):
        raise MalformedError(f"expected a number in the response, got {text[:20]!r}")
    return int(digits, base)


_AT_ONCE = 16
_SLOW_SECONDS = 0.2
_MOST_OPEN = 200  # connections, those that hang among them
_LONGEST_IDLE = 60.0  # seconds; API servers close an idle connection after 90
_PORTS = {"http": 80, "https": 443}
_DISCARD = struct.pack("ii", 1, 0)


class NotSentError(Exception):
    """There is no connection, so that nothing was sent."""


class NoResponseError(Exception):
    """The request was sent, and its response did not come, or not whole."""


class HttpPool:
    """Connections to one server, as many as there were requests at once.

    A TLS handshake costs more than ten requests, and more requests at once do not make a server faster. So
    only a few are sent at once, and one that takes long does not count: those that hang must not stop others.
    """

    def __init__(self, server: str, server_name: str, connect_seconds: float) -> None:
        """``server_name``: the name in its certificate, if that is another than in the URL."""
        parts = urlsplit(server)
        usual = _PORTS.get(parts.scheme, 0)
        self._host = parts.hostname or ""
        self._port = parts.port or usual
        self._path = parts.path
        named = f"[{self._host}]" if ":" in self._host else self._host
        self.authority = named if self._port == usual else f"{named}:{self._port}"
        self._server_name = server_name
        self._connect_seconds = connect_seconds
        self._idle: list[_KeptConnection] = []
        self._open: set[_KeptConnection] = set()
        self._connecting = 0
        self._slots = CallSlots(_AT_ONCE, _SLOW_SECONDS)

    def message(self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
        """A request as it is sent. NotSentError if a header would end before its time."""
        own = (("Host", self.authority), ("Content-Length", str(len(body))))
        lines = [f"{name}: {value}" for name, value in (*own, *headers)]
        if any("\r" in line or "\n" in line for line in lines):
            raise NotSentError("a header of the request has a line break")
        head = "\r\n".join((f"{method} {self._path}{target} HTTP/1.1", *lines, "", ""))
        return head.encode() + body

    async def exchange(
        self, request: bytes, tls: ssl.SSLContext | None, seconds: float, begin: Callable[[], None]
    ) -> HttpResponse:
        """``begin`` is called at the moment of sending; if it raises, nothing is sent.

        NotSentError or NoResponseError if there is no response within so many seconds.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        async with self._slots.one():
            if loop.time() >= until:
                raise NotSentError("other requests took all the time")
            return await self._exchanged(request, tls, until, begin)

    async def _exchanged(
        self, request: bytes, tls: ssl.SSLContext | None, until: float, begin: Callable[[], None]
    ) -> HttpResponse:
        connection = self._kept(tls) or await self._connected(tls, until)
        try:
            begin()
            response = await connection.exchange(request, until)
        except BaseException:
            connection.abort()  # a response that comes later would pass for that of the next request
            raise
        if response.keeps_open and not connection.is_closed:
            self._idle.append(connection)
        else:
            connection.abort()
        return response

    def close(self) -> None:
        for connection in tuple(self._open):
            connection.abort()

    def _kept(self, tls: ssl.SSLContext | None) -> "_KeptConnection | None":
        """One that is idle, the latest first: so those that are not needed grow old."""
        since = asyncio.get_running_loop().time() - _LONGEST_IDLE
        while self._idle:
            connection = self._idle.pop()
            if connection.tls is tls and connection.used_at >= since and not connection.is_closed:
                return connection
            connection.abort()
        return None

    async def _connected(self, tls: ssl.SSLContext | None, until: float) -> "_KeptConnection":
        if len(self._open) + self._connecting >= _MOST_OPEN:
            raise NotSentError(f"{_MOST_OPEN} requests hang, each on a connection of its own")
        self._connecting += 1
        try:
            return await self._new_connection(tls, until)
        finally:
            self._connecting -= 1

    async def _new_connection(self, tls: ssl.SSLContext | None, until: float) -> "_KeptConnection":
        loop = asyncio.get_running_loop()
        seconds = min(until - loop.time(), self._connect_seconds)
        name = (self._server_name or self._host) if tls is not None else None
        try:
            async with asyncio.timeout(seconds):
                _, connection = await loop.create_connection(
                    lambda: _KeptConnection(tls, self._open),
                    self._host,
                    self._port,
                    ssl=tls,
                    server_hostname=name,
                    happy_eyeballs_delay=0.25,
                )
        except TimeoutError as error:
            raise NotSentError(f"no connection within {seconds:g} s") from error
        except OSError as error:
            raise NotSentError(str(error) or type(error).__name__) from error
        return connection


class _KeptConnection(asyncio.Protocol):
    """One request at a time. It is in ``registry`` for as long as it is open."""

    def __init__(self, tls: ssl.SSLContext | None, registry: "set[_KeptConnection]") -> None:
        self.tls = tls
        self.used_at = 0.0
        self.is_closed = False
        self._registry = registry
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader = ResponseReader()
        self._response: asyncio.Future[HttpResponse] | None = None

    async def exchange(self, request: bytes, until: float) -> HttpResponse:
        if self._transport is None:
            raise NotSentError("the connection is closed")
        self._reader = ResponseReader()
        response: asyncio.Future[HttpResponse] = self._loop.create_future()
        self._response = response
        self._transport.write(request)
        limit = self._loop.call_at(until, self._fail, "no response in time")
        try:
            return await response
        finally:
            limit.cancel()
            self._response = None
            self.used_at = self._loop.time()

    def abort(self) -> None:
        """What was not delivered yet is discarded, also by the kernel: a write must not arrive when another
        replica leads."""
        self.is_closed = True
        if self._transport is None:
            return
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            with suppress(OSError):  # it is closed already
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _DISCARD)
        self._transport.abort()

    # --- what the transport calls ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._registry.add(self)

    def data_received(self, data: bytes) -> None:
        if self._response is None or self._response.done():
            self.abort()  # it has sent what it was not asked for
            return
        try:
            response = self._reader.feed(data)
        except MalformedError as error:
            self._fail(str(error))
            return
        if response is not None:
            self._response.set_result(response)

    def eof_received(self) -> None:
        response = self._reader.end()
        if response is not None and self._response is not None and not self._response.done():
            self._response.set_result(response)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_closed, self._transport = True, None
        self._registry.discard(self)
        self._fail(str(error or "") or "the server closed the connection")

    def _fail(self, why: str) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_exception(NoResponseError(why))
