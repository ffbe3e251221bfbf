"""What must hold of plan records: after every step of a scheduler, and when all has come to rest.

The records are compared with the plans that the scheduler has in mind, with the evictions that it sends, and
with the nodes that pods got in the cluster.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from reprieve.model.effects import Effect, Evict, Target
from reprieve.model.events import Event, Failed, Seen
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.objects import Pod
from reprieve.scheduler.demand_key import DemandKind
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.plan_log import PlanLog
from reprieve.scheduler.plans.plan_records import (
    GrowthEnded,
    PlanEnded,
    PlanOpened,
    PlanRecord,
    Preemptor,
    StageReached,
    VictimsJudged,
)
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.state import State
from tests.simulation.invariants import hold

_ORDER = tuple(Stage)


class PlanAudit:
    """``places``: by uid, the nodes that pods got in the cluster."""

    def __init__(self, places: Callable[[], Mapping[str, str]], decisions: Mapping[str, Decision]) -> None:
        self._places = places
        self._decisions = decisions
        self._stages: dict[str, Stage] = {}  # of open plans
        self._ended: set[str] = set()
        self._sent: Counter[Target] = Counter()  # evictions for plans, by victim
        self._judged: set[tuple[str, Target]] = set()
        self._members: dict[GroupKey, set[str]] = {}  # the uids of all pods that a group or a tree ever had
        self.records: list[PlanRecord] = []

    def look(
        self, state: State, events: Iterable[Event], effects: Iterable[Effect], records: Iterable[PlanRecord]
    ) -> None:
        """One step of the scheduler."""
        for event in events:
            if (
                isinstance(event, Seen)
                and isinstance(event.object, Pod)
                and (group := group_key(event.object))
            ):
                self._members.setdefault(group, set()).add(event.object.metadata.uid)
        for pod, demand in state.ledger.parts:
            if demand.kind is DemandKind.TREE:
                self._members.setdefault(demand.object, set()).add(pod.uid)
        for effect in effects:
            if isinstance(effect, Evict):
                self._sent[effect.target] += 1
        for record in records:
            self.records.append(record)
            self._take(state, record)
        stages = {plan.id: plan.stage for _, plan in state.plans}
        hold(stages == self._stages, f"plans are in {stages}, and records say {self._stages}")
        self._check_memory(state, events)

    def _take(self, state: State, record: PlanRecord) -> None:
        match record:
            case PlanOpened(decision=plan):
                hold(plan not in self._stages and plan not in self._ended, f"{plan} is opened twice")
                self._stages[plan] = Stage.NOMINATED
            case StageReached(decision=plan, stage=stage):
                hold(plan in self._stages, f"{plan} reaches {stage}, and is not open")
                before = self._stages[plan]
                hold(_ORDER.index(stage) == _ORDER.index(before) + 1, f"{plan} goes from {before} to {stage}")
                self._stages[plan] = stage
            case PlanEnded(decision=plan, stage=stage):
                hold(self._stages.pop(plan, None) is stage, f"{plan} ends in {stage}, or is not open")
                self._ended.add(plan)
            case VictimsJudged():
                self._check_verdict(state, record)
            case GrowthEnded(seconds=seconds):
                hold(seconds >= 0, f"{record} took less than no time")

    def _check_verdict(self, state: State, record: VictimsJudged) -> None:
        for victim in (*record.used, *record.wasted):
            verdict = (record.decision, victim)
            hold(verdict not in self._judged, f"{victim} is judged twice for {record.decision}")
            hold(self._sent[victim] > 0, f"{victim} is judged, and was not evicted")
            self._judged.add(verdict)
        if record.preemptor is Preemptor.GROWTH:
            return
        nodes = self._nodes_of(record.demand)
        joined = self._rooms_of_joined(record)
        for victim in record.used:
            rooms = self._rooms(record.decision, victim) | joined
            hold(bool(nodes & rooms), f"{victim} is used by a pod elsewhere")
        if record.preemptor is Preemptor.POD and state.world.pod(
            (record.demand.namespace, record.demand.name)
        ):
            for victim in record.wasted:
                if victim not in self._decided(record.decision):
                    continue
                hold(not nodes & self._rooms(record.decision, victim), f"{victim} is wasted, and was used")

    def _nodes_of(self, demand: Target) -> set[str]:
        """The nodes that the pods of a demand got, whatever became of them since."""
        key = (demand.namespace, demand.name)
        pods = {demand.uid} if demand.kind == "Pod" else self._members.get(key, set())
        return {self._places()[uid] for uid in pods if uid in self._places()}

    def _decided(self, decision: str) -> set[Target]:
        room = self._decisions[decision].preemption
        return {one.pod for one in room.victims} if room is not None else set()

    def _rooms(self, decision: str, victim: Target) -> set[str]:
        """The nodes on which the unit of a victim ran."""
        room = self._decisions[decision].preemption
        assert room is not None
        units = {one.pod: one.unit for one in room.victims}
        if victim not in units:  # it joined a group that goes as a whole
            return {*self._places().values()}
        return {one.node for one in room.victims if one.unit == units[victim]}

    def _rooms_of_joined(self, record: VictimsJudged) -> set[str]:
        """The nodes of pods that joined a unit after the decision: its room is there, too."""
        joined = {*record.used, *record.wasted} - self._decided(record.decision)
        return {self._places()[pod.uid] for pod in joined if pod.uid in self._places()}

    def _check_memory(self, state: State, events: Iterable[Event]) -> None:
        """No eviction is remembered for a demand that does not wait, and none that was refused."""
        waiting = set(state.ledger.parts.demands())
        for key in state.plan_log._plans:
            hold(key in waiting, f"evictions are remembered for {key}, which does not wait")
        refused = {e.effect.target for e in events if isinstance(e, Failed) and isinstance(e.effect, Evict)}
        for victim in refused & unjudged(state.plan_log):
            hold(self._sent[victim] > 1, f"the eviction of {victim} was refused, and is remembered")

    def check_rest(self) -> None:
        hold(not self._stages, f"plans are open: {self._stages}")


def unjudged(log: PlanLog) -> set[Target]:
    """Evicted pods of which it is not known yet whether their preemptor uses the room."""
    return {pod for plans in log._plans.values() for plan in plans for pod in plan.evicted}
