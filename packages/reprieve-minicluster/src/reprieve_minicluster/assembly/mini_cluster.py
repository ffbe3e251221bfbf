"""How is a mini cluster started with a scheduler: in this process, or where kubectl can reach it?

It is for trying things, so every feature is on unless a gate turns it off. It must not know the side of a
real API server.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from reprieve import config
from reprieve.assembly.decision_pages import DECISIONS_PATH, decisions_for
from reprieve.assembly.eviction_history import with_history
from reprieve.assembly.journals import JOURNAL, earlier_decisions, journal_in, observed_scheduler
from reprieve.assembly.scheduler_settings import EVERYTHING, limits_of, settings_of
from reprieve.cluster.admission.features import Features
from reprieve.model.json import Json
from reprieve.model.resources import milli
from reprieve.page.live import PictureFeed
from reprieve.runtime.journal import Journal
from reprieve.runtime.logs import DecisionLog
from reprieve.runtime.loop import Loop, ignore
from reprieve.runtime.metric_definitions import CONTENT_TYPE
from reprieve.runtime.observers import SchedulerObserver
from reprieve.runtime.recent_decisions import RecentDecisions
from reprieve.runtime.solver_process import WorkerProcess
from reprieve.runtime.telemetry import Telemetry
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision
from reprieve_minicluster.admission import admitted
from reprieve_minicluster.assembly import running_clusters
from reprieve_minicluster.auth.authentication import UserInfo
from reprieve_minicluster.bootstrap import LocalCluster, SnapshotError
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.controllers.selection import selected_controllers
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.rest.non_resource_paths import Page
from reprieve_minicluster.store import Key, Part, StorageError

# Commands import no side of a cluster: what they need of this one, they import from here.
__all__ = [
    "DEFAULT_SCHEDULER",
    "FreeNode",
    "LocalCluster",
    "MiniCluster",
    "SnapshotError",
    "StorageError",
    "Up",
    "UserInfo",
    "change",
    "cluster_in_process",
    "cluster_up",
    "selected_controllers",
    "submit",
    "usual_configuration",
]

DEFAULT_SCHEDULER = "default-scheduler"  # the name that pods have that name no scheduler
METRICS_PATH = "/metrics"


@asynccontextmanager
async def cluster_in_process(
    configured: config.Configuration,
    clock: Callable[[], float],
    record: Callable[[Decision], None] = ignore,
    telemetry: Telemetry | None = None,
    journal: Journal | None = None,
) -> AsyncIterator[MiniCluster]:
    """A cluster in this process, with a scheduler, for as long as the context is open."""
    cluster = MiniCluster(clock, features=features_of(EVERYTHING))
    settings = settings_of(configured, EVERYTHING)
    machine = observed_scheduler(Scheduler(settings), telemetry, journal)
    remembering = with_history(cluster, clock, settings)
    loop = Loop(machine, remembering, clock, record, limits_of(EVERYTHING))
    cluster.start()
    try:
        async with loop.running():
            yield cluster
    finally:
        await cluster.stop()


def submit(cluster: MiniCluster, objects: Iterable[Json]) -> None:
    """Creates objects as a client would: admission resolves priority classes and rejects errors."""
    for body in objects:
        resource = BY_NAME[body["kind"]].resource
        cluster.apply([admitted(cluster.store, resource, body, cluster.features)])


def change(cluster: MiniCluster, kind: str, name: tuple[str, str], patch: Json) -> None:
    """Changes an object as kubectl patch does."""
    from reprieve_minicluster.rest.patches import (
        merge_strategically,  # only some scenes patch
    )

    known = BY_NAME[kind]
    key = Key(known.resource, *name)
    cluster.store.patch(key, lambda body: merge_strategically(known, body, patch), Part.MAIN)


@dataclass(frozen=True, slots=True)
class Up:
    """A cluster that has just started, and how many objects of a snapshot it left out, by kind.

    ``free``: a node on which an example can run; None if pods run already, or no node takes any pod.
    ``recent``: the decisions of its scheduler.
    """

    address: str
    nodes: int
    left_out: Mapping[str, int]
    free: "FreeNode | None"
    cluster: MiniCluster
    recent: RecentDecisions


@dataclass(frozen=True, slots=True)
class FreeNode:
    name: str
    milli_cpu: int


def usual_configuration() -> config.Configuration:
    """A scheduler that also takes the pods of default-scheduler."""
    profiles = [{"schedulerName": name} for name in ("reprieve", DEFAULT_SCHEDULER)]
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return config.parse_configuration({**head, "profiles": profiles})


@asynccontextmanager
async def cluster_up(  # noqa: PLR0913  keywords
    wanted: LocalCluster,
    complain: Callable[[str], None],
    configured: config.Configuration | None = None,
    *,
    scheduled: bool,
    feature_gates: str = "",
    feed: PictureFeed | None = None,
) -> AsyncIterator[Up]:
    """A cluster that kubectl can reach, for as long as the context is open.

    ``feature_gates``: `A=true,B=false`, for its API server and for its scheduler; raises an
    InvalidConfigurationError. What is not named is on.

    ``configured``: of its scheduler; by default it also takes the pods of default-scheduler. A cluster with a
    data directory has a journal; ``complain`` gets a sentence when the journal can no longer be written.
    Recent decisions are in memory in any case, within bounds; those of earlier runs come from the journal.
    ``feed``: collects what its scheduler sees and does, for a page.
    """
    from reprieve_minicluster.local_cluster import served  # a web server, which only `reprieve up` needs

    gates = config.parse_feature_gates(feature_gates, EVERYTHING)
    configured = configured or usual_configuration()
    kept = wanted.data_dir / JOURNAL if wanted.data_dir is not None else None
    recent, telemetry = earlier_decisions(kept, complain), Telemetry()
    pages = _pages(recent, telemetry) if scheduled else {}
    async with served(replace(wanted, features=features_of(gates)), pages) as there:
        cluster = there.cluster

        async def schedule() -> None:
            """Schedule, with a new scheduler after each failure; in the journal, each is a run of its own."""
            with journal_in(kept, configured, gates, complain) as journal:
                settings = settings_of(configured, gates)
                others: tuple[SchedulerObserver, ...] = (DecisionLog(), recent)
                if feed is not None:
                    feed.begin()
                    others = (*others, feed)
                machine = observed_scheduler(Scheduler(settings), telemetry, journal, others)
                remembering = with_history(cluster, cluster.clock, settings)
                limits, solver = limits_of(gates), WorkerProcess()
                loop = Loop(machine, remembering, cluster.clock, limits=limits, solver=solver)
                async with loop.running():
                    await asyncio.Event().wait()

        with _entered(wanted, there.address):
            if scheduled:
                cluster.supervisor.start("scheduler", schedule)
            nodes = cluster.list("Node")
            free = None if cluster.list("Pod") else _free_node(nodes)
            yield Up(there.address, len(nodes), there.left_out, free, cluster, recent)


def _pages(recent: RecentDecisions, telemetry: Telemetry) -> dict[str, Page]:
    return {
        DECISIONS_PATH: Page(partial(decisions_for, recent)),
        METRICS_PATH: Page(lambda _query, _may_get: telemetry.text(), CONTENT_TYPE),
    }


def _free_node(nodes: Iterable[Json]) -> FreeNode | None:
    """The first one with room that takes any pod."""
    for node in nodes:
        cpu = milli(node.get("status", {}).get("allocatable", {}).get("cpu", "0")) or 0
        labels = node["metadata"].get("labels", {})
        is_open = not node.get("spec", {}).get("taints") and not node.get("spec", {}).get("unschedulable")
        if cpu > 0 and is_open and labels.get("kubernetes.io/hostname") == node["metadata"]["name"]:
            return FreeNode(node["metadata"]["name"], cpu)
    return None


def features_of(gates: config.Gates) -> Features:
    """The features of the API server, by the gates that it shares with its scheduler."""
    return Features(
        generic_workload=gates.generic_workload,
        workload_aware_preemption=gates.workload_aware_preemption,
        pod_group_preemption_policy=gates.pod_group_preemption_policy,
        topology_aware_workload_scheduling=gates.topology_aware_workload_scheduling,
        composite_pod_group=gates.composite_pod_group,
        in_place_pod_vertical_scaling_scheduler_preemption=(
            gates.in_place_pod_vertical_scaling_scheduler_preemption
        ),
    )


def _entered(wanted: LocalCluster, address: str) -> AbstractContextManager[None]:
    where = str(wanted.data_dir.resolve()) if wanted.data_dir is not None else ""
    return running_clusters.entered(
        running_clusters.RunningCluster(os.getpid(), address, str(wanted.kubeconfig), where, time.time())
    )
