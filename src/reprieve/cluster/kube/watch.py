"""Following one kind of object on an API server, without a gap: list, watch, and begin again where need be.

Where the server can, the list comes as the beginning of the watch; otherwise in portions. A watch that
breaks goes on where it was. If the server no longer knows what happened since, everything is listed anew, and
what is missing then is told to be gone.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.api.reader import Decoded
from reprieve.cluster.kube.client import Channel, NoAnswerError, RefusedError
from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.mirror import Mirror, Result
from reprieve.cluster.kube.pace import Pauses, spread
from reprieve.cluster.kube.requests import Request, Response
from reprieve.cluster.kube.rest_mapping import Place
from reprieve.cluster.port import Sight
from reprieve.model.objects import ObjectMeta, Record

_log = logging.getLogger(__name__)

_PORTION = 500  # objects in one answer, where a list has to be taken in portions
_WATCH_SECONDS = 300.0  # then the server ends it, and we go on where we were
_LIST_SILENCE_SECONDS = 20.0  # without a word in the middle of a list, for which everybody waits
_LOOK_AGAIN_SECONDS = 60.0  # for a kind that the server does not have
# Pods that have ended need no room any more; of Jobs there can be a great many.
_NOT_ENDED = (("fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"),)
_END_OF_LIST = "k8s.io/initial-events-end"


class ExpiredError(Exception):
    """The server no longer knows what happened since the version that we have seen."""


class VanishedError(Exception):
    """The server no longer has the kind, in the version in which we asked for it."""


# --- what the server says ------------------------------------------------------------------------


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Headed(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Status(msgspec.Struct, frozen=True):
    code: int = 0
    message: str = ""


class _PageMeta(Record, frozen=True):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _Page(Record, frozen=True):
    metadata: _PageMeta = _PageMeta()
    items: tuple[msgspec.Raw, ...] | None = None


_LINE = msgspec.json.Decoder(_Line)
_HEADED = msgspec.json.Decoder(_Headed)
_STATUS = msgspec.json.Decoder(_Status)
_PAGE = msgspec.json.Decoder(_Page)


@dataclass(frozen=True, slots=True)
class Portion:
    """Some sights of a kind; ``complete``: with them, everything that there is has been shown."""

    sights: tuple[Sight, ...]
    complete: bool = False


@dataclass(slots=True)
class Ways:
    """What was learned about a server by all who follow it."""

    streams_lists: bool = True


Deliver = Callable[[Portion], Awaitable[None]]


class Reflector:
    """Follows one kind until cancelled."""

    def __init__(
        self, kind: str, connection: Channel, discovery: Discovery, ways: Ways, deliver: Deliver
    ) -> None:
        self.mirror = Mirror(kind)
        self._kind = kind
        self._connection = connection
        self._discovery = discovery
        self._ways = ways
        self._deliver = deliver
        self._pauses = Pauses(kind)
        self._version = ""  # up to which everything was shown; empty: list first
        self._failures = 0

    async def run(self) -> None:
        while True:
            pause = await self._step()
            if pause:
                await asyncio.sleep(pause)

    async def _step(self) -> float:
        """Lists or watches until that ends; how long to wait before going on."""
        try:
            place = await self._discovery.find(self._kind)
            if place is None:
                return await self._absent()
            began = asyncio.get_running_loop().time()
            await self._follow(place)
            # A server that ends every watch at once must not be asked all the time.
            lasted = asyncio.get_running_loop().time() - began
            return 0.0 if lasted >= self._pauses.first else self._pauses.first
        except ExpiredError:
            return self._expired()
        except VanishedError as error:
            self._version = ""
            self._discovery.forget(self._kind)
            return self._failed(str(error))
        except (NoAnswerError, RefusedError) as error:
            return self._failed(str(error))

    def _failed(self, why: str) -> float:
        self._failures += 1
        pause = self._pauses.after(self._failures)
        level = logging.INFO if self._failures == 1 else logging.WARNING
        _log.log(level, "%s cannot be followed, trying again in %.1f s: %s", self._kind, pause, why)
        return pause

    def _expired(self) -> float:
        """Usual after a restart of the server, which answers again now, while what we know is old."""
        why = "its history no longer reaches back to what was seen"
        if not self._version:
            return self._failed(why)
        self._version = ""
        self._failures = 0
        _log.info("%s is listed anew: %s", self._kind, why)
        return self._pauses.after(1)

    async def _absent(self) -> float:
        """The server has no such kind. It may get it, by an upgrade or a definition."""
        self._version = ""
        self.mirror.begin_list()
        await self._deliver(Portion(tuple(self.mirror.end_list()), complete=True))
        await asyncio.sleep(spread(self._kind, _LOOK_AGAIN_SECONDS))
        self._discovery.forget(self._kind)
        return 0.0

    async def _follow(self, place: Place) -> None:
        if self._version:
            await self._watch(place, (("resourceVersion", self._version),))
        elif self._ways.streams_lists:
            await self._stream_list(place)
        else:
            await self._list_and_watch(place)

    # --- lists -----------------------------------------------------------------------------------

    async def _stream_list(self, place: Place) -> None:
        self.mirror.begin_list()
        whole = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))
        try:
            await self._watch(place, whole)
        except RefusedError as error:
            if error.response.status not in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
                raise
            self._ways.streams_lists = False
            await self._list_and_watch(place)

    async def _list_and_watch(self, place: Place) -> None:
        await self._list(place)
        await self._watch(place, (("resourceVersion", self._version),))

    async def _list(self, place: Place) -> None:
        """In portions; where the list gets too old on the way, once more and all at once."""
        self.mirror.begin_list()
        token, limit = "", _PORTION
        while True:
            response = await self._connection.send(_list_request(place, token, limit))
            if response.status == HTTPStatus.GONE and token:
                self.mirror.begin_list()
                token, limit = "", 0
                continue
            page = _page(response)
            self._failures = 0
            await self._deliver(Portion(tuple(self._shown(place, page.items or ()))))
            token = page.metadata.continue_
            if not token:
                break
        self._version = page.metadata.resource_version
        await self._deliver(Portion(tuple(self.mirror.end_list()), complete=True))

    def _shown(self, place: Place, items: Iterable[msgspec.Raw]) -> Iterator[Sight]:
        for item in items:
            yield from self._show(place, item)

    def _show(self, place: Place, raw: msgspec.Raw) -> Iterator[Sight]:
        result = place.reader.read(raw)
        meta = _metadata_of(place, result, raw)
        if meta is None:
            _log.warning("a %s without a readable name was passed over", self._kind)
            return
        self._advance(meta.resource_version)
        yield from self.mirror.show(meta, result)

    # --- watches ---------------------------------------------------------------------------------

    async def _watch(self, place: Place, start: tuple[tuple[str, str], ...]) -> None:
        """Until the server ends it."""
        seconds = int(spread(self._kind, _WATCH_SECONDS))
        query = (
            *(("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(seconds))),
            *_selection(place),
            *start,
        )
        request = Request("GET", place.path(), query)
        try:
            async with aclosing(self._connection.lines(request)) as batches:
                while (lines := await self._next(batches)) is not None:
                    await self._take(place, lines)
        except RefusedError as error:
            raise _judged(error) from error

    async def _next(self, batches: AsyncGenerator[list[bytes], None]) -> list[bytes] | None:
        """In the middle of a list somebody must say something; afterwards it may be quiet for long."""
        try:
            async with asyncio.timeout(None if self._version else _LIST_SILENCE_SECONDS):
                return await anext(batches, None)
        except TimeoutError as error:
            raise NoAnswerError(f"the list of {self._kind} does not go on") from error

    async def _take(self, place: Place, lines: list[bytes]) -> None:
        """Tells what the lines say. What is taken note of must be told: it will not come again."""
        sights: list[Sight] = []
        try:
            for line in lines:
                ends_list = self._understood(place, line, sights)
                self._failures = 0
                if ends_list:
                    await self._deliver(Portion((*sights, *self.mirror.end_list()), complete=True))
                    sights.clear()
        except Exception:
            await self._tell(sights)
            raise
        await self._tell(sights)

    async def _tell(self, sights: list[Sight]) -> None:
        if sights:
            await self._deliver(Portion(tuple(sights)))

    def _understood(self, place: Place, raw: bytes, sights: list[Sight]) -> bool:
        """Takes note of a line; whether it is the end of the list."""
        try:
            line = _LINE.decode(raw)
        except UNDECODABLE as error:
            raise NoAnswerError(f"the watch of {place.plural} said what is no event") from error
        match line.type:
            case "ADDED" | "MODIFIED":
                sights += self._show(place, line.object)
            case "DELETED":
                sights += self._removed(place, line.object)
            case "BOOKMARK":
                return self._marked(line.object)
            case "ERROR":
                raise _error(line.object)
        return False

    def _removed(self, place: Place, raw: msgspec.Raw) -> Iterator[Sight]:
        result = place.reader.read(raw)
        meta = _metadata_of(place, result, raw)
        if meta is not None:
            self._advance(meta.resource_version)
            yield from self.mirror.remove(meta)

    def _marked(self, raw: msgspec.Raw) -> bool:
        meta = _metadata_in(raw) or ObjectMeta()
        if not self._version and _END_OF_LIST not in meta.annotations:
            return False  # in the middle of a list nothing can be taken up again
        ends_list = not self._version
        self._version = self._version or meta.resource_version
        self._advance(meta.resource_version)
        return ends_list

    def _advance(self, version: str) -> None:
        """Never back: what was shown must not be shown again as it was before."""
        if self._version and _is_later(version, self._version):
            self._version = version


def _is_later(one: str, other: str) -> bool:
    return (len(one), one) > (len(other), other)


def _metadata_of(place: Place, result: Result, raw: msgspec.Raw) -> ObjectMeta | None:
    """Also of an object that cannot be read otherwise; None if not even its name can be."""
    if isinstance(result, Decoded):
        return result.object.metadata
    meta = _metadata_in(raw)
    if meta is None or not meta.name:
        return None
    return msgspec.structs.replace(meta, namespace=meta.namespace if place.namespaced else "")


def _metadata_in(raw: msgspec.Raw) -> ObjectMeta | None:
    try:
        return _HEADED.decode(raw).metadata
    except UNDECODABLE:
        return None


# --- what the server refuses ---------------------------------------------------------------------


def _selection(place: Place) -> tuple[tuple[str, str], ...]:
    return _NOT_ENDED if place.kind == "Pod" else ()


def _list_request(place: Place, token: str, limit: int) -> Request:
    portion = {"limit": str(limit) if limit else "", "continue": token}
    query = (pair for pair in portion.items() if pair[1])
    return Request("GET", place.path(), (*_selection(place), *query))


def _page(response: Response) -> _Page:
    if not response.is_success:
        raise _judged(RefusedError(response))
    try:
        return _PAGE.decode(response.body)
    except UNDECODABLE as error:
        raise NoAnswerError("the server answered with what is no list") from error


def _judged(error: RefusedError) -> Exception:
    match error.response.status:
        case HTTPStatus.GONE:
            return ExpiredError()
        case HTTPStatus.NOT_FOUND:
            return VanishedError(str(error))
        case _:
            return error


def _error(raw: msgspec.Raw) -> Exception:
    try:
        status = _STATUS.decode(raw)
    except UNDECODABLE:
        status = _Status()
    if status.code == HTTPStatus.GONE:
        return ExpiredError()
    return NoAnswerError(f"the server ended the watch: {status.message or 'it did not say why'}")
