"""Carries out effects: bounded in number, ordered per object, and the only one that retries.

Every effect it was given ends as exactly one event: Done, Failed or Unknown.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reprieve.cluster.port import Answer, Cluster, Lost, Refused, Succeeded
from reprieve.model.effects import Effect, Target
from reprieve.model.events import Done, Failed, Unknown


@dataclass(frozen=True, slots=True)
class Limits:
    at_once: int = 64
    attempts: int = 5
    first_pause: float = 0.05  # doubles with every attempt
    seconds_per_attempt: float = 10.0
    decide_meanwhile: bool = True  # otherwise what was decided is done before the next decision


DEFAULT_LIMITS = Limits()


class Performer:
    def __init__(
        self,
        cluster: Cluster,
        deliver: Callable[[Done | Failed | Unknown], None],
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._cluster = cluster
        self._deliver = deliver
        self._limits = limits
        self._places = asyncio.Semaphore(limits.at_once)
        self._lines: dict[Target, deque[Effect]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, effects: Iterable[Effect]) -> None:
        """Returns at once. Effects on one object are carried out in this order, others side by side."""
        for effect in effects:
            line = self._lines.get(effect.target)
            if line is not None:
                line.append(effect)
                continue
            self._lines[effect.target] = deque([effect])
            task = asyncio.create_task(self._work_off(effect.target))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    @property
    def holds_up(self) -> bool:
        """Whether the next decision has to wait for what is under way; the end of that is an event."""
        return bool(self._lines) and not self._limits.decide_meanwhile

    async def finish(self, seconds: float) -> int:
        """Gives what is under way some time to end; says how many objects had to be given up."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        given_up = [task for task in self._tasks if not task.done()]
        for task in given_up:
            task.cancel()
        await asyncio.gather(*given_up, return_exceptions=True)
        return len(given_up)

    async def _work_off(self, target: Target) -> None:
        line = self._lines[target]
        try:
            while line:
                self._deliver(await self._perform(line[0]))
                line.popleft()
        finally:
            del self._lines[target]

    async def _perform(self, effect: Effect) -> Done | Failed | Unknown:
        pauses = [self._limits.first_pause * 2**i for i in range(self._limits.attempts - 1)]
        answer = await self._try(effect)
        lost = isinstance(answer, Lost)
        for pause in pauses:
            if isinstance(answer, Succeeded) or (isinstance(answer, Refused) and not answer.again):
                break
            await asyncio.sleep(pause)
            answer = await self._try(effect)
            lost |= isinstance(answer, Lost)
        match answer:
            case Succeeded():
                return Done(effect)
            case Refused(error, missing=missing) if missing or not lost:
                return Failed(effect, error, missing)
            case Refused(error) | Lost(error):
                return Unknown(effect, error)  # a refusal tells nothing about the attempts before it

    async def _try(self, effect: Effect) -> Answer:
        """One attempt takes a place; who pauses before the next has none, and is in nobody's way."""
        async with self._places:
            try:
                async with asyncio.timeout(self._limits.seconds_per_attempt):
                    return await self._cluster.perform(effect)
            except TimeoutError:
                return Lost(f"no answer within {self._limits.seconds_per_attempt:g} s")
            except Exception as error:  # whatever went wrong, it must have an end, and may have happened
                return Lost(str(error) or type(error).__name__)
