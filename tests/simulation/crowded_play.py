"""Plays a crowded cluster: nobody is evicted without need, no gang is torn, and nobody is forgotten."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from reprieve.cluster.mini.cluster import MiniCluster, sight_of
from reprieve.cluster.mini.history import Change, Verb
from reprieve.cluster.mini.kinds import BY_RESOURCE
from reprieve.model.effects import Effect, Evict, Target
from reprieve.model.events import Done, Event, Failed, Seen, Synced, Unknown
from reprieve.model.groups import group_key
from reprieve.model.objects import Pod
from reprieve.preemption.toleration import tolerated_until
from reprieve.runtime.virtual_time import clock, run
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.decision import Decided, Decision, Outcome
from reprieve.scheduler.demands import GROUP, IN_PLACE, in_place_key, priority_of
from reprieve.scheduler.handover import Handover
from reprieve.scheduler.queue import Standing
from reprieve.scheduler.settings import Settings
from tests.simulation.crowd import crowd, settings_of
from tests.simulation.invariants import Auditor, Tell, check_everybody_started, hold, is_waiting, pods_in
from tests.simulation.play import BOUND_SECONDS, Play, first_of, silent
from tests.simulation.scenario import TROUBLED_SECONDS, Scenario


@dataclass(frozen=True, slots=True)
class Tally:
    """How much was going on."""

    placed: int
    plans: int
    evicted: int
    mishaps: int


def play_crowd(seed: int, tell: Tell = silent) -> Tally:
    try:
        return run(CrowdedPlay(seed, tell).act())
    except Exception as error:
        first = first_of(error)
        first.add_note(f"to see it happen: python -m tests.simulation.crowd {seed}")
        raise first from None


class CrowdedPlay(Play):
    def __init__(self, seed: int, tell: Tell) -> None:
        super().__init__(self._drawn(seed), tell)
        self._settings = self._chosen(seed)
        self._counted: Counter[str] = Counter()
        self._watched = WatchedScheduler(self._settings, self._auditor, self._counted)

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
            self._check_rest()
        finally:
            await self._kill()
            await self._cluster.stop()
        counted = self._counted
        return Tally(counted["Placed"], counted["Preempts"], counted["Evict"], self._auditor.mishaps)

    def _start(self) -> None:
        self._watched = WatchedScheduler(self._settings, self._auditor, self._counted)
        loop = self._loop(self._watched)
        self._running = loop, asyncio.create_task(loop.run())

    def _decided(self, decision: Decision) -> None:
        self._counted[decision.outcome] += 1
        self._say(f"{decision.demand.name}: {decision.outcome} {decision.text} {decision.victims}")

    def _check_rest(self) -> None:
        """Everything has come to rest, and somebody who starts afresh has nothing to do."""
        self._auditor.look()
        check_everybody_started(self._cluster.store)
        self._watched.check_rest()
        self._watched.check_nobody_is_forgotten(pods_in(self._cluster.store))
        fresh = Scheduler(self._settings)
        fresh.observe([*_all_there_is(self._cluster), Synced()], clock())
        while (decided := fresh.decide(clock())) is not None:
            decision = decided.decision
            hold(
                decision.outcome is Outcome.UNSCHEDULABLE,
                f"{decision.demand} waits, and could go on: {decision.outcome} {decision.text}",
            )


def _all_there_is(cluster: MiniCluster) -> list[Event]:
    items = cluster.store.list(tuple(BY_RESOURCE)).items
    return [sight_of(Change(item.version, Verb.ADDED, item, None)) for item in items]


class WatchedScheduler(Scheduler):
    """A scheduler that is looked at after every step."""

    def __init__(self, settings: Settings, auditor: Auditor, counted: Counter[str]) -> None:
        super().__init__(settings)
        self._auditor = auditor
        self._counted = counted
        self._unended: Counter[Effect] = Counter()

    def observe(self, events: Iterable[Event], now: float) -> list[Effect]:
        events = list(events)
        effects = super().observe(events, now)
        for event in events:
            self._note(event)
        self._check(effects)
        return effects

    def decide(self, now: float) -> Decided | None:
        reserved = dict(self._state.nominated)
        decided = super().decide(now)
        if decided is not None:
            self._check_decision(decided.decision, reserved)
            self._check(decided.effects)
        return decided

    def _note(self, event: Event) -> None:
        if not isinstance(event, Seen):
            self._auditor.tell(f"   <- {event}")
        if isinstance(event, Done | Failed | Unknown):
            self._auditor.mishaps += not isinstance(event, Done)
            self._unended[event.effect] -= 1
            hold(self._unended[event.effect] >= 0, f"{event.effect} ended, and was not under way")

    # --- after every step ---

    def _check(self, effects: Iterable[Effect]) -> None:
        self._auditor.look()
        for effect in effects:
            self._unended[effect] += 1
            if isinstance(effect, Evict):
                self._counted["Evict"] += 1
                self._check_eviction(effect.target)
        hold(
            self._state.nominated.keys() <= self._state.parts.keys(),
            "room is reserved for somebody who does not wait",
        )
        for pod, key in self._state.parts.items():
            in_line = self._state.queue.standing(key) not in (None, Standing.DECIDING)
            hold(in_line or self._state.ledger.of(pod) is not None, f"{pod} is forgotten")
        for key, handover in self._state.plans:
            held = self._state.queue.standing(key) is Standing.HELD
            hold(
                held == handover.is_settling,
                f"{key} is {self._state.queue.standing(key)} in {handover.stage}",
            )

    def _check_eviction(self, victim: Target) -> None:
        plans = [plan for _, plan in self._state.plans if plan.is_open and victim in plan.victims]
        hold(bool(plans), f"{victim} is evicted without a plan")

    # --- decisions ---

    def _check_decision(self, decision: Decision, reserved: dict[Target, str]) -> None:
        kind = IN_PLACE if decision.growth is not None else decision.demand.kind
        key = (kind, decision.demand.namespace, decision.demand.name)
        if decision.outcome is Outcome.PLACED:
            self._check_no_gang_is_torn(key)
            self._check_reserved_room(decision, reserved)
        elif decision.outcome is Outcome.PREEMPTS:
            plan = self._state.plans.of(key)
            assert plan is not None
            self._check_plan(plan, decision.priority, decision.at)

    def _check_no_gang_is_torn(self, key: tuple[str, str, str]) -> None:
        group = self._state.world.groups.group(key[1:]) if key[0] == GROUP else None
        if group is None or group.spec.gang is None:
            return
        pods = [
            (member, self._state.world.pod(member)) for member in self._state.world.groups.members(key[1:])
        ]
        staying = [m for m, pod in pods if pod is not None and pod.pod.metadata.deletion_timestamp is None]
        runs = sum(map(self._state.world.is_placed, staying))
        hold(runs >= group.spec.gang.min_count, f"{key} runs with {runs} of {group.spec.gang.min_count}")

    def _check_reserved_room(self, decision: Decision, reserved: dict[Target, str]) -> None:
        """Those who were placed fit beside everybody there and those who wait to come there."""
        view = self._state.world.snapshot()
        own = {pod for pod, _ in decision.places}
        for node in set(decision.nodes):
            row = view.nodes.rows[node]
            room = view.allocatable[:, row] - view.requested[:, row]
            for pod, name in reserved.items():
                known = view.pods.rows.get((pod.namespace, pod.name))
                theirs = self._state.parts.get(pod)
                same = theirs is not None and theirs[1:] == (decision.demand.namespace, decision.demand.name)
                if name != node or pod in own or known is None or theirs is None or same:
                    continue
                if priority_of(self._state.world, theirs) >= decision.priority:
                    room = room - view.pods.requests[:, known]
            hold(bool((room >= 0).all()), f"{decision.demand} is placed on {node} into room of others")

    def _check_plan(self, plan: Handover, priority: int, now: float) -> None:
        for victim in plan.victims:
            pod = self._state.world.pod((victim.namespace, victim.name))
            assert pod is not None
            group = (
                self._state.world.groups.group(group_key(pod.pod) or ("", ""))
                if self._state.settings.groups
                else None
            )
            own = pod.pod.spec.priority or 0
            theirs = own if group is None else self._state.world.groups.priority_of(group)
            hold(theirs < priority, f"{victim} has priority {theirs} and goes for {priority}")
            if group is None:
                until = tolerated_until(pod.pod, priority, self._state.world.groups.classes)
                hold(until <= now, f"{victim} tolerates {priority} until {until}, and goes at {now}")
            if group is not None and group.spec.disrupted_whole:
                self._check_whole(plan, (group.metadata.namespace, group.metadata.name))

    def _check_whole(self, plan: Handover, group: tuple[str, str]) -> None:
        for member in self._state.world.groups.members(group):
            pod = self._state.world.pod(member)
            if pod is None or pod.pod.metadata.deletion_timestamp is not None:
                continue
            meta = pod.pod.metadata
            somewhere = self._state.world.snapshot().where[self._state.world.row(member)] >= 0
            goes = Target("Pod", meta.namespace, meta.name, meta.uid) in plan.victims
            hold(goes or not somewhere, f"{member} stays when its group goes")

    # --- at the end ---

    def check_rest(self) -> None:
        hold(not len(self._state.plans), f"plans are left: {list(self._state.plans)}")
        hold(not self._state.nominated, f"room is reserved: {self._state.nominated}")
        hold(not self._state.plans.doomed(), f"marks are left: {self._state.plans.doomed()}")
        hold(not len(self._state.ledger), f"promises are left: {[str(a.pod) for a in self._state.ledger]}")
        under_way = [effect for effect, number in self._unended.items() if number]
        hold(not under_way, f"effects did not end: {under_way}")

    def _wants_more(self, pod: Pod) -> bool:
        in_place = self._state.in_place(in_place_key(pod))
        return self._state.is_ours(pod) and in_place is not None and in_place.asks(pod)

    def check_nobody_is_forgotten(self, pods: Iterable[Pod]) -> None:
        waiting = {
            (p.metadata.namespace, p.metadata.name) for p in pods if is_waiting(p) or self._wants_more(p)
        }
        hold({(pod.namespace, pod.name) for pod in self._state.parts} == waiting, f"waiting are {waiting}")
        hold(
            set(self._state.queue.keys()) == set(self._state.parts.values()),
            f"in line are {list(self._state.queue.keys())}",
        )
