"""How is a cluster read once from its API server, with nothing but list requests?

A kind that may not be listed in all namespaces is listed in one, and a kind that may not be listed at all is
left out; both are notes, and the rest is read. What a caller may not list, no answer can name. It must not
know the questions.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from reprieve.assembly.decision_pages import DECISIONS_PATH
from reprieve.cluster.api import snapshot_header
from reprieve.cluster.kube import client
from reprieve.cluster.kube.auth import Access, find_access
from reprieve.cluster.kube.client import ClientLimits, Connection
from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.kubeconfig import AccessError, find_login
from reprieve.cluster.kube.requests import (
    PAGE_SIZE,
    KubeRequest,
    KubeResponse,
    ListPage,
    NoAnswerError,
    RefusedError,
    list_page,
    list_request,
)
from reprieve.cluster.kube.rest_mapping import CANDIDATES, RestMapping, mapping_of, mappings_of
from reprieve.inquiry.cluster_objects import READABLE, SUPPORTING_KINDS, ApiObject, ClusterObjects
from reprieve.inquiry.joined_files import consistent
from reprieve.model.formatting import listed
from reprieve.model.json import Json

# As kubectl's: one run of many requests, and then silence.
_LIMITS = ClientLimits(rate=50.0, burst=300)
_ATTEMPTS = 3  # of a request that the server is too busy for
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)

READ: Mapping[str, tuple[RestMapping, ...]] = {
    **CANDIDATES,
    "Workload": mappings_of("Workload"),
    **{
        kind: (mapping_of(kind, version, namespaced=READABLE[version, kind]),)
        for kind, version in SUPPORTING_KINDS.items()
    },
}


class ClusterReadingError(Exception):
    """The cluster cannot be read: one sentence, without its full stop."""


@dataclass(frozen=True, slots=True)
class ReadingProgress:
    """``expected``: how many objects there are at least, as far as the server has said."""

    read: int
    expected: int


Progress = Callable[[ReadingProgress], None]


def _ignore(progress: ReadingProgress) -> None:
    pass


async def read_cluster(
    kubeconfig: str, context: str, progress: Progress = _ignore, namespace: str = ""
) -> ClusterObjects:
    """``kubeconfig`` and ``context`` are kubectl's; empty: the usual files, the current context.

    Raises ClusterReadingError if it fails.

    ``namespace``: where kinds are listed that may not be listed everywhere; empty: that of the context.
    """
    namespace = namespace or current_namespace(kubeconfig, context)
    try:
        access = find_access(kubeconfig, context, os.environ)
    except AccessError as error:
        raise ClusterReadingError(str(error)) from error
    return await read_server(access, progress, namespace=namespace)


async def read_server(
    access: Access,
    progress: Progress = _ignore,
    clock: Callable[[], float] = time.time,
    namespace: str = "default",
) -> ClusterObjects:
    taken_at = clock()
    async with client.connected(access, _LIMITS) as connection:
        reader = _Reader(connection, progress, namespace)
        lists = await reader.read_all()
        decisions = await reader.read_decisions()
    if all(found.refusal for found in lists):
        why = lists[0].refusal if lists else "it has none of the kinds that Reprieve reads"
        raise ClusterReadingError(f"nothing of {access.server} can be read: {why}")
    return consistent(
        ClusterObjects(
            objects=tuple(thing for found in lists for thing in found.objects),
            taken_at=taken_at,
            decisions=decisions,
            resource_version=next((f.resource_version for f in lists if f.kind == "Pod"), ""),
            pods_read_in=_pods_read_in(lists),
            notes=tuple(_notes(lists)),
        )
    )


def _pods_read_in(lists: Sequence["_KindList"]) -> tuple[str, ...] | None:
    pods = next((found for found in lists if found.kind == "Pod"), None)
    if pods is None or not (pods.refusal or pods.namespace):
        return None
    return (pods.namespace,) if pods.namespace else ()


def _notes(lists: Sequence["_KindList"]) -> Iterator[str]:
    partial = [found for found in lists if found.namespace]
    if partial:
        yield (
            f"only namespace {partial[0].namespace} was read of {_kinds(partial)}: the server does not list "
            "them to this user in all namespaces; pods elsewhere are unknown, and nodes may have less room "
            "than it seems"
        )
    refused = [found for found in lists if found.refusal]
    if refused:
        yield f"{_kinds(refused)} objects cannot be listed and are left out: {refused[0].refusal}"


def _kinds(lists: Sequence["_KindList"]) -> str:
    return listed([found.kind for found in lists], 8)


def current_namespace(kubeconfig: str, context: str) -> str:
    """The namespace of the context, or "default"; a ClusterReadingError if the kubeconfig cannot be read."""
    try:
        return find_login(kubeconfig, context, os.environ).namespace or "default"
    except AccessError as error:
        raise ClusterReadingError(str(error)) from error


@dataclass(frozen=True, slots=True)
class _KindList:
    """``refusal``: why the server does not list the kind to us; empty if it does, at least in ``namespace``,
    which is empty for all of them."""

    kind: str
    objects: tuple[ApiObject, ...] = ()
    resource_version: str = ""
    refusal: str = ""
    namespace: str = ""


class _Reader:
    def __init__(self, connection: Connection, progress: Progress, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace
        self._discovery = Discovery(connection, READ)
        self._progress = progress
        self._read: dict[str, int] = {}
        self._remaining: dict[str, int] = {}

    async def read_all(self) -> list[_KindList]:
        """All kinds at once: where the server is far away, the round trips add up."""
        tasks = [asyncio.ensure_future(self._read_kind(kind)) for kind in READ]
        try:
            return [found for found in await asyncio.gather(*tasks) if found is not None]
        except (NoAnswerError, RefusedError) as error:
            raise ClusterReadingError(f"the cluster cannot be read: {error}") from error
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def read_decisions(self) -> tuple[Json, ...]:
        """The oldest first; none if the server shows us none. Only that of `reprieve up` has any."""
        try:
            response = await self._connection.send(KubeRequest("GET", DECISIONS_PATH))
        except NoAnswerError:
            return ()
        items = response.object.get("items") if response.is_success else None
        return tuple(
            item
            for item in (items if isinstance(items, list) else ())
            if isinstance(item, dict)
            and snapshot_header.is_decision(item.get("kind"), item.get("apiVersion"))
        )

    async def _read_kind(self, kind: str) -> _KindList | None:
        """None if the server does not have the kind."""
        mapping = await self._discovery.find(kind)
        if mapping is None:
            return None
        found = await self._listed(mapping)
        if found is not None and found.refusal and mapping.namespaced:
            in_one = await self._listed(mapping, self._namespace)
            return in_one if in_one is not None and not in_one.refusal else found
        return found

    async def _listed(self, mapping: RestMapping, namespace: str = "") -> _KindList | None:
        """None if the server does not have the kind."""
        kind = mapping.kind
        try:
            return await self._list(mapping, namespace)
        except RefusedError as error:
            match error.response.status:
                case HTTPStatus.FORBIDDEN:
                    return _KindList(kind, refusal=str(error))
                case HTTPStatus.NOT_FOUND:  # its CRD was deleted since discovery
                    return None
            raise
        except NoAnswerError as error:
            raise NoAnswerError(f"the list of {mapping.plural} was cut off: {error}") from error

    async def _list(self, mapping: RestMapping, namespace: str) -> _KindList:
        """Read a list in pages. If the continue token expires on the way, the list is read once more without
        a limit: on a busy server every paged attempt could expire."""
        objects: list[ApiObject] = []
        token, limit = "", PAGE_SIZE
        while True:
            response = await self._send_retrying(list_request(mapping, token, limit, namespace))
            if response.status == HTTPStatus.GONE and token:
                objects.clear()
                token, limit = "", 0
                continue
            page = list_page(response)
            objects += (ApiObject(mapping.kind, mapping.api_version, bytes(raw)) for raw in page.items or ())
            self._report_progress(mapping.kind, len(objects), page)
            token = page.metadata.continue_
            if not token:
                version = page.metadata.resource_version
                return _KindList(mapping.kind, tuple(objects), version, namespace=namespace)

    async def _send_retrying(self, request: KubeRequest) -> KubeResponse:
        """Retry-After holds the connection back before the next attempt."""
        for _ in range(_ATTEMPTS - 1):
            response = await self._connection.send(request)
            if response.status not in _BUSY:
                return response
        return await self._connection.send(request)

    def _report_progress(self, kind: str, read: int, page: ListPage) -> None:
        self._read[kind] = read
        self._remaining[kind] = page.metadata.remaining_item_count
        total = sum(self._read.values())
        self._progress(ReadingProgress(total, total + sum(self._remaining.values())))
