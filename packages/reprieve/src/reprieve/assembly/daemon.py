"""How does one replica schedule a real cluster? It connects, waits until it leads, and then schedules.

Whatever keeps it from scheduling is a sentence for the operator.
"""

import asyncio
import logging
import os
import socket
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from math import inf
from pathlib import Path

from reprieve import config
from reprieve.assembly.endpoints import (
    DEFAULT_REVIEWS,
    Observers,
    ReviewOptions,
    ReviewServers,
    ServingEndpoint,
    serve_endpoints,
)
from reprieve.assembly.eviction_history import with_history
from reprieve.assembly.journals import journal_in, observed_scheduler
from reprieve.assembly.scheduler_settings import DEFAULT_GATES, limits_of, pace_of, settings_of
from reprieve.assembly.serving_thread import BetweenSteps, in_own_thread
from reprieve.cluster.kube import client, cluster, lease, permissions
from reprieve.cluster.kube.auth import Access, find_access
from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.cluster import KubeCluster
from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.kubeconfig import AccessError
from reprieve.cluster.kube.requests import KubeRequest, KubeResponse, NoAnswerError, RefusedError
from reprieve.cluster.kube.rest_mapping import CANDIDATES, RestMapping
from reprieve.runtime.logs import DecisionLog
from reprieve.runtime.loop import Loop
from reprieve.runtime.observers import Machine, SchedulerObserver
from reprieve.runtime.readiness import Readiness
from reprieve.runtime.solver_process import WorkerProcess
from reprieve.scheduler.core import Scheduler
from reprieve.supervision.supervisor import Supervisor

_log = logging.getLogger(__name__)

_PATIENCE = 10.0  # seconds that a server may take to answer at the start: it may be starting, too
_RETRY_SECONDS = 1.0
_MOST_NAMED = 5  # missing rights that are named one by one
_REVIEWS_AT_ONCE = 4  # access reviews: there are many, and each uses a connection of its own


