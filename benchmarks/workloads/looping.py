"""What does a pod cost with everything around the scheduler: loop, store, watches, kubelets and controllers?

The cluster is in this process and lives in virtual time, so that nothing waits. The time is that from the
moment the pods are created until all of them run.
"""

import asyncio
from typing import Any

from benchmarks.product import find
from benchmarks.timing import Run, Stopwatch, summed_up
from benchmarks.workloads.scheduling import PODS
from benchmarks.worlds.half_full import arriving_pod, cluster

_WAVE = 50  # pods that arrive together


def measure(nodes: int, pods: int = PODS) -> Run:
    run: Run = find("run")(_measured(nodes, pods))
    return run


async def _measured(nodes: int, pods: int) -> Run:
    clock = find("clock")
    mini = find("MiniCluster")(clock)
    mini.apply(cluster(nodes))
    watch = Stopwatch()
    async with find("Loop")(find("Scheduler")(), mini, clock).running():
        await asyncio.sleep(1.0)
        mini.start()
        await asyncio.sleep(5.0)
        with watch:
            for start in range(0, pods, _WAVE):
                mini.apply(map(arriving_pod, range(start, min(start + _WAVE, pods))))
                await asyncio.sleep(0.01)
            await asyncio.sleep(10.0)
    waiting = sum(_waits(pod) for pod in mini.list("Pod"))
    await mini.stop()
    if waiting:
        raise SystemExit(f"{waiting} of {pods} pods have no node after ten seconds")
    return summed_up([watch.taken(pods)])


def _waits(pod: Any) -> bool:
    return "nodeName" not in pod["spec"]
