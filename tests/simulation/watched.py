"""A scheduler in a crowded cluster, and what must hold of it after every step."""

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.unit.scheduler.validation import charged_victims, validate

from reprieve.model.effects import Effect, Evict, Nominate, SetCondition, Target
from reprieve.model.events import Done, Event, Failed, Seen, Unknown
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.groups import key_of as group_name
from reprieve.model.moment import Moment
from reprieve.model.objects import ObjectKey, Pod, PodGroup
from reprieve.preemption.policy import BudgetCounting
from reprieve.preemption.units import pods_alone
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands import priority_of
from reprieve.scheduler.demands.group_rules import priority_of_group
from reprieve.scheduler.plans.handover import Handover, Stage, shown_mark
from reprieve.scheduler.reporting.decision import Decided, Decision, Outcome
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.targets import pod_target
from tests.reference.plain.toleration import may_be_taken_from
from tests.simulation.evictions import Evictions
from tests.simulation.invariants import Auditor, check_failures, hold, is_waiting, key_of
from tests.simulation.plan_audit import PlanAudit
from tests.simulation.whole_groups import WholeGroups
from tests.simulation.whole_trees import is_met


class WatchedScheduler(Scheduler):
    """A scheduler that is looked at after every step."""

    def __init__(
        self, settings: Settings, auditor: Auditor, evictions: Evictions, whole: WholeGroups | None = None
    ) -> None:
        super().__init__(settings)
        self._whole = whole or WholeGroups(evictions.store)
        self._auditor = auditor
        self._evictions = evictions
        self.plan_audit = PlanAudit(lambda: auditor.places, evictions.decisions)
        self._unended: Counter[Effect] = Counter()
        self._evicting: set[str] = set()  # plans that were, after the last step

    def observe(self, events: Iterable[Event], now: Moment) -> list[Effect]:
        events = list(events)
        effects = super().observe(events, now)
        check_failures(self)
        for event in events:
            self._note(event)
        self._check(effects)
        self.plan_audit.look(self._state, events, effects, self.records())
        return effects

    def decide(self, now: Moment) -> Decided | None:
        reserved, in_flight = self._reserved(), charged_victims(self._state)
        decided = super().decide(now)
        check_failures(self)
        if decided is not None:
            self._evictions.decided(decided.decision)
            self._check_decision(decided.decision, reserved, in_flight)
            self._check_nothing_is_written(decided)
            self._check(decided.effects)
        self.plan_audit.look(self._state, (), decided.effects if decided is not None else (), self.records())
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
        self._unended.update(effects)
        self._check_evictions({effect.target for effect in effects if isinstance(effect, Evict)})
        validate(self)
        awaited = Counter(self._state.ledger.victims.strays)
        awaited.update(call for _, plan in self._state.plans for call in plan.pending)
        later = Counter(call for _, _, call in self._state.resend_backoff._due)
        vain = {call for call, number in awaited.items() if number > self._unended[call] + later[call]}
        hold(not vain, f"answers are waited for that will not come: {vain}")

    def _check_evictions(self, victims: set[Target]) -> None:
        """No pod is evicted without a plan or a unit, and the victims of a plan are evicted together."""
        plans = [plan for _, plan in self._state.plans if plan.stage is Stage.EVICTING]
        units = self._state.ledger.unit_evictions
        for victim in victims:
            if victim in units:
                self._evictions.joined.add(victim.uid)
            self._evictions.wanted(victim)
            self._note_whole(victim)
            needed = any(Evict(victim) in plan.pending for plan in plans) or victim in units
            hold(needed, f"{victim} is evicted without a plan")
        for plan in plans:
            staying = set(plan.victims) - plan.gone - victims if plan.id not in self._evicting else set()
            hold(not staying, f"{plan.id} evicts, and {staying} are left out")
        self._evicting = {plan.id for plan in plans}

    def _note_whole(self, victim: Target) -> None:
        pod = self._state.world.pod((victim.namespace, victim.name))
        group = group_key(pod.pod) if pod is not None else None
        alone = all(policy.units is pods_alone for policy in self._state.settings.policies.values())
        if (
            pod is not None
            and group is not None
            and self._state.units.unit_of(group) is not None
            and not alone
        ):
            going = self._state.ledger.unit_evictions.of(victim)
            mark = going.mark if going is not None else shown_mark(pod.pod)
            for one in self._unit_around(group):
                self._whole.evicts(victim, one, mark)

    def _unit_around(self, group: GroupKey) -> list[GroupKey]:
        """The PodGroups that go with this one."""
        unit = self._state.units.unit_of(group)
        known = sorted(self._state.world.groups.tree().pod_groups)
        return [key for key in known if self._state.units.unit_of(key) == unit] if unit is not None else []

    # --- decisions ---

    def _check_decision(
        self, decision: Decision, reserved: dict[Target, str], in_flight: set[Target]
    ) -> None:
        key = key_of(decision.demand, is_resize=decision.growth is not None)
        if decision.outcome is Outcome.PLACED:
            self._check_no_gang_is_torn(key)
            self._check_no_tree_is_torn(key, decision)
            self._check_no_unit_is_going(key, decision)
            self._check_reserved_room(decision, reserved)
        elif decision.outcome is Outcome.PREEMPTS:
            plan = self._state.plans.of(key)
            assert plan is not None
            self._check_plan(plan, decision.priority, decision.at)
            self._check_budgets(plan, in_flight)

    def _check_nothing_is_written(self, decided: Decided) -> None:
        """While a plan is improved, only what an earlier plan left behind is cleared."""
        if decided.decision.outcome is not Outcome.IMPROVING:
            return
        for effect in decided.effects:
            cleared = isinstance(effect, Nominate) and not effect.node
            cleared |= isinstance(effect, SetCondition) and effect.status == "False"
            hold(cleared, f"{decided.decision.demand} improves its plan, and wants {effect}")

    def _check_no_gang_is_torn(self, key: DemandKey) -> None:
        group = self._state.world.groups.group(key.object) if key.kind is DemandKind.GROUP else None
        if group is None or group.spec.gang is None:
            return
        pods = [
            (member, self._state.world.pod(member)) for member in self._state.world.groups.members(key.object)
        ]
        staying = [m for m, pod in pods if pod is not None and pod.pod.metadata.deletion_timestamp is None]
        runs = sum(map(self._state.world.is_placed, staying))
        hold(runs >= group.spec.gang.min_count, f"{key} runs with {runs} of {group.spec.gang.min_count}")

    def _check_no_tree_is_torn(self, key: DemandKey, decision: Decision) -> None:
        """Each group of which a pod is placed has what it needs, unless a part of it ran before and has lost
        pods since: then that part may grow."""
        if key.kind is not DemandKind.TREE:
            return
        groups, new = self._state.world.groups.tree(), self._groups_placed(decision)
        placed = {leaf: [*self._placed_members(leaf)] for leaf in groups.beneath(key.object)}
        names = {(pod.namespace, pod.name) for pod, _ in decision.places}
        for leaf in new:
            for name, group in groups.chain(leaf):
                inside = [leaf] if isinstance(group, PodGroup) else groups.beneath(group_name(group))
                ran = any(pod not in names for one in inside for pod in placed[one])
                grows = ran and not isinstance(group, PodGroup)
                hold(grows or is_met(groups, group, placed), f"{name} starts in part")

    def _groups_placed(self, decision: Decision) -> set[GroupKey]:
        pods = (self._state.world.pod((pod.namespace, pod.name)) for pod, _ in decision.places)
        return {group for pod in pods if pod is not None and (group := group_key(pod.pod)) is not None}

    def _placed_members(self, group: GroupKey) -> Iterator[ObjectKey]:
        for member in self._state.world.groups.members(group):
            pod = self._state.world.pod(member)
            stays = pod is not None and pod.pod.metadata.deletion_timestamp is None
            if stays and self._state.world.is_placed(member):
                yield member

    def _check_no_unit_is_going(self, key: DemandKey, decision: Decision) -> None:
        """No half of a group starts beside the end of the other, nor while its mark is open."""
        groups = self._groups_placed(decision) if key.kind.is_of_groups else ()
        for unit in {unit for group in groups if (unit := self._state.units.unit_of(group)) is not None}:
            going = list(self._state.ledger.unit_evictions.left(unit))
            hold(all(map(self._state.units.is_over, going)), f"{key} starts, and {going} are on their way")
            hold(unit not in self._state.ledger.open_marks.units(), f"{key} starts, and its mark is open")

    def _reserved(self) -> dict[Target, str]:
        """Pods that wait for a node, because of a plan or an earlier nomination."""
        plans = [
            plan for key, plan in self._state.plans if plan.is_open and key.kind is not DemandKind.RESIZE
        ]
        nominated = {nomination.pod: nomination.node for nomination in self._state.ledger.nominations}
        return nominated | {pod: node for plan in plans for pod, node in plan.places}

    def _check_reserved_room(self, decision: Decision, reserved: dict[Target, str]) -> None:
        """Placed pods fit beside all pods there and those nominated there."""
        view = self._state.world.snapshot()
        for node in set(decision.nodes):
            row = view.nodes.rows[node]
            room = view.allocatable[:, row] - view.requested[:, row]
            for pod in self._ahead(decision, node, [pod for pod, name in reserved.items() if name == node]):
                room = room - view.pods.requests[:, view.pods.rows[pod.namespace, pod.name]]
            hold(bool((room >= 0).all()), f"{decision.demand} is placed on {node} into room of others")

    def _ahead(self, decision: Decision, node: str, waiting: list[Target]) -> Iterator[Target]:
        """Others that wait for a node, longest first, if they come before a demand that was placed there.

        Of equals, those that waited before all of its pods that are there now; any, if one did not wait.
        """
        here = {pod for pod, name in decision.places if name == node}
        own = (decision.demand.namespace, decision.demand.name)
        for i, pod in enumerate(waiting):
            key = self._state.ledger.parts.get(pod)
            if key is None or pod in here or key.object == own:
                continue
            priority = priority_of(self._state.world, key, self._state.settings.group_rules)
            came_later = here <= set(waiting[:i])
            if priority > decision.priority or (priority == decision.priority and not came_later):
                yield pod

    def _check_plan(self, plan: Handover, priority: int, now: float) -> None:
        for victim in plan.victims:
            pod = self._state.world.pod((victim.namespace, victim.name))
            assert pod is not None
            demand = self._state.settings.demand_of_pod(pod.pod, self._state.world.groups.tree())
            of_pod = group_key(pod.pod) if demand.kind.is_of_groups else None
            group = self._state.world.groups.group(of_pod) if of_pod is not None else None
            own = pod.pod.spec.priority or 0
            theirs = own if group is None else priority_of_group(self._state.world.groups, group)
            hold(theirs < priority, f"{victim} has priority {theirs} and goes for {priority}")
            if group is None:
                until = may_be_taken_from((*self._state.world.groups.classes.values(),), [pod.pod], priority)
                hold(until <= now, f"{victim} tolerates {priority} until {until}, and goes at {now}")
            for one in self._unit_around(group_name(group)) if group is not None else ():
                self._check_whole(plan, one)

    def _check_budgets(self, plan: Handover, in_flight: set[Target]) -> None:
        """By the plain count: the victims, and those in flight of any other plan."""
        new = set(plan.victims) - in_flight
        policies = self._state.settings.policies.values()
        if (
            plan.price is None
            or plan.price.broken
            or any(p.budgets is BudgetCounting.UPSTREAM for p in policies)
        ):
            return
        view = self._state.world.snapshot()
        pods = {
            p: row for p in in_flight | new if (row := view.pods.rows.get((p.namespace, p.name))) is not None
        }
        for budget in view.budgets:
            guarded = view.pods.matching(budget.selector, frozenset({budget.namespace}))
            going = {p for p, row in pods.items() if guarded[row] and not view.pods.terminating[row]}
            going = {p for p in going if p.name not in budget.disrupted and view.where[pods[p]] >= 0}
            harmless = not going & new or len(going) <= budget.allowed
            hold(
                harmless,
                f"{plan.id} breaks budget {budget.name} ({budget.allowed}) by {going}, and does not say so",
            )

    def _check_whole(self, plan: Handover, group: tuple[str, str]) -> None:
        for member in self._state.world.groups.members(group):
            pod = self._state.world.pod(member)
            if pod is None or pod.pod.metadata.deletion_timestamp is not None:
                continue
            target = pod_target(pod.pod)
            somewhere = self._state.world.snapshot().where[self._state.world.row(member)] >= 0
            stuck = target in self._state.ledger.terminating.stuck
            hold(target in plan.victims or stuck or not somewhere, f"{member} stays when its group goes")

    # --- at the end ---

    def is_idle(self) -> bool:
        """No plan is open or being improved, and no call is in flight."""
        is_planning = len(self._state.plans) or self._first_plans()
        return not is_planning and not any(self._unended.values())

    def _first_plans(self) -> list[DemandKey]:
        """Of demands that wait for a better one, with room reserved."""
        return [key for key, improving in self._state.improvements if improving.places]

    def check_rest(self) -> None:
        self.plan_audit.check_rest()
        hold(not len(self._state.plans), f"plans are left: {list(self._state.plans)}")
        waiting = self._first_plans()
        hold(not waiting, f"first plans wait: {waiting}")
        ledger = self._state.ledger
        hold(not len(ledger.nominations), f"room is reserved: {list(ledger.nominations)}")
        lingering = ledger.nominations.lingering
        hold(not lingering, f"nominations linger: {lingering}")
        refused = {one.pod for one in ledger.unit_evictions if one.refusals}
        in_flight = self._state.plans.victims_in_flight() - refused
        hold(not in_flight, f"marks are left: {in_flight}")
        promises = [str(assumed.pod) for assumed in ledger.assumed]
        hold(not promises, f"promises are left: {promises}")
        under_way = [effect for effect, number in self._unended.items() if number]
        hold(not under_way, f"effects did not end: {under_way}")

    def _wants_more(self, pod: Pod) -> bool:
        resizes = self._state.demands.resizes(DemandKey.of_resize(pod))
        return self._state.demands.is_ours(pod) and resizes is not None and resizes.is_waiting(pod)

    def check_no_pod_is_forgotten(self, pods: Iterable[Pod]) -> None:
        waiting = {
            (p.metadata.namespace, p.metadata.name) for p in pods if is_waiting(p) or self._wants_more(p)
        }
        parts, queue = self._state.ledger.parts, self._state.queue
        hold({(pod.namespace, pod.name) for pod, _ in parts} == waiting, f"waiting are {waiting}")
        hold(set(queue) == set(parts.demands()), f"in line are {list(queue)}")
