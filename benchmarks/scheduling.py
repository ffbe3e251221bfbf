"""How fast the scheduler works: alone, and with the loop and a cluster around it, in one process.

Times are of this process's own work, so that others on the machine count as little as possible. The cluster
lives in virtual time, so that nobody waits.
"""

import asyncio
import gc
import multiprocessing
import resource
from collections.abc import Iterable, Iterator
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import msgspec

from benchmarks.clusters import PODS_PER_NODE, cluster, container, pod, running_pod
from reprieve.assembly.observed_scheduler import watched
from reprieve.cluster.api.codec import Decoded, decode
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.model.effects import Bind, Effect
from reprieve.model.events import Done, Event, Seen, Synced
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.runtime.journal import Journal
from reprieve.runtime.loop import Loop
from reprieve.runtime.observers import Machine
from reprieve.runtime.telemetry import Telemetry
from reprieve.runtime.virtual_time import clock, run
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.decision import Decided

NEWCOMERS = 2000
EVENTS = 20_000
_BATCH = 200  # events that are observed together
_WAVE = 50  # pods that arrive together
_SHAPES = 20  # of newcomers, from as many templates

Row = dict[str, Any]


def newcomer(i: int) -> Json:
    shape = i % _SHAPES
    spec = {
        "schedulerName": "reprieve",
        "priority": 0,
        "containers": [container(f"{10 + shape}m", f"{32 + shape}Mi")],
    }
    made = pod(f"new-{i:05}", {"app": f"new-{shape}"}, spec)
    return {**made, "status": {"phase": "Pending"}}


def decoded(values: Iterable[Json]) -> Iterator[KubernetesObject]:
    for number, value in enumerate(values):
        yield _decoded(raw_of(value, number))


def raw_of(value: Json, version: int) -> bytes:
    meta = {"uid": f"{value['kind']}-{value['metadata']['name']}", **value["metadata"]}
    return msgspec.json.encode({**value, "metadata": {**meta, "resourceVersion": str(version)}})


def _decoded(raw: bytes) -> KubernetesObject:
    found = decode(raw)
    if not isinstance(found, Decoded):
        raise SystemExit(f"the benchmark's own object cannot be read: {found}")
    return found.object


def scheduling(nodes: int) -> Row:
    found = {
        "nodes": nodes,
        "pods": nodes * PODS_PER_NODE,
        "decisions a second, core alone": round(_alone(_filled(nodes))),
        "decisions a second, with metrics": round(_measured(nodes)),
        "decisions a second, with metrics and journal": round(_written_down(nodes)),
        **run(_end_to_end(nodes)),
        "events a second": round(_events(nodes)),
    }
    gc.unfreeze()
    return found


# --- the core alone ------------------------------------------------------------------------------


def _filled(nodes: int) -> Scheduler:
    """A scheduler that has seen a cluster, as the loop would show it."""
    scheduler = Scheduler()
    scheduler.observe([*map(Seen, decoded(cluster(nodes))), Synced()], 0.0)
    gc.freeze()
    return scheduler


def _measured(nodes: int) -> float:
    scheduler = _filled(nodes)
    return _alone(watched(scheduler, process_time, Telemetry()))


def _written_down(nodes: int) -> float:
    scheduler = _filled(nodes)
    with TemporaryDirectory() as directory, closing(Journal(Path(directory), {}, print)) as journal:
        return _alone(watched(scheduler, process_time, Telemetry(), journal))


def _alone(scheduler: Machine) -> float:
    """Decisions a second, with what comes back of each: that it is bound, and that it is seen there."""
    pods = list(decoded(map(newcomer, range(NEWCOMERS))))
    scheduler.observe(map(Seen, pods), 0.0)
    begin = process_time()
    decided = 0
    while (step := scheduler.decide(0.0)) is not None:
        decided += 1
        scheduler.observe(_come_true(step.effects, pods), 0.0)
    if decided != NEWCOMERS:
        raise SystemExit(f"{decided} decisions were made for {NEWCOMERS} pods")
    return decided / (process_time() - begin)


def _come_true(effects: Iterable[Effect], pods: list[KubernetesObject]) -> Iterator[Event]:
    for effect in effects:
        yield Done(effect)
        if isinstance(effect, Bind):
            waiting = pods[int(effect.target.name.removeprefix("new-"))]
            if isinstance(waiting, Pod):
                yield Seen(_bound(waiting, effect.node))


