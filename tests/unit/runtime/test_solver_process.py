"""The solver process: the same answers as in this process, and an end whenever it is not needed or hangs."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reprieve.model.events import PlanImproved
from reprieve.preemption.least_disturbance.solver_task import answer_of, message_of, solved
from reprieve.runtime.improver import Improver
from reprieve.runtime.solver_process import WorkerProcess
from reprieve.runtime.solver_worker import REQUEST
from tests.unit.runtime.requests import a_hard_request, a_request

EFFORT = 300  # of a hard request: it is stopped in the middle of its search


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "State:\tZ" not in status.read_text()


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(20.0):
        while is_running(pid):
            await asyncio.sleep(0.05)


def test_the_answer_is_that_of_this_process() -> None:
    async def scene() -> list[bytes | None]:
        worker = WorkerProcess()
        try:
            messages = [message_of(a_request("d-1")), message_of(a_hard_request("d-2", EFFORT))]
            return [await worker.solve(message) for message in (*messages, messages[0])]
        finally:
            await worker.close()

    first, hard, again = asyncio.run(scene())
    assert first == again == solved(message_of(a_request("d-1")))
    assert hard == solved(message_of(a_hard_request("d-2", EFFORT)))


def test_load_changes_no_answer() -> None:
    """Determinism by effort: beside a process that uses the processor, the same plan is found."""
    message = message_of(a_hard_request("d-1", EFFORT))
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        under_load = solved(message)
    finally:
        busy.kill()
        busy.wait()
    assert under_load == solved(message)


def test_one_process_serves_many_requests_and_ends_when_it_is_told() -> None:
    async def scene() -> tuple[int, int]:
        worker = WorkerProcess()
        await worker.solve(message_of(a_request("d-1")))
        first = worker.pid
        await worker.solve(message_of(a_request("d-2")))
        second = worker.pid
        await worker.close()
        assert first is not None and second is not None
        assert not is_running(first)
        return first, second

    first, second = asyncio.run(scene())
    assert first == second


def test_a_process_that_is_killed_in_mid_search_is_replaced() -> None:
    async def scene() -> list[PlanImproved]:
        worker, answers = WorkerProcess(), list[PlanImproved]()
        improver = Improver(worker, answers.append)
        improver.submit(a_hard_request("d-1", patience=60.0))
        while worker.pid is None:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        killed = worker.pid
        os.kill(killed, signal.SIGKILL)
        while not answers:
            await asyncio.sleep(0.05)
        improver.submit(a_request("d-2", patience=60.0))
        while len(answers) < 2:
            await asyncio.sleep(0.05)
        assert worker.pid not in (None, killed)
        await improver.close()
        return answers

    first, second = asyncio.run(asyncio.wait_for(scene(), 60.0))
    assert (first.id, first.found) == ("d-1", ())
    assert second.id == "d-2" and second.found[0].proved


def test_a_hard_room_is_answered_in_time_with_the_best_that_was_found() -> None:
    """Also by a process that was started for it, and after a wait for another request."""

    async def scene() -> list[PlanImproved]:
        worker, answers = WorkerProcess(), list[PlanImproved]()
        improver = Improver(worker, answers.append)
        improver.submit(a_hard_request("d-1", patience=3.0))
        improver.submit(a_hard_request("d-2", patience=6.0))
        while worker.pid is None:
            await asyncio.sleep(0.05)
        pid = worker.pid
        while len(answers) < 2:
            await asyncio.sleep(0.05)
        assert worker.pid == pid, "it was not ended"
        await improver.close()
        return answers

    for answer in asyncio.run(asyncio.wait_for(scene(), 60.0)):
        (found,) = answer.found
        assert found.units and found.fell_short and not found.proved


def test_a_search_ends_when_time_does() -> None:
    began = time.monotonic()
    message = message_of(a_hard_request("d-1"))
    (found,) = answer_of(a_hard_request("d-1"), solved(message, lambda: began + 1.0 - time.monotonic())).found
    assert found.units and found.fell_short and not found.proved
    (none,) = answer_of(a_hard_request("d-1"), solved(message, lambda: 0.0)).found
    assert none.fell_short and not none.proved
    assert none.effort < found.effort < 10**9


def test_a_process_that_hangs_is_ended() -> None:
    async def scene() -> list[PlanImproved]:
        worker, answers = WorkerProcess(), list[PlanImproved]()
        improver = Improver(worker, answers.append)
        improver.submit(a_hard_request("d-1", patience=1.5))
        while worker.pid is None:
            await asyncio.sleep(0.05)
        pid = worker.pid
        os.kill(pid, signal.SIGSTOP)
        while not answers:
            await asyncio.sleep(0.05)
        await until_gone(pid)
        await improver.close()
        return answers

    (answer,) = asyncio.run(asyncio.wait_for(scene(), 60.0))
    assert answer.found == ()


@pytest.mark.parametrize("request_", [a_request("d-1"), a_hard_request("d-1")], ids=["idle", "searching"])
def test_it_ends_with_its_parent(request_: object) -> None:
    """Whose end of the pipe is closed, whatever became of it."""
    assert isinstance(request_, type(a_request("d-1")))
    message = message_of(request_)
    command = [sys.executable, "-m", "reprieve.runtime.solver_worker"]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(REQUEST.pack(len(message), time.monotonic()) + message)
    worker.stdin.flush()
    time.sleep(1.0)
    worker.stdin.close()
    assert worker.wait(timeout=30.0) == 0
    worker.stdout.close()


def test_the_loop_loads_no_solver() -> None:
    """Where the daemon runs, the solver is loaded by the worker alone."""
    program = """
import sys
from reprieve.assembly import daemon, kube_cluster
from tests.unit.scheduler.test_improving import begun
cluster = begun()
cluster.stage.after(10.0)
cluster.comes_true()
outcomes = [d.outcome for d in cluster.stage.decisions]
assert outcomes[0] == "ImprovesPlan" and "Preempts" in outcomes, outcomes
assert "highspy" not in sys.modules, "the solver is loaded"
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
