"""For how long does the event loop of the daemon do one thing, while it only watches a large cluster?

Nodes report and pods of another scheduler come and go, so nothing is decided. The daemon is instrumented from
outside: every step of its event loop is timed, and the longest of a round counts.
"""

import json
import signal
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.product import COMMAND
from benchmarks.timing import Run, Spent, summed_up
from benchmarks.workloads.daemon_process import Process, running
from benchmarks.workloads.loading import compiled
from benchmarks.worlds.stage import Stage, staged
from benchmarks.worlds.stored import NODES, PODS

_ROUNDS = 4
_PASSING, _WRITES_A_SECOND = 2000, 1000.0
_REPORTS = 1 / 10  # of each node in a second
_SETTLED_SECONDS = 5.0  # what follows the first list belongs to it
# The longest step so far, by each clock; a signal writes them and begins anew.
_PROGRAM = """
import asyncio.events, json, os, signal, sys, threading, time

longest, main_thread = [0.0, 0.0, ""], threading.main_thread()
run = asyncio.events.Handle._run

def timed(handle):
    if threading.current_thread() is not main_thread:
        return run(handle)
    wall, cpu, what = time.perf_counter(), time.thread_time(), repr(handle)
    run(handle)
    wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
    if cpu > longest[1]:
        longest[:] = wall, cpu, what

def tell(*_):
    with open(os.environ["STEPS_FILE"] + ".new", "w") as file:
        json.dump(longest, file)
    os.rename(file.name, os.environ["STEPS_FILE"])
    longest[:] = 0.0, 0.0, ""

asyncio.events.Handle._run = timed
signal.signal(signal.SIGUSR1, tell)
"""


def measure(source: Path, nodes: int = NODES, pods: int = PODS, passing: int = _PASSING) -> Run:
    with TemporaryDirectory() as directory, compiled(source) as environment, staged(nodes, pods) as stage:
        told = Path(directory, "steps")
        stage.come("plain", 1)
        instrumented = {**environment, "STEPS_FILE": str(told)}
        with running(stage, instrumented, program=_PROGRAM + COMMAND) as process:
            process.wait_until_bound(stage)
            stage.restore()
            time.sleep(_SETTLED_SECONDS)
            stage.report(nodes * _REPORTS)
            _longest(process, told)
            spent = [_watched(stage, process, told, passing) for _ in range(_ROUNDS)]
            return summed_up(spent, rss_mb=process.memory())


def _watched(stage: Stage, process: Process, told: Path, passing: int) -> Spent:
    stage.pass_by(passing, _WRITES_A_SECOND)
    while stage.passing():
        time.sleep(0.1)
    return _longest(process, told)


def _longest(process: Process, told: Path) -> Spent:
    """The longest step since this was last asked."""
    told.unlink(missing_ok=True)
    process.popen.send_signal(signal.SIGUSR1)
    while not told.exists():
        time.sleep(0.01)
    wall, cpu, _ = json.loads(told.read_text())
    return Spent(wall, cpu)
