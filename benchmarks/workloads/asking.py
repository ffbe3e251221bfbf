"""How long does `reprieve whatif` take as a program, from its start to its answer, in a large cluster?

The cluster is in a snapshot file, or behind an API server in another process. The demand is a gang that
preempts.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.product import COMMAND
from benchmarks.timing import PATIENCE, Run, Spent, memory_in, summed_up
from benchmarks.workloads.loading import Environment, compiled
from benchmarks.worlds.crowded import crowded, is_newcomer
from benchmarks.worlds.objects import Json
from benchmarks.worlds.served import served

_CALLS = 3
_PREEMPTS = (10, 11)  # exit codes
_PROGRAM = f"""
import sys
try:
    {COMMAND}
finally:
    sys.stderr.write(open("/proc/self/status").read())
"""


def measure(  # noqa: PLR0913  arguments of a case
    source: Path,
    *,
    live: bool,
    world: str,
    pods: int,
    millicpu: int,
    nodes: int | None = None,
    calls: int = _CALLS,
) -> Run:
    with TemporaryDirectory() as directory, compiled(source) as environment:
        cluster, demand = Path(directory, "cluster.jsonl"), Path(directory, "demand.json")
        _write(cluster, demand, crowded(world, pods, millicpu, nodes))
        with _where(cluster, live=live) as flags:
            found = [_asked([*flags, "-f", str(demand)], environment) for _ in range(calls)]
    return summed_up([spent for spent, _ in found], rss_mb=max(memory for _, memory in found))


@contextmanager
def _where(cluster: Path, *, live: bool) -> Iterator[list[str]]:
    if not live:
        yield ["--from", str(cluster)]
        return
    with served(cluster) as kubeconfig:
        yield ["--kubeconfig", str(kubeconfig)]


def _write(cluster: Path, demand: Path, world: Iterable[Json]) -> None:
    newcomers = []
    with cluster.open("w") as file:
        file.write(
            json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}) + "\n"
        )
        for thing in world:
            if is_newcomer(thing):
                newcomers.append(thing)
            else:
                file.write(json.dumps(thing) + "\n")
    demand.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": newcomers}))


def _asked(flags: list[str], environment: Environment) -> tuple[Spent, float]:
    """What it took, and the memory at its highest."""
    command = [sys.executable, "-c", _PROGRAM, "whatif", *flags, "-o", "json"]
    began, busy = time.perf_counter(), _processor()
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    spent = Spent(time.perf_counter() - began, _processor() - busy)
    if done.returncode not in _PREEMPTS:
        said = done.stderr.strip().splitlines() or [""]
        raise SystemExit(f"reprieve whatif ended with {done.returncode}: {said[0]}")
    return spent, memory_in(done.stderr, "VmHWM")


def _processor() -> float:
    """Seconds of the processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
