"""What a running scheduler serves over HTTP: probes, metrics, its configuration, its recent decisions.

Where it listens, and which clients may read which path, is decided elsewhere.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web

from reprieve.supervision.supervisor import HealthCheck, probe

JSON = "application/json"

_CONTENT_SECONDS = 10.0  # how long Prometheus waits, if not told otherwise
_BLOCKED = f"scheduling has been blocked for {_CONTENT_SECONDS:g} s: see /readyz\n"

Denial = tuple[int, str]  # an HTTP status, and a sentence


@dataclass(frozen=True, slots=True)
class HttpClient:
    """``token``: its bearer token, if any. ``connection``: TLS, from which its certificate is read."""

    token: str = ""
    connection: ssl.SSLObject | None = None


Authorize = Callable[[HttpClient, str], Awaitable[Denial | None]]  # whether a client may read a path


@dataclass(frozen=True, slots=True)
class ContentEndpoint:
    """Content for a client, by the parameters of its query. A ValueError says what is wrong with those.

    It may have to wait for the thread that schedules."""

    content: Callable[[HttpClient, Mapping[str, str]], Awaitable[bytes]]
    content_type: str = JSON


@dataclass(frozen=True, slots=True)
class ProbeEndpoint:
    checks: Callable[[], Iterable[HealthCheck]]


Endpoint = ContentEndpoint | ProbeEndpoint
Endpoints = Mapping[str, Endpoint]


# The kubelet has no token when it probes.
PROBES = ("/healthz", "/livez", "/readyz")


def application(
    endpoints: Endpoints, authorize: Authorize, always_allowed: Sequence[str] = PROBES
) -> web.Application:
    """``always_allowed``: paths that need no authorization; a star at the end stands for anything."""
    made = web.Application()
    for path, endpoint in endpoints.items():
        handler = _handler(path, endpoint)
        open_to_all = _matches(path, always_allowed)
        made.router.add_get(path, handler if open_to_all else _authorized(handler, authorize))
    return made


def _matches(path: str, patterns: Sequence[str]) -> bool:
    plain = path.lstrip("/")
    stripped = [pattern.lstrip("/") for pattern in patterns]
    return any(plain == p or (p.endswith("*") and plain.startswith(p[:-1])) for p in stripped)


Handler = Callable[[web.Request], Awaitable[web.Response]]


def _handler(path: str, endpoint: Endpoint) -> Handler:
    match endpoint:
        case ProbeEndpoint():
            return _probe(path, endpoint)
        case ContentEndpoint():
            return _content(endpoint)


def _authorized(handler: Handler, authorize: Authorize) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        denial = await authorize(client_of(request), request.path)
        if denial is None:
            return await handler(request)
        status, sentence = denial
        return web.Response(status=status, text=f"{sentence}\n")

    return handle


def _content(endpoint: ContentEndpoint) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(_CONTENT_SECONDS):
                body = await endpoint.content(client_of(request), request.query)
        except TimeoutError:
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=_BLOCKED)
        except ValueError as error:
            return web.Response(status=HTTPStatus.BAD_REQUEST, text=f"{error}\n")
        return web.Response(body=body, headers={"Content-Type": endpoint.content_type})

    return handle


def client_of(request: web.Request) -> HttpClient:
    transport = request.transport
    connection = transport.get_extra_info("ssl_object") if transport is not None else None
    return HttpClient(_token(request), connection)


def _token(request: web.Request) -> str:
    kind, _, token = request.headers.get("Authorization", "").strip().partition(" ")
    # No token has other bytes than those of ASCII; spelled out they can be reviewed, and rejected.
    spelled = token.strip().encode("ascii", "backslashreplace").decode()
    return spelled if kind.lower() == "bearer" else ""


def _probe(path: str, endpoint: ProbeEndpoint) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        passes, text = probe(path.strip("/"), endpoint.checks(), verbose="verbose" in request.query)
        return web.Response(status=HTTPStatus.OK if passes else HTTPStatus.INTERNAL_SERVER_ERROR, text=text)

    return handle
