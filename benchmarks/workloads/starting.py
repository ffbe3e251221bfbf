"""How long does the daemon take from its start until it binds the first pod, in a large cluster over HTTPS?

Its memory is what it has then. The cluster is in another process, always that of this revision.
"""

from pathlib import Path

from benchmarks.timing import Run, Spent, summed_up
from benchmarks.workloads.daemon_process import running
from benchmarks.workloads.loading import compiled
from benchmarks.worlds.stage import staged
from benchmarks.worlds.stored import NODES, PODS

_STARTS = 3


def measure(source: Path, nodes: int = NODES, pods: int = PODS, starts: int = _STARTS) -> Run:
    found = []
    with compiled(source) as environment:
        for _ in range(starts):
            with staged(nodes, pods) as stage:
                stage.come("plain", 1)
                with running(stage, environment) as process:
                    process.wait_until_bound(stage)
                    found.append((Spent(process.age(), process.processor()), process.memory()))
    return summed_up([spent for spent, _ in found], rss_mb=max(memory for _, memory in found))
