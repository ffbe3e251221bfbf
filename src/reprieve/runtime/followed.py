"""How plans end, as far as that can be told from what goes in and comes out of the scheduler.

A plan begins with the decision that makes it. It is ready when its preemptor is placed where room was made,
and abandoned when that will not happen any more. Metrics are not known here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from reprieve.model.effects import Announce, Effect, Evict, Nominate, SetCondition, Target
from reprieve.model.events import Done, Event, Failed, Gone, Seen
from reprieve.model.objects import Pod
from reprieve.model.resizing import is_deferred
from reprieve.scheduler.decision import Decision, Outcome, Victim


class Reason(StrEnum):
    """Why a plan was abandoned."""

    FAILED = "failed"  # a call for it failed for good
    PREEMPTOR_GONE = "preemptor_gone"
    ELSEWHERE = "placed_elsewhere"  # its preemptor found another place first
    OUTRANKED = "outranked"  # somebody more important took the room
    NODE_GONE = "node_gone"
    STUCK = "stuck"  # a victim did not leave in time
    REPLANNED = "replanned"  # it would not have been enough any more


@dataclass(frozen=True, slots=True)
class Called:
    """The victims of a plan were asked to go, or that failed."""

    preemptor: str
    seconds: float
    well: bool


@dataclass(frozen=True, slots=True)
class Ended:
    preemptor: str
    seconds: float
    reason: Reason | None = None  # None: its preemptor got the room


@dataclass(frozen=True, slots=True)
class Wasted:
    """So many pods were evicted for somebody who did not go there."""

    pods: int


News = Called | Ended | Wasted


@dataclass(slots=True)
class _Plan:
    demand: Target
    began: float
    places: dict[Target, str]
    victims: dict[Target, Victim]
    to_evict: set[Target]  # those of whom it is not known that they are asked to go
    calling: bool
    in_place: bool  # its pod runs there already, and wants to grow

    @property
    def preemptor(self) -> str:
        return "resize" if self.in_place else self.demand.kind.lower()

    def ended(self, now: float, reason: Reason | None = None) -> Ended:
        return Ended(self.preemptor, now - self.began, reason)


@dataclass(slots=True)
class Followed:
    """Victims beyond the number that a decision names are not followed."""

    _plans: dict[Target, _Plan] = field(default_factory=dict)  # by who asks
    _asking: dict[Target, Target] = field(default_factory=dict)  # pods that wait for room, and for whose plan
    _evicted: dict[Target, dict[Target, Victim]] = field(default_factory=dict)  # for whom, whoever had to go

    def __len__(self) -> int:
        return len(self._plans)

    # --- decisions ---

    def decided(self, decision: Decision, effects: Iterable[Effect], now: float) -> Iterator[News]:
        if decision.outcome in (Outcome.PLACED, Outcome.FITS):
            if not self._plans and not self._evicted:
                return
            yield from self._placed(decision, effects, now)
        for plan in self._withdrawn(effects):
            own = plan.demand == decision.demand
            yield self._end(plan, now, Reason.REPLANNED if own else Reason.OUTRANKED)
        if decision.outcome in (Outcome.UNSCHEDULABLE, Outcome.PREEMPTS):
            for plan in self._plans_for([decision.demand]):
                yield self._end(plan, now, Reason.REPLANNED)
        if decision.outcome is Outcome.PREEMPTS:
            yield from self._begin(decision, now)

    def _begin(self, decision: Decision, now: float) -> Iterator[News]:
        new = _begun(decision, now)
        waiting = (new.demand, *new.places)
        for plan in self._plans_for(waiting):
            yield self._end(plan, now, Reason.REPLANNED)
        self._plans[new.demand] = new
        self._asking.update(dict.fromkeys(waiting, new.demand))

    def _placed(self, decision: Decision, effects: Iterable[Effect], now: float) -> Iterator[News]:
        """A plan may be for others of a group than those who were placed, too: then it goes on for them."""
        places = dict(decision.places)
        withdrawn = {effect.target for effect in effects if isinstance(effect, Nominate) and not effect.node}
        for plan in self._plans_for(places):
            rest = {pod: node for pod, node in plan.places.items() if pod not in places}
            if rest and withdrawn.isdisjoint(rest):
                for pod in plan.places.keys() - rest.keys():
                    del self._asking[pod]
                plan.places = rest
                continue
            as_planned = all(places.get(pod, node) == node for pod, node in plan.places.items())
            yield self._end(plan, now, None if as_planned else Reason.ELSEWHERE)
        yield from self._used(decision)

    def _used(self, decision: Decision) -> Iterator[News]:
        """Whoever goes with somebody whose room is used goes for a reason."""
        evicted = self._evicted.pop(decision.demand, {})
        used = {victim.unit for victim in evicted.values() if victim.node in decision.nodes}
        wasted = {pod: victim for pod, victim in evicted.items() if victim.unit not in used}
        if decision.demand in self._plans:
            self._evicted[decision.demand] = wasted  # others of it still wait for their room
        elif wasted:
            yield Wasted(len(wasted))

    # --- events ---

    def observed(self, events: Sequence[Event], effects: Sequence[Effect], now: float) -> Iterator[News]:
        if not self._plans and not self._evicted:
            return
        for event in events:
            yield from self._observed(event, now)
        for plan in self._given_up(events, effects):
            yield from self._give_up(plan, events, effects, now)

    def _observed(self, event: Event, now: float) -> Iterator[News]:
        match event:
            case Done(Evict(pod)):
                yield from self._asked_to_go(pod, now)
            case Gone(target):
                yield from self._gone(target, now)
            case Seen(Pod() as pod) if pod.metadata.deletion_timestamp is not None:
                yield from self._lost(_target(pod), now)
            case Seen(Pod() as pod) if pod.spec.node_name:
                yield from self._has_a_node(pod, now)

    def _has_a_node(self, pod: Pod, now: float) -> Iterator[News]:
        """It was bound by somebody else, or has grown, or does not want to any more."""
        for plan in self._plans_for([_target(pod)]):
            if not plan.in_place:
                yield self._end(plan, now, Reason.PREEMPTOR_GONE)
            elif not is_deferred(pod):
                yield self._end(plan, now, Reason.PREEMPTOR_GONE if plan.calling else None)

    def _given_up(self, events: Sequence[Event], effects: Sequence[Effect]) -> list[_Plan]:
        """A nomination is withdrawn. Pods that want to grow have none: theirs show it by why, or later."""
        withdrawn = self._withdrawn(effects)
        growing = [plan for plan in self._plans.values() if plan.in_place]
        return [*withdrawn, *(p for p in growing if _has_failed(p, events) or _is_stuck(p, effects))]

    def _give_up(
        self, plan: _Plan, events: Sequence[Event], effects: Sequence[Effect], now: float
    ) -> Iterator[News]:
        """What has just happened tells why."""
        if _has_failed(plan, events):
            if plan.calling:
                yield Called(plan.preemptor, now - plan.began, well=False)
            yield self._end(plan, now, Reason.FAILED)
        elif _is_stuck(plan, effects):
            yield self._end(plan, now, Reason.STUCK)
        elif any(isinstance(event, Gone) and _is_its_node(plan, event.target) for event in events):
            yield self._end(plan, now, Reason.NODE_GONE)
        else:
            yield self._end(plan, now, Reason.REPLANNED)

    def _asked_to_go(self, pod: Target, now: float) -> Iterator[News]:
        for plan in [p for p in self._plans.values() if pod in p.victims]:
            if not plan.in_place:  # whether a resize was worth it shows later
                self._evicted.setdefault(plan.demand, {})[pod] = plan.victims[pod]
            yield from self._out_of_the_way(plan, pod, now)

    def _out_of_the_way(self, plan: _Plan, pod: Target, now: float) -> Iterator[News]:
        plan.to_evict.discard(pod)
        if plan.calling and not plan.to_evict:
            plan.calling = False
            yield Called(plan.preemptor, now - plan.began, well=True)

    def _gone(self, target: Target, now: float) -> Iterator[News]:
        for plan in [p for p in self._plans.values() if target in p.to_evict]:
            yield from self._out_of_the_way(plan, target, now)
        yield from self._lost(target, now)
        evicted = self._evicted.pop(target, {})
        if evicted:
            yield Wasted(len(evicted))

    def _lost(self, target: Target, now: float) -> Iterator[News]:
        for plan in self._plans_for([target]):
            yield self._end(plan, now, Reason.PREEMPTOR_GONE)

    def _withdrawn(self, effects: Iterable[Effect]) -> list[_Plan]:
        """Plans for pods that do not wait for their nodes any more."""
        return self._plans_for(e.target for e in effects if isinstance(e, Nominate) and not e.node)

    def _plans_for(self, waiting: Iterable[Target]) -> list[_Plan]:
        asking = dict.fromkeys(self._asking[target] for target in waiting if target in self._asking)
        return [self._plans[demand] for demand in asking]

    def _end(self, plan: _Plan, now: float, reason: Reason | None) -> Ended:
        del self._plans[plan.demand]
        for target in {plan.demand, *plan.places}:
            del self._asking[target]
        return plan.ended(now, reason)


def _begun(decision: Decision, now: float) -> _Plan:
    victims = {v.pod: v for v in decision.preemption.victims} if decision.preemption is not None else {}
    return _Plan(
        demand=decision.demand,
        began=now,
        places=dict(decision.places),
        victims=victims,
        to_evict=set(victims),
        calling=bool(victims),
        in_place=decision.growth is not None,
    )


def _has_failed(plan: _Plan, events: Sequence[Event]) -> bool:
    """It is no failure if a victim is not there any more."""
    failures = (event for event in events if isinstance(event, Failed) and not event.missing)
    return any(_concerns(plan, failure.effect) for failure in failures)


def _is_stuck(plan: _Plan, effects: Sequence[Effect]) -> bool:
    told = (e.target for e in effects if isinstance(e, Announce) and e.reason == "PreemptionStuck")
    return any(target in plan.victims for target in told)


def _concerns(plan: _Plan, effect: Effect) -> bool:
    match effect:
        case Nominate(pod):
            return pod in plan.places
        case Evict(pod):
            return pod in plan.victims
        case SetCondition(target, "DisruptionTarget"):
            units = {victim.unit for victim in plan.victims.values()}
            return target in plan.victims or f"{target.kind}/{target.namespace}/{target.name}" in units
        case _:
            return False


def _is_its_node(plan: _Plan, target: Target) -> bool:
    return target.kind == "Node" and target.name in plan.places.values()


def _target(pod: Pod) -> Target:
    return Target("Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
