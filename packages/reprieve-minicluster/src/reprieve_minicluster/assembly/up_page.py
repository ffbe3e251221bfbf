"""How does `reprieve up` serve the page of its cluster, and which cluster do its questions ask about?"""

import asyncio
import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from pathlib import Path

import msgspec

from reprieve.assembly.caller_page import JournalFrames
from reprieve.assembly.journals import JOURNAL
from reprieve.assembly.loopback_page import loopback_page
from reprieve.assembly.page_questions import AskedCluster, ClusterQuestions, manifests_in
from reprieve.assembly.serving_thread import BetweenSteps
from reprieve.cluster.api.codec import READERS
from reprieve.cluster.kube import client
from reprieve.cluster.kube.auth import find_access
from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.kubeconfig import AccessError
from reprieve.cluster.kube.requests import KubeRequest, NoAnswerError
from reprieve.config import Configuration
from reprieve.config.parsing import as_document
from reprieve.inquiry.cluster_objects import SUPPORTING_KINDS, ApiObject, ClusterObjects
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.model.json import Json
from reprieve.page.documents import PageAbilities, PageHead
from reprieve.page.history import JournalHistory
from reprieve.page.live import LivePicture, PictureFeed
from reprieve.page.sources import LiveFrames, PageGate, PageParts, PageRefusedError, PictureFrame
from reprieve.runtime.journal import read_located_entries
from reprieve.runtime.recent_decisions import EncodedDecision, KeptDecision
from reprieve_minicluster.assembly.mini_cluster import LocalCluster, Up
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.kinds import BY_NAME

# Commands import nothing of the page: what they need of it, they import from here.
__all__ = ["PictureFeed", "page_of_up"]

_NONE_YET = "the cluster is starting: nothing is known of it yet"
_CAN = PageAbilities(whatif=True, apply=True, why=True, exposure=True)
_READ = tuple(dict.fromkeys([*(kind for _, kind in READERS), "Workload", *SUPPORTING_KINDS]))


def page_of_up(
    up: Up, feed: PictureFeed, configured: Configuration, wanted: LocalCluster
) -> AbstractAsyncContextManager[str]:
    """Serve the page while the context is open; yields its address. Call it in the scheduler's event loop."""
    between, past = BetweenSteps(), _past(wanted.data_dir)
    feed.adopted(_decoded(up.recent.copied()))  # those of earlier runs, too

    async def read(at: float | None) -> AskedCluster:
        """Objects are copied between two steps of the scheduler, and decoded elsewhere."""
        if at is not None and past is not None:
            return await past.asked(at)
        found = await between(partial(_copied, up))
        decisions = await asyncio.to_thread(_decoded, found.decisions)
        source = ClusterObjects(
            found.objects, up.cluster.clock(), found.version, configuration=as_document(configured)
        )
        return AskedCluster(partial(decoded, source), decisions)

    async def submit(manifests: bytes) -> Json:
        bodies = [manifest.body for manifest in await asyncio.to_thread(manifests_in, manifests)]
        try:
            return {"created": await submit_manifests(str(wanted.kubeconfig), bodies)}
        except SubmissionError as error:
            before = f" (created before it: {', '.join(error.created)})" if error.created else ""
            raise PageRefusedError(f"{error}{before}") from error

    def parts(gate: PageGate) -> PageParts:
        live = LivePicture(partial(between, feed.take))
        head = PageHead("local", "up", replace(_CAN, history=past is not None))
        frames = UpFrames(LiveFrames(live, _NONE_YET), past)
        return PageParts(head, frames, gate, live, ClusterQuestions(read, submit=submit))

    return loopback_page(parts, "`reprieve up` printed")


def _past(data_dir: Path | None) -> JournalFrames | None:
    if data_dir is None:
        return None
    return JournalFrames(JournalHistory(partial(read_located_entries, data_dir / JOURNAL)))


@dataclass(frozen=True, slots=True)
class UpFrames:
    """``past``: the journal that the cluster's scheduler writes; None without a data directory."""

    present: LiveFrames
    past: JournalFrames | None

    async def frame(self, at: float | None) -> PictureFrame:
        return await (self.present if at is None or self.past is None else self.past).frame(at)

    async def history(self) -> Json | None:
        return await self.past.history() if self.past is not None else None


@dataclass(frozen=True, slots=True)
class _Copied:
    objects: tuple[ApiObject, ...]
    version: str
    decisions: tuple[EncodedDecision, ...]


def _copied(up: Up) -> _Copied:
    objects = tuple(thing for kind in _READ for thing in _stored(up.cluster, kind))
    return _Copied(objects, str(up.cluster.store.version), up.recent.copied())


def _decoded(copied: Sequence[EncodedDecision]) -> tuple[KeptDecision, ...]:
    """The oldest first."""
    return tuple(sorted((one.decoded() for one in copied), key=lambda kept: kept.decision.at))


def _stored(cluster: MiniCluster, kind: str) -> list[ApiObject]:
    known = BY_NAME.get(kind)
    if known is None:
        return []
    found = cluster.store.list((known.resource,)).items
    return [ApiObject(kind, known.api_version, item.raw) for item in found]


# --- manifests ------------------------------------------------------------------------------------


class SubmissionError(Exception):
    """Why an object was not created, as a sentence. ``created``: those before it, by kind and name."""

    def __init__(self, sentence: str, created: Iterable[str] = ()) -> None:
        super().__init__(sentence)
        self.created = tuple(created)


async def submit_manifests(kubeconfig: str, manifests: Iterable[Json]) -> list[str]:
    """What was created, as in Pod/default/web; raises SubmissionError at the first that is not."""
    created: list[str] = []
    try:
        access = find_access(kubeconfig, "", os.environ)
        async with client.connected(access) as connection:
            for body in manifests:
                created.append(await _create(connection, body, created))
    except (AccessError, NoAnswerError) as error:
        raise SubmissionError(str(error), created) from error
    return created


async def _create(connection: Connection, body: Json, created: list[str]) -> str:
    meta = body.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    version, kind = str(body.get("apiVersion", "")), str(body.get("kind", ""))
    resource = await _resource(connection, version, kind)
    if resource is None:
        raise SubmissionError(
            f"the server does not know {kind or 'an object'} of {version or 'no apiVersion'}", created
        )
    namespace = str(meta.get("namespace") or "default") if resource.namespaced else ""
    scope = f"/namespaces/{namespace}" if namespace else ""
    path = f"{_root(version)}{scope}/{resource.name}"
    response = await connection.send(KubeRequest("POST", path, body=msgspec.json.encode(body)))
    if not response.is_success:
        raise SubmissionError(response.message, created)
    stored = response.object.get("metadata")
    name = stored.get("name") if isinstance(stored, dict) else None
    return "/".join(filter(None, (kind, namespace, str(name or meta.get("name", "")))))


class _Resource(msgspec.Struct, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False


class _ResourceList(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


async def _resource(connection: Connection, version: str, kind: str) -> _Resource | None:
    if not version.replace("/", "").replace(".", "").replace("-", "").isalnum():
        return None
    response = await connection.send(KubeRequest("GET", _root(version)))
    if response.status == HTTPStatus.NOT_FOUND or not response.is_success:
        return None
    try:
        found = msgspec.json.decode(response.body, type=_ResourceList).resources
    except msgspec.MsgspecError:
        return None
    return next((one for one in found if one.kind == kind and "/" not in one.name), None)
