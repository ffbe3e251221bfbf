"""A reflector: lists one kind and watches it without a gap, and relists where the watch cannot resume.

A server that supports it streams the list as the start of the watch (WatchList); if it refuses to, the list
comes in pages. A watch that breaks resumes at the last resource version. If the server has compacted that
version, the reflector relists, and reports as gone whatever the new list lacks.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from reprieve.cluster.api.codec import Decoded, Unreadable, header_values, ref_in
from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.kube.client import Channel
from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.known_objects import KnownObjects, Result
from reprieve.cluster.kube.requests import (
    PAGE_SIZE,
    KubeRequest,
    KubeResponse,
    ListPage,
    NoAnswerError,
    QuietError,
    RefusedError,
    list_page,
    list_request,
    selection_of,
)
from reprieve.cluster.kube.rest_mapping import RestMapping
from reprieve.cluster.port import ClusterEvent
from reprieve.model.objects import ObjectMeta, Problem, Record
from reprieve.supervision.backoff import Backoff, jitter_of
from reprieve.supervision.supervisor import log_mishap

_log = logging.getLogger(__name__)

_WATCH_SECONDS = 300.0  # after which the server ends the watch; it is resumed
_LIST_SILENCE_SECONDS = 20.0  # without a line in the middle of a list; scheduling waits for the list to end
_TRIAL_SECONDS = 10  # after which the server ends the watch that shows whether it streams lists
_LOOK_AGAIN_SECONDS = 60.0  # between discoveries of a kind that the server does not have
_STREAMED = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))
_END_OF_LIST = "k8s.io/initial-events-end"
# Kubernetes before 1.32 rejects the parameters of a streamed list; another server may reject the verb.
_UNSUPPORTED = (HTTPStatus.BAD_REQUEST, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.UNPROCESSABLE_ENTITY)
# If etcd cannot notify of progress (before 3.5.13, or an emulation such as kine), the API server accepts the
# request and then sends an internal error as an event. As an HTTP status, 500 is a server in trouble.
_UNSUPPORTED_IN_EVENTS = (*_UNSUPPORTED, HTTPStatus.INTERNAL_SERVER_ERROR)


class ExpiredError(Exception):
    """410 Gone: the server has compacted the resource version at which we wanted to resume."""


class VanishedError(Exception):
    """404: the server no longer has the kind in this API version."""


class ErrorEventError(NoAnswerError):
    """The server ended the watch with an event of type ERROR. ``code`` is an HTTP status, or 0."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"the server ended the watch: {message or 'it gave no reason'}")
        self.code = code


# --- what the server sends -----------------------------------------------------------------------


