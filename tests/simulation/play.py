"""Plays a scenario: a cluster lives and is scheduled, things go wrong, and all is well in the end."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf

from tests.minicluster.faulty_cluster import FaultyCluster

from reprieve.cluster.port import ClusterPort
from reprieve.model.effects import Target
from reprieve.runtime.loop import Loop
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.reporting.decision import Outcome as DecisionOutcome
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.virtual_time import clock, run
from tests.simulation.acts import Act, Restart, RestartServer, SetClock
from tests.simulation.drowsy_solver import DrowsySolver
from tests.simulation.invariants import (
    AuditedScheduler,
    Auditor,
    Tell,
    check_all_started,
    hold,
    waiting_in,
    waiting_in_vain,
)
from tests.simulation.objects import node
from tests.simulation.scenario import TROUBLED_SECONDS, USUAL, Scenario, scenario

# Within this time after the last fault every pod that can run does. It is well below the five minutes after
# which waiting demands are retried for no reason, so that a missed wake-up shows.
BOUND_SECONDS = 120.0
PATIENCE_SECONDS = 12.0  # a little more than the longest backoff


@dataclass(slots=True)
class PlanningTally:
    """Of demands whose first plan was not known to be the best."""

    asked: int = 0  # how often a solver was
    improved: int = 0  # plans that were carried out and cost less than the first one
    first: int = 0  # first plans that were carried out in the end
    _waiting: dict[Target, Decision] = field(default_factory=dict)

    def on_decided(self, decision: Decision) -> None:
        begun = self._waiting.get(decision.demand)
        if decision.outcome is DecisionOutcome.IMPROVING:
            self.asked += begun is None
            self._waiting.setdefault(decision.demand, decision)
            return
        self._waiting.pop(decision.demand, None)
        if begun is not None and decision.outcome is DecisionOutcome.PREEMPTS:
            self.improved += _cost(decision) < _cost(begun)
            self.first += decision.victims == begun.victims


def _cost(decision: Decision) -> tuple[float, ...]:
    """What its plan stops; without a plan, more than any."""
    quality = decision.preemption.quality if decision.preemption is not None else None
    if quality is None:
        return (inf,)
    return tuple(-inf if value is None else value for value in quality.cost.values())


@dataclass(frozen=True, slots=True)
class Outcome:
    """How much was going on, so that a simulation in which nothing happens is noticed."""

    ran: int
    decisions: int
    mishaps: int  # effects that did not end well
    planning: "PlanningTally"


def silent(_: str) -> None:
    pass


def play(seed: int, tell: Tell = silent) -> Outcome:
    try:
        return run(Play(scenario(seed), tell).perform())
    except Exception as error:
        first = first_of(error)
        first.add_note(f"to see it happen: python -m tests.simulation --calm {seed}")
        raise first from None


def first_of(error: BaseException) -> BaseException:
    """What went wrong first, without the tasks around it."""
    return first_of(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


class Play:
    def __init__(self, scenario: Scenario, tell: Tell) -> None:
        self._scenario = scenario
        self._tell = tell
        self._cluster = FaultyCluster(clock, scenario.faults)
        self._port: ClusterPort = self._cluster
        self._offset = 0.0
        self._auditor = Auditor(self._cluster.store, self._say)
        self._scheduler = AuditedScheduler(USUAL, self._auditor)
        self._running: tuple[Loop, asyncio.Task[None]] | None = None
        self._decisions = 0
        self._planning = PlanningTally()
        self._solver = DrowsySolver(scenario.seed, self._cluster, TROUBLED_SECONDS, self._taken_over)
        self._restarts: set[asyncio.Task[None]] = set()

    async def perform(self) -> Outcome:
        self._cluster.start()
        self._start()
        try:
            async with asyncio.TaskGroup() as tasks:
                for at, act in self._scenario.troubles:
                    tasks.create_task(self._act(at, act))
            await self._until(TROUBLED_SECONDS + BOUND_SECONDS)
            await self._check_calm()
            for act in self._scenario.aftermath:
                await self._act(0.0, act)
                await self._check_no_pod_waits_in_vain()
            await self._relieve()
        finally:
            await self._kill()
            await self._cluster.stop()
        return Outcome(self._ran(), self._decisions, self._auditor.mishaps, self._planning)

    # --- the scheduler ---

    def _start(self) -> None:
        self._scheduler = AuditedScheduler(USUAL, self._auditor)
        loop = self._loop(self._scheduler)
        self._running = loop, asyncio.create_task(loop.run())

    def _loop(self, scheduler: Scheduler) -> Loop:
        return Loop(scheduler, self._port, self._clock, self._decided, solver=self._solver)

    def _clock(self) -> float:
        """That of the scheduler's machine, which may be set."""
        return clock() + self._offset

    async def _kill(self) -> None:
        """Without any farewell: what it was about to do may have happened, or not."""
        if self._running is None:
            return
        (loop, task), self._running = self._running, None
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        await loop.finish(0.0)
        if isinstance(ended, Exception):
            raise ended

    def _decided(self, decision: Decision) -> None:
        self._decisions += 1
        self._planning.on_decided(decision)
        self._say(f"{decision.demand.name}: {decision.text}")

    # --- acts ---

    async def _act(self, at: float, act: Act) -> None:
        await self._until(at)
        self._say(f"--- {act}")
        if isinstance(act, Restart):
            await self._restart(act.seconds)
            return
        if isinstance(act, RestartServer | SetClock):
            return  # for plays with a connection and a clock of their own
        with suppress(ApiError):  # what it is about is not there any more
            await act.happen(self._cluster)

    async def _restart(self, after: float) -> None:
        if self._running is not None:
            await self._kill()
            await asyncio.sleep(after)
            self._start()

    def _taken_over(self) -> None:
        task = asyncio.create_task(self._restart(0.0))
        self._restarts.add(task)
        task.add_done_callback(self._restarts.discard)

    # --- the end ---

    async def _check_calm(self) -> None:
        """All is well again, and every pod that can run does."""
        self._auditor.look()
        await self._check_no_pod_waits_in_vain()
        check_all_started(self._cluster.store)
        self._scheduler.check_rest()
        self._scheduler.check_queue(waiting_in(self._cluster.store))

    async def _check_no_pod_waits_in_vain(self) -> None:
        """A pod that would fit may wait out a backoff, and lose the room a few times, but not for ever."""
        await asyncio.sleep(PATIENCE_SECONDS)
        vain = waiting_in_vain(self._cluster.store)
        end = clock() + BOUND_SECONDS
        while vain and clock() < end:
            await asyncio.sleep(PATIENCE_SECONDS)
            vain &= waiting_in_vain(self._cluster.store)
        hold(not vain, f"there is room, and these wait: {sorted(vain)}")
        self._check_alive()

    async def _relieve(self) -> None:
        """There is room for all at last; only pods that may not go there still wait."""
        self._cluster.apply(node(f"relief-{i}", f"z{i}", cpu=100) for i in range(3))
        await asyncio.sleep(BOUND_SECONDS)
        await self._check_calm()

    def _ran(self) -> int:
        return sum(pod["status"].get("phase") != "Pending" for pod in self._cluster.list("Pod"))

    # --- time ---

    async def _until(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds - asyncio.get_running_loop().time()))
        self._check_alive()

    def _check_alive(self) -> None:
        """A scheduler that stopped by itself has a reason."""
        if self._running is not None and self._running[1].done():
            self._running[1].result()
            hold(False, "the scheduler has stopped")

    def _say(self, text: str) -> None:
        self._tell(f"{asyncio.get_running_loop().time():10.3f}  {text}")
