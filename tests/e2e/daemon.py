"""`reprieve scheduler` in a process of its own, against a cluster that has no scheduler."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.up import PATIENCE, REPRIEVE, Kubectl
from tests.processes import started

# A lease with short times, so that tests are fast.
HASTY = (
    *("--leader-elect-lease-duration", "3s"),
    *("--leader-elect-renew-deadline", "2s"),
    *("--leader-elect-retry-period", "1s"),
)
BEGUN = "all that the cluster has is known"
UNSERVED = ("--secure-port", "0")


@dataclass(frozen=True)
class Daemon:
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def lines(self) -> list[dict[str, Any]]:
        whole = self.log.read_text().rpartition("\n")[0].splitlines()
        return [json.loads(line) for line in whole if line.startswith("{")]

    def says(self, words: str) -> bool:
        return any(words in line["msg"] for line in self.lines)

    def begins(self) -> None:
        until(lambda: self.says(BEGUN) or self.process.poll() is not None)
        assert self.says(BEGUN), self.log.read_text()

    def ends(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def daemon(log: Path, kubeconfig: Path, *flags: str) -> Iterator[Daemon]:
    """However it ends, nothing stays."""
    command = [REPRIEVE, "scheduler", "--kubeconfig", str(kubeconfig), "-v", "2", *flags]
    with log.open("wb") as told, started(command, stderr=told, text=False) as process:
        try:
            yield Daemon(process, log)
        finally:
            process.kill()


def refused(*flags: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """One that ends by itself."""
    command = [REPRIEVE, "scheduler", *UNSERVED, *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, **options)


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it does not come true"
        time.sleep(0.1)


def is_running(kubectl: Kubectl, name: str) -> bool:
    return phase_of(kubectl, name) == "Running"


def phase_of(kubectl: Kubectl, name: str) -> str:
    return kubectl("get", "pod", name, "--ignore-not-found", "-o", "jsonpath={.status.phase}")
