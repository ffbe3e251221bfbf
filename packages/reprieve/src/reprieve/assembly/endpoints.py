"""What does a replica serve over HTTPS, on a port of its own? Probes, metrics, decisions, and the page.

Which names a client may see, on the page and in recent decisions, the API server says. The page has a right
of its own, get on the nonResourceURL /page/. A client only reads.
"""

import asyncio
import errno
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from itertools import chain

import msgspec
from aiohttp import web

from reprieve import config
from reprieve.assembly.decision_pages import DECISIONS_PATH, AskedDecisions, asked_decisions, decisions_page
from reprieve.assembly.serving_thread import ReadByScheduler, in_this_thread
from reprieve.assembly.trust import (
    DEFAULT_TLS,
    NO_FILES,
    CertificateFiles,
    EndpointError,
    TlsOptions,
    Trust,
    keep_fetching_authorities,
    keep_rereading_files,
)
from reprieve.cluster.certificates import CertificateSubject
from reprieve.cluster.kube import client
from reprieve.cluster.kube.access_reviews import (
    ClientCaUnavailableError,
    DelegatedAuth,
    NamespacedKind,
    ReviewCacheTimes,
    ReviewConnections,
    read_client_ca,
)
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.requests import NoAnswerError
from reprieve.config.parsing import as_document
from reprieve.inquiry.decision_list import kept_document
from reprieve.page.documents import PageHead
from reprieve.page.live import LivePicture, PictureFeed
from reprieve.page.server import PAGE_PATH, page_routes
from reprieve.page.sources import LiveFrames, PageParts, PageRefusedError, ReaderSight
from reprieve.report.hidden_names import MayGet, Named, may_get_all, named_in
from reprieve.runtime.http_endpoints import (
    PROBES,
    Authorize,
    ContentEndpoint,
    Denial,
    Endpoints,
    HttpClient,
    ProbeEndpoint,
    application,
    client_of,
)
from reprieve.runtime.metric_definitions import CONTENT_TYPE
from reprieve.runtime.readiness import Readiness, report_slow_steps
from reprieve.runtime.recent_decisions import RecentDecisions
from reprieve.runtime.telemetry import Telemetry
from reprieve.supervision.listening import BoundedSite, ConnectionPlaces, bounds_of_process
from reprieve.supervision.supervisor import HealthCheck, Supervisor

_LAST_ANSWERS_SECONDS = 2.0
_IDLE_SECONDS = 60.0  # more than between two visits of Prometheus
_MOST_CONNECTIONS = 256
_NOT_LEADING = "this replica does not schedule: another one leads, or this one is starting"
_ANY, _BOTH = ("", "0.0.0.0", "::"), ("0.0.0.0", "::")
_NO_SUCH_FAMILY = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """Seconds for which a token review, an access review that allowed and one that denied are cached.

    ``looks_up``: whether the authorities of client certificates are read from the server if no file names
    them. ``must_learn``: whether serving waits for that."""

    known: float = 10.0
    allowed: float = 10.0
    refused: float = 10.0
    looks_up: bool = True
    must_learn: bool = False

    @property
    def cache_times(self) -> ReviewCacheTimes:
        return ReviewCacheTimes(self.known, self.allowed, self.refused)


DEFAULT_REVIEWS = ReviewOptions()


@dataclass(frozen=True, slots=True)
class ReviewServers:
    """The API servers that say which client a token belongs to, and what that client may read."""

    token_reviews: Access
    access_reviews: Access
    options: ReviewOptions = DEFAULT_REVIEWS


@dataclass(frozen=True, slots=True)
class ServingEndpoint:
    """``for_all``: paths without authentication. ``shared``: whether other processes may bind the port."""

    host: str = "0.0.0.0"
    port: int = 10259
    files: CertificateFiles = NO_FILES
    tls: TlsOptions = DEFAULT_TLS
    for_all: Sequence[str] = PROBES
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Observers:
    """Observers whose findings are served. They outlive a scheduler."""

    telemetry: Telemetry = field(default_factory=Telemetry)
    readiness: Readiness = field(default_factory=Readiness)
    recent: RecentDecisions = field(default_factory=RecentDecisions)
    feed: PictureFeed = field(default_factory=PictureFeed)


