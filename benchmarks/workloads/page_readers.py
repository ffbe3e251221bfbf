"""How many pods does the scheduler place in a second while browsers follow its page, some of them stalled?

The page is served by a thread of this process, as by `reprieve up` and the daemon; its readers are another
process, over loopback. The time is that of the scheduler's own steps.
"""

import asyncio
import multiprocessing
import socket
from functools import partial
from http import HTTPStatus
from multiprocessing.connection import Connection
from typing import Any

import aiohttp

from benchmarks.driving import Played
from benchmarks.product import find, moment_at
from benchmarks.timing import PATIENCE, Run, summed_up
from benchmarks.workloads.scheduling import observe, scheduled
from benchmarks.worlds.half_full import cluster

PODS = 2000
_SMALL = 4096  # bytes that wait for a reader which takes none


def measure(nodes: int, readers: int, stalled: int, pods: int = PODS) -> Run:
    """``stalled``: how many of the readers take nothing."""
    return asyncio.run(_measured(nodes, readers, stalled, pods))


async def _measured(nodes: int, readers: int, stalled: int, pods: int) -> Run:
    feed, played = find("PictureFeed")(), Played(cluster(nodes))
    observe(played, feed)
    feed.begin()
    # What it knew before it was watched: the page shows a full cluster.
    on_observed = getattr(feed, "on_observed", None) or feed.observed  # earlier revisions
    on_observed(played.seen(cluster(nodes)), (), moment_at(0.0))
    between = find("BetweenSteps")()

    def parts(gate: Any) -> Any:
        live = find("LivePicture")(partial(between, feed.take))
        head = find("PageHead")("bench", "up")
        return find("PageParts")(head, find("LiveFrames")(live, "not yet"), gate, live)

    async with find("loopback_page")(parts, "the benchmark printed") as address:
        ours, theirs = multiprocessing.Pipe()
        arguments = (address, readers, stalled, theirs)
        process = multiprocessing.get_context("spawn").Process(target=_read, args=arguments, daemon=True)
        process.start()
        theirs.close()  # so that readers which end before their time are noticed
        await asyncio.to_thread(ours.recv)
        try:
            return await _scheduled(played, pods)
        finally:
            process.kill()
            process.join(PATIENCE)


async def _scheduled(played: Played, pods: int) -> Run:
    spent = []
    for one in scheduled(played, pods):
        spent.append(one)
        await asyncio.sleep(0)  # between two steps the page takes what was collected
    return summed_up(spent)


# --- the readers ---------------------------------------------------------------------------------


def _read(address: str, readers: int, stalled: int, line: Connection) -> None:
    asyncio.run(_follow(address, readers, stalled, line))


async def _follow(address: str, readers: int, stalled: int, line: Connection) -> None:
    url, _, token = address.partition("#token=")
    headers = {"Authorization": f"Bearer {token}"}
    async with aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(limit=0)) as session:
        revision = await _revision(session, f"{url}api/picture")
        waiting = [_stalled(url, token, revision) for _ in range(stalled)]
        ready = asyncio.Barrier(readers - stalled + 1)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(readers - stalled):
                tasks.create_task(_stream(session, f"{url}api/changes?after={revision}", ready))
            await ready.wait()
            line.send(len(waiting))


async def _revision(session: aiohttp.ClientSession, url: str) -> int:
    """Once there is a picture: to fold a large cluster for the first time takes a while."""
    while True:
        async with session.get(url) as response:
            if response.status == HTTPStatus.OK:
                return int((await response.json())["revision"])
        await asyncio.sleep(0.1)


async def _stream(session: aiohttp.ClientSession, url: str, ready: asyncio.Barrier) -> None:
    async with session.get(url, timeout=aiohttp.ClientTimeout()) as response:
        await ready.wait()
        async for _ in response.content.iter_any():
            pass


def _stalled(url: str, token: str, revision: int) -> socket.socket:
    """Asks, and takes nothing."""
    host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
    found = socket.socket()
    found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
    found.connect((host, int(port)))
    lines = (
        f"GET /page/api/changes?after={revision} HTTP/1.1",
        f"Host: {host}:{port}",
        f"Authorization: Bearer {token}",
        "",
        "",
    )
    found.sendall("\r\n".join(lines).encode())
    return found
