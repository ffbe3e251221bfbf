"""A large cluster in a process of its own, served over HTTPS on loopback, and what happens in it.

It does little by itself, so that the time is its clients': pods that are bound stay as they are, those that
are deleted go at once, and nodes report when they are told to. It is always that of this revision, whichever
revision its client is of.
"""

import asyncio
import multiprocessing
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import cycle, islice
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.timing import PATIENCE
from benchmarks.worlds import crowded
from benchmarks.worlds.stored import fill, new_pod
from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.certificates import Certificate, new_certificate
from reprieve.model.json import Json
from reprieve_minicluster.admission import admitted
from reprieve_minicluster.bootstrap import LOOPBACK
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.rest.http_server import ListenAddress, serve
from reprieve_minicluster.store import EventType, Key, Part, Store, WatchEvent, parsed

TOKEN = "bench"
# What pods ask for of a node's 16 cpu, and their priority. Ten pods of 500m run on every node: an important
# one fits nowhere unless one of them goes.
# A large one has a node for itself, and all ten go.
KINDS = {"plain": ("10m", 0), "important": ("11200m", 1000), "large": ("15900m", 1000)}
_CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
_POD_CONDITIONS = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
_TICKS_A_SECOND = 10  # how often some of the nodes report
_OTHERS = "others"  # names of the pods of another scheduler begin so
_GROUPS = BY_NAME["PodGroup"].resource
_MARK = b'"DisruptionTarget"'
_PREEMPTOR = re.compile(rb"to accommodate a higher priority \w+ \(decision [\w-]+\): \w+ ([\w-]+)")
# A pod of another scheduler is created, is bound, runs, terminates and is gone.
EVENTS_OF_A_PASSING_POD = 5


class Stage:
    """The line to it."""

    def __init__(self, line: Connection) -> None:
        self._line = line
        url, certificate = line.recv()
        self.url: str = url
        self.certificate: Certificate = certificate

    def come(self, kind: str, count: int) -> None:
        self._told("come", kind, count)

    def demand(self, numbers: Sequence[int]) -> None:
        """The newcomers of a crowded cluster come once for each number, one after another."""
        self._told("demand", numbers)

    def first_deletes(self) -> list[float]:
        """For each demand that has a pod deleted, after how many seconds that was."""
        found: list[float] = self._told("first_deletes")
        return found

    def waiting(self) -> int:
        """How many of the pods that came have no node yet."""
        return int(self._told("waiting"))

    def restore(self) -> int:
        """Pods that came are deleted, and evicted ones are created again; returns how many these are."""
        return int(self._told("restore"))

    def pass_by(self, count: int, writes_a_second: float) -> None:
        """So many pods of another scheduler come and go from now on, one after another."""
        self._told("pass_by", count, writes_a_second)

    def passing(self) -> int:
        """How many of them are still to go."""
        return int(self._told("passing"))

    def report(self, nodes_a_second: float) -> None:
        """So many nodes report in a second that they are well, from now on."""
        self._told("report", nodes_a_second)

    def end(self) -> None:
        self._line.send(("end",))

    def _told(self, *words: object) -> Any:
        self._line.send(words)
        return self._line.recv()


# Stores a cluster, and returns the newcomers that wait outside of it.
Fill = Callable[[Store], list[Json]]


def staged(nodes: int, pods: int) -> AbstractContextManager[Stage]:
    """Half full, and of any size."""
    return _staged(partial(_fill_half, nodes=nodes, pods=pods))


def crowded_stage(
    world: str, pods: int, millicpu: int, nodes: int | None = None
) -> AbstractContextManager[Stage]:
    """As `make_world.py` makes it, but for the newcomers, so many pods."""
    return _staged(partial(_fill, things=[*crowded.crowded(world, pods, millicpu, nodes)]))


def _fill_half(store: Store, nodes: int, pods: int) -> list[Json]:
    fill(store, nodes, pods)
    return []


