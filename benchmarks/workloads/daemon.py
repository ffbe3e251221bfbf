"""What does a large cluster cost the daemon: while nothing happens, while nodes report, and under load?

A unit is a second, a pod, a victim or a watch event. How many pods are bound in a second also depends on the
cluster, which is Python and shares the machine; the processor time of a pod does not.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.timing import Run, Spent, summed_up
from benchmarks.workloads.daemon_process import Process, running
from benchmarks.workloads.loading import compiled
from benchmarks.worlds.stage import EVENTS_OF_A_PASSING_POD, Stage, staged
from benchmarks.worlds.stored import NODES, PODS

ROUNDS = 4
_SECONDS = 10
_SETTLED_SECONDS = 2.0
# Kubelets that have nothing to tell report every five minutes; those whose status changes, every ten seconds.
_REPORTS = {"idle": 0.0, "heartbeats-5min": 1 / 300, "heartbeats-10s": 1 / 10}  # of each node in a second
_LOADS = {
    "load": ("plain", 1500),
    "load-journal": ("plain", 1500),
    "preemption": ("important", 150),
    "victims": ("large", 30),
}
# Pods of another scheduler that come and go in a round, and writes in a second: each is a watch event.
_PASSING, _WRITES_A_SECOND = 5000, 1000.0


def measure(source: Path, what: str, nodes: int = NODES, pods: int = PODS) -> Run:
    with TemporaryDirectory() as journal, compiled(source) as environment, staged(nodes, pods) as stage:
        flags = ("--journal-dir", journal) if what == "load-journal" else ()
        stage.come("plain", 1)
        with running(stage, environment, *flags) as process:
            process.wait_until_bound(stage)  # then it knows the whole cluster
            stage.restore()  # the pods that come later have the same names
            time.sleep(_SETTLED_SECONDS)
            if what in _REPORTS:
                stage.report(nodes * _REPORTS[what])
                spent = list(_watched(process))
            elif what == "events":
                spent = [_passed(stage, process) for _ in range(ROUNDS)]
            else:
                spent = [_loaded(stage, process, *_LOADS[what]) for _ in range(ROUNDS)]
            return summed_up(spent, rss_mb=process.memory())


def _watched(process: Process) -> Iterator[Spent]:
    for _ in range(ROUNDS):
        began, busy = time.perf_counter(), process.processor()
        time.sleep(_SECONDS)
        yield Spent(time.perf_counter() - began, process.processor() - busy, _SECONDS)


def _loaded(stage: Stage, process: Process, kind: str, count: int) -> Spent:
    """Pods come together and get their nodes; then all is put back as it was."""
    began, busy = time.perf_counter(), process.processor()
    stage.come(kind, count)
    process.wait_until_bound(stage)
    seconds = time.perf_counter() - began
    time.sleep(_SETTLED_SECONDS)  # what is left to announce belongs to the pods
    cpu = process.processor() - busy
    victims = stage.restore()
    time.sleep(_SETTLED_SECONDS)
    return Spent(seconds, cpu, victims if kind == "large" else count)


def _passed(stage: Stage, process: Process) -> Spent:
    """Pods that are none of the daemon's business come and go."""
    began, busy = time.perf_counter(), process.processor()
    stage.pass_by(_PASSING, _WRITES_A_SECOND)
    while stage.passing():
        time.sleep(0.1)
    time.sleep(_SETTLED_SECONDS)
    seconds = time.perf_counter() - began
    return Spent(seconds, process.processor() - busy, _PASSING * EVENTS_OF_A_PASSING_POD)
