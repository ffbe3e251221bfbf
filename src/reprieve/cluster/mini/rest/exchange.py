"""What a client asks and what it is answered, whatever carries it. Nothing here knows of sockets."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field

import msgspec

from reprieve.cluster.mini.kinds import Json

JSON = "application/json"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Request:
    """``path`` is still percent-encoded; of a parameter that is given twice, the last counts."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = ""
    content_type: str = ""
    body: bytes = b""


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
    """As kubectl reads it and shows it to people."""
    quoted = (w.replace("\\", "\\\\").replace('"', '\\"') for w in warnings)
    text = ", ".join(f'299 - "{w}"' for w in quoted)
    return {"Warning": "".join(c for c in text if c.isprintable())} if text else {}
