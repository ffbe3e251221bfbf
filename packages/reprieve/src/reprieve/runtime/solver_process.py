"""Plans are improved beside the loop: one request after the other, and each is answered by its end.

A request that is not answered in time is answered without a plan. The search of a request that has become
moot ends, without an answer. A solver runs in this process, in virtual time, or in a process of its own,
which can be ended: it may hang, crash, or use up the memory.
"""

import asyncio
import logging
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import Protocol

from reprieve.model.events import PlanImproved
from reprieve.preemption.least_disturbance.solver_task import (
    ImprovePlan,
    answer_of,
    limited_to,
    message_of,
    seconds_for,
    solved,
    spent_on,
)
from reprieve.runtime.solver_program import ANSWER, REQUEST, time_to_search
from reprieve.supervision.supervisor import log_mishap


class Solver(Protocol):
    async def solve(self, message: bytes) -> bytes | None:
        """The answer; None if there is none. Cancelled if the answer is not needed any more."""

    async def close(self) -> None:
        """Whatever runs ends."""


_UNITS_PER_SECOND = 2_000.0  # in virtual time: about what a worker process does on one core


class InProcess:
    """Solves in this process at once, and answers when a worker would be done: for virtual time.

    The duration follows from the effort, so that the same simulation takes the same course on any machine.
    The search ends in time, as that of a worker does.
    """

    async def solve(self, message: bytes) -> bytes | None:
        most = int(_UNITS_PER_SECOND * time_to_search(seconds_for(message)))
        answer = solved(limited_to(message, most))
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
        """Ends the searches of all other requests, which are moot: they are not answered."""
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


# --- a solver in a process of its own --------------------------------------------------------------


_log = logging.getLogger(__name__)

_COMMAND = (sys.executable, "-P", "-m", "reprieve.runtime.solver_program")


class WorkerProcess:
    """A solver in a process of its own. It is handed messages and nothing else.

    Started at first use, as a new program, so that no thread is forked. If an answer is not needed any more,
    or does not come, the process is killed, and the next message starts another.
    """

    def __init__(self) -> None:
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    async def solve(self, message: bytes) -> bytes | None:
        sent = monotonic()
        if self._process is None or self._process.returncode is not None:
            self._process = await _started()
        try:
            return await _answered(self._process, message, sent)
        except (asyncio.IncompleteReadError, OSError):
            _log.warning("the solver process ended before it answered: the first plan is used")
            await self.close()
            return None
        except asyncio.CancelledError:
            await self.close()
            raise

    async def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _started() -> Process:
    """Modules are looked for where this process finds them, and not in the working directory."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return await asyncio.create_subprocess_exec(*_COMMAND, stdin=PIPE, stdout=PIPE, env=environ)


async def _answered(process: Process, message: bytes, sent: float) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(REQUEST.pack(len(message), sent) + message)
    await process.stdin.drain()
    (length,) = ANSWER.unpack(await process.stdout.readexactly(ANSWER.size))
    return await process.stdout.readexactly(length)
