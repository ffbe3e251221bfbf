"""How does a replica serve the page on its secure port: to which clients, and with which names?

The path has a right of its own, get on the nonResourceURL /page/. Names of other namespaces are left out by
what the client may get there, as in `/debug/decisions`. A client only reads.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

from aiohttp import web

from reprieve.assembly.reviewed_decisions import REVIEWED, reviewed_kinds
from reprieve.assembly.serving_thread import ReadByScheduler
from reprieve.assembly.trust import Trust
from reprieve.cluster.certificates import CertificateSubject
from reprieve.cluster.kube.access_reviews import DelegatedAuth, NamespacedKind
from reprieve.page.documents import PageHead
from reprieve.page.feed import PictureFeed
from reprieve.page.live import LivePicture
from reprieve.page.server import PAGE_PATH
from reprieve.page.sources import LiveFrames, PageParts, PageRefusedError, ReaderSight
from reprieve.report.hidden_names import MayGet, Named, may_get_all
from reprieve.runtime.http_endpoints import client_of

_NOT_LEADING = "this replica does not schedule: another one leads, or this one is starting"


def replica_page(
    name: str, feed: PictureFeed, read: ReadByScheduler, keeper: DelegatedAuth, trust: Trust
) -> PageParts:
    """``name``: by which readers know the cluster. To be called in the event loop that serves."""
    live = LivePicture(partial(read, feed.take))
    return PageParts(
        PageHead(name, "daemon"), LiveFrames(live, _NOT_LEADING), ReviewedGate(keeper, trust), live
    )


@dataclass(frozen=True, slots=True)
class ReviewedGate:
    keeper: DelegatedAuth
    trust: Trust

    def check_origin(self, request: web.Request) -> None:
        """A browser may have a client certificate, which it sends for the page of any site."""
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() != f"https://{request.headers.get('Host', '').lower()}":
            raise PageRefusedError("requests from pages of other sites are rejected", HTTPStatus.FORBIDDEN)

    async def enter(self, request: web.Request) -> ReaderSight:
        client = client_of(request)
        sight = ReviewedSight(self.keeper, client.token, partial(self.trust.bearer, client.connection))
        denial = await sight.denial()
        if denial is not None:
            status, sentence = denial
            raise PageRefusedError(sentence, status)
        sight.reader = await self.keeper.user_name(client.token, sight.subject)
        return sight


@dataclass(slots=True)
class ReviewedSight:
    """What the API server said of one client. Each right is asked for once, until it is asked whether all
    still hold. ``bearer``: whose certificate it is, as long as it is trusted."""

    keeper: DelegatedAuth
    token: str
    bearer: Callable[[], CertificateSubject | None]
    reader: str | None = ""
    subject: CertificateSubject | None = field(init=False)
    _asked: set[NamespacedKind] = field(default_factory=set)
    _granted: frozenset[NamespacedKind] = frozenset()

    def __post_init__(self) -> None:
        self.subject = self.bearer()

    async def denial(self) -> tuple[int, str] | None:
        return await self.keeper.refusal(self.token, self.subject, PAGE_PATH)

    async def of(self, named: Collection[Named]) -> MayGet:
        await self._ask({kind for one in REVIEWED for kind in reviewed_kinds(one, "")})
        if all(self._may_get(kind, "") for kind in REVIEWED):
            return may_get_all
        await self._ask({kind for one in named for kind in reviewed_kinds(*one)})
        return self._may_get

    async def holds(self) -> bool:
        if self.bearer() != self.subject or await self.denial() is not None:
            return False
        asked = frozenset(self._asked)  # more may be asked for while this is answered
        granted = await self.keeper.may_get(self.token, self.subject, asked)
        return granted == self._granted & asked

    async def _ask(self, kinds: set[NamespacedKind]) -> None:
        new = kinds - self._asked
        if new:
            self._granted |= await self.keeper.may_get(self.token, self.subject, new)
            self._asked |= new

    def _may_get(self, kind: str, namespace: str) -> bool:
        return any(one in self._granted for one in reviewed_kinds(kind, namespace))
