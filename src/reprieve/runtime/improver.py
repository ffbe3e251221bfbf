"""Has plans improved beside the loop: one request after the other, and each is answered by its end.

Where the solver runs is not known here. A request that is not answered in time is answered without a plan.
The search of a request that has become moot ends, without an answer.
"""

import asyncio
from collections.abc import Callable, Container
from dataclasses import replace
from typing import Protocol

from reprieve.model.events import PlanImproved
from reprieve.preemption.least_disturbance.solver_task import (
    ImprovePlan,
    answer_of,
    message_of,
    seconds_for,
    solved,
    spent_on,
    within,
)
from reprieve.runtime.solver_worker import time_to_search
from reprieve.supervision.mishaps import log_mishap


class Solver(Protocol):
    async def solve(self, message: bytes) -> bytes | None:
        """The answer; None if there is none. Cancelled if the answer is not needed any more."""

    async def close(self) -> None:
        """Whatever runs ends."""


_UNITS_PER_SECOND = 2_000.0  # in virtual time: about what a worker process does on one core


class InProcess:
    """For virtual time: solved in this process at once, and answered when a worker would be done.

    The duration follows from the effort, so that the same simulation takes the same course on any machine.
    The search ends in time, as that of a worker does.
    """

    async def solve(self, message: bytes) -> bytes | None:
        most = int(_UNITS_PER_SECOND * time_to_search(seconds_for(message)))
        answer = solved(within(message, most))
        await asyncio.sleep(spent_on(answer) / _UNITS_PER_SECOND)
        return answer

    async def close(self) -> None:
        """Nothing outlives its task."""


class Improver:
    def __init__(self, solver: Solver, deliver: Callable[[PlanImproved], None]) -> None:
        self._solver = solver
        self._deliver = deliver
        self._turn = asyncio.Lock()
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by the id of the request

    def submit(self, request: ImprovePlan) -> None:
        """Returns at once."""
        task = self._tasks[request.id] = asyncio.create_task(self._improve(request))
        task.add_done_callback(lambda _: self._tasks.pop(request.id, None))

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    def keep(self, ids: Container[str]) -> None:
        """All other requests are moot: their searches end, and they are not answered."""
        for task in [task for request, task in self._tasks.items() if request not in ids]:
            task.cancel()

    async def close(self) -> None:
        """No answer is delivered any more."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._solver.close()

    async def _improve(self, request: ImprovePlan) -> None:
        found = PlanImproved(request.demand, request.id)
        now = asyncio.get_running_loop().time
        end = now() + request.patience
        try:
            async with asyncio.timeout_at(end), self._turn:
                left = replace(request, patience=max(end - now(), 0.0))  # others may have been first
                answer = await self._solver.solve(message_of(left))
                if answer is not None:
                    found = answer_of(request, answer)
        except TimeoutError:
            pass  # the scheduler has gone on with the first plan, or is about to
        except Exception as error:  # every request must end
            log_mishap(f"improving a plan for {request.demand}", error)
        self._deliver(found)
