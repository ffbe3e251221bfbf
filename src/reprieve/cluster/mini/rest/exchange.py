"""What a client asks and what it is answered, whatever carries it. Nothing here knows of sockets."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

import msgspec

from reprieve.cluster.mini.rights.users import ADMIN, User
from reprieve.model.json import Json

JSON = "application/json"
_MOST_WARNED = 4096  # characters: clients refuse long headers
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Request:
    """``path`` is still percent-encoded; of a parameter that is given twice, the first counts.

    ``agent``: which program asks, in its own words.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = ""
    content_type: str = ""
    body: bytes = b""
    user: User = ADMIN
    agent: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that goes on until the client or its time limit ends it. Each chunk is whole lines."""

    chunks: AsyncGenerator[bytes, None]
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Response | Stream


def answer(body: Json | bytes, status: int = 200, warnings: tuple[str, ...] = ()) -> Response:
    """``bytes`` are JSON already."""
    raw = body if isinstance(body, bytes) else _encode(body)
    return Response(status, raw, headers=warning_header(warnings))


def warning_header(warnings: tuple[str, ...]) -> dict[str, str]:
    """As kubectl reads it and shows it to people; of very many, the first."""
    quoted = [f'299 - "{_quoted(warning)}"' for warning in warnings]
    ends = accumulate(len(text) for text in quoted)
    text = ", ".join(text for text, end in zip(quoted, ends, strict=True) if end <= _MOST_WARNED)
    return {"Warning": text} if text else {}


def _quoted(text: str) -> str:
    plain = "".join(c for c in text if c.isascii() and c.isprintable())
    return plain.replace("\\", "\\\\").replace('"', '\\"')
