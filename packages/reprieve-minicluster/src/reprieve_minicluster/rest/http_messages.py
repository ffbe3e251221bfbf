"""Requests and responses of the API, independent of any HTTP server."""

from collections.abc import AsyncGenerator, Generator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate

import msgspec

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import ADMIN, UserInfo
from reprieve_minicluster.errors import ApiError, bad_request
from reprieve_minicluster.kinds import ResourceKind
from reprieve_minicluster.store.metadata import Identity
from reprieve_minicluster.webhooks.calls import Replies

JSON = "application/json"
_MOST_WARNED = 4096  # characters: clients refuse long headers
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """``path`` is still percent-encoded; of a repeated query parameter, the first counts.

    ``agent``: the User-Agent header. ``replies``: what webhooks have answered about it; ``identity``: that of
    the object that it creates, if it waited for them.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    accept: str = ""
    content_type: str = ""
    body: bytes = b""
    user: UserInfo = ADMIN
    agent: str = ""
    replies: Replies = field(default_factory=dict)
    identity: Identity | None = None


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


def with_warnings(response: ApiResponse, warnings: tuple[str, ...]) -> ApiResponse:
    """Further warnings, after those that it has."""
    if not warnings:
        return response
    texts = filter(None, (response.headers.get("Warning"), *warning_header(warnings).values()))
    return replace(response, headers={**response.headers, "Warning": ", ".join(texts)})


def _quoted(text: str) -> str:
    plain = "".join(c for c in text if c.isascii() and c.isprintable())
    return plain.replace("\\", "\\\\").replace('"', '\\"')


# --- Status ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Subject:
    """The details of a Status; ``what`` is a resource such as pods, or a kind."""

    name: str = ""
    group: str = ""
    what: str = ""
    uid: str = ""


NOTHING = Subject()


def status_subject(kind: ResourceKind, name: str, uid: str = "") -> Subject:
    return Subject(name, kind.group, kind.plural, uid)


def success(subject: Subject = NOTHING, code: int | None = None) -> Json:
    """As in Kubernetes, creations have a code and deletions have none."""
    details = _details(subject)
    said = {"details": details or None, "code": code}
    return {**_HEAD, "status": "Success", **{name: value for name, value in said.items() if value}}


def failure(error: ApiError, subject: Subject = NOTHING) -> Json:
    causes = [_cause(cause.reason, cause.message, cause.field) for cause in error.causes]
    return {
        **_HEAD,
        "metadata": {"continue": error.continue_token} if error.continue_token else {},
        "status": "Failure",
        "message": error.message,
        "reason": error.reason,
        # Always present: some clients read them without a check.
        "details": _details(subject, causes, error.retry_after),
        "code": error.status,
    }


def refusal(error: ApiError, subject: Subject = NOTHING) -> ApiResponse:
    body = answer(failure(error, subject), error.status)
    if error.retry_after is None:
        return body
    return ApiResponse(body.status, body.body, headers={"Retry-After": str(error.retry_after)})


_HEAD: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}}


def _cause(reason: str, message: str, field: str) -> Json:
    cause = {"reason": reason, "message": message, "field": field}
    return {name: text for name, text in cause.items() if text}


def _details(subject: Subject, causes: list[Json] | None = None, retry_after: int | None = None) -> Json:
    details = {
        "name": subject.name,
        "group": subject.group,
        "kind": subject.what,
        "uid": subject.uid,
        "causes": causes,
        "retryAfterSeconds": retry_after,
    }
    return {name: value for name, value in details.items() if value}


DEEPEST = 100


def check_depth(value: object) -> None:
    """Level by level, since a recursive check would itself exhaust the stack."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            below
            for item in level
            if isinstance(item, dict | list)
            for below in (item.values() if isinstance(item, dict) else item)
            if isinstance(below, dict | list)
        ]
        if not level:
            return
    raise too_deep()


def too_deep() -> ApiError:
    return bad_request(f"the body is nested deeper than {DEEPEST} levels")