def _fill(store: Store, things: list[Json]) -> list[Json]:
    for thing in things:
        if not crowded.is_newcomer(thing):
            store.adopt(BY_NAME[thing["kind"]].resource, thing)
    return [thing for thing in things if crowded.is_newcomer(thing)]


@contextmanager
def _staged(fill: Fill) -> Iterator[Stage]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, fill), daemon=True)
    process.start()
    theirs.close()  # so that it is noticed here if it ends there
    try:
        stage = Stage(ours)
        yield stage
        stage.end()
    finally:
        process.terminate()
        process.join(PATIENCE)


def _serve(line: Connection, fill: Fill) -> None:
    async def main() -> None:
        cluster = MiniCluster(time.time)
        newcomers = fill(cluster.store)
        cluster.apply(_priority_class(name, priority) for name, (_, priority) in KINDS.items())
        scene = _Scene(cluster.store, newcomers)
        living = [asyncio.create_task(scene.live()), asyncio.create_task(scene.keep_reporting())]
        certificate = new_certificate((LOOPBACK,))
        async with serve(cluster, TOKEN, ListenAddress(tls=certificate.context())) as server:
            line.send((server.url, certificate))
            while (words := await _heard(line))[0] != "end":
                line.send(getattr(scene, words[0])(*words[1:]))
        for task in living:
            task.cancel()

    asyncio.run(main())


async def _heard(line: Connection) -> tuple[Any, ...]:
    while not line.poll():
        await asyncio.sleep(0.02)
    words: tuple[Any, ...] = line.recv()
    return words


class _Scene:
    def __init__(self, store: Store, newcomers: list[Json]) -> None:
        self._store = store
        self._newcomers = newcomers
        self._began = {item.key: item for item in store.list(("pods", _GROUPS)).items}
        self._came: set[Key] = set()
        self._waiting: set[Key] = set()
        self._demanded: dict[str, float] = {}  # when the newcomers of a demand were complete
        self._deleted: dict[str, float] = {}  # when the first pod was deleted for it
        self._reports_a_second = 0.0
        self._nodes = [item.key for item in store.list(("nodes",)).items]
        self._passing: asyncio.Task[None] | None = None
        self._still_to_pass = 0

    # --- what can be asked for -------------------------------------------------------------------

    def come(self, kind: str, count: int) -> None:
        for number in range(count):
            body = _asking(kind, number)
            self._comes("pods", admitted(self._store, "pods", body, ALL_FEATURES))

    def demand(self, numbers: Sequence[int]) -> None:
        self._demanded.clear()
        self._deleted.clear()
        for number in numbers:
            things = list(crowded.renamed(self._newcomers, number))
            for thing in things:
                self._comes(BY_NAME[thing["kind"]].resource, thing)
            self._demanded[things[0]["metadata"]["name"]] = time.monotonic()  # a group comes before its pods

    def _comes(self, resource: str, body: Json) -> None:
        key = self._store.create(resource, body).key
        self._came.add(key)
        if resource == "pods":
            self._waiting.add(key)

    def first_deletes(self) -> list[float]:
        return [end - self._demanded[name] for name, end in self._deleted.items()]

    def waiting(self) -> int:
        return len(self._waiting)

    def restore(self) -> int:
        for key in self._came:
            self._store.delete(key, grace=0)
        self._came.clear()
        went = 0
        for key, before in self._began.items():
            now = self._store.find(key)
            if now is None:
                self._store.adopt(key.resource, _as_new(parsed(before)))
                went += 1
            elif key.resource == _GROUPS and _MARK in now.raw:  # it was evicted as a whole
                self._store.patch(key, partial(_with_status_of, before=parsed(before)), Part.STATUS)
        return went

    def pass_by(self, count: int, writes_a_second: float) -> None:
        self._still_to_pass = count
        self._passing = asyncio.create_task(self._pass(count, 1 / writes_a_second))

    def passing(self) -> int:
        return self._still_to_pass

    def report(self, nodes_a_second: float) -> None:
        self._reports_a_second = nodes_a_second

    # --- what happens ----------------------------------------------------------------------------

    async def live(self) -> None:
        with closing(self._store.watch(("pods",), self._store.version)) as watch:
            while True:
                await watch.wait()
                for change in watch.poll():
                    self._see(change)

    def _see(self, change: WatchEvent) -> None:
        """Most changes are many and mean nothing here, so they are not parsed."""
        stored = change.object
        if change.type is EventType.DELETED:
            return
        if b'"deletionTimestamp":' in stored.raw:
            if self._demanded and (named := _PREEMPTOR.search(stored.raw)) is not None:
                self._deleted.setdefault(named[1].decode(), time.monotonic())
            if self._store.find(stored.key) is not None:
                self._store.delete(stored.key, grace=0)
        elif stored.key in self._waiting and b'"nodeName":' in stored.raw:
            self._waiting.remove(stored.key)

    async def _pass(self, count: int, pause: float) -> None:
        """One write at a time: an API server, too, sends every event for itself."""
        for number, node in zip(range(count), cycle(self._nodes)):
            body = admitted(self._store, "pods", _of_others(number), ALL_FEATURES)
            key = self._store.create("pods", body).key
            await asyncio.sleep(pause)
            self._store.patch(key, partial(_bound, node=node.name), Part.WHOLE)
            await asyncio.sleep(pause)
            self._store.patch(key, _running, Part.STATUS)
            await asyncio.sleep(pause)
            self._store.delete(key)  # it terminates; then it is removed
            await asyncio.sleep(2 * pause)
            self._still_to_pass -= 1

    async def keep_reporting(self) -> None:
        nodes = cycle(self._nodes)
        due = 0.0
        while True:
            await asyncio.sleep(1 / _TICKS_A_SECOND)
            due += self._reports_a_second / _TICKS_A_SECOND
            for key in islice(nodes, int(due)):
                self._store.patch(key, _reported, Part.STATUS)
            due -= int(due)