def _bound(waiting: Pod, node: str) -> Pod:
    spec = msgspec.structs.replace(waiting.spec, node_name=node)
    meta = msgspec.structs.replace(waiting.metadata, resource_version="999999999")
    return msgspec.structs.replace(waiting, metadata=meta, spec=spec)


# --- with everything around it -------------------------------------------------------------------


class TimedScheduler(Scheduler):
    """Knows how much of the time is its own, and how long it did not look at what has arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.decided = 0
        self.own_seconds = self.longest_pause = 0.0
        self._looked = process_time()

    def reset(self) -> None:
        self.own_seconds = self.longest_pause = 0.0
        self._looked = process_time()

    def observe(self, events: Iterable[Event], now: float) -> list[Effect]:
        begin = process_time()
        self.longest_pause = max(self.longest_pause, begin - self._looked)
        effects = super().observe(events, now)
        self._looked = process_time()
        self.longest_pause = max(self.longest_pause, self._looked - begin)
        self.own_seconds += self._looked - begin
        return effects

    def decide(self, now: float) -> Decided | None:
        begin = process_time()
        decided = super().decide(now)
        self.own_seconds += process_time() - begin
        self.decided += decided is not None
        return decided


async def _end_to_end(nodes: int) -> Row:
    """From the moment pods are created until all run: store, watches, kubelets and controllers included."""
    mini, scheduler = MiniCluster(clock), TimedScheduler()
    mini.apply(cluster(nodes))
    scheduler.reset()
    async with Loop(scheduler, mini, clock).running():
        await asyncio.sleep(1.0)
        first = scheduler.longest_pause
        mini.start()
        await asyncio.sleep(5.0)
        scheduler.reset()
        begin = process_time()
        for start in range(0, NEWCOMERS, _WAVE):
            mini.apply(map(newcomer, range(start, start + _WAVE)))
            await asyncio.sleep(0.01)
        while scheduler.decided < NEWCOMERS:
            await asyncio.sleep(0.01)
        await asyncio.sleep(10.0)
        spent = process_time() - begin
    await mini.stop()
    return {
        "decisions a second, with its cluster": round(NEWCOMERS / spent),
        "decisions a second, its own share": round(NEWCOMERS / scheduler.own_seconds),
        "longest pause at first sight, ms": round(first * 1000, 1),
        "longest pause then, ms": round(scheduler.longest_pause * 1000, 1),
    }


# --- events --------------------------------------------------------------------------------------


def _events(nodes: int) -> float:
    """Events a second, from JSON: half of them new pods, and reports about nodes and running pods."""
    scheduler = _filled(nodes)
    raw = [raw_of(value, 1_000_000 + i) for i, value in enumerate(_mixture(nodes))]
    begin = process_time()
    for start in range(0, EVENTS, _BATCH):
        scheduler.observe([Seen(_decoded(one)) for one in raw[start : start + _BATCH]], float(start))
    return EVENTS / (process_time() - begin)


def _mixture(nodes: int) -> Iterator[Json]:
    known = list(cluster(nodes))
    for i in range(EVENTS // 4):
        yield newcomer(2 * i)
        yield newcomer(2 * i + 1)
        reporting = running_pod(i % (nodes * PODS_PER_NODE), f"node-{i % nodes:05d}")
        condition = {"type": "Ready", "status": "True", "lastProbeTime": None}
        yield {**reporting, "status": {"phase": "Running", "conditions": [condition]}}
        heartbeat = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
        here = known[i % nodes]
        yield {**here, "status": {**here["status"], "conditions": [heartbeat]}}


# --- memory --------------------------------------------------------------------------------------


def memory(nodes: int) -> Row:
    """What the scheduler needs for a cluster, measured in a process of its own."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_measure, args=(nodes, theirs))
    process.start()
    theirs.close()
    found: Row = ours.recv()
    process.join()
    return found


def _measure(nodes: int, answer: Connection) -> None:
    before = _resident()
    scheduler = Scheduler()
    scheduler.observe([Seen(thing) for thing in decoded(cluster(nodes))], 0.0)
    scheduler.observe([Synced()], 0.0)
    gc.collect()
    used = _resident() - before
    answer.send({"memory of the scheduler, MB": round(used / 2**20)})


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
