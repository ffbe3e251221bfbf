"""Pages about a running scheduler, over HTTP: is it well, what does it count, how is it configured?

Where they are served, and who may read which, is for others to say.
"""

import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web

from reprieve.runtime.readiness import Check

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"

Refusal = tuple[int, str]  # a status of HTTP, and a sentence


@dataclass(frozen=True, slots=True)
class Visitor:
    """``token``: if he shows one. ``connection``: over which TLS is spoken, and his certificate is known."""

    token: str = ""
    connection: ssl.SSLObject | None = None


Door = Callable[[Visitor, str], Awaitable[Refusal | None]]  # may they read what is under a path?


@dataclass(frozen=True, slots=True)
class Page:
    content: Callable[[], bytes]
    content_type: str = TEXT


@dataclass(frozen=True, slots=True)
class Probe:
    checks: Callable[[], Iterable[Check]]


Pages = Mapping[str, Page | Probe]


# Something that asks whether we live has no token.
PROBES = ("/healthz", "/livez", "/readyz")


def application(pages: Pages, door: Door, for_all: Sequence[str] = PROBES) -> web.Application:
    """``for_all``: the paths for which nobody is asked who he is; a star at the end stands for anything."""
    made = web.Application()
    for path, page in pages.items():
        handler = _probed(path, page) if isinstance(page, Probe) else _shown(page)
        made.router.add_get(path, handler if _is_for_all(path, for_all) else _guarded(handler, door))
    return made


def _is_for_all(path: str, for_all: Sequence[str]) -> bool:
    plain = path.lstrip("/")
    patterns = [pattern.lstrip("/") for pattern in for_all]
    return any(plain == p or (p.endswith("*") and plain.startswith(p[:-1])) for p in patterns)


Handler = Callable[[web.Request], Awaitable[web.Response]]


def _guarded(handler: Handler, door: Door) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        refusal = await door(_visitor(request), request.path)
        if refusal is None:
            return await handler(request)
        status, sentence = refusal
        return web.Response(status=status, text=f"{sentence}\n")

    return handle


def _shown(page: Page) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        return web.Response(body=page.content(), headers={"Content-Type": page.content_type})

    return handle


def _visitor(request: web.Request) -> Visitor:
    transport = request.transport
    return Visitor(_token(request), transport.get_extra_info("ssl_object") if transport is not None else None)


def _token(request: web.Request) -> str:
    kind, _, token = request.headers.get("Authorization", "").strip().partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _probed(path: str, probe: Probe) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        checks = list(probe.checks())
        fails = any(wrong for _, wrong in checks)
        status = HTTPStatus.INTERNAL_SERVER_ERROR if fails else HTTPStatus.OK
        verbose = fails or "verbose" in request.query
        return web.Response(status=status, text=_in_detail(path, checks) if verbose else "ok")

    return handle


def _in_detail(path: str, checks: list[Check]) -> str:
    lines = [f"[-]{name} failed: {wrong}" if wrong else f"[+]{name} ok" for name, wrong in checks]
    end = "failed" if any(wrong for _, wrong in checks) else "passed"
    return "\n".join([*lines, f"{path.strip('/')} check {end}", ""])
