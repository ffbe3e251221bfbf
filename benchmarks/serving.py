"""How fast the mini cluster serves over HTTP, and how much room a large one takes.

The server is in one process and its clients are in another, over loopback, without TLS. Watchers only count
lines, so that the time is the server's as far as possible.
"""

import asyncio
import gc
import multiprocessing
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp

from reprieve.cluster.apiserver.features import ALL_FEATURES
from reprieve.cluster.mini.admitted import admitted
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.rest.exchange import Request, Response
from reprieve.cluster.mini.rest.front import Front
from reprieve.cluster.mini.rest.server import Endpoint, serve
from reprieve.cluster.mini.setup import SHAPES, nodes_of
from reprieve.cluster.mini.store import Store

WATCHERS = (1, 10, 100)
NODES, PODS = 5_000, 50_000
_WRITES = 1_000
_AT_ONCE = 8
_TOKEN = "bench"
_PODS_PATH = "/api/v1/namespaces/default/pods"


def new_pod(number: int) -> dict[str, Any]:
    main = {
        "name": "main",
        "image": "example.com/team/app:1.2.3",
        "command": ["/bin/app", "--serve"],
        "env": [{"name": "SHARD", "value": str(number)}],
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
        "ports": [{"containerPort": 8080}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"app-{number}", "labels": {"app": f"app-{number % 100}", "tier": "web"}},
        "spec": {"containers": [main], "schedulerName": "reprieve"},
    }


# --- serving -----------------------------------------------------------------------------------------


def serving(watchers: tuple[int, ...] = WATCHERS) -> Iterator[dict[str, object]]:
    for count in watchers:
        ours, theirs = multiprocessing.Pipe()
        server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
        server.start()
        url = ours.recv()
        yield asyncio.run(_measure(url, count))
        ours.send("stop")
        server.join()


def _serve(line: Connection) -> None:
    async def main() -> None:
        async with serve(MiniCluster(time.time), _TOKEN, Endpoint()) as server:
            line.send(server.url)
            while not line.poll():
                await asyncio.sleep(0.1)

    asyncio.run(main())


async def _measure(url: str, watchers: int) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    unlimited = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(url, headers=headers, connector=unlimited) as session:
        ready = asyncio.Barrier(watchers + 1)
        watching = [asyncio.create_task(_watch(session, ready)) for _ in range(watchers)]
        await ready.wait()
        began = time.perf_counter()
        numbers = iter(range(_WRITES))
        await asyncio.gather(*(_write(session, numbers) for _ in range(_AT_ONCE)))
        written = time.perf_counter() - began
        await asyncio.gather(*watching)
        delivered = time.perf_counter() - began
    return {
        "watchers": watchers,
        "writes a second": _WRITES / written,
        "deliveries a second": watchers * _WRITES / delivered,
    }


async def _write(session: aiohttp.ClientSession, numbers: Iterator[int]) -> None:
    for number in numbers:
        async with session.post(_PODS_PATH, json=new_pod(number)) as response:
            assert response.status == 201, await response.text()
            await response.read()


async def _watch(session: aiohttp.ClientSession, ready: asyncio.Barrier) -> None:
    async with session.get(_PODS_PATH, params={"watch": "true"}) as response:
        await ready.wait()
        seen = 0
        async for chunk in response.content.iter_any():
            seen += chunk.count(b"\n")
            if seen >= _WRITES:
                return


# --- a large cluster -----------------------------------------------------------------------------------


def large_cluster(nodes: int = NODES, pods: int = PODS) -> dict[str, float]:
    """Memory and the time of the longest answers, in a cluster of the largest size that is meant."""
    store = Store(time.time)
    gc.collect()
    empty = resident()
    filled(store, nodes, pods)
    gc.collect()
    front = Front(store, time.time, ALL_FEATURES)
    size = len(_asked(front))
    return {
        "nodes": nodes,
        "pods": pods,
        "memory, MB": (resident() - empty) / 1e6,
        "list of all pods, MB": size / 1e6,
        "list of all pods, ms": _milliseconds(lambda: _asked(front)),
        "list of 500 pods, ms": _milliseconds(lambda: _asked(front, limit="500")),
        "pods of one node, ms": _milliseconds(lambda: _asked(front, fieldSelector="spec.nodeName=cpu-7")),
    }


def filled(store: Store, nodes: int, pods: int) -> None:
    """Nodes, and pods that run on them."""
    for node in nodes_of([SHAPES["cpu16"]], nodes):
        store.create("nodes", admitted(store, "nodes", node, ALL_FEATURES))
    template = admitted(store, "pods", new_pod(0), ALL_FEATURES)
    for number in range(pods):
        spec = {**template["spec"], "nodeName": f"cpu-{number % nodes}"}
        store.create("pods", {**template, "metadata": new_pod(number)["metadata"], "spec": spec})


def _asked(front: Front, **query: str) -> bytes:
    answer = front.answer(Request("GET", "/api/v1/pods", query))
    assert isinstance(answer, Response)
    assert answer.status == 200
    return answer.body


def _milliseconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


def resident() -> int:
    """Bytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
