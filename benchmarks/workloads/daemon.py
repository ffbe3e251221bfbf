"""`reprieve scheduler` in a process of its own, for a large cluster over HTTP: how soon it is ready, how much
memory it takes, and how much of a processor while nothing happens, while nodes report, and under load.

What is measured is that process alone, as the system counts it. How many pods are bound in a second is also
up to the cluster, which is Python and shares the machine; the processor time of a pod is not.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.serving import NODES, PODS
from benchmarks.stage import TOKEN, Stage, staged
from reprieve.cluster.mini.rest.access import Tokens, write_kubeconfig

ROUNDS = 4
_LOAD = {"plain": 1500, "important": 150}  # pods that come together
_WATCHED_SECONDS = 10.0
_SETTLED_SECONDS = 2.0
_PATIENCE = 180.0
_BEGUN = b"all that the cluster has is known"
# Kubelets that have nothing to tell report every five minutes; those whose status changes, every ten seconds.
_REPORTS = {"while nodes report every 5 min": 300.0, "while nodes report every 10 s": 10.0}
# Without a limit to its own requests: the default of 50 a second would be all that is seen.
_CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "clientConnection": {"qps": -1, "burst": 1},
}
_COMMAND = (sys.executable, "-c", "from reprieve.cli.main import main; main()", "scheduler")

Figure = tuple[str, float]


def daemon(nodes: int = NODES, pods: int = PODS) -> Iterator[Figure]:
    yield "nodes", nodes
    yield "pods", pods
    with staged(nodes, pods) as stage:
        yield from _measured(stage, nodes)
        with TemporaryDirectory() as journal, _running(stage, "--journal-dir", journal) as process:
            yield from _named("with a journal: ", _started(process))
            yield from _named("with a journal: ", _loaded(stage, process, "plain"))


def _named(prefix: str, figures: Iterator[Figure]) -> Iterator[Figure]:
    for name, value in figures:
        yield prefix + name, value


def _measured(stage: Stage, nodes: int) -> Iterator[Figure]:
    with _running(stage) as process:
        yield from _started(process)
        yield "processor while idle, %", _share(process)
        for when, seconds in _REPORTS.items():
            stage.report(nodes / seconds)
            yield f"processor {when}, %", _share(process)
        stage.report(0)
        for number in range(1, ROUNDS + 1):
            yield from _named(f"round {number}: ", _loaded(stage, process, "plain"))
        for number in range(1, ROUNDS + 1):
            yield from _named(f"preemption, round {number}: ", _loaded(stage, process, "important"))
        yield "memory at its highest, MB", process.memory("VmHWM")


def _started(process: "_Process") -> Iterator[Figure]:
    yield "until everything is known, s", process.known_after()
    yield "processor until then, s", process.processor()
    time.sleep(_SETTLED_SECONDS)
    yield "memory then, MB", process.memory()
    yield "memory at its highest by then, MB", process.memory("VmHWM")


def _share(process: "_Process") -> float:
    time.sleep(_SETTLED_SECONDS)
    began, busy = time.perf_counter(), process.processor()
    time.sleep(_WATCHED_SECONDS)
    return (process.processor() - busy) / (time.perf_counter() - began) * 100


def _loaded(stage: Stage, process: "_Process", kind: str) -> Iterator[Figure]:
    """Pods come together and get their nodes; then all is put back as it was."""
    count = _LOAD[kind]
    began, busy = time.perf_counter(), process.processor()
    stage.come(kind, count)
    while stage.waiting():
        process.must_be_alive()
        if time.perf_counter() > began + _PATIENCE:
            raise SystemExit(f"{stage.waiting()} of {count} pods found no node in {_PATIENCE:g} s")
        time.sleep(0.05)
    yield "pods bound a second", count / (time.perf_counter() - began)
    time.sleep(_SETTLED_SECONDS)
    yield "processor per pod, ms", (process.processor() - busy) / count * 1e3
    stage.restore()
    time.sleep(_SETTLED_SECONDS)
    yield "memory after it, MB", process.memory()


# --- the process ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Process:
    popen: "subprocess.Popen[bytes]"
    log: Path
    began: float

    def known_after(self) -> float:
        while _BEGUN not in self.log.read_bytes():
            self.must_be_alive()
            time.sleep(0.02)
        return time.perf_counter() - self.began

    def must_be_alive(self) -> None:
        if self.popen.poll() is not None:
            raise SystemExit(f"reprieve scheduler ended:\n{self.log.read_text()}")

    def processor(self) -> float:
        """Seconds, in user mode and in the kernel."""
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, what: str = "VmRSS") -> float:
        status = Path(f"/proc/{self.popen.pid}/status").read_text().splitlines()
        line = next(line for line in status if line.startswith(f"{what}:"))
        return int(line.split()[1]) * 1024 / 1e6


@contextmanager
def _running(stage: Stage, *flags: str) -> Iterator[_Process]:
    with TemporaryDirectory() as directory:
        kubeconfig, config, log = (Path(directory, name) for name in ("kubeconfig", "config", "log"))
        write_kubeconfig(kubeconfig, stage.url, Tokens(TOKEN), stage.certificate)
        config.write_text(json.dumps(_CONFIGURATION))
        told = ("--kubeconfig", str(kubeconfig), "--config", str(config), "--secure-port", "0")
        with log.open("wb") as stderr:
            popen = subprocess.Popen([*_COMMAND, *told, *flags], stderr=stderr)
        try:
            yield _Process(popen, log, time.perf_counter())
        finally:
            popen.send_signal(signal.SIGTERM)
            popen.wait()