@asynccontextmanager
async def serve_endpoints(
    endpoint: ServingEndpoint,
    configured: config.Configuration,
    reviews: ReviewServers,
    shown: Observers,
    read: ReadByScheduler = in_this_thread,
) -> AsyncIterator[int]:
    """Serves for as long as the context is open, and yields the port; raises EndpointError if it cannot.

    It may run in another thread than the scheduler: then ``read`` reads what observers have collected in the
    scheduler's thread. Only ``shown.readiness`` is read directly.
    """
    supervisor, trust = Supervisor(), Trust(endpoint.files, endpoint.tls)
    async with AsyncExitStack() as stack:
        connections = await _review_connections(stack, reviews)
        stack.push_async_callback(supervisor.stop)
        supervisor.start("slow steps", partial(report_slow_steps, shown.readiness.heartbeat))
        await _keep_up(trust, endpoint, reviews, connections.tokens, supervisor)
        auth = DelegatedAuth(connections, reviews.options.cache_times)
        decisions = ContentEndpoint(_decisions(auth, trust, shown.recent, read))
        endpoints = {**_endpoints(configured, shown, read, supervisor), DECISIONS_PATH: decisions}
        made = application(endpoints, _authorize(auth, trust), endpoint.for_all)
        page = _page(reviews.access_reviews.server, shown.feed, read, auth, trust)
        made.add_routes(page_routes(page))
        # No compressed bodies: a small one may be of any size when it is read.
        runner = web.AppRunner(
            made,
            access_log=None,
            shutdown_timeout=_LAST_ANSWERS_SECONDS,
            auto_decompress=False,
            keepalive_timeout=_IDLE_SECONDS,
        )
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        if page.live is not None:
            _keep_fresh(stack, page.live)
        await _listen(runner, endpoint, trust)
        yield int(runner.addresses[0][1])


async def _review_connections(stack: AsyncExitStack, reviews: ReviewServers) -> ReviewConnections:
    """Connections of its own: authorizing a reader of metrics must not slow down scheduling."""
    servers = reviews.token_reviews, reviews.access_reviews, reviews.access_reviews
    return ReviewConnections(*[await stack.enter_async_context(client.connected(one)) for one in servers])


def _endpoints(
    configured: config.Configuration, shown: Observers, read: ReadByScheduler, supervisor: Supervisor
) -> Endpoints:
    """What is the same for every reader."""

    def alive() -> Iterator[HealthCheck]:
        return chain(shown.readiness.alive(), supervisor.checks())

    def ready() -> Iterator[HealthCheck]:
        return chain(shown.readiness.ready(), supervisor.checks())

    async def metrics(*_: object) -> bytes:
        return await read(shown.telemetry.text)

    async def configz(*_: object) -> bytes:
        return msgspec.json.encode({"componentconfig": as_document(configured)})

    return {
        "/healthz": ProbeEndpoint(alive),
        "/livez": ProbeEndpoint(alive),
        "/readyz": ProbeEndpoint(ready),
        "/metrics": ContentEndpoint(metrics, CONTENT_TYPE),
        "/configz": ContentEndpoint(configz),
    }


def _keep_fresh(stack: AsyncExitStack, live: LivePicture) -> None:
    """The page has a supervisor of its own: a page that fails is no reason to restart the scheduler."""
    pages = Supervisor()
    stack.push_async_callback(pages.stop)
    stack.callback(live.close)
    pages.start("page", live.keep_fresh)


async def _keep_up(
    trust: Trust,
    endpoint: ServingEndpoint,
    reviews: ReviewServers,
    server: Connection,
    supervisor: Supervisor,
) -> None:
    async def ask() -> bytes:
        try:
            return await server.run(read_client_ca())
        except (NoAnswerError, ClientCaUnavailableError) as error:
            raise EndpointError(str(error)) from error

    asks = endpoint.files.clients is None and reviews.options.looks_up
    if asks and reviews.options.must_learn:
        trust.trust_clients_of(await ask())
    supervisor.start("serving certificate", partial(keep_rereading_files, trust))
    if asks:
        supervisor.start("client authorities", partial(keep_fetching_authorities, trust, ask))


def _authorize(auth: DelegatedAuth, trust: Trust) -> Authorize:
    async def denial(caller: HttpClient, path: str) -> Denial | None:
        return await auth.refusal(caller.token, trust.client_subject(caller.connection), path)

    return denial


def _decisions(
    auth: DelegatedAuth, trust: Trust, recent: RecentDecisions, read: ReadByScheduler
) -> Callable[[HttpClient, Mapping[str, str]], Awaitable[bytes]]:
    async def content(caller: HttpClient, query: Mapping[str, str]) -> bytes:
        async def allowed(kinds: Collection[NamespacedKind]) -> frozenset[NamespacedKind]:
            return await auth.may_get(caller.token, trust.client_subject(caller.connection), kinds)

        asked = await read(partial(asked_decisions, recent, query))
        return await _reviewed_decisions(asked, allowed)

    return content


