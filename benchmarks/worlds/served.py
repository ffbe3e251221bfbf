"""A cluster from a file in a process of its own, served over HTTPS on loopback. Nothing happens in it.

It is always that of this revision, whichever revision its client is of.
"""

import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.timing import PATIENCE
from reprieve.cluster.certificates import new_certificate
from reprieve_minicluster.bootstrap import LOOPBACK, restore
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.local_cluster import Tokens, write_kubeconfig
from reprieve_minicluster.rest.http_server import ListenAddress, serve

_TOKEN = "bench"


@contextmanager
def served(world: Path) -> Iterator[Path]:
    """The kubeconfig of the cluster, for as long as the context is open. ``world``: objects as JSON lines."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, world), daemon=True)
    process.start()
    theirs.close()  # so that it is noticed here if it ends there
    try:
        url, certificate = ours.recv()
        with TemporaryDirectory() as directory:
            kubeconfig = Path(directory, "kubeconfig")
            write_kubeconfig(kubeconfig, url, Tokens(_TOKEN), certificate)
            yield kubeconfig
    finally:
        process.terminate()
        process.join(PATIENCE)


def _serve(line: Connection, world: Path) -> None:
    async def main() -> None:
        cluster = MiniCluster(time.time)
        restore(cluster.store, world.read_text())
        certificate = new_certificate((LOOPBACK,))
        async with serve(cluster, _TOKEN, ListenAddress(tls=certificate.context())) as server:
            line.send((server.url, certificate))
            await asyncio.Event().wait()

    asyncio.run(main())
