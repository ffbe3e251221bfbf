"""Which response do the bytes of an HTTP/1.1 connection make? Only a whole one counts."""

from collections.abc import Mapping
from dataclasses import dataclass

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
    """Bytes of one response in, the response out as soon as it is whole."""

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
