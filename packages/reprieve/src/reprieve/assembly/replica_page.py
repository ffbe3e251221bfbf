"""Which names may a client of a replica see, on the page and in recent decisions? The API server says.

The page has a right of its own, get on the nonResourceURL /page/. Names of other namespaces are left out by
what the client may get there. A client only reads.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

from aiohttp import web

from reprieve.assembly.decision_pages import AskedDecisions, decisions_page
from reprieve.assembly.serving_thread import ReadByScheduler
from reprieve.assembly.trust import Trust
from reprieve.cluster.certificates import CertificateSubject
from reprieve.cluster.kube.access_reviews import DelegatedAuth, NamespacedKind
from reprieve.inquiry.decision_list import kept_document
from reprieve.page.documents import PageHead
from reprieve.page.live import LivePicture, PictureFeed
from reprieve.page.server import PAGE_PATH
from reprieve.page.sources import LiveFrames, PageParts, PageRefusedError, ReaderSight
from reprieve.report.hidden_names import MayGet, Named, may_get_all, named_in
from reprieve.runtime.http_endpoints import client_of

_AT_A_TIME = 20  # decisions, between which other requests get their turn
# PodGroups are served by Kubernetes, or by a definition of ours: never by both.
REVIEWED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "Pod": (("", "pods"),),
    "PodGroup": (("scheduling.k8s.io", "podgroups"), ("reprieve.dev", "podgroups")),
    "CompositePodGroup": (("scheduling.k8s.io", "compositepodgroups"),),
    "PodDisruptionBudget": (("policy", "poddisruptionbudgets"),),
}

Allowed = Callable[[Collection[NamespacedKind]], Awaitable[frozenset[NamespacedKind]]]


async def reviewed_decisions(asked: AskedDecisions, allowed: Allowed) -> bytes:
    """Each right is asked for once for each request."""
    decisions, wanted = [], set[NamespacedKind]()
    for number, encoded in enumerate(asked.kept):
        decisions.append(kept := encoded.decoded())
        wanted |= {kind for name in named_in(kept.decision) for kind in reviewed_kinds(*name)}
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    granted = await allowed(wanted)

    def may_get(kind: str, namespace: str) -> bool:
        return any(one in granted for one in reviewed_kinds(kind, namespace))

    items = []
    for number, kept in enumerate(decisions):
        items.append(kept_document(kept, may_get, asked.version))
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    return decisions_page(items, asked)


def reviewed_kinds(kind: str, namespace: str) -> list[NamespacedKind]:
    """List the resources as which a kind is read; an empty namespace means all of them."""
    return [NamespacedKind(group, resource, namespace) for group, resource in REVIEWED.get(kind, ())]


_NOT_LEADING = "this replica does not schedule: another one leads, or this one is starting"


def replica_page(
    name: str, feed: PictureFeed, read: ReadByScheduler, auth: DelegatedAuth, trust: Trust
) -> PageParts:
    """``name``: by which readers know the cluster. To be called in the event loop that serves."""
    live = LivePicture(partial(read, feed.take))
    return PageParts(
        PageHead(name, "daemon"), LiveFrames(live, _NOT_LEADING), ReviewedGate(auth, trust), live
    )


@dataclass(frozen=True, slots=True)
class ReviewedGate:
    auth: DelegatedAuth
    trust: Trust

    def check_origin(self, request: web.Request) -> None:
        """A browser may have a client certificate, which it sends for the page of any site."""
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() != f"https://{request.headers.get('Host', '').lower()}":
            raise PageRefusedError("requests from pages of other sites are rejected", HTTPStatus.FORBIDDEN)

    async def enter(self, request: web.Request) -> ReaderSight:
        client = client_of(request)
        sight = ReviewedSight(self.auth, client.token, partial(self.trust.client_subject, client.connection))
        denial = await sight.denial()
        if denial is not None:
            status, sentence = denial
            raise PageRefusedError(sentence, status)
        sight.reader = await self.auth.user_name(client.token, sight.subject)
        return sight


@dataclass(slots=True)
class ReviewedSight:
    """What the API server said of one client. Each right is asked for once, until it is asked whether all
    still hold. ``read_subject``: of its certificate, as long as that is trusted."""

    auth: DelegatedAuth
    token: str
    read_subject: Callable[[], CertificateSubject | None]
    reader: str | None = ""
    subject: CertificateSubject | None = field(init=False)
    _asked: set[NamespacedKind] = field(default_factory=set)
    _granted: frozenset[NamespacedKind] = frozenset()

    def __post_init__(self) -> None:
        self.subject = self.read_subject()

    async def denial(self) -> tuple[int, str] | None:
        return await self.auth.refusal(self.token, self.subject, PAGE_PATH)

    async def of(self, named: Collection[Named]) -> MayGet:
        await self._ask({kind for one in REVIEWED for kind in reviewed_kinds(one, "")})
        if all(self._may_get(kind, "") for kind in REVIEWED):
            return may_get_all
        await self._ask({kind for one in named for kind in reviewed_kinds(*one)})
        return self._may_get

    async def holds(self) -> bool:
        if self.read_subject() != self.subject or await self.denial() is not None:
            return False
        asked = frozenset(self._asked)  # more may be asked for while this is answered
        granted = await self.auth.may_get(self.token, self.subject, asked)
        return granted == self._granted & asked

    async def _ask(self, kinds: set[NamespacedKind]) -> None:
        new = kinds - self._asked
        if new:
            self._granted |= await self.auth.may_get(self.token, self.subject, new)
            self._asked |= new

    def _may_get(self, kind: str, namespace: str) -> bool:
        return any(one in self._granted for one in reviewed_kinds(kind, namespace))