def _with_status_of(thing: Json, before: Json) -> Json:
    return {**thing, "status": before.get("status", {})}


def _reported(node: Json) -> Json:
    """As kubelets do that have nothing new to tell."""
    now = stamp(time.time())
    conditions = [
        {"type": kind, "status": "True" if kind == "Ready" else "False", "lastHeartbeatTime": now}
        for kind in _CONDITIONS
    ]
    return {**node, "status": {**node["status"], "conditions": conditions}}


def _of_others(number: int) -> Json:
    body = new_pod(number)
    meta = {**body["metadata"], "name": f"{_OTHERS}-{number}"}
    return {**body, "metadata": meta, "spec": {**body["spec"], "schedulerName": _OTHERS}}


def _bound(pod: Json, node: str) -> Json:
    return {**pod, "spec": {**pod["spec"], "nodeName": node}}


def _running(pod: Json) -> Json:
    now = stamp(time.time())
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in _POD_CONDITIONS]
    return {**pod, "status": {"phase": "Running", "startTime": now, "conditions": conditions}}


def _priority_class(name: str, value: int) -> Json:
    meta = {"name": name}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": value}


def _asking(kind: str, number: int) -> Json:
    body = new_pod(number)
    requests = {"cpu": KINDS[kind][0], "memory": "32Mi"}
    main = {**body["spec"]["containers"][0], "resources": {"requests": requests}}
    spec = {**body["spec"], "containers": [main], "priorityClassName": kind}
    return {**body, "metadata": {**body["metadata"], "name": f"{kind}-{number}"}, "spec": spec}


def _as_new(body: Json) -> Json:
    kept = ("name", "namespace", "labels")
    meta = {name: value for name, value in body["metadata"].items() if name in kept}
    return {**body, "metadata": meta}
