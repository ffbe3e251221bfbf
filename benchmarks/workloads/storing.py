"""What it costs to keep a cluster on disk: each write, and the next start."""

import tempfile
import time
from pathlib import Path

from benchmarks.serving import NODES, PODS, filled, new_pod
from reprieve.cluster.mini.disk import Disk
from reprieve.cluster.mini.store import Store

_WRITES = 5_000


def keeping(nodes: int = NODES, pods: int = PODS) -> dict[str, float]:
    in_memory = _writes_a_second(Store(time.time))
    with tempfile.TemporaryDirectory() as directory:
        disk = Disk(Path(directory))
        on_disk = _writes_a_second(Store(time.time, disk=disk))
        disk.close()
    return {
        "writes a second, in memory": in_memory,
        "writes a second, on disk": on_disk,
        "ratio": on_disk / in_memory,
        "pods stored": pods,
        "start with them, s": _start(nodes, pods),
    }


def _writes_a_second(store: Store) -> float:
    bodies = [new_pod(number) for number in range(_WRITES)]
    began = time.perf_counter()
    for body in bodies:
        store.create("pods", body)
    return _WRITES / (time.perf_counter() - began)


def _start(nodes: int, pods: int) -> float:
    with tempfile.TemporaryDirectory() as directory:
        disk = Disk(Path(directory))
        filled(Store(time.time, disk=disk), nodes, pods)
        disk.close()
        began = time.perf_counter()
        disk = Disk(Path(directory))
        store = Store(time.time, disk=disk)
        seconds = time.perf_counter() - began
        assert len(store.list(("pods",)).items) == pods
        disk.close()
        return seconds
