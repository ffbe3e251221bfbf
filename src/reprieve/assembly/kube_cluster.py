"""How is a cluster behind an API server reached and scheduled? It must not know the mini cluster."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from math import inf

from reprieve import config
from reprieve.assembly.eviction_history import with_history
from reprieve.assembly.scheduler_settings import DEFAULT_GATES, limits_of, pace_of, settings_of
from reprieve.cluster.kube import client, cluster
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.cluster import KubeCluster
from reprieve.runtime.loop import Loop
from reprieve.runtime.observers import Machine
from reprieve.runtime.solver_process import WorkerProcess
from reprieve.scheduler.core import Scheduler
from reprieve.supervision.supervisor import Supervisor


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
    """Both: reaches a cluster and schedules it, without leader election."""
    async with (
        reached(configured, access, clock, supervisor=supervisor) as there,
        scheduled(there, configured, clock, gates, watch),
    ):
        yield
