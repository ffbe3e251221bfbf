"""A cluster in one process: nodes join, a Deployment and a Job are applied, placed, run and end.

Time is simulated, so that a minute of the cluster takes as long as reading about it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.resources import files

from reprieve import config
from reprieve.assembly.mini_cluster import cluster_in_process
from reprieve.cli.scenes import ListObjects, Pace
from reprieve.cli.screen import show
from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.cluster.api.documents import documents
from reprieve.cluster.port import Sight
from reprieve.model.build import build
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject
from reprieve.report.happenings import Witness, at, decided
from reprieve.report.nodes import node_table
from reprieve.report.text import BLANK, Line, counted, indented
from reprieve.report.workloads import workload_table
from reprieve.runtime.virtual_time import clock, run
from reprieve.scheduler.decision import Decision

WORKLOADS = files("reprieve") / "demo" / "workloads.yaml"
PATIENCE_SECONDS = 120.0


def play(pace: Pace, command: str) -> None:
    show(introduction())
    run(Story(pace).unfold(), pace.speed)


def introduction() -> list[Line]:
    return [
        Line("A cluster comes up in this process: nodes whose pods are simulated, the controllers that"),
        Line("make pods of Deployments and Jobs, and Reprieve as the scheduler. What is applied:"),
        *indented([Line(str(WORKLOADS))]),
        Line("On the left is the time in the cluster. It jumps to whenever something happens."),
        BLANK,
    ]


class Story:
    """What is applied when, and everything that comes of it as it happens."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._begin = 0.0
        self._witness = Witness()

    async def unfold(self) -> None:
        self._begin = clock()
        things = list(read_workloads())
        async with cluster_in_process(config.default_configuration(), clock, self._decided) as cluster:
            watching = asyncio.create_task(self._watch(cluster.watch()))
            cluster.apply(thing for thing in things if not is_workload(thing))
            for workload in filter(is_workload, things):
                await asyncio.sleep(2.0)
                self._tell(Line(applied(workload)))
                cluster.apply([workload])
            await until(lambda: all(map(has_come_far, workloads(cluster.list))))
            watching.cancel()
            show([BLANK, *workload_table(workloads(cluster.list))])
            show([BLANK, *node_table(build(nodes_and_pods(cluster.list)).snapshot)])

    async def _watch(self, sights: AsyncIterator[Sight]) -> None:
        async for sight in sights:
            line = self._witness.sees(sight)
            if line is not None:
                self._tell(line)

    def _decided(self, decision: Decision) -> None:
        self._tell(decided(decision))

    def _tell(self, line: Line) -> None:
        show([at(clock() - self._begin, line)])
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


# --- how far it has come -------------------------------------------------------------------------


async def until(holds: Callable[[], bool]) -> None:
    end = clock() + PATIENCE_SECONDS
    while not holds() and clock() < end:
        await asyncio.sleep(0.5)


def workloads(of_kind: ListObjects) -> list[Json]:
    return [*of_kind("Deployment"), *of_kind("Job")]


def has_come_far(workload: Json) -> bool:
    """A Deployment when it is available, a Job when it is over."""
    goal = "Complete" if workload["kind"] == "Job" else "Available"
    found = workload["status"].get("conditions", ())
    return any(c["type"] == goal and c["status"] == "True" for c in found)


def nodes_and_pods(of_kind: ListObjects) -> list[KubernetesObject]:
    read = (decode_value(body) for kind in ("Node", "Pod") for body in of_kind(kind))
    return [found.object for found in read if isinstance(found, Decoded)]
