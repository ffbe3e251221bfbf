"""A whole scheduler that speaks to a large cluster over HTTP: how soon it knows all, and what it takes.

The cluster is in another process, over loopback and without TLS; nothing lives in it, so that what is
measured is the scheduler's. Pods that come are bound, and stay as they are.
"""

import asyncio
import gc
import multiprocessing
import time
from multiprocessing.connection import Connection

from benchmarks.serving import NODES, PODS, filled, new_pod, resident
from reprieve.assembly import scheduling
from reprieve.cluster.api.features import ALL_FEATURES
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.kubeconfig import Cluster, Login, User
from reprieve.cluster.mini.admitted import admitted
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.rest.server import serve
from reprieve.config import parse_configuration

NEWCOMERS = 500
_TOKEN = "bench"
_IDLE_SECONDS = 10.0
# Without a limit to its own requests: the default of 50 a second would be all that is seen.
_CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "clientConnection": {"qps": 0, "burst": 1},
}


def remote(nodes: int = NODES, pods: int = PODS) -> dict[str, object]:
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    server = context.Process(target=_serve, args=(theirs, nodes, pods), daemon=True)
    server.start()
    try:
        found = asyncio.run(_measure(ours, ours.recv()))
    finally:
        ours.send("stop")
        server.join()
    return {"nodes": nodes, "pods": pods, **found}


def _serve(line: Connection, nodes: int, pods: int) -> None:
    """Answers each word on the line with how many of the newcomers have a node."""

    async def main() -> None:
        cluster = MiniCluster(time.time)
        filled(cluster.store, nodes, pods)
        async with serve(cluster, _TOKEN) as server:
            line.send(server.url)
            while (word := await _heard(line)) != "stop":
                if word == "come":
                    _let_come(cluster, pods)
                newcomers = (cluster.read("Pod", "default", f"app-{pods + i}") for i in range(NEWCOMERS))
                line.send(sum(bool(pod and pod["spec"].get("nodeName")) for pod in newcomers))

    asyncio.run(main())


async def _heard(line: Connection) -> str:
    while not line.poll():
        await asyncio.sleep(0.02)
    word: str = line.recv()
    return word


def _let_come(cluster: MiniCluster, first: int) -> None:
    for number in range(first, first + NEWCOMERS):
        cluster.store.create("pods", admitted(cluster.store, "pods", new_pod(number), ALL_FEATURES))


async def _measure(line: Connection, url: str) -> dict[str, object]:
    access = Access(Login(Cluster(server=url), User(token=_TOKEN)))
    gc.collect()
    before, began, busy = resident(), time.perf_counter(), time.process_time()
    async with scheduling(parse_configuration(_CONFIGURATION), access, time.time):
        # Nobody is scheduled before everything is known: the first who comes is placed right after that.
        await _asked(line, "come")
        await _until(line, 1)
        known, worked = time.perf_counter() - began, time.process_time() - busy
        began, busy = time.perf_counter(), time.process_time()
        await _until(line, NEWCOMERS)
        bound, load = time.perf_counter() - began, time.process_time() - busy
        await asyncio.sleep(1.0)
        memory, busy = resident() - before, time.process_time()
        await asyncio.sleep(_IDLE_SECONDS)
        idle = (time.process_time() - busy) / _IDLE_SECONDS
    return {
        "until everything is known, s": known,
        "processor until then, s": worked,
        "memory, MB": memory / 1e6,
        "pods bound a second": NEWCOMERS / bound,
        "processor per pod, ms": load / NEWCOMERS * 1e3,
        "processor while idle, %": idle * 100,
    }


async def _until(line: Connection, count: int) -> None:
    while await _asked(line, "how many") < count:
        await asyncio.sleep(0.05)


async def _asked(line: Connection, word: str) -> int:
    line.send(word)
    while not line.poll():
        await asyncio.sleep(0.01)
    bound: int = line.recv()
    return bound
