"""Plans are improved one after the other, and every request is answered by its end."""

import asyncio
import logging
from dataclasses import dataclass, field

from reprieve.model.events import PlanImproved
from reprieve.preemption.least_disturbance.solver_task import ImprovePlan
from reprieve.runtime.improver import Improver, InProcess
from reprieve.runtime.virtual_time import run
from tests.unit.runtime.requests import GANG, a_hard_request, a_request


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