class _Line(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class _Headed(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Status(msgspec.Struct, frozen=True):
    code: int = 0
    message: str = ""


_LINE = msgspec.json.Decoder(_Line)
_HEADED = msgspec.json.Decoder(_Headed)
_STATUS = msgspec.json.Decoder(_Status)


@dataclass(frozen=True, slots=True)
class WatchBatch:
    """Events of one kind, in order. ``complete``: with them, the list is complete."""

    events: tuple[ClusterEvent, ...]
    complete: bool = False


@dataclass(slots=True)
class ServerAbilities:
    """What the reflectors of all kinds have found out about the server, so that one of them logs it."""

    streams_lists: bool = True
    reports_progress: bool = True

    def refused_to_stream(self, why: str) -> None:
        if self.streams_lists:
            _log.info("the server does not stream lists, paged lists are used: %s", why)
        self.streams_lists = False

    def was_quiet(self, why: str) -> None:
        if self.reports_progress:
            _log.info("the server sends no bookmarks to quiet watches, which are begun anew: %s", why)
        self.reports_progress = False


Deliver = Callable[[WatchBatch], Awaitable[None]]


class Reflector:
    """Lists and watches one kind until cancelled."""

    def __init__(
        self,
        kind: str,
        connection: Channel,
        discovery: Discovery,
        abilities: ServerAbilities,
        deliver: Deliver,
    ) -> None:
        self.known = KnownObjects(kind)
        self._kind = kind
        self._connection = connection
        self._discovery = discovery
        self._abilities = abilities
        self._deliver = deliver
        self._jitter = jitter_of(kind)  # kinds differ, so that they neither relist nor resume together
        self._backoff = Backoff(first=0.8, longest=30.0, jitter=self._jitter)
        self._version = ""  # everything up to this resource version was delivered; empty: list first
        self._failures = 0

    async def run(self) -> None:
        self._version = ""  # it may have crashed before, between reading an event and delivering it
        while True:
            pause = await self._step()
            if pause:
                await asyncio.sleep(pause)

    async def _step(self) -> float:
        """Lists or watches until that ends; returns how many seconds to wait before the next step."""
        try:
            mapping = await self._discovery.find(self._kind)
            if mapping is None:
                return await self._absent()
            began = asyncio.get_running_loop().time()
            await self._follow(mapping)
            # A watch that ended normally is resumed at once, unless it was so short that this would spin.
            lasted = asyncio.get_running_loop().time() - began
            return 0.0 if lasted >= self._backoff.first else self._backoff.first
        except ExpiredError:
            return self._expired()
        except VanishedError as error:
            # The CRD was deleted, or an upgrade removed this version: discover again, then relist.
            self._version = ""
            self._discovery.forget(self._kind)
            return self._failed(str(error))
        except QuietError as error:
            # Nothing may have happened, or the connection is dead: the watch that follows shows whether the
            # server answers, and misses nothing. A list has its own, shorter limit.
            self._abilities.was_quiet(str(error))
            return 0.0
        except (NoAnswerError, RefusedError) as error:
            return self._failed(str(error))

    def _failed(self, why: str) -> float:
        self._failures += 1
        pause = self._backoff.after(self._failures)
        # One failure is routine, e.g. when an API server restarts behind a load balancer.
        level = logging.INFO if self._failures == 1 else logging.WARNING
        _log.log(level, "watching %s failed, retrying in %.1f s: %s", self._kind, pause, why)
        return pause

    def _expired(self) -> float:
        """Relist. This is routine after a server restart: the new server has no history for our version.

        It counts as a failure only in the middle of a list, where it could repeat forever.
        """
        why = "the server no longer has the resource version that was seen last"
        if not self._version:
            return self._failed(why)
        self._version = ""
        self._failures = 0
        _log.info("relisting %s: %s", self._kind, why)
        # All kinds expire at the same moment: the jitter of each kind spreads the relists.
        return self._backoff.after(1)

    async def _absent(self) -> float:
        """The server has no such kind: it has no objects either, until an upgrade or a CRD adds the kind."""
        self._version = ""
        self.known.begin_list()
        await self._deliver(WatchBatch(tuple(self.known.end_list()), complete=True))
        await asyncio.sleep(_LOOK_AGAIN_SECONDS * (1 + self._jitter))
        self._discovery.forget(self._kind)
        return 0.0

    async def _follow(self, mapping: RestMapping) -> None:
        if self._version:
            await self._watch(mapping, (("resourceVersion", self._version),))
        elif not await self._stream_list(mapping):
            await self._list(mapping)
            await self._watch(mapping, (("resourceVersion", self._version),))

    # --- lists -----------------------------------------------------------------------------------

    async def _stream_list(self, mapping: RestMapping) -> bool:
        """Streams the list and then watches; False if the server refuses to stream the list.

        That holds for one list of one kind, as in client-go: a server in trouble may send the same error, and
        one that is upgraded streams the next list.
        """
        self.known.begin_list()
        try:
            await self._watch(mapping, _STREAMED)
        except (RefusedError, ErrorEventError) as error:
            if self._version or not _is_unsupported(error):
                raise
            self._abilities.refused_to_stream(str(error))
            return False
        return True

    async def _list(self, mapping: RestMapping) -> None:
        """Read a list in pages. If the continue token expires on the way, the list is read once more without
        a limit, as client-go does: on a busy server every paged attempt could expire."""
        self.known.begin_list()
        token, limit = "", PAGE_SIZE
        while True:
            response = await self._connection.send(list_request(mapping, token, limit))
            if response.status == HTTPStatus.GONE and token:
                self.known.begin_list()
                token, limit = "", 0
                continue
            page = _page(response)
            self._failures = 0
            await self._deliver(WatchBatch(tuple(self._shown(mapping, page.items or ()))))
            token = page.metadata.continue_
            if not token:
                break
        self._version = page.metadata.resource_version
        await self._deliver(WatchBatch(tuple(self.known.end_list()), complete=True))

    def _shown(self, mapping: RestMapping, items: Iterable[msgspec.Raw]) -> Iterator[ClusterEvent]:
        for item in items:
            yield from self._show(mapping, item)

    def _show(self, mapping: RestMapping, raw: msgspec.Raw) -> Iterator[ClusterEvent]:
        result = self._read(mapping, raw)
        meta = _metadata_of(mapping, result, raw)
        if meta is None:
            _log.warning("skipped a %s whose metadata.name cannot be read", self._kind)
            return
        self._advance(meta.resource_version)
        yield from self.known.show(meta, result)

    def _read(self, mapping: RestMapping, raw: msgspec.Raw) -> Result:
        """One object must not end the watch of all others."""
        try:
            return mapping.reader.read(raw)
        except Exception as error:
            ref = ref_in(header_values(raw))
            log_mishap(f"watch of {self._kind}: decoding {ref}", error)
            return Unreadable(problem=Problem(ref=ref, path="", expected="an object that can be decoded"))

    # --- watches ---------------------------------------------------------------------------------

    async def _watch(self, mapping: RestMapping, start: tuple[tuple[str, str], ...]) -> None:
        """Delivers events until the server ends the watch."""
        seconds = int(_WATCH_SECONDS * (1 + self._jitter))
        try:
            async with aclosing(self._connection.lines(_watch_request(mapping, start, seconds))) as batches:
                while (lines := await self._next(batches)) is not None:
                    await self._deliver_lines(mapping, lines)
        except (RefusedError, ErrorEventError) as error:
            raise _specific(error) from error

    async def _next(self, batches: AsyncGenerator[list[bytes], None]) -> list[bytes] | None:
        """The next lines. A streamed list must not stall; after its end a quiet watch is normal."""
        try:
            async with asyncio.timeout(None if self._version else _LIST_SILENCE_SECONDS):
                return await anext(batches, None)
        except TimeoutError as error:
            raise NoAnswerError(
                f"the list of {self._kind} stalled for {_LIST_SILENCE_SECONDS:g} s"
            ) from error

    async def _deliver_lines(self, mapping: RestMapping, lines: list[bytes]) -> None:
        """Delivers what the lines say, also if a later line is an error.

        By then ``_version`` and ``known`` have moved past the earlier lines: the server will not send those
        again, so dropping them would leave a gap.
        """
        events: list[ClusterEvent] = []
        try:
            for line in lines:
                ends_list = self._read_line(mapping, line, events)
                self._failures = 0
                if ends_list:
                    await self._deliver(WatchBatch((*events, *self.known.end_list()), complete=True))
                    events.clear()
        except Exception:
            await self._deliver_events(events)
            raise
        await self._deliver_events(events)

    async def _deliver_events(self, events: list[ClusterEvent]) -> None:
        if events:
            await self._deliver(WatchBatch(tuple(events)))

    def _read_line(self, mapping: RestMapping, raw: bytes, events: list[ClusterEvent]) -> bool:
        """Appends the events of a line; returns whether it ends the list."""
        line = _line(mapping, raw)
        match line.type:
            case "ADDED" | "MODIFIED":
                events += self._show(mapping, line.object)
            case "DELETED":
                events += self._removed(mapping, line.object)
            case "BOOKMARK":
                return self._marked(line.object)
        return False

    def _removed(self, mapping: RestMapping, raw: msgspec.Raw) -> Iterator[ClusterEvent]:
        meta = _metadata_of(mapping, self._read(mapping, raw), raw)
        if meta is not None:
            self._advance(meta.resource_version)
            yield from self.known.remove(meta)

    def _marked(self, raw: msgspec.Raw) -> bool:
        meta = _metadata_in(raw) or ObjectMeta()
        if not self._version and _END_OF_LIST not in meta.annotations:
            # Within a streamed list a bookmark is no place to resume: objects of lower versions may follow.
            return False
        ends_list = not self._version
        self._version = self._version or meta.resource_version
        self._advance(meta.resource_version)
        return ends_list

    def _advance(self, version: str) -> None:
        """Moves forward only: resuming at an older version would deliver outdated states again."""
        if self._version and _is_later(version, self._version):
            self._version = version


async def streaming_refusal(connection: Channel, mapping: RestMapping) -> str:
    """Why the server does not stream the list of a kind; empty if it does.

    NoAnswerError or RefusedError if that cannot be found out.
    """
    request = _watch_request(mapping, _STREAMED, _TRIAL_SECONDS)
    try:
        async with aclosing(connection.lines(request)) as batches:
            lines = await anext(batches, None)
            if not lines:
                raise NoAnswerError(f"the server sent nothing within {_TRIAL_SECONDS} s")
            _line(mapping, lines[0])
    except (RefusedError, ErrorEventError) as error:
        if not _is_unsupported(error):
            raise
        return str(error)
    return ""


def _is_later(one: str, other: str) -> bool:
    return (len(one), one) > (len(other), other)


def _line(mapping: RestMapping, raw: bytes) -> _Line:
    """ErrorEventError if the line is one."""
    try:
        line = _LINE.decode(raw)
    except UNDECODABLE as error:
        raise NoAnswerError(f"the watch of {mapping.plural} sent a line that is not a watch event") from error
    if line.type == "ERROR":
        raise _error(line.object)
    return line


def _metadata_of(mapping: RestMapping, result: Result, raw: msgspec.Raw) -> ObjectMeta | None:
    """The metadata also of an object that cannot be decoded; None if not even its name can be read."""
    if isinstance(result, Decoded):
        return result.object.metadata
    meta = _metadata_in(raw)
    if meta is None or not meta.name:
        return None
    return msgspec.structs.replace(meta, namespace=meta.namespace if mapping.namespaced else "")


def _metadata_in(raw: msgspec.Raw) -> ObjectMeta | None:
    try:
        return _HEADED.decode(raw).metadata
    except UNDECODABLE:
        return None


# --- requests and errors -------------------------------------------------------------------------


def _watch_request(mapping: RestMapping, start: tuple[tuple[str, str], ...], seconds: int) -> KubeRequest:
    query = (("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(seconds)))
    return KubeRequest("GET", mapping.path(), (*query, *selection_of(mapping), *start))


def _page(response: KubeResponse) -> ListPage:
    try:
        return list_page(response)
    except RefusedError as error:
        raise _specific(error) from error


def _specific(error: RefusedError | ErrorEventError) -> Exception:
    match error:
        case ErrorEventError(code=HTTPStatus.GONE):
            return ExpiredError()
        case RefusedError() if error.response.status == HTTPStatus.GONE:
            return ExpiredError()
        case RefusedError() if error.response.status == HTTPStatus.NOT_FOUND:
            return VanishedError(str(error))
        case _:
            return error


def _is_unsupported(error: RefusedError | ErrorEventError) -> bool:
    """Whether a request for a streamed list failed because the server does not stream lists.

    Not if a retry may help, and not if a paged list would fail alike: credentials, rights, rate limits.
    """
    match error:
        case RefusedError():
            return error.response.status in _UNSUPPORTED
        case ErrorEventError():
            return error.code in _UNSUPPORTED_IN_EVENTS


def _error(raw: msgspec.Raw) -> ErrorEventError:
    try:
        status = _STATUS.decode(raw)
    except UNDECODABLE:
        status = _Status()
    return ErrorEventError(status.code, status.message)