async def _listen(runner: web.AppRunner, endpoint: ServingEndpoint, trust: Trust) -> None:
    """A wildcard address binds both families, as far as the machine has them."""
    hosts = _BOTH if endpoint.host in _ANY else (endpoint.host,)
    lacking = 0
    places = ConnectionPlaces(bounds_of_process(_MOST_CONNECTIONS))
    for host in hosts:
        site = BoundedSite(
            runner,
            (host, endpoint.port),
            places,
            tls=trust.context,
            reuse_port=endpoint.shared,
        )
        try:
            await site.start()
        except OSError as error:
            lacking += error.errno in _NO_SUCH_FAMILY
            if error.errno not in _NO_SUCH_FAMILY or lacking == len(hosts):
                raise EndpointError(_listen_problem(endpoint, error)) from error


def _listen_problem(endpoint: ServingEndpoint, error: OSError) -> str:
    where = f"{endpoint.port} of {endpoint.host}"
    if error.errno == errno.EADDRINUSE:
        return f"--secure-port: {where} is in use: choose another"
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    return f"--secure-port: cannot listen on {where}: {reason}"


# --- what a client may see on the page and in decisions -------------------------------------------


_AT_A_TIME = 20  # decisions, between which other requests get their turn
# PodGroups are served by Kubernetes, or by a definition of ours: never by both.
_REVIEWED: Mapping[str, tuple[tuple[str, str], ...]] = {
    "Pod": (("", "pods"),),
    "PodGroup": (("scheduling.k8s.io", "podgroups"), ("reprieve.dev", "podgroups")),
    "CompositePodGroup": (("scheduling.k8s.io", "compositepodgroups"),),
    "PodDisruptionBudget": (("policy", "poddisruptionbudgets"),),
}

_Allowed = Callable[[Collection[NamespacedKind]], Awaitable[frozenset[NamespacedKind]]]


async def _reviewed_decisions(asked: AskedDecisions, allowed: _Allowed) -> bytes:
    """Each right is asked for once for each request."""
    decisions, wanted = [], set[NamespacedKind]()
    for number, encoded in enumerate(asked.kept):
        decisions.append(kept := encoded.decoded())
        wanted |= {kind for name in named_in(kept.decision) for kind in _reviewed_kinds(*name)}
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    granted = await allowed(wanted)

    def may_get(kind: str, namespace: str) -> bool:
        return any(one in granted for one in _reviewed_kinds(kind, namespace))

    items = []
    for number, kept in enumerate(decisions):
        items.append(kept_document(kept, may_get, asked.version))
        if number % _AT_A_TIME == 0:
            await asyncio.sleep(0)
    return decisions_page(items, asked)


def _reviewed_kinds(kind: str, namespace: str) -> list[NamespacedKind]:
    """List the resources as which a kind is read; an empty namespace means all of them."""
    return [NamespacedKind(group, resource, namespace) for group, resource in _REVIEWED.get(kind, ())]


def _page(
    name: str, feed: PictureFeed, read: ReadByScheduler, auth: DelegatedAuth, trust: Trust
) -> PageParts:
    """``name``: by which readers know the cluster. To be called in the event loop that serves."""
    live = LivePicture(partial(read, feed.take))
    return PageParts(
        PageHead(name, "daemon"), LiveFrames(live, _NOT_LEADING), _ReviewedGate(auth, trust), live
    )


@dataclass(frozen=True, slots=True)
class _ReviewedGate:
    auth: DelegatedAuth
    trust: Trust

    def check_origin(self, request: web.Request) -> None:
        """A browser may have a client certificate, which it sends for the page of any site."""
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() != f"https://{request.headers.get('Host', '').lower()}":
            raise PageRefusedError("requests from pages of other sites are rejected", HTTPStatus.FORBIDDEN)

    async def enter(self, request: web.Request) -> ReaderSight:
        client = client_of(request)
        sight = _ReviewedSight(self.auth, client.token, partial(self.trust.client_subject, client.connection))
        denial = await sight.denial()
        if denial is not None:
            status, sentence = denial
            raise PageRefusedError(sentence, status)
        sight.reader = await self.auth.user_name(client.token, sight.subject)
        return sight


@dataclass(slots=True)
class _ReviewedSight:
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
        await self._ask({kind for one in _REVIEWED for kind in _reviewed_kinds(one, "")})
        if all(self._may_get(kind, "") for kind in _REVIEWED):
            return may_get_all
        await self._ask({kind for one in named for kind in _reviewed_kinds(*one)})
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
        return any(one in self._granted for one in _reviewed_kinds(kind, namespace))
