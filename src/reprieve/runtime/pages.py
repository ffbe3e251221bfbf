"""Pages about a running scheduler, over HTTP: is it well, what does it count, how is it configured?

Where they are served, and who may read which, is for others to say.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web

from reprieve.runtime.readiness import Check

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"

Refusal = tuple[int, str]  # a status of HTTP, and a sentence
Door = Callable[[str, str], Awaitable[Refusal | None]]  # of a token and a path


@dataclass(frozen=True, slots=True)
class Page:
    """For those who may read it."""

    content: Callable[[], bytes]
    content_type: str = TEXT


@dataclass(frozen=True, slots=True)
class Probe:
    """Answered for everybody: something that asks whether we live has no token."""

    checks: Callable[[], Iterable[Check]]


Pages = Mapping[str, Page | Probe]


def application(pages: Pages, door: Door) -> web.Application:
    made = web.Application()
    for path, page in pages.items():
        made.router.add_get(path, _probed(path, page) if isinstance(page, Probe) else _shown(page, door))
    return made


Handler = Callable[[web.Request], Awaitable[web.Response]]


def _shown(page: Page, door: Door) -> Handler:
    async def handle(request: web.Request) -> web.Response:
        refusal = await door(_token(request), request.path)
        if refusal is not None:
            status, sentence = refusal
            return web.Response(status=status, text=f"{sentence}\n")
        return web.Response(body=page.content(), headers={"Content-Type": page.content_type})

    return handle


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
