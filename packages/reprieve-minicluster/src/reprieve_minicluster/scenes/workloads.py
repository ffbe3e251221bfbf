"""A cluster in one process: nodes join, a Deployment and a Job are applied, their pods are scheduled and run.

Time is simulated.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from importlib.resources import files

from reprieve import config
from reprieve.cli.terminal import show_fitting as show
from reprieve.cluster.api.documents import documents
from reprieve.cluster.port import ClusterEvent
from reprieve.model.json import Json
from reprieve.model.snapshot import build
from reprieve.report.text_layout import BLANK, TextLine, counted, indented
from reprieve.scheduler.reporting.decision import Decision
from reprieve_minicluster.assembly.mini_cluster import cluster_in_process
from reprieve_minicluster.scenes import ListObjects, ScenePacing, path_of
from reprieve_minicluster.scenes.tables import decoded_objects, node_table, workload_table
from reprieve_minicluster.scenes.timeline import ChangeTracker, decision_line, timed_line
from reprieve_minicluster.virtual_time import clock, run

WORKLOADS = files("reprieve_minicluster") / "demo" / "workloads.yaml"
PATIENCE_SECONDS = 120.0


def play(pace: ScenePacing, command: str) -> None:
    show(introduction())
    run(WorkloadScene(pace).run(), pace.speed)


def introduction() -> list[TextLine]:
    return [
        TextLine(
            "A cluster starts in this process: simulated nodes, the controllers of Deployments and Jobs,"
        ),
        TextLine("and Reprieve as the scheduler. The manifests:"),
        *indented([TextLine(path_of(WORKLOADS.name))]),
        TextLine("On the left is the simulated time, which jumps from event to event."),
        BLANK,
    ]


class WorkloadScene:
    """Applies the manifests, and shows what happens."""

    def __init__(self, pace: ScenePacing) -> None:
        self._pace = pace
        self._begin = 0.0
        self._tracker = ChangeTracker()

    async def run(self) -> None:
        self._begin = clock()
        things = list(read_workloads())
        async with cluster_in_process(config.default_configuration(), clock, self._decided) as cluster:
            watching = asyncio.create_task(self._watch(cluster.watch()))
            cluster.apply(thing for thing in things if not is_workload(thing))
            for workload in filter(is_workload, things):
                await asyncio.sleep(2.0)
                self._show(TextLine(applied(workload)))
                cluster.apply([workload])
            await until(lambda: all(map(has_finished, workloads(cluster.list))))
            watching.cancel()
            show([BLANK, *workload_table(workloads(cluster.list))])
            show([BLANK, *node_table(build(decoded_objects(cluster.list, "Node", "Pod")).snapshot)])

    async def _watch(self, events: AsyncIterator[ClusterEvent]) -> None:
        async for event in events:
            line = self._tracker.line_for(event)
            if line is not None:
                self._show(line)

    def _decided(self, decision: Decision) -> None:
        self._show(decision_line(decision))

    def _show(self, line: TextLine) -> None:
        show([replace(timed_line(clock() - self._begin, line), hang=11)])
        self._pace.breathe()


# --- what is applied -----------------------------------------------------------------------------


def read_workloads() -> Iterator[Json]:
    for document in documents(WORKLOADS.read_text(encoding="utf-8")):
        if isinstance(document, dict):
            yield document


def is_workload(thing: Json) -> bool:
    return thing["kind"] in ("Deployment", "Job")


def applied(workload: Json) -> str:
    name = f"{workload['kind']} {workload['metadata']['namespace']}/{workload['metadata']['name']}"
    spec = workload["spec"]
    return f"{name} is applied: {counted(spec.get('replicas') or spec['completions'], 'pod')}"


# --- progress ------------------------------------------------------------------------------------


async def until(holds: Callable[[], bool]) -> None:
    end = clock() + PATIENCE_SECONDS
    while not holds() and clock() < end:
        await asyncio.sleep(0.5)


def workloads(of_kind: ListObjects) -> list[Json]:
    return [*of_kind("Deployment"), *of_kind("Job")]


def has_finished(workload: Json) -> bool:
    """A Deployment when it is available, a Job when it is complete."""
    goal = "Complete" if workload["kind"] == "Job" else "Available"
    found = workload["status"].get("conditions", ())
    return any(c["type"] == goal and c["status"] == "True" for c in found)
