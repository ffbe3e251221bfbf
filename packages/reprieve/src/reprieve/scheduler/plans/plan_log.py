"""Collects the records of a step, and remembers what later records need: which plans are open and since when,
which evictions are not judged yet, and which growths wait.

What the records mean is defined in ``plan_records``. When a plan ends, and whether a preemptor is bound or
gone, is decided elsewhere; nothing here has an influence on scheduling.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from reprieve.model.effects import Target
from reprieve.model.moment import Moment
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.plans.handover import Handover, Stage
from reprieve.scheduler.plans.plan_records import (
    PLANS_REMEMBERED,
    EndReason,
    GrowthEnd,
    GrowthEnded,
    PlanEnded,
    PlanOpened,
    PlanRecord,
    Preemptor,
    StageReached,
    VictimsJudged,
)
from reprieve.scheduler.reporting.decision import Growth

_STAGES = tuple(Stage)


@dataclass(slots=True, eq=False)
class _Plan:
    decision: str
    demand: Target
    preemptor: Preemptor
    victims: int
    opened: float  # on the clock for durations
    rooms: dict[Target, frozenset[str]]  # victims, and the nodes on which pods of their unit ran
    placed_before: frozenset[Target]  # pods of the preemptor that had their node when the plan was opened
    stage: Stage = Stage.NOMINATED
    is_open: bool = True
    evicted: dict[Target, None] = field(default_factory=dict)  # those that are not judged yet


@dataclass(frozen=True, slots=True)
class _Growth:
    since: float  # on the clock for durations
    wanted: Growth


class PlanLog:
    def __init__(self) -> None:
        self._records: list[PlanRecord] = []
        self._plans: dict[DemandKey, list[_Plan]] = {}  # the oldest first; only the last may be open
        self._sent: list[tuple[DemandKey, _Plan, Target]] = []  # evictions of this step
        self._growths: dict[Target, _Growth] = {}

    @property
    def records(self) -> tuple[PlanRecord, ...]:
        return tuple(self._records)

    def begin_step(self) -> None:
        """Records of the step before are dropped, read or not: they cannot pile up."""
        self._records = []
        self._sent = []

    def remembers(self, key: DemandKey) -> bool:
        return key in self._plans

    # --- a plan ---

    def on_opened(
        self,
        key: DemandKey,
        handover: Handover,
        units: Iterable[Collection[Target]],
        placed_before: frozenset[Target],
        now: Moment,
    ) -> None:
        """``units``: the victims, those together that go together."""
        plan = _Plan(
            decision=handover.id,
            demand=handover.preemptor,
            preemptor=_preemptor(handover),
            victims=len(handover.victims),
            opened=now.elapsed,
            rooms=_rooms(units, dict(handover.victim_nodes)),
            placed_before=placed_before,
        )
        plans = self._plans.setdefault(key, [])
        plans.append(plan)
        self._records.append(PlanOpened(*_head(plan, now)))
        if len(plans) > PLANS_REMEMBERED:
            self._judge(plans.pop(0), now, wasted=True)
        self.on_advanced(key, handover, now)

    def on_advanced(self, key: DemandKey, handover: Handover, now: Moment) -> None:
        plan = self._plans[key][-1]
        before, after = _STAGES.index(plan.stage), _STAGES.index(handover.stage)
        for stage in _STAGES[before + 1 : after + 1]:
            self._records.append(StageReached(*_head(plan, now), stage))
        plan.stage = handover.stage

    def on_eviction_sent(self, key: DemandKey, victim: Target) -> None:
        """The eviction of a victim is sent."""
        plan = self._plans[key][-1]
        plan.evicted[victim] = None
        self._sent.append((key, plan, victim))

    def on_units_changed(
        self, key: DemandKey, units: Iterable[Collection[Target]], nodes: Mapping[Target, str]
    ) -> None:
        """Units are about to be evicted as they are now: pods may have joined them, and left them.

        Where a pod has left, which may be the victim of another plan, the unit's room is there all the same.
        """
        rooms = self._plans[key][-1].rooms
        for pods in units:
            known = (rooms[pod] for pod in pods if pod in rooms)
            rooms.update(dict.fromkeys(pods, frozenset(nodes[pod] for pod in pods).union(*known)))

    def on_unsent(self, victim: Target) -> None:
        """An eviction of this step is not sent after all: a verdict that was reached meanwhile is void."""
        found = next((sent for sent in reversed(self._sent) if sent[2] == victim), None)
        if found is None:
            return
        self._sent.remove(found)
        self._not_evicted(*found)
        amended = (_without(record, found[1].decision, victim) for record in self._records)
        self._records = [record for record in amended if record is not None]

    def on_refused(self, victim: Target, key: DemandKey | None, waiting: Collection[DemandKey]) -> None:
        """An eviction was refused. ``waiting``: other demands whose plans wait for the same call.

        Without a key it was for a plan that has ended, or that goes on because the victim is gone anyway.
        """
        sent = [(of, plan) for of, plans in self._plans.items() for plan in plans if victim in plan.evicted]
        if key is not None:
            meant = [(of, plan) for of, plan in sent if of == key]
        else:
            ended = [(of, plan) for of, plan in sent if not plan.is_open]
            meant = ended or [(of, plan) for of, plan in sent if of not in waiting]
        for of, plan in meant[:1]:
            self._not_evicted(of, plan, victim)

    def _not_evicted(self, key: DemandKey, plan: _Plan, victim: Target) -> None:
        plan.evicted.pop(victim, None)
        self._tidy(key)

    def on_ended(self, key: DemandKey, reason: EndReason, now: Moment) -> None:
        plan = self._plans[key][-1]
        plan.is_open = False
        self._records.append(PlanEnded(*_head(plan, now), reason, plan.stage))
        self._tidy(key)

    # --- its preemptor ---

    def on_bound(self, key: DemandKey, pod: Target, node: str, now: Moment, *, has_its_nodes: bool) -> None:
        """A pod of a demand is bound, or has grown; ``has_its_nodes``: the demand waits for no other node."""
        for plan in self._plans.get(key, ()):
            counts = pod not in plan.placed_before
            used = {victim: None for victim in plan.evicted if counts and node in plan.rooms[victim]}
            self._judge(plan, now, used, wasted=has_its_nodes)
        self._tidy(key)

    def on_lost(self, key: DemandKey, now: Moment) -> None:
        """A demand is gone."""
        for plan in self._plans.get(key, ()):
            self._judge(plan, now, wasted=True)
        self._tidy(key)

    def _judge(self, plan: _Plan, now: Moment, used: Collection[Target] = (), *, wasted: bool) -> None:
        """``wasted``: whether all that are not used are."""
        rest = [victim for victim in plan.evicted if victim not in used] if wasted else []
        for victim in (*used, *rest):
            del plan.evicted[victim]
        if used or rest:
            self._records.append(VictimsJudged(*_head(plan, now), tuple(used), tuple(rest)))

    def _tidy(self, key: DemandKey) -> None:
        left = [plan for plan in self._plans.pop(key, ()) if plan.is_open or plan.evicted]
        if left:
            self._plans[key] = left

    # --- growth ---

    def on_decided(self, pod: Target, growth: Growth, now: Moment) -> None:
        """A decision was made about a pod that wants more where it runs."""
        since = self._growths[pod].since if pod in self._growths else now.elapsed
        self._growths[pod] = _Growth(since, growth)

    def wanted(self, pod: Target) -> Growth | None:
        """What a pod wanted when it was last decided about."""
        growth = self._growths.get(pod)
        return growth.wanted if growth is not None else None

    def on_growth_ended(self, pod: Target, end: GrowthEnd, now: Moment) -> None:
        growth = self._growths.pop(pod, None)
        if growth is not None:
            self._records.append(GrowthEnded(pod, end, now.wall, now.elapsed - growth.since))


def _head(plan: _Plan, now: Moment) -> tuple[str, Target, Preemptor, int, float, float]:
    seconds = now.elapsed - plan.opened
    return plan.decision, plan.demand, plan.preemptor, plan.victims, now.wall, seconds


def _without(record: PlanRecord, decision: str, victim: Target) -> PlanRecord | None:
    if not isinstance(record, VictimsJudged) or record.decision != decision:
        return record
    used, wasted = (tuple(pod for pod in pods if pod != victim) for pods in (record.used, record.wasted))
    return replace(record, used=used, wasted=wasted) if used or wasted else None


def _preemptor(handover: Handover) -> Preemptor:
    if not handover.nominates:
        return Preemptor.GROWTH
    return Preemptor.POD if handover.preemptor.kind == "Pod" else Preemptor.POD_GROUP


def _rooms(units: Iterable[Collection[Target]], homes: Mapping[Target, str]) -> dict[Target, frozenset[str]]:
    rooms: dict[Target, frozenset[str]] = {}
    for unit in units:
        rooms.update(dict.fromkeys(unit, frozenset(homes[pod] for pod in unit)))
    return rooms
