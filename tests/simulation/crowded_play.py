"""Plays a crowded cluster: no pod is evicted without need, no gang is torn, and no demand is forgotten."""

import asyncio
from collections import Counter
from dataclasses import dataclass, replace

from reprieve.model.events import Event, Synced
from reprieve.model.moment import on_one_clock
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve.scheduler.settings import Settings
from reprieve_minicluster.cluster import MiniCluster, sight_of
from reprieve_minicluster.kinds import BY_RESOURCE
from reprieve_minicluster.store import EventType, WatchEvent
from reprieve_minicluster.virtual_time import run
from tests.simulation.acts import Act, RestartServer, SetClock
from tests.simulation.crowd import connection_of, crowd, crowd_with_jumps, settings_of
from tests.simulation.evictions import Evictions
from tests.simulation.invariants import Tell, check_all_started, hold, not_started_in, pods_in
from tests.simulation.play import BOUND_SECONDS, PlanningTally, Play, first_of, silent
from tests.simulation.scenario import TROUBLED_SECONDS, Scenario
from tests.simulation.watched import WatchedScheduler
from tests.simulation.whole_groups import WholeGroups

_ATTEMPT_SECONDS = 60  # more than an attempt to evict takes


@dataclass(frozen=True, slots=True)
class Tally:
    """How much was going on."""

    placed: int
    plans: int
    evicted: int
    wasted: int  # evictions for demands that did not come there
    mishaps: int
    planning: PlanningTally


def play_crowd(seed: int, tell: Tell = silent) -> Tally:
    return played(CrowdedPlay(seed, tell), str(seed))


def play_jumps(seed: int, tell: Tell = silent) -> Tally:
    return played(JumpingPlay(seed, tell), f"--jumps {seed}")


def played(play: "CrowdedPlay", arguments: str) -> Tally:
    try:
        return run(play.act())
    except Exception as error:
        first = first_of(error)
        first.add_note(f"to see it happen: python -m tests.simulation {arguments}")
        raise first from None


class CrowdedPlay(Play):
    def __init__(self, seed: int, tell: Tell) -> None:
        super().__init__(self._drawn(seed), tell)
        self._settings = self._chosen(seed)
        self._counted: Counter[str] = Counter()
        self._evictions = Evictions(self._cluster.store)
        self._connection = connection_of(seed, self._cluster)
        self._port = self._connection
        self._whole = WholeGroups(self._cluster.store)
        self._watched = WatchedScheduler(self._settings, self._auditor, self._evictions, self._whole)

    def _drawn(self, seed: int) -> Scenario:
        return crowd(seed)

    def _chosen(self, seed: int) -> Settings:
        return settings_of(seed)

    async def act(self) -> Tally:
        self._cluster.start()
        self._start()
        try:
            async with asyncio.TaskGroup() as tasks:
                for at, act in self._scenario.troubles:
                    tasks.create_task(self._act(at, act))
            await self._until(TROUBLED_SECONDS + BOUND_SECONDS)
            await self._between_attempts()
            self._check_rest()
        finally:
            await self._kill()
            await self._cluster.stop()
        return Tally(
            placed=self._counted["Placed"],
            plans=self._counted["Preempts"],
            evicted=len(self._evictions.victims),
            wasted=self._evictions.wasted(self._auditor.places),
            mishaps=self._auditor.mishaps,
            planning=self._planning,
        )

    def _start(self) -> None:
        self._watched = WatchedScheduler(self._settings, self._auditor, self._evictions, self._whole)
        loop = self._loop(self._watched)
        self._running = loop, asyncio.create_task(loop.run())

    def _decided(self, decision: Decision) -> None:
        self._counted[decision.outcome] += 1
        self._planning.on_decided(decision)
        self._say(f"{decision.demand.name}: {decision.outcome} {decision.text} {decision.victims}")

    async def _act(self, at: float, act: Act) -> None:
        match act:
            case RestartServer(seconds):
                await self._until(at)
                self._say(f"--- {act}")
                self._connection.restart(seconds)
            case SetClock(seconds):
                await self._until(at)
                self._say(f"--- {act}")
                self._offset += seconds
            case _:
                await super()._act(at, act)

    async def _between_attempts(self) -> None:
        """Evictions that are refused for good are tried again for ever, ever more rarely.

        One attempt may evict other pods first; what replaces them has to start.
        """
        for _ in range(_ATTEMPT_SECONDS if self._connection.refused else 0):
            if self._watched.is_idle() and not not_started_in(self._cluster.store):
                return
            await asyncio.sleep(1.0)

    def _check_rest(self) -> None:
        """Everything has come to rest, and a scheduler that starts afresh has nothing to do."""
        self._auditor.look()
        hold(not self._connection.mistaken, f"meant for another object: {self._connection.mistaken}")
        check_all_started(self._cluster.store)
        self._watched.check_rest()
        self._whole.check_rest(self._connection.refused)
        self._watched.check_no_pod_is_forgotten(pods_in(self._cluster.store))
        fresh = Scheduler(_improving_at_once(self._settings))
        fresh.observe([*_all_there_is(self._cluster), Synced()], on_one_clock(self._clock()))
        while (decided := fresh.decide(on_one_clock(self._clock()))) is not None:
            decision = decided.decision
            victims = decision.preemption.victims if decision.preemption is not None else ()
            hold(
                decision.outcome is Outcome.UNSCHEDULABLE
                or any(victim.pod.uid in self._connection.refused for victim in victims),
                f"{decision.demand} waits, and could go on: {decision.outcome} {decision.text}",
            )


class JumpingPlay(CrowdedPlay):
    def _drawn(self, seed: int) -> Scenario:
        return crowd_with_jumps(seed)


def _improving_at_once(settings: Settings) -> Settings:
    policies = {name: replace(policy, patience=None) for name, policy in settings.policies.items()}
    return replace(settings, policies=policies)


def _all_there_is(cluster: MiniCluster) -> list[Event]:
    items = cluster.store.list(tuple(BY_RESOURCE)).items
    return [sight_of(WatchEvent(item.version, EventType.ADDED, item, None)) for item in items]
