"""How long does the mini cluster take to write a pod over HTTP, and to show it to its watchers?

The server is in one process and its clients are in another, over loopback, without TLS. Watchers only count
lines, so that the time is the server's as far as possible. The rate is that of pods which all watchers have
seen; memory and processor time are those of the server.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

import aiohttp

from benchmarks.product import find
from benchmarks.timing import PATIENCE, Run, Spent, memory_mb, summed_up
from benchmarks.worlds.stored import new_pod

_WRITES = 1_000
_AT_ONCE = 8
_TOKEN = "bench"
_PODS_PATH = "/api/v1/namespaces/default/pods"


def measure(watchers: int, writes: int = _WRITES) -> Run:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs,), daemon=True)
    server.start()
    url = ours.recv()
    waits, rate = asyncio.run(_measured(url, watchers, writes))
    ours.send("end")
    busy, memory = ours.recv()
    server.join(PATIENCE)
    # What the server's processor did cannot be told by write.
    return summed_up([Spent(wait, busy / writes) for wait in waits], rss_mb=memory, per_second=rate)


def _serve(line: Connection) -> None:
    async def main() -> None:
        async with find("serve")(find("MiniCluster")(time.time), _TOKEN, find("ListenAddress")()) as server:
            begun = time.process_time()
            line.send(server.url)
            while not line.poll():
                await asyncio.sleep(0.1)
            line.send((time.process_time() - begun, memory_mb()))

    asyncio.run(main())


async def _measured(url: str, watchers: int, writes: int) -> tuple[list[float], float]:
    """The seconds of each write, and how many a second have reached all watchers."""
    headers = {"Authorization": f"Bearer {_TOKEN}"}
    unlimited = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(url, headers=headers, connector=unlimited) as session:
        ready = asyncio.Barrier(watchers + 1)
        watching = [asyncio.create_task(_watch(session, ready, writes)) for _ in range(watchers)]
        await ready.wait()
        began = time.perf_counter()
        numbers, waits = iter(range(writes)), list[float]()
        await asyncio.gather(*(_write(session, numbers, waits) for _ in range(_AT_ONCE)))
        await asyncio.gather(*watching)
        return waits, writes / (time.perf_counter() - began)


async def _write(session: aiohttp.ClientSession, numbers: Iterator[int], waits: list[float]) -> None:
    for number in numbers:
        began = time.perf_counter()
        async with session.post(_PODS_PATH, json=new_pod(number)) as response:
            if response.status != 201:
                raise SystemExit(f"a write was answered with {response.status}")
            await response.read()
        waits.append(time.perf_counter() - began)


async def _watch(session: aiohttp.ClientSession, ready: asyncio.Barrier, writes: int) -> None:
    async with session.get(_PODS_PATH, params={"watch": "true"}) as response:
        await ready.wait()
        seen = 0
        async for chunk in response.content.iter_any():
            seen += chunk.count(b"\n")
            if seen >= writes:
                return
