"""How is `reprieve scheduler` run in a process of its own, and what has it used so far?

What is measured is that process alone, as the system counts it.
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

from benchmarks.product import COMMAND
from benchmarks.timing import PATIENCE, memory_mb
from benchmarks.workloads.loading import Environment
from benchmarks.worlds.stage import TOKEN, Stage
from reprieve_minicluster.local_cluster import Tokens, write_kubeconfig

# Without a limit to its own requests: the default of 50 a second would be all that is seen.
_CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "clientConnection": {"qps": -1, "burst": 1},
}


@dataclass(frozen=True, slots=True)
class Process:
    popen: "subprocess.Popen[bytes]"
    log: Path
    began: float

    def age(self) -> float:
        return time.perf_counter() - self.began

    def wait_until_bound(self, stage: Stage) -> None:
        """Until all pods that came have a node."""
        end = time.perf_counter() + PATIENCE
        while waiting := stage.waiting():
            if self.popen.poll() is not None:
                raise SystemExit(f"reprieve scheduler ended: {self.log.read_text().strip()}")
            if time.perf_counter() > end:
                raise SystemExit(f"{waiting} pods found no node in {PATIENCE:g} s")
            time.sleep(0.02)

    def processor(self) -> float:
        """Seconds, in user mode and in the kernel; also those of the solver."""
        ticks = sum(map(int, _stat(self.popen.pid)[11:15]))  # with children that have ended
        for solver in self._solvers():
            ticks += sum(map(int, _stat(solver)[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        return memory_mb(self.popen.pid)

    def most_memory(self) -> float:
        """What it and the solver had at their highest, together."""
        return sum(memory_mb(pid, "VmHWM") for pid in (self.popen.pid, *self._solvers()))

    def _solvers(self) -> list[int]:
        children = Path(f"/proc/{self.popen.pid}/task/{self.popen.pid}/children").read_text()
        return [int(pid) for pid in children.split()]


def _stat(pid: int) -> list[str]:
    """The fields after the name of the program."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


@contextmanager
def running(
    stage: Stage, environment: Environment, *flags: str, program: str = COMMAND, search: str = ""
) -> Iterator[Process]:
    """``program``: what runs the command, in Python. ``search``: the default, unless given."""
    with TemporaryDirectory() as directory:
        kubeconfig, config, log = (Path(directory, name) for name in ("kubeconfig", "config", "log"))
        write_kubeconfig(kubeconfig, stage.url, Tokens(TOKEN), stage.certificate)
        args = {"search": search} if search else {}
        profile = {"pluginConfig": [{"name": "Reprieve", "args": args}]}
        config.write_text(json.dumps({**_CONFIGURATION, "profiles": [profile]}))
        told = ("--kubeconfig", str(kubeconfig), "--config", str(config), "--secure-port", "0")
        command = [sys.executable, "-c", program, "scheduler", *told, *flags]
        with log.open("wb") as stderr:
            began = time.perf_counter()
            popen = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=stderr)
        try:
            yield Process(popen, log, began)
        finally:
            popen.send_signal(signal.SIGTERM)
            popen.wait(PATIENCE)
