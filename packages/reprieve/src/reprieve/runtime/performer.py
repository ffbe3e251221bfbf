"""Carries out effects: bounded in number, ordered per object. Only here is an attempt repeated.

Every effect ends as exactly one event: Done, Failed or Unknown. Effects that follow one another and write
into the status of one object are one write.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice

from reprieve.cluster.port import Answer, Lost, Refused, ScheduledCluster, Succeeded
from reprieve.model.effects import Effect, Nominate, SetCondition, Target, WriteStatus
from reprieve.model.events import Done, Failed, Unknown
from reprieve.supervision.backoff import Backoff
from reprieve.supervision.call_slots import CallSlots
from reprieve.supervision.supervisor import description_of, log_mishap

Order = Effect | WriteStatus

_PAUSES = Backoff(first=0.05, longest=10.0)  # between attempts


@dataclass(frozen=True, slots=True)
class PerformerLimits:
    at_once: int = 64
    slot_seconds: float = 3.0  # after which a call that hangs no longer counts as one of them
    attempts: int = 5
    pauses: Backoff = _PAUSES
    seconds_per_attempt: float = 10.0
    decide_meanwhile: bool = True  # otherwise the effects of a decision end before the next decision


DEFAULT_LIMITS = PerformerLimits()


class Performer:
    def __init__(
        self,
        cluster: ScheduledCluster,
        deliver: Callable[[Done | Failed | Unknown], None],
        limits: PerformerLimits = DEFAULT_LIMITS,
    ) -> None:
        self._cluster = cluster
        self._deliver = deliver
        self._limits = limits
        self._slots = CallSlots(limits.at_once, limits.slot_seconds)
        self._lines: dict[Target, deque[Effect]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, effects: Iterable[Effect]) -> None:
        """Returns at once. Effects on one object are carried out in order, those on others concurrently."""
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
        """Whether the next decision has to wait for effects in flight; their end is an event."""
        return bool(self._lines) and not self._limits.decide_meanwhile

    async def finish(self, seconds: float) -> int:
        """Gives effects in flight some time to end; returns for how many objects they were cancelled."""
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
                together = _together(line)
                answer, lost = await self._attempted(_order(together))
                for effect in together:
                    self._deliver(_ended(effect, answer, lost=lost))
                    line.popleft()
        except Exception as error:
            log_mishap(f"performer: {target}", error)
            for effect in line:  # every effect must end
                self._deliver(Unknown(effect, description_of(error)))
        finally:
            del self._lines[target]

    async def _attempted(self, order: Order) -> tuple[Answer, bool]:
        """The last answer, and whether any was lost."""
        answer = await self._try(order)
        lost = isinstance(answer, Lost)
        for failures in range(1, self._limits.attempts):
            if isinstance(answer, Succeeded) or (isinstance(answer, Refused) and not answer.again):
                break
            await asyncio.sleep(self._limits.pauses.after(failures))
            answer = await self._try(order)
            lost |= isinstance(answer, Lost)
        return answer, lost

    async def _try(self, order: Order) -> Answer:
        """An attempt takes a slot; a call that pauses before the next attempt holds none."""
        async with self._slots.one():
            try:
                async with asyncio.timeout(self._limits.seconds_per_attempt):
                    return await self._cluster.perform(order)
            except TimeoutError:
                return Lost(f"no answer within {self._limits.seconds_per_attempt:g} s")
            except Exception as error:  # every effect must end, and this one may have happened
                log_mishap(f"{type(order).__name__} of {order.target}", error)
                return Lost(str(error) or type(error).__name__)


def _ended(effect: Effect, answer: Answer, *, lost: bool) -> Done | Failed | Unknown:
    match answer:
        case Succeeded():
            return Done(effect)
        case Refused(error, missing=missing) if missing or not lost:
            return Failed(effect, error, missing)
        case Refused(error) | Lost(error):
            return Unknown(effect, error)  # a refusal says nothing about the attempts before it


def _together(line: deque[Effect]) -> list[Effect]:
    """The first effect in line, and those behind it that are one write with it: each writes another part."""
    parts = {_written(line[0]): line[0]}
    for effect in islice(line, 1, None):
        part = _written(effect)
        if not part or "" in parts or part in parts:
            break
        parts[part] = effect
    return list(parts.values())


def _written(effect: Effect) -> str:
    """Which part of the status an effect writes; empty if it does something else."""
    match effect:
        case SetCondition():
            return f"conditions/{effect.type}"
        case Nominate():
            return "nominatedNodeName"
    return ""


def _order(together: list[Effect]) -> Order:
    first, *more = together
    parts = tuple(effect for effect in together if isinstance(effect, SetCondition | Nominate))
    return WriteStatus(first.target, parts) if more else first
