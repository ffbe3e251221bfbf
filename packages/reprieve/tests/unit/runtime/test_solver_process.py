"""Plans are improved one after the other, and every request is answered by its end."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.unit.runtime.requests import GANG, a_hard_request, a_request

from reprieve.model.events import PlanImproved
from reprieve.preemption.least_disturbance.solver_task import ImprovePlan, answer_of, message_of, solved
from reprieve.runtime.solver_process import Improver, InProcess, WorkerProcess
from reprieve.runtime.solver_program import REQUEST
from reprieve_minicluster.virtual_time import run
from tests.processes import run_process


@dataclass(slots=True)
class SlowSolver:
    """Answers, each after so many seconds, with what ``InProcess`` finds; None: it has no answer."""

    seconds: list[float | None]
    closed: bool = False
    working: int = 0
    at_once: int = 0

    async def solve(self, message: bytes) -> bytes | None:
        self.working += 1
        self.at_once = max(self.at_once, self.working)
        try:
            pause = self.seconds.pop(0)
            if pause is None:
                return None
            await asyncio.sleep(pause)
            return await InProcess().solve(message)
        finally:
            self.working -= 1

    async def close(self) -> None:
        self.closed = True


@dataclass(slots=True)
class Answers:
    """With the time of each."""

    found: list[tuple[float, PlanImproved]] = field(default_factory=list)

    def put(self, answer: PlanImproved) -> None:
        self.found.append((asyncio.get_running_loop().time(), answer))


def answered(solver: SlowSolver, *requests: ImprovePlan, seconds: float = 60.0) -> Answers:
    async def scene() -> Answers:
        answers = Answers()
        improver = Improver(solver, answers.put)
        for request in requests:
            improver.submit(request)
        await asyncio.sleep(seconds)
        await improver.close()
        return answers

    return run(scene())


def test_a_request_is_answered_with_what_was_found() -> None:
    ((_, answer),) = answered(SlowSolver([0.5]), a_request("d-1")).found
    assert (answer.id, answer.demand) == ("d-1", GANG)
    (found,) = answer.found
    assert (found.units, found.proved) == (("Group/default/2",), True)


def test_requests_are_solved_one_after_the_other() -> None:
    solver = SlowSolver([1.0, 1.0, 1.0])
    answers = answered(solver, *(a_request(f"d-{i}", patience=10.0) for i in range(3)))
    assert [answer.id for _, answer in answers.found] == ["d-0", "d-1", "d-2"]
    assert solver.at_once == 1


def test_a_request_that_takes_too_long_ends_without_a_plan() -> None:
    ((at, answer),) = answered(SlowSolver([1000.0]), a_request("d-1", patience=3.0)).found
    assert (at, answer.id, answer.found) == (3.0, "d-1", ())


def test_patience_counts_from_the_moment_of_the_request() -> None:
    requests = a_request("d-0", patience=5.0), a_request("d-1", patience=2.0)
    answers = answered(SlowSolver([4.0, 0.0]), *requests)
    assert [(answer.id, bool(answer.found)) for _, answer in answers.found] == [("d-1", False), ("d-0", True)]
    assert answers.found[0][0] == 2.0


def test_a_solver_that_gives_up_is_an_answer_without_a_plan() -> None:
    ((_, answer),) = answered(SlowSolver([None]), a_request("d-1")).found
    assert answer.found == ()


def test_a_solver_that_fails_is_an_answer_without_a_plan(mishaps: list[logging.LogRecord]) -> None:
    answers = answered(SlowSolver([]), a_request("d-1"))
    assert [answer.found for _, answer in answers.found] == [()]
    assert "improving a plan for PodGroup default/g" in mishaps[0].getMessage()


def test_nothing_is_answered_after_the_end() -> None:
    solver = SlowSolver([1000.0])
    assert answered(solver, a_request("d-1", patience=1000.0), seconds=1.0).found == []
    assert solver.closed


def test_the_search_of_a_moot_request_ends_at_once_and_the_next_one_begins() -> None:
    async def scene() -> tuple[SlowSolver, Answers]:
        solver, answers = SlowSolver([1000.0, 1.0]), Answers()
        improver = Improver(solver, answers.put)
        for request in (a_request(f"d-{i}", patience=60.0) for i in range(3)):
            improver.submit(request)
        await asyncio.sleep(5.0)
        improver.keep({"d-1"})  # the first is being solved, and the last one waits for its turn
        assert improver.is_busy
        await asyncio.sleep(10.0)
        assert not improver.is_busy
        return solver, answers

    solver, answers = run(scene())
    ((at, answer),) = answers.found
    assert (round(at, 1), answer.id, bool(answer.found)) == (6.0, "d-1", True)
    assert (solver.seconds, solver.at_once) == ([], 1)


def test_in_virtual_time_the_duration_follows_from_the_effort() -> None:
    async def scene() -> float:
        answers = Answers()
        improver = Improver(InProcess(), answers.put)
        improver.submit(a_hard_request("d-1", effort=300))
        await asyncio.sleep(10.0)
        await improver.close()
        ((at, answer),) = answers.found
        assert answer.found[0].effort == 300
        return at

    first, second = run(scene()), run(scene())
    assert 0.0 < first == second < 1.0


# --- a solver in a process of its own --------------------------------------------------------------


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
        busy.wait(30.0)
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
        # A real process: on a machine that much else keeps busy, it takes seconds until it is started.
        improver.submit(a_hard_request("d-1", patience=6.0))
        improver.submit(a_hard_request("d-2", patience=11.0))
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


def test_a_search_with_little_effort_begins_with_fractions_that_are_rounded() -> None:
    """Of a large program the solver by itself finds little at first: it would stop 43 groups."""
    request = a_hard_request("d-1", effort=300)
    (found,) = answer_of(request, solved(message_of(request), lambda: 60.0)).found
    assert found.units and len(found.units) <= 36


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
    command = [sys.executable, "-m", "reprieve.runtime.solver_program"]
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
from reprieve.assembly import daemon
from tests.unit.scheduler.test_improving import begun
cluster = begun()
cluster.stage.after(10.0)
cluster.comes_true()
outcomes = [d.outcome for d in cluster.stage.decisions]
assert outcomes[0] == "ImprovesPlan" and "Preempts" in outcomes, outcomes
assert "highspy" not in sys.modules, "the solver is loaded"
"""
    done = run_process([sys.executable, "-c", program])
    assert done.returncode == 0, done.stderr
