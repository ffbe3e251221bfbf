"""Requests and responses of the API, independent of any HTTP server."""

from collections.abc import AsyncGenerator, Generator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

import msgspec

from reprieve.cluster.mini.auth.authentication import ADMIN, UserInfo
from reprieve.model.json import Json

JSON = "application/json"
_MOST_WARNED = 4096  # characters: clients refuse long headers
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """``path`` is still percent-encoded; of a repeated query parameter, the first counts.

    ``agent``: the User-Agent header.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = ""
    content_type: str = ""
    body: bytes = b""
    user: UserInfo = ADMIN
    agent: str = ""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """A response that lasts until the client disconnects or its timeout ends. Each chunk is whole lines."""

    chunks: AsyncGenerator[bytes, None]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Batched:
    """A response to a request with much to do: it is done in batches, and others are served in between."""

    batches: Generator[None, None, ApiResponse]

    def finished(self) -> ApiResponse:
        """All batches at once."""
        while (response := self.next()) is None:
            pass
        return response

    def next(self) -> ApiResponse | None:
        """Does a batch; the response after the last one."""
        try:
            return next(self.batches)
        except StopIteration as end:
            response: ApiResponse = end.value
            return response


Answer = ApiResponse | Stream | Batched


def answer(body: Json | bytes, status: int = 200, warnings: tuple[str, ...] = ()) -> ApiResponse:
    """``bytes`` are already JSON."""
    raw = body if isinstance(body, bytes) else _encode(body)
    return ApiResponse(status, raw, headers=warning_header(warnings))


def warning_header(warnings: tuple[str, ...]) -> dict[str, str]:
    """The Warning header that kubectl prints; warnings beyond the length limit are dropped."""
    quoted = [f'299 - "{_quoted(warning)}"' for warning in warnings]
    ends = accumulate(len(text) for text in quoted)
    text = ", ".join(text for text, end in zip(quoted, ends, strict=True) if end <= _MOST_WARNED)
    return {"Warning": text} if text else {}


def _quoted(text: str) -> str:
    plain = "".join(c for c in text if c.isascii() and c.isprintable())
    return plain.replace("\\", "\\\\").replace('"', '\\"')
