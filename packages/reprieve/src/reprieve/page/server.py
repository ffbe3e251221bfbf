"""What does the page serve over HTTP, below /page/? Files, the picture, its changes, and answers.

Routes and headers alone: what is known comes from a source of frames, which reader may see what from a gate.
Where it listens is decided elsewhere.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, partial
from http import HTTPStatus
from importlib.resources import files
from importlib.resources.abc import Traversable
from math import isfinite
from pathlib import PurePath

import msgspec
from aiohttp import web

from reprieve.model.json import Json
from reprieve.page.documents import decision_json, kinds_in_changes, kinds_in_picture, picture_json
from reprieve.page.live import ChangeBatch, LivePicture
from reprieve.page.picture import Picture
from reprieve.page.readers import (
    ChangeStream,
    ReaderPlaces,
    WorkPace,
    answering,
    delivered,
    is_connected,
    named_request,
)
from reprieve.page.sources import (
    PageParts,
    PageQuestions,
    PageRefusedError,
    PictureFrame,
    ReaderSight,
    WhyQuestion,
)
from reprieve.report.hidden_names import MayGet, Named, may_get_all, named_in
from reprieve.supervision.supervisor import log_mishap

PAGE_PATH = "/page/"
_API = "/page/api"
_MOST_YAML = 1 << 20  # bytes
_MOST_STREAMS, _STREAMS_EACH = 100, 8
_MOST_PICTURES, _MOST_FILTERED, _PICTURES_EACH = 32, 8, 4  # that are made or delivered at once
_MOST_REPLAYED = 2_000  # changes; a reader that missed more loads the picture
_LOOK_SECONDS = 1.0  # between looks whether a reader is still there
_MISSED = "changes were missed: the page loads the picture again"
_REVIEWED_SECONDS = 60.0  # how long a reader reads on before its rights are asked for again
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_REST = 4  # times as long as the last shared picture took: until the next is made
_JSON = "application/json"
_JSON_HEADERS = {**_HEADERS, "Content-Type": _JSON}
_EVENT_STREAM = "text/event-stream; charset=utf-8"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_INDEX = "index.html"

Answered = Callable[[web.Request], Awaitable[web.StreamResponse]]


def page_routes(parts: PageParts) -> list[web.RouteDef]:
    """The routes, for an application that may serve other paths, too."""
    api = _Api(parts)
    routes: list[tuple[str, str, Answered]] = [
        ("GET", "/page", _to_the_page),
        ("GET", PAGE_PATH, partial(_file, _INDEX)),
        ("GET", "/page/static/{name}", _named_file),
        ("GET", f"{_API}/picture", api.picture),
        ("GET", f"{_API}/changes", api.changes),
        ("GET", f"{_API}/decisions/{{id}}", api.decision),
        ("GET", f"{_API}/history", api.history),
        ("GET", f"{_API}/why", api.why),
        ("GET", f"{_API}/exposure", api.exposure),
        ("GET", f"{_API}/example", api.example),
        ("POST", f"{_API}/whatif", api.whatif),
        ("POST", f"{_API}/apply", api.apply),
    ]
    return [web.route(method, path, _answering(parts, handler)) for method, path, handler in routes]


def _answering(parts: PageParts, handler: Answered) -> Answered:
    """Whatever goes wrong is a sentence, with the same headers as everything else."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            parts.gate.check_origin(request)
            return await handler(request)
        except PageRefusedError as refusal:
            return _json({"message": str(refusal)}, refusal.status)
        except web.HTTPRequestEntityTooLarge:
            text = f"the manifests are too large: expected at most {_MOST_YAML >> 10} KiB"
            return _json({"message": text}, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        except web.HTTPException:
            raise
        except Exception as error:
            log_mishap(named_request(request), error)
            text = f"the server failed on this request: {type(error).__name__}; see its log"
            return _json({"message": text}, HTTPStatus.INTERNAL_SERVER_ERROR)

    return handle


def _json(document: Json, status: int = HTTPStatus.OK) -> web.Response:
    return _bytes(msgspec.json.encode(document), _JSON, status)


def _elapsed() -> float:
    return asyncio.get_running_loop().time()


def _bytes(body: bytes, content_type: str, status: int = HTTPStatus.OK) -> web.Response:
    return web.Response(body=body, status=status, headers={**_HEADERS, "Content-Type": content_type})


# --- files ---------------------------------------------------------------------------------------


async def _to_the_page(request: web.Request) -> web.StreamResponse:
    """Relative: a proxy may serve it below another path."""
    return web.Response(status=HTTPStatus.MOVED_PERMANENTLY, headers={**_HEADERS, "Location": "page/"})


async def _named_file(request: web.Request) -> web.StreamResponse:
    return await _file(request.match_info["name"], request)


async def _file(name: str, request: web.Request) -> web.StreamResponse:
    """A name with a path in it is the name of no file."""
    found = _files().get(name)
    if found is None:
        raise PageRefusedError(f"there is no file {name}", HTTPStatus.NOT_FOUND)
    return _bytes(found.read_bytes(), _TYPES[PurePath(name).suffix])


@cache
def _files() -> dict[str, Traversable]:
    """From this package alone."""
    folder = files("reprieve.page").joinpath("static")
    found = folder.iterdir() if folder.is_dir() else ()
    return {one.name: one for one in found if PurePath(one.name).suffix in _TYPES}


# --- the API -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _KeptPicture:
    """A picture that shows everything, as it was sent. ``until``: for how long it is good enough."""

    revision: int
    body: bytes
    until: float


def _pictures_at_once() -> ReaderPlaces:
    return ReaderPlaces(_MOST_PICTURES, _PICTURES_EACH, "many readers load the page: it is tried again")


def _filtered_at_once() -> ReaderPlaces:
    return ReaderPlaces(
        _MOST_FILTERED, _PICTURES_EACH, "many readers of few rights load the page: it is tried again"
    )


def _streams_at_once() -> ReaderPlaces:
    return ReaderPlaces(_MOST_STREAMS, _STREAMS_EACH, f"{_MOST_STREAMS} readers follow this page already")


@dataclass(slots=True)
class _Api:
    """What is sent to readers that may see everything is made once for all of them. For each of the others it
    is made anew, at a pace: their number must not matter."""

    parts: PageParts
    _kept: _KeptPicture | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # questions are answered one by one
    _pace: WorkPace = field(default_factory=WorkPace)
    _pictures: ReaderPlaces = field(default_factory=_pictures_at_once)
    _filtered: ReaderPlaces = field(default_factory=_filtered_at_once)
    _streams: ReaderPlaces = field(default_factory=_streams_at_once)

    async def picture(self, request: web.Request) -> web.StreamResponse:
        """A place is taken until all of it is delivered: it is in memory for so long."""
        sight, at = await self.parts.gate.enter(request), _moment(request)
        if await sight.of(()) is may_get_all:
            with self._pictures.one(sight.reader):
                return await delivered(request, await self._whole_picture(at), _JSON_HEADERS)
        with self._filtered.one(sight.reader):
            return await delivered(request, await self._filtered_picture(request, sight, at), _JSON_HEADERS)

    async def _whole_picture(self, at: float | None) -> bytes:
        frame, live = await self.parts.frames.frame(at), self.parts.live
        return self._written(frame) if live is None or at is not None else self._shared(frame, live)

    async def _filtered_picture(self, request: web.Request, sight: ReaderSight, at: float | None) -> bytes:
        frame = await self.parts.frames.frame(at)
        kinds = await self._pace.run(partial(_kinds_for, request, frame.picture))
        # What comes between is not reviewed yet, and therefore hidden.
        may_get = await sight.of(kinds)
        return await self._pace.run(partial(self._written_for, request, frame, may_get))

    def _shared(self, frame: PictureFrame, live: LivePicture) -> bytes:
        """A picture that is a little older is as good: what changed since is in the stream. So pictures of a
        large cluster take a small part of the time, however often readers load them."""
        began, kept = _elapsed(), self._kept
        if kept is not None and began < kept.until and live.ring.after(kept.revision) is not None:
            return kept.body
        body = self._written(frame)
        self._kept = _KeptPicture(frame.revision, body, _elapsed() + _REST * (_elapsed() - began))
        return body

    def _written_for(self, request: web.Request, frame: PictureFrame, may_get: MayGet) -> bytes:
        _check_connected(request)
        return self._written(frame, may_get)

    def _written(self, frame: PictureFrame, may_get: MayGet = may_get_all) -> bytes:
        return msgspec.json.encode(
            picture_json(self.parts.head, frame.picture, frame.revision, frame.known_since, may_get)
        )

    async def decision(self, request: web.Request) -> web.StreamResponse:
        sight, name = await self.parts.gate.enter(request), request.match_info["id"]
        frame = await self.parts.frames.frame(_moment(request))
        kept = frame.picture.decisions.find(name)
        if kept is None:
            text = f"decision {name} is not known any more: the page keeps only the newest ones"
            raise PageRefusedError(text, HTTPStatus.NOT_FOUND)
        may_get = await _may_get_shown(sight, lambda: named_in(kept.decision))
        return _json(decision_json(kept, may_get))

    async def history(self, request: web.Request) -> web.StreamResponse:
        await self.parts.gate.enter(request)
        found = await self.parts.frames.history()
        if found is None:
            raise PageRefusedError(
                "there is no history: only the present is known here", HTTPStatus.NOT_FOUND
            )
        return _json(found)

    async def changes(self, request: web.Request) -> web.StreamResponse:
        sight, live = await self.parts.gate.enter(request), self.parts.live
        if live is None:
            raise PageRefusedError("nothing changes here: this is a recording", HTTPStatus.NOT_FOUND)
        revision = _revision(request)
        headers = {**_HEADERS, "Content-Type": _EVENT_STREAM, "X-Accel-Buffering": "no"}
        response = web.StreamResponse(headers=headers)
        with self._streams.one(sight.reader), live.reading():
            async with answering(request, response):
                await self._follow(ChangeStream(request, response), live, sight, revision)
        return response

    async def _follow(
        self, stream: "ChangeStream", live: LivePicture, sight: ReaderSight, revision: int
    ) -> None:
        if live.ring.changes_after(revision) > _MOST_REPLAYED:
            return await stream.send(_reload(_MISSED))
        rights_change = asyncio.ensure_future(_until_rights_change(sight))
        try:
            while not live.closed and stream.is_open:
                batches = await live.after(revision, _LOOK_SECONDS)
                if batches is None:
                    return await stream.send(_reload(_MISSED))
                if rights_change.done():
                    rights_change.result()
                    return await stream.send(_reload("the rights of this reader have changed"))
                for batch in batches:
                    await stream.send(await self._event(batch, sight))
                    revision = batch.revision
                    await asyncio.sleep(0)  # a long replay must not keep other readers waiting
                await stream.show_life()
        finally:
            rights_change.cancel()
        return None

    async def _event(self, batch: ChangeBatch, sight: ReaderSight) -> bytes:
        may_get = await _may_get_shown(sight, partial(kinds_in_changes, batch.changes))
        if may_get is may_get_all:
            return batch.event()
        return await self._pace.run(partial(batch.event, may_get))

    # --- questions ---------------------------------------------------------------------------------

    async def why(self, request: web.Request) -> web.StreamResponse:
        questions = await self._questions(request, can=self.parts.head.can.why)
        asked = WhyQuestion(*(request.query.get(name, "") for name in ("pod", "group", "tree", "decision")))
        if sum(map(bool, (asked.pod, asked.group, asked.tree, asked.decision))) != 1:
            raise PageRefusedError("expected one of ?pod=, ?group= or ?tree=NAMESPACE/NAME, or ?decision=ID")
        at = _moment(request)
        async with self._turn:
            return _json(await questions.why(asked, at))

    async def exposure(self, request: web.Request) -> web.StreamResponse:
        questions = await self._questions(request, can=self.parts.head.can.exposure)
        at = _moment(request)
        async with self._turn:
            return _json(await questions.exposure(request.query.get("namespace", ""), at))

    async def whatif(self, request: web.Request) -> web.StreamResponse:
        questions = await self._questions(request, can=self.parts.head.can.whatif)
        manifests, at = await _manifests(request), _moment(request)
        async with self._turn:
            return _json(await questions.whatif(manifests, at))

    async def example(self, request: web.Request) -> web.StreamResponse:
        questions = await self._questions(request, can=self.parts.head.can.whatif)
        at = _moment(request)
        async with self._turn:
            return _json(await questions.example(at))

    async def apply(self, request: web.Request) -> web.StreamResponse:
        questions = await self._questions(request, can=self.parts.head.can.apply)
        manifests = await _manifests(request)
        async with self._turn:
            return _json(await questions.apply(manifests))

    async def _questions(self, request: web.Request, *, can: bool) -> PageQuestions:
        await self.parts.gate.enter(request)
        if self.parts.questions is None or not can:
            raise PageRefusedError("this page does not answer that question", HTTPStatus.NOT_FOUND)
        return self.parts.questions


async def _may_get_shown(sight: ReaderSight, shown: Callable[[], Iterable[Named]]) -> MayGet:
    """Kinds are collected only for a reader that may not get all of them."""
    everything = await sight.of(())
    return everything if everything is may_get_all else await sight.of(frozenset(shown()))


def _kinds_for(request: web.Request, picture: Picture) -> frozenset[Named]:
    _check_connected(request)
    return frozenset(kinds_in_picture(picture))


def _check_connected(request: web.Request) -> None:
    """Readers that went away meanwhile are not worked for."""
    if not is_connected(request):
        raise PageRefusedError("the reader is gone", HTTPStatus.SERVICE_UNAVAILABLE)


async def _until_rights_change(sight: ReaderSight) -> None:
    """Beside the stream: to ask for many rights may take long, and changes go on meanwhile."""
    while True:
        await asyncio.sleep(_REVIEWED_SECONDS)
        if not await sight.holds():
            return


def _reload(sentence: str) -> bytes:
    return b"event: reload\ndata: %b\n\n" % msgspec.json.encode({"message": sentence})


# --- what was asked ------------------------------------------------------------------------------


def _moment(request: web.Request) -> float | None:
    text = request.query.get("at", "")
    if not text:
        return None
    try:
        moment = float(text)
    except ValueError:
        moment = float("nan")
    if not isfinite(moment):
        raise PageRefusedError(f'at: expected seconds since 1970, got "{text[:40]}"')
    return moment


def _revision(request: web.Request) -> int:
    text = request.query.get("after", "")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise PageRefusedError(f'after: expected the revision of a picture, got "{text[:40]}"')
    return int(text)


async def _manifests(request: web.Request) -> bytes:
    body = await request.content.read(_MOST_YAML + 1)
    while len(body) <= _MOST_YAML and not request.content.at_eof():
        body += await request.content.read(_MOST_YAML + 1 - len(body))
    if len(body) > _MOST_YAML:
        raise web.HTTPRequestEntityTooLarge(_MOST_YAML, len(body))
    return body
