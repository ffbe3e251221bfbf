"""Ten thousand pods arrive on a thousand nodes: what comes of it, as a digest of everything.

`python -m tests.simulation.arrivals [PODS]` prints it, and how many pods ran.
"""

import asyncio
import hashlib
import sys
from collections.abc import Iterable, Iterator

from tests.minicluster.faulty_cluster import FaultyCluster, everything

from reprieve.model.json import Json
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision
from reprieve_minicluster.kinds import BY_RESOURCE
from reprieve_minicluster.store import Store
from reprieve_minicluster.virtual_time import EPOCH, clock, run
from tests.simulation.objects import ZONE, alone, deployment, job, node, pod, pod_spec, spread

PODS = 10_000
PODS_PER_NODE = 10
WAVES = 100  # one a second
BOUND_SECONDS = 120.0


def main() -> None:
    pods = int(sys.argv[1]) if len(sys.argv) > 1 else PODS
    ran, digest = run(fill(pods))
    print(f"{ran} pods ran or run\n{digest}")


async def fill(pods: int) -> tuple[int, str]:
    cluster = FaultyCluster(clock, everything(seed=1, rate=0.001, until=EPOCH + WAVES))
    cluster.start()
    decisions: list[Decision] = []
    cluster.apply(node(f"n{i:04}", f"z{i % 3}", cpu=8) for i in range(pods // PODS_PER_NODE))
    async with Loop(Scheduler(), cluster, clock, decisions.append).running():
        for wave in range(WAVES):
            cluster.apply(_in_namespace(f"wave-{wave}", _wave(wave, pods // WAVES)))
            await asyncio.sleep(1.0)
        await asyncio.sleep(BOUND_SECONDS)
    await cluster.stop()
    ran = sum(body["status"]["phase"] in ("Running", "Succeeded") for body in cluster.list("Pod"))
    return ran, _digest(cluster.store, decisions)


def _in_namespace(name: str, bodies: Iterable[Json]) -> Iterator[Json]:
    """One for each wave: a controller looks at all pods of its namespace that have no owner."""
    yield {"kind": "Namespace", "metadata": {"name": name}}
    for body in bodies:
        yield {**body, "metadata": {**body["metadata"], "namespace": name}}


def _wave(number: int, pods: int) -> Iterator[Json]:
    """Services that keep apart or spread out, a job, and pods of all kinds by themselves."""
    size = pods // 4
    app = f"app-{number}"
    yield deployment(f"{app}-a", size, pod_spec("500m", affinity=alone(app)), {"alone": app})
    spread_out = pod_spec("500m", topologySpreadConstraints=spread(app))
    yield deployment(f"{app}-b", size, spread_out, {"app": app})
    yield job(f"{app}-c", size, size, 20 + number % 30, pod_spec("1"))
    for i in range(pods - 3 * size):
        where = {"nodeSelector": {ZONE: f"z{i % 3}"}} if i % 5 == 0 else {}
        yield pod(f"{app}-d{i}", pod_spec(f"{100 + i * 10}m", priority=i % 3, **where))


def _digest(store: Store, decisions: list[Decision]) -> str:
    """Every object as it is stored, with its version, and every decision in order."""
    digest = hashlib.sha256()
    for item in store.list(tuple(BY_RESOURCE)).items:
        digest.update(f"{item.key} {item.version} ".encode() + item.raw)
    for decision in decisions:
        digest.update(repr(decision).encode())
    return digest.hexdigest()


if __name__ == "__main__":
    main()
