"""Carries out effects: a few at a time, the urgent ones first, in order per object. Only here it is retried.

Every effect ends as exactly one event: Done, Failed or Unknown. Effects that follow one another and write
into the status of one object are one write. A report that a later one replaces while it waits is not sent,
and ends as that one does; so do reports about a pod that is bound before they were sent.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Protocol

from reprieve.cluster.port import Answer, Lost, Refused, ScheduledCluster, Succeeded
from reprieve.model.effects import Announce, Bind, Effect, Nominate, SetCondition, Target, WriteStatus
from reprieve.model.events import Done, Failed, Unknown
from reprieve.model.urgency import CallQueue, Lane, Urgency, lane_of
from reprieve.supervision.backoff import Backoff
from reprieve.supervision.supervisor import description_of, log_mishap

Order = Effect | WriteStatus

_PAUSES = Backoff(first=0.05, longest=10.0)  # between attempts


@dataclass(frozen=True, slots=True)
class PerformerLimits:
    at_once: int = 64
    reports_at_once: int = 8  # few, for those that are sent can be neither replaced nor overtaken
    slot_seconds: float = 3.0  # after which a call that hangs no longer counts as one of them
    attempts: int = 5
    pauses: Backoff = _PAUSES
    seconds_per_attempt: float = 10.0
    decide_meanwhile: bool = True  # otherwise the effects of a decision end before the next decision


DEFAULT_LIMITS = PerformerLimits()


def by_kind(effect: Effect) -> Urgency:
    """The urgency of an effect of which nothing else is known."""
    return Urgency(lane_of(effect))


# --- what waits about one object -------------------------------------------------------------------

LineKey = tuple[Target, bool]  # an object, and whether these are its events: no call waits for an event


@dataclass(frozen=True, slots=True)
class _Call:
    effect: Effect
    urgency: Urgency
    replaced: tuple[Effect, ...] = ()  # reports that need not be sent any more, and end as this does

    def replaces(self, other: "_Call") -> bool:
        if other.urgency.lane is not Lane.REPORT:
            return False
        match self.effect, other.effect:
            case Bind(), SetCondition():
                return True
            case SetCondition(type=one), SetCondition(type=another):
                return one == another and self.urgency.lane is Lane.REPORT
            case Announce(action="Scheduling", reason=one), Announce(action="Scheduling", reason=another):
                return one == another
        return False


@dataclass(slots=True)
class _Line:
    """Calls about one object, in order; the first ``sent`` of them go together, and are tried again so."""

    calls: list[_Call]
    room: "_Room | None" = None  # in which it waits for its turn
    sent: int = 0
    attempts: int = 0
    lost: bool = False  # whether an answer was

    @property
    def urgency(self) -> Urgency:
        return min((call.urgency for call in self.calls), key=lambda urgency: urgency.rank)

    def add(self, call: _Call) -> None:
        waiting = self.calls[self.sent :]
        replaced = [other for other in waiting if call.replaces(other)]
        ended = tuple(effect for other in replaced for effect in (*other.replaced, other.effect))
        kept = [other for other in waiting if other not in replaced]
        self.calls[self.sent :] = [*kept, _Call(call.effect, call.urgency, (*call.replaced, *ended))]

    def next_order(self) -> Order:
        if not self.sent:
            self.sent, self.attempts, self.lost = _together(self.calls), 0, False
        return _order([call.effect for call in self.calls[: self.sent]])

    def take_ended(self) -> list[Effect]:
        ended, self.calls, self.sent = self.calls[: self.sent], self.calls[self.sent :], 0
        return [effect for call in ended for effect in (*call.replaced, call.effect)]


# --- who is next -----------------------------------------------------------------------------------


class _Queue(Protocol):
    def __len__(self) -> int: ...

    def put(self, item: LineKey, urgency: Urgency) -> None: ...

    def discard(self, item: LineKey) -> None: ...

    def pop(self) -> LineKey: ...


class ReportQueue:
    """A new reason goes before other words for the old one, then one namespace after the other; within a
    namespace, reports about one group of pods follow one another."""

    def __init__(self) -> None:
        self._waiting: dict[bool, dict[str, dict[str, dict[LineKey, None]]]] = {False: {}, True: {}}
        self._places: dict[LineKey, tuple[bool, str, str]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def put(self, item: LineKey, urgency: Urgency) -> None:
        target, _ = item
        place = urgency.rewords, target.namespace, urgency.group or f"{target.kind}/{target.name}"
        if self._places.get(item) == place:
            return  # it keeps its place in the queue
        self.discard(item)
        self._places[item] = place
        rewords, namespace, group = place
        self._waiting[rewords].setdefault(namespace, {}).setdefault(group, {})[item] = None

    def discard(self, item: LineKey) -> None:
        if item not in self._places:
            return
        rewords, namespace, group = self._places.pop(item)
        groups = self._waiting[rewords][namespace]
        del groups[group][item]
        if not groups[group]:
            del groups[group]
        if not groups:
            del self._waiting[rewords][namespace]

    def pop(self) -> LineKey:
        namespaces = self._waiting[False] or self._waiting[True]
        namespace = next(iter(namespaces))
        groups = namespaces[namespace]
        item = next(iter(next(iter(groups.values()))))
        self.discard(item)
        if groups:  # it comes last now
            namespaces[namespace] = namespaces.pop(namespace)
        return item


class _Room:
    """Lines that wait for one of so many slots."""

    def __init__(self, queue: _Queue, slots: int) -> None:
        self.queue = queue
        self.free = slots


class _Slot:
    """Is given back once: at the end of the call, or when the call hangs."""

    def __init__(self, room: _Room) -> None:
        self._room = room
        self._is_taken = True
        room.free -= 1

    def give_back(self) -> None:
        self._room.free += self._is_taken
        self._is_taken = False


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
        self._calls = _Room(CallQueue[LineKey](), limits.at_once)
        self._reports = _Room(ReportQueue(), limits.reports_at_once)
        self._lines: dict[LineKey, _Line] = {}
        self._is_idle = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pauses: dict[LineKey, asyncio.TimerHandle] = {}

    def submit(self, effects: Iterable[Effect], urgency_of: Callable[[Effect], Urgency] = by_kind) -> None:
        """Returns at once. Effects on one object are carried out in order, those on others concurrently."""
        for effect in effects:
            key, call = (effect.target, isinstance(effect, Announce)), _Call(effect, urgency_of(effect))
            line = self._lines.get(key)
            if line is None:
                self._lines[key] = _Line([call])
                self._enter(key)
            else:
                line.add(call)
                if line.room is not None:
                    self._enter(key)
        self._admit_all()

    @property
    def holds_up(self) -> bool:
        """Whether the next decision has to wait for effects in flight; their end is an event."""
        return bool(self._lines) and not self._limits.decide_meanwhile

    async def finish(self, seconds: float) -> int:
        """Gives effects in flight some time to end; returns for how many objects they were cancelled."""
        if self._lines:
            self._is_idle.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._is_idle.wait()
        given_up = {target for target, _ in self._lines}
        for line_key, line in self._lines.items():
            if line.room is not None:
                line.room.queue.discard(line_key)
        self._lines.clear()
        for pause in self._pauses.values():
            pause.cancel()
        self._pauses.clear()
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(given_up)

    # --- turns ---

    def _enter(self, key: LineKey) -> None:
        """The line waits where its most urgent call belongs: what is before that has to be sent first."""
        line = self._lines[key]
        urgency = line.urgency
        room = self._reports if urgency.lane is Lane.REPORT else self._calls
        if line.room not in (None, room):
            line.room.queue.discard(key)
        line.room = room
        room.queue.put(key, urgency)

    def _admit_all(self) -> None:
        for room in (self._calls, self._reports):
            while room.free > 0 and len(room.queue):
                key = room.queue.pop()
                self._lines[key].room = None
                task = asyncio.create_task(self._attempt(key, _Slot(room)))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _attempt(self, key: LineKey, slot: _Slot) -> None:
        """One attempt at what the line begins with. A call that pauses before the next has no slot."""
        line = self._lines[key]
        hanging = asyncio.get_running_loop().call_later(self._limits.slot_seconds, self._free, slot)
        try:
            answer = await self._try(line.next_order(), line.urgency)
            line.attempts += 1
            line.lost |= isinstance(answer, Lost)
            is_over = isinstance(answer, Succeeded) or (isinstance(answer, Refused) and not answer.again)
            if not is_over and line.attempts < self._limits.attempts:
                self._try_again(key, line.attempts)
            else:
                for effect in line.take_ended():
                    self._deliver(_ended(effect, answer, lost=line.lost))
                self._go_on(key)
        except Exception as error:
            log_mishap(f"performer: {key[0]}", error)
            for call in self._lines.pop(key).calls:  # every effect must end
                for effect in (*call.replaced, call.effect):
                    self._deliver(Unknown(effect, description_of(error)))
        finally:
            hanging.cancel()
            self._free(slot)
            if not self._lines:
                self._is_idle.set()

    def _try_again(self, key: LineKey, failures: int) -> None:
        def enter() -> None:
            del self._pauses[key]
            self._enter(key)
            self._admit_all()

        pause = self._limits.pauses.after(failures)
        self._pauses[key] = asyncio.get_running_loop().call_later(pause, enter)

    def _go_on(self, key: LineKey) -> None:
        if self._lines[key].calls:
            self._enter(key)
        else:
            del self._lines[key]

    def _free(self, slot: _Slot) -> None:
        slot.give_back()
        self._admit_all()

    async def _try(self, order: Order, urgency: Urgency) -> Answer:
        try:
            async with asyncio.timeout(self._limits.seconds_per_attempt):
                return await self._cluster.perform(order, urgency)
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


def _together(calls: list[_Call]) -> int:
    """How many calls are one write: the first, and those behind it while each writes another part."""
    parts = {_written(calls[0].effect)}
    for call in islice(calls, 1, None):
        part = _written(call.effect)
        if not part or "" in parts or part in parts:
            break
        parts.add(part)
    return len(parts)


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