class DaemonError(Exception):
    """Why the daemon cannot schedule, or no longer, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonOptions:
    """What flags set beside the configuration. Kubeconfigs are files; ``server`` overrides theirs.

    ``authentication_kubeconfig`` and ``authorization_kubeconfig``: for token and access reviews of
    the clients of our endpoints; by default the one for everything else.
    """

    feature_gates: str = ""
    kubeconfig: str = ""
    server: str = ""
    endpoint: ServingEndpoint | None = None
    authentication_kubeconfig: str = ""
    authorization_kubeconfig: str = ""
    review_options: ReviewOptions = DEFAULT_REVIEWS
    journal: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    configured: config.Configuration
    gates: config.Gates
    access: Access
    identity: str
    reviews: ReviewServers
    endpoint: ServingEndpoint | None = None
    journal: Path | None = None


def assemble_daemon(document: object, wanted: DaemonOptions) -> Daemon:
    """Raises InvalidConfigurationError or DaemonError if the daemon cannot be assembled."""
    configured = config.parse_configuration(document)
    gates = config.parse_feature_gates(wanted.feature_gates)
    explicit = configured.settings.client_connection.kubeconfig or wanted.kubeconfig
    try:
        access = find_access(explicit, "", os.environ, wanted.server)
        files = (
            (wanted.authentication_kubeconfig, wanted.authorization_kubeconfig)
            if wanted.endpoint is not None
            else ("", "")
        )
        # Of its own: credentials are renewed in the event loop that uses them.
        token_reviews, access_reviews = (
            find_access(file or explicit, "", os.environ, "" if file else wanted.server) for file in files
        )
    except AccessError as error:
        raise DaemonError(str(error)) from error
    return Daemon(
        configured=configured,
        gates=gates,
        access=access,
        identity=f"{socket.gethostname()}_{uuid.uuid4()}",
        reviews=ReviewServers(token_reviews, access_reviews, wanted.review_options),
        endpoint=wanted.endpoint,
        journal=wanted.journal,
    )


async def schedule_until(end: asyncio.Event, daemon: Daemon, clock: Callable[[], float] = time.time) -> None:
    """Returns once ``end`` is set and scheduling has stopped; raises DaemonError if it stops before."""
    for warning in daemon.configured.warnings:
        _log.warning("%s", warning)
    observers = Observers()
    for access in (daemon.access, daemon.reviews.token_reviews, daemon.reviews.access_reviews):
        access.observer = observers.telemetry.on_response
    async with AsyncExitStack() as stack:
        if daemon.endpoint is not None:
            await stack.enter_async_context(in_own_thread(_pages(daemon, daemon.endpoint, observers)))
            beating = observers.readiness.heartbeat.keep_beating
            stack.callback(observers.readiness.supervisor.start("heartbeat", beating).cancel)
        work = asyncio.create_task(_work(daemon, clock, observers))
        asked = asyncio.create_task(end.wait())
        stuck = asyncio.create_task(observers.readiness.supervisor.until_stuck())
        # Where /livez is served, the kubelet restarts a replica with a task that cannot go on.
        ends = (work, asked) if daemon.endpoint is not None else (work, asked, stuck)
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        problem = stuck.result() if stuck.done() and not asked.done() else ""
        asked.cancel()
        stuck.cancel()
        observers.readiness.on_stopping()
        if not work.done():
            _log.info("stopping: calls in flight have a few seconds to finish")
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            if problem and daemon.endpoint is None:
                raise DaemonError(problem)
            return
        work.result()
        raise DaemonError("the lease could not be renewed in time: another replica may lead now")


def _pages(
    daemon: Daemon, endpoint: ServingEndpoint, observers: Observers
) -> Callable[[], AbstractAsyncContextManager[int]]:
    """Metrics and decisions are read between two steps of the scheduler; probes are answered at any time."""
    return partial(serve_endpoints, endpoint, daemon.configured, daemon.reviews, observers, BetweenSteps())


async def _work(daemon: Daemon, clock: Callable[[], float], observers: Observers) -> None:
    lease_name = daemon.configured.settings.leader_election.resource_name
    observers.telemetry.set_leading(lease_name, now=False)
    await _check_rights(daemon)
    with journal_in(daemon.journal, daemon.configured, daemon.gates, _log.warning) as journal:

        def watch(scheduler: Scheduler) -> Machine:
            observers.readiness.on_watching()
            observers.readiness.heartbeat.read_from(scheduler.working_on)
            observers.telemetry.set_leading(lease_name, now=True)
            others: tuple[SchedulerObserver, ...] = (observers.readiness, DecisionLog(), observers.recent)
            if daemon.endpoint is not None:
                observers.feed.begin()
                others = (*others, observers.feed)
            return observed_scheduler(scheduler, observers.telemetry, journal, others)

        if daemon.configured.settings.leader_election.leader_elect:
            await lead(
                daemon.configured,
                daemon.access,
                clock,
                daemon.identity,
                daemon.gates,
                watch,
                observers.readiness,
            )
        else:
            tasks = observers.readiness.supervisor
            async with scheduling(daemon.configured, daemon.access, clock, daemon.gates, watch, tasks):
                await asyncio.Event().wait()


async def lead(  # noqa: PLR0913, PLR0917  every one is needed
    configured: config.Configuration,
    access: Access,
    clock: Callable[[], float],
    identity: str,
    gates: config.Gates = DEFAULT_GATES,
    watch: Callable[[Scheduler], Machine] = lambda scheduler: scheduler,
    readiness: Readiness | None = None,
) -> None:
    """Waits until this replica leads, schedules for as long as it does, and returns when another one may.

    It writes nothing after that. When cancelled, it finishes calls in flight and releases the lease, so that
    the next replica leads at once.
    """
    wanted = configured.settings.leader_election
    times = (wanted.lease_duration, wanted.renew_deadline, wanted.retry_period)
    terms = lease.LeaseTerms(wanted.resource_namespace, wanted.resource_name, identity, *times)
    readiness = readiness or Readiness()
    election: lease.Election

    def may_ask_for() -> float:
        return election.may_write_lease_for()

    # Its own connection: a leader whose renewals queue behind other requests loses the lease.
    async with client.connected(access, may_write_for=may_ask_for) as connection:
        election = lease.Election(connection, terms, clock)
        async with reached(configured, access, clock, election.seconds_left, readiness.supervisor) as there:
            try:
                if configured.settings.delay_cache_until_active:
                    await election.win()
                else:
                    await _win_after_listing(election, there, readiness)
                # With a new scheduler: it reads from the cluster how far the previous leader got.
                async with scheduled(there, configured, clock, gates, watch):
                    await election.keep()
            finally:
                await election.release()


async def _win_after_listing(election: lease.Election, there: KubeCluster, readiness: Readiness) -> None:
    """A replica tries to lead only once it has listed the cluster: another one may be ready already."""
    readiness.on_watching()
    await there.stand_by()
    readiness.on_synced()
    _log.info("standing by: the cluster is listed, waiting for the lease")
    await election.win()


# --- the server: its version, its kinds and our rights --------------------------------------------


async def _check_rights(daemon: Daemon) -> None:
    """Reports all missing rights at the start, instead of one by one when a call fails."""
    async with client.connected(daemon.access) as connection:
        version = await server_version(connection, _PATIENCE)
        _log.info("the server is %s, of version %s", daemon.access.server, version)
        try:
            missing = await missing_rights(
                connection, required_permissions(daemon.configured, await served_kinds(connection))
            )
        except (NoAnswerError, RefusedError) as error:
            raise DaemonError(f"API discovery failed: {error}") from error
    if missing:
        raise DaemonError(missing_text(missing))


async def server_version(connection: Connection, patience: float = 0.0) -> str:
    """The version of the server; raises DaemonError if it does not answer or rejects our credentials."""
    response = await _version_response(connection, asyncio.get_running_loop().time() + patience)
    if response.status == HTTPStatus.UNAUTHORIZED:
        raise DaemonError("the server rejects the credentials: expected those of a user that it knows")
    if not response.is_success:
        raise DaemonError(f"the server does not report its version: {response.message}")
    return str(response.object.get("gitVersion") or "unknown")


async def _version_response(connection: Connection, until: float) -> KubeResponse:
    while True:
        try:
            return await connection.send(KubeRequest("GET", "/version"))
        except NoAnswerError as error:
            if asyncio.get_running_loop().time() >= until:
                raise DaemonError(str(error)) from error
            _log.info("%s", error)
        await asyncio.sleep(_RETRY_SECONDS)


async def served_kinds(connection: Connection) -> list[RestMapping]:
    """Where the server serves the kinds that Reprieve reads; without those that it lacks."""
    discovery = Discovery(connection)
    found = [await discovery.find(kind) for kind in CANDIDATES]
    return [place for place in found if place is not None]


def required_permissions(
    configured: config.Configuration, found: Iterable[RestMapping]
) -> list[permissions.Permission]:
    election = configured.settings.leader_election
    needed = list(permissions.scheduling_permissions(found))
    if election.leader_elect:
        needed += permissions.election_permissions(election.resource_namespace, election.resource_name)
    return needed


async def missing_rights(
    connection: Connection, needed: Sequence[permissions.Permission]
) -> list[permissions.Permission]:
    """A server that does not answer a review counts as allowing: the call itself will show."""
    return [right for right, may in (await reviewed_permissions(connection, needed)).items() if may is False]


async def reviewed_permissions(
    connection: Connection, needed: Sequence[permissions.Permission]
) -> dict[permissions.Permission, bool | None]:
    """Whether the server grants each of these; None if it does not answer the review."""
    turns = asyncio.Semaphore(_REVIEWS_AT_ONCE)

    async def ask(right: permissions.Permission) -> bool | None:
        async with turns:
            return await connection.run(permissions.self_access_review(right))

    answers = await asyncio.gather(*map(ask, needed))
    return dict(zip(needed, answers, strict=True))


def missing_text(missing: Sequence[permissions.Permission]) -> str:
    named = ", ".join(map(str, missing[:_MOST_NAMED]))
    more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
    return (
        f"the server does not allow Reprieve to {named}{more}: expected the rights of the role in deploy/base"
    )


# --- reaching a cluster, and scheduling it ---------------------------------------------------------


@asynccontextmanager
async def reached(
    configured: config.Configuration,
    access: Access,
    clock: Callable[[], float],
    may_write_for: Callable[[], float] = lambda: inf,
    supervisor: Supervisor | None = None,
) -> AsyncIterator[KubeCluster]:
    """The cluster behind an API server, for as long as the context is open.

    ``may_write_for``: for how many more seconds this client may write.
    """
    rate, burst = pace_of(configured)
    limits = client.ClientLimits(rate=rate, burst=burst)
    async with cluster.kube_cluster(access, clock, limits, may_write_for, supervisor) as there:
        yield there


def scheduled(
    there: KubeCluster,
    configured: config.Configuration,
    clock: Callable[[], float],
    gates: config.Gates = DEFAULT_GATES,
    watch: Callable[[Scheduler], Machine] = lambda scheduler: scheduler,
) -> AbstractAsyncContextManager[None]:
    """Schedules a cluster for as long as the context is open. ``watch`` adds observers."""
    settings, (rate, _) = settings_of(configured, gates), pace_of(configured)
    remembering = with_history(there, clock, settings)
    machine = watch(Scheduler(settings))
    limits, solver = limits_of(gates, rate), WorkerProcess()
    return Loop(machine, remembering, clock, limits=limits, solver=solver).running()


@asynccontextmanager
async def scheduling(  # noqa: PLR0913, PLR0917  every one is needed
    configured: config.Configuration,
    access: Access,
    clock: Callable[[], float],
    gates: config.Gates = DEFAULT_GATES,
    watch: Callable[[Scheduler], Machine] = lambda scheduler: scheduler,
    supervisor: Supervisor | None = None,
) -> AsyncIterator[None]:
    """Reaches a cluster and schedules it, without leader election."""
    async with (
        reached(configured, access, clock, supervisor=supervisor) as there,
        scheduled(there, configured, clock, gates, watch),
    ):
        yield
