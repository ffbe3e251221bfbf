"""The plan within one domain: place the demand without units that may go, then reprieve those that can stay.

A domain is a node, a value of a topology key, or the cluster. Which domains are tried, and which of their
plans wins, is not known here.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.snapshot import NOWHERE
from reprieve.model.whatif import without
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.domains import Domain, place_within
from reprieve.placement.effort import Effort
from reprieve.placement.gang_search import place_on
from reprieve.placement.place import Choose, Placement
from reprieve.placement.tree_choice import TreeChoice, choice_of
from reprieve.preemption.budgets import (
    Counting,
    InOrder,
    Joint,
)
from reprieve.preemption.least_disturbance.cascade import Cascades
from reprieve.preemption.least_disturbance.costs import (
    Costs,
    Disturbance,
    ceiling_of,
    costs_of,
    lasting,
    priority_leads,
)
from reprieve.preemption.least_disturbance.deferral import Deferral
from reprieve.preemption.least_disturbance.improve import Improved, Solution
from reprieve.preemption.least_disturbance.model import RoomModel
from reprieve.preemption.least_disturbance.model_of_question import (
    Reach,
    RoomsInReach,
    model_of,
    reach_of,
)
from reprieve.preemption.least_disturbance.remembered import PodKey, Remembered
from reprieve.preemption.least_disturbance.search import Rooms, begun, least_disturbing, quality_of
from reprieve.preemption.least_disturbance.solver_task import room_of
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import BudgetCounting, SearchMode
from reprieve.preemption.question import Question, Rival, Takeable
from reprieve.preemption.ranking import Rank, rank
from reprieve.preemption.reprieve import RoomAndPorts, Trial, counts_room, trial
from reprieve.preemption.settled import Settled
from reprieve.preemption.units import Unit, UnitKind

_NODES_PER_UNIT = 250  # placing a pod is one unit of effort for so many nodes
_RETRIES = 3  # after solutions of a model that constraints beyond room forbid


def begun_in(
    domain: Domain, question: Question, takeable: Takeable, *, by_room: bool
) -> "tuple[Planning, Placement] | None":
    """All units that may be evicted there, and where the demand is placed without them."""
    units, allowed = takeable.units, takeable.allowed
    touching = units.touching(domain.nodes)
    local = touching[allowed[touching]]
    planning = Planning(question, domain, takeable, (), by_room)
    placement = planning.place_without(units.pods_of(local)) if len(local) else None
    if placement is None:
        return None  # before the units are listed: there may be tens of thousands
    return replace(planning, local=tuple(units.listed(local))), placement


def plan_in(domain: Domain, question: Question, takeable: Takeable, *, by_room: bool = False) -> Plan | None:
    """``by_room``: on this node, nothing but room and ports is known to be missing."""
    begun = begun_in(domain, question, takeable, by_room=by_room)
    if begun is None:
        return None
    planning, placement = begun
    if question.policy.search is SearchMode.UPSTREAM:
        plan = planning.spare(placement, planning.local)
        return planning.kinder_to_gangs(plan, placement) if plan.starved else plan
    if not question.disturbs_least:
        return planning.by_ceiling(placement)
    if question.demand.tree is not None:
        return _less_disturbing_tree(planning, placement)
    if (known := planning.as_remembered(placement)) is not None:
        return known
    return planning.less_disturbing(placement, planning.by_ceiling(placement))


def _less_disturbing_tree(planning: "Planning", placement: Placement) -> Plan:
    """The model knows gangs: the pods that are placed, and the domains of their groups, stay as they are."""
    if (places := planning.remembered_places()) is not None:
        choice = planning.choice_of(places)
        gang = planning.with_demand(choice.gang)
        anywhere = gang.place(planning.local)
        known = gang.as_remembered(anywhere) if anywhere is not None else None
        if known is not None:
            return planning.widened(known, choice)
    plan = planning.by_ceiling(placement)
    choice = planning.choice_of(plan.placement.nodes)
    there = choice.narrowed(plan.placement)
    gang = planning.with_demand(choice.gang)
    less = gang.less_disturbing(there, replace(plan, placement=there, pods=choice.gang.pods))
    return planning.widened(less, choice)


@dataclass(frozen=True, slots=True, eq=False)
class Planning:
    """A plan in the making, from the units of the domain that may be evicted, the most important first."""

    question: Question
    domain: Domain
    takeable: Takeable
    local: tuple[Unit, ...]
    by_room: bool  # the domain is a node where nothing but room and ports is missing

    def place(self, gone: Iterable[Unit]) -> Placement | None:
        """Where the demand would go in this domain if these units were gone."""
        return self.place_without(_pods_of(gone))

    def place_without(self, pods: Ints) -> Placement | None:
        question = self.question
        if self.by_room:
            there = Placement((int(self.domain.nodes.argmax()),))
            return there if RoomAndPorts(self._settled(there, pods)).suffice(pods.tolist()) else None
        demand = replace(question.demand, allowed=self.domain.nodes)
        view, choose = without(question.view, pods), question.policy.choose
        placed = place_within(demand, view, question.profile, choose)
        return placed if isinstance(placed, Placement) else None

    def by_ceiling(self, placement: Placement) -> Plan:
        plan = self.below_ceiling(placement, self.local)
        plan = self.kinder_to_budgets(plan) if plan.broken else plan
        ends_gangs = plan.starved > 0
        plan = self.or_as_the_rival(plan, placement)
        plan = self.kinder_to_gangs(plan, placement) if ends_gangs or plan.starved else plan
        return self.or_elsewhere(plan) if len(self.question.demand.pods) > 1 else plan

    def less_disturbing(self, placement: Placement, plan: Plan) -> Plan:
        """The plan that disturbs least, of these and of those that a search in a model of the room finds."""
        question, usual = self.question, plan
        reach = reach_of(question, self.takeable, self.domain.nodes, self._ceiling(usual))
        prices = _Prices(question, self.takeable, reach, usual.victims)
        target = sum(node != NOWHERE for node in placement.nodes)
        rooms = RoomsInReach(question, self.takeable, reach, target, prices.of)
        deferral, spent = question.policy.deferral or Deferral(0.0), question.demand.effort.spent
        asked = len(deferral.rooms)
        # Other domains are searched after this one.
        effort = question.demand.effort.lent(all_of_it=not question.demand.topology_key)
        found, model, other = self._sought(plan, rooms, effort)
        if effort.spent:  # where there is none, one record stands for all demands
            question.demand.effort.returned(effort)
        plans = [plan, *([other] if other is not None else ())]
        # Where a solver is asked, the second decision looks at this plan, unless it is likely to be good.
        if not (found.proved or (found.awaited and priority_leads(rooms.order))):
            plans.append(self.spare(placement, self.local))
        costs, strict = prices.of_victims(plans), question.policy.breaks_no_budget
        plan = min(plans, key=lambda one: (strict and one.broken > 0, costs.of(one.victims)))
        cost, usual_cost = costs.of(plan.victims), costs.of(usual.victims)
        quality = quality_of(cost, usual_cost, found, model, effort.spent)
        for _, highest in deferral.rooms[asked : asked + 1]:
            named = tuple(unit.name for unit in plan.victims), self._named(plan.places)
            remembered = Remembered(*named, quality, highest, target, spent)
            deferral.noted[self.domain.name] = remembered
        return replace(plan, quality=quality)

    def as_remembered(self, placement: Placement) -> Plan | None:
        """The plan that an earlier decision made here, or a better one that a solver has found since.

        None if none of them holds any more, or if it costs more now: then it is searched anew. Work that is
        lost grows by the time between the decisions, for all plans alike, and is no reason.
        """
        question, deferral = self.question, self.question.policy.deferral or Deferral(0.0)
        first = deferral.earlier.get(self.domain.name)
        if first is None:
            return None
        answers = [one for one in deferral.answers if one.units is not None]
        names = {*first.victims, *(name for one in answers for name in one.units or ())}
        reach = reach_of(question, self.takeable, self.domain.nodes, first.solved)
        named = [unit for unit in self.local if unit.name in names]
        prices = _Prices(question, self.takeable, reach, named)
        model = model_of(question, self.takeable, reach, first.target, prices.of(reach.units))
        room = room_of(model, self.takeable.units)
        wanted = [(first.victims, self._positions(first.places))]
        wanted += [(one.units or (), room.seats(one)) for one in answers]
        strict = question.policy.breaks_no_budget
        again = (self._without(victims, seats) for victims, seats in wanted if seats is not None)
        plans = [plan for plan in again if plan is not None and not (strict and plan.broken)]
        if not plans:
            return None
        before = question.demand.effort.spent
        known = deferral.known_of(room, first, question.demand.effort)
        simple = None if known.proved else self.spare(placement, self.local)
        if simple is not None and not (strict and simple.broken):
            plans.append(simple)
        costs = prices.of_victims(plans)
        plan = min(plans, key=lambda one: costs.of(one.victims))
        cost = costs.of(plan.victims)
        if lasting(costs.order, cost) > lasting(costs.order, first.cost):
            return None
        known = replace(known, proved=known.proved or known.bound == cost)
        spent = question.demand.effort.spent - max(before, first.spent)
        return replace(plan, quality=quality_of(cost, first.ceiling_cost, known, model, spent))

    # --- a tree as a gang ---

    def choice_of(self, nodes: Sequence[int]) -> TreeChoice:
        demand = replace(self.question.demand, allowed=self.domain.nodes)
        return choice_of(demand, self.question.view, nodes)

    def with_demand(self, demand: Demand) -> "Planning":
        return replace(self, question=replace(self.question, demand=demand))

    def widened(self, plan: Plan, choice: TreeChoice) -> Plan:
        return replace(plan, placement=choice.widened(plan.placement), pods=self.question.demand.pods)

    def remembered_places(self) -> tuple[int, ...] | None:
        """The nodes of pods by the plan that an earlier decision made here, if it still meets the tree."""
        first = (self.question.policy.deferral or Deferral(0.0)).earlier.get(self.domain.name)
        places = self._positions(first.places) if first is not None else None
        if places is None:
            return None
        nodes = [NOWHERE] * len(self.question.demand.pods)
        for position, node in places:
            nodes[position] = node
        tree = self.question.demand.tree
        keeps = tree is None or tree.keeps_domains(self.question.view, nodes)
        return tuple(nodes) if keeps and self.question.demand.is_met_by(nodes) else None

    # --- what an earlier decision found ---

    def _without(self, victims: Collection[str], seats: Sequence[tuple[int, int]]) -> Plan | None:
        """The plan without units of these names, as far as they are still there."""
        taken = [unit for unit in self.local if unit.name in victims]
        placement = self._seated(taken, seats) if seats else self.place(taken)
        return self.spare(placement, taken) if placement is not None else None

    def _named(self, places: Iterable[tuple[int, int]]) -> tuple[tuple[PodKey, str], ...]:
        pods, nodes = self.question.view.pods, self.question.view.nodes
        metas = ((pods.compiled[pod].pod.metadata, nodes.names[node]) for pod, node in places)
        return tuple(((meta.namespace, meta.name), node) for meta, node in metas)

    def _positions(self, places: Iterable[tuple[PodKey, str]]) -> list[tuple[int, int]] | None:
        """Members (positions) and nodes (rows); None if one of them is not there any more."""
        pods, nodes = self.question.view.pods, self.question.view.nodes
        position_of = {pod: position for position, pod in enumerate(self.question.demand.pods)}
        found = [(position_of.get(pods.rows.get(pod, NOWHERE)), nodes.rows.get(node)) for pod, node in places]
        there = [(member, node) for member, node in found if member is not None and node is not None]
        return there if len(there) == len(found) else None

    def _ceiling(self, plan: Plan) -> float:
        """No plan that evicts units above this priority is better than this one."""
        policy = self.question.policy
        if policy.breaks_no_budget and plan.broken:
            return math.inf
        return ceiling_of(policy.disturbance, self.takeable.accounts, plan.victims)

    def _sought(
        self, plan: Plan, rooms: Rooms, effort: Effort, retries: int = _RETRIES
    ) -> tuple[Improved, RoomModel, Plan | None]:
        """What is found in one of the models, which one, and the plan that it makes.

        Where constraints beyond room forbid what was found, it is cut off from the model, which is exact no
        longer, and something else is sought.
        """
        model, start = begun(rooms, partial(self._solution, plan))
        improve = self.question.policy.improving(self.takeable.units)
        found = least_disturbing(model, start, effort, improve)
        other = self._realised(found.best, model) if found.best is not None else None
        if other is not None or found.best is None or found.best == self._solution(plan, model):
            return found, model, other
        barred = rooms.below(math.inf).without_success(found.best.units)
        if not retries:
            return found, barred, None
        # Without effort, a first plan is all that can be found.
        return self._sought(plan, barred, effort, retries - 1 if effort.spent < effort.units else 0)

    def _solution(self, plan: Plan, model: RoomModel) -> Solution | None:
        """The plan in words of the model, if the model has all of its victims."""
        units = tuple(sorted(unit.number for unit in plan.victims))
        if model.counts_of(units) is None:
            return None
        return Solution(units, model.seats_of(plan.placement.nodes))

    def _realised(self, solution: Solution, model: RoomModel) -> Plan | None:
        """A plan that evicts no more than the solution does, checked against all constraints."""
        gone = set(solution.units)
        taken = [unit for unit in self.local if unit.number in gone]
        seats = model.nodes_for(solution.seats) if len(model.needs) > 1 else []
        placement = self._seated(taken, seats) if seats else self.place(taken)
        return self.spare(placement, taken) if placement is not None else None

    def _seated(self, taken: Iterable[Unit], seats: Sequence[tuple[int, int]]) -> Placement | None:
        """Members on given nodes, and the others that are wanted wherever they fit."""
        question = self.question
        demand = replace(question.demand, allowed=self.domain.nodes)
        view = without(question.view, _pods_of(taken))
        return place_on(seats, demand, view, question.profile, question.policy.choose)

    def below_ceiling(self, placement: Placement, taken: Sequence[Unit]) -> Plan:
        """Reprieves units that break budgets, then all above the lowest priority that leaves enough room.

        A demand of several pods may be placed elsewhere then, and that may cost more than it saves.
        """
        risky = self._at_risk(placement, taken)
        spared = _breakers_spared(risky, self._trial(placement, taken), self._counting(risky))
        left = [unit for unit in taken if unit.number not in spared]
        found = self._lowest(left, _Below(left[0].priority, tuple(taken), placement) if left else None)
        if found is None:
            return self.spare(placement, left)
        below = self.spare(found.placement, found.taken, found.ceiling)
        if found.placement == placement:
            return below
        return min(below, self.spare(placement, left), key=self._rank)

    def kinder_to_budgets(self, plan: Plan) -> Plan:
        """Several pods may have been placed where budgets are broken, and could be placed around them."""
        counting = self._counting(self.local)
        if len(self.question.demand.pods) == 1:
            return plan
        harmless = [unit for unit in self.local if not counting.broken([unit])]
        placement = self.place(harmless)
        return min(plan, self.below_ceiling(placement, harmless), key=self._rank) if placement else plan

    def or_as_the_rival(self, plan: Plan, placement: Placement) -> Plan:
        """The order in which units are reprieved decides which of them still fit; no order is always best.

        That of kube-scheduler is tried too, so that no plan is worse than its own.
        """
        rival = self.takeable.rival
        if rival is None:
            return plan
        taken = self._as_ranked_by(rival)
        risky, ours = self._at_risk(placement, taken), self._counting(self.local)
        counting = InOrder(rival.accounts, risky, self.question.view)
        if _tried(taken, counting) == _tried(self.local, ours):
            return plan
        theirs = self._spare(placement, risky, self._trial(placement, taken), counting)
        return min(plan, replace(theirs, broken=ours.broken(theirs.victims)), key=self._rank)

    def _as_ranked_by(self, rival: Rival) -> Sequence[Unit]:
        groups = self.question.view.pods.groups.codes
        if not any(unit.kind is UnitKind.POD and groups[unit.pods[0]] for unit in self.local):
            return self.local
        units = {unit.number: unit for unit in self.local}
        order = rival.units.in_order(np.array(list(units), np.int64))
        return [units[number] for number in order.tolist()]

    def kinder_to_gangs(self, plan: Plan, placement: Placement) -> Plan:
        """Other units may do just as well, and leave no gang with too few pods.

        Pods that gangs need are put back before all others: in the order of importance, and if gangs still
        have too few, the smallest first, for a large pod may leave no room for another that is needed, too.
        """
        requests = self.question.view.pods.requests
        near = self._in_the_way(placement)
        for by_size in (False, True):
            if by_size:
                near = sorted(near, key=lambda unit: requests[:, list(unit.pods)].sum(axis=1).tolist())
            left = self._not_needed_by_gangs(placement, near)
            if self.question.policy.search is SearchMode.UPSTREAM:
                other = self.spare(placement, left)
            else:
                other = self.below_ceiling(placement, left)
            plan = min(plan, other, key=self._rank)
            if not other.starved:
                break
        return plan

    def _in_the_way(self, placement: Placement) -> Sequence[Unit]:
        """The units that may have to go: all others can stay, whatever the demand needs."""
        if not counts_room(self.question.demand):
            return self.local
        near = self.takeable.units.with_any(self._used(placement) | self.takeable.matter).tolist()
        return [unit for unit in self.local if near[unit.number]]

    def _not_needed_by_gangs(self, placement: Placement, order: Sequence[Unit]) -> list[Unit]:
        """The units without those that can stay so that gangs keep as many pods as they need."""
        gangs, test, kept = self.takeable.gangs, self._trial(placement, self.local), set[int]()
        tally = gangs.tally(order) if gangs is not None else None
        for unit in order:
            if tally is not None and tally.needs(unit) and test.put_back(unit):
                kept.add(unit.number)
                tally.stays(unit)
        return [unit for unit in self.local if unit.number not in kept]

    def or_elsewhere(self, plan: Plan) -> Plan:
        """Members are placed as if all units were gone; other nodes may need fewer of them gone.

        The second placement prefers nodes where the least must go, and is skipped if the first one is on such
        nodes by chance. Each further one avoids the node of the one before that cost most.
        """
        question, nodes = self.question, self.domain.nodes.copy()
        share = question.demand.effort.share()
        price = len(question.demand.pods) * (1 + len(nodes) // _NODES_PER_UNIT)
        tries = question.policy.placements_tried - 1
        if tries > 0 and plan.victims and self._is_least_short(plan):
            tries -= 1
            nodes[self._dearest_node(plan)] = False
        for _ in range(tries):
            if not plan.victims or price > share.left or not share.take(price):
                break
            taken = self._no_worse_than(plan)
            placement = self._where_least_goes(taken, nodes)
            if placement is None:
                break
            other = self.spare(placement, taken, plan.ceiling)
            nodes[self._dearest_node(other)] = False
            plan = min(plan, other, key=self._rank)
        return plan

    def _is_least_short(self, plan: Plan) -> bool:
        """Whether no other nodes lack less for a first member than those of the plan."""
        question, used = self.question, sorted({node for _, node in plan.places})
        short = _shortage(
            Ask(question.view, question.demand.pods[0], question.profile), question.view.requested
        )
        least = np.partition(short[self.domain.nodes], len(used) - 1)[: len(used)]
        return bool(short[used].sum() <= least.sum())

    def _no_worse_than(self, plan: Plan) -> list[Unit]:
        """The units whose eviction exceeds no budget and no priority that the plan does not."""
        counting = self._counting(self.local)
        taken = [unit for unit in self.local if unit.priority <= plan.victims[0].priority]
        return taken if plan.broken else [unit for unit in taken if not counting.broken([unit])]

    def _where_least_goes(self, taken: Sequence[Unit], nodes: Mask) -> Placement | None:
        question = self.question
        emptied = without(question.view, _pods_of(taken))
        choose = least_short(question.view.requested - emptied.requested, question.policy.choose)
        demand = replace(question.demand, allowed=nodes)
        placed = place_within(demand, emptied, question.profile, choose)
        return placed if isinstance(placed, Placement) else None

    def _dearest_node(self, plan: Plan) -> int:
        """Of the nodes in use, the one that the most victims go for; a unit counts in part for each."""
        price, where = dict.fromkeys((node for _, node in plan.places), 0.0), self.question.view.where
        for unit in plan.victims:
            there = {node for node in where[list(unit.pods)].tolist() if node in price}
            for node in there:
                price[node] += len(unit.pods) / len(there)
        return max(price, key=lambda node: (price[node], self.question.view.nodes.rank[node]))

    def _lowest(self, left: Sequence[Unit], known: "_Below | None") -> "_Below | None":
        """The lowest priority such that the demand fits with no unit above it gone."""
        ceilings = sorted({unit.priority for unit in left})
        below = cache(lambda ceiling: self._below(left, ceiling, known))
        if more_room_never_hurts(self.question, self.takeable.matter):
            ceilings = ceilings[bisect_left(ceilings, True, key=lambda c: below(c) is not None) :]
        return next((found for c in ceilings if (found := below(c)) is not None), None)

    def _below(self, left: Sequence[Unit], ceiling: int, known: "_Below | None") -> "_Below | None":
        taken = tuple(unit for unit in left if unit.priority <= ceiling)
        if known is not None and len(taken) == len(known.taken):
            return known
        placement = self.place(taken)
        return _Below(ceiling, taken, placement) if placement is not None else None

    def _rank(self, plan: Plan) -> Rank:
        return rank(plan, self.question.policy.ranking)

    def spare(self, placement: Placement, taken: Sequence[Unit], ceiling: int | None = None) -> Plan:
        """Of these units, the victims are those that cannot be put back.

        If there are none, the demand fits as things are, though not where it was tried first.
        """
        risky = self._at_risk(placement, taken)
        return self._spare(placement, risky, self._trial(placement, taken), self._counting(risky), ceiling)

    def _spare(
        self,
        placement: Placement,
        risky: Sequence[Unit],
        test: Trial,
        counting: Counting,
        ceiling: int | None = None,
    ) -> Plan:
        victims = _sweep(risky, test, counting)
        if self.question.policy.search is not SearchMode.UPSTREAM:
            # Putting one back can make room for another where constraints look beyond one node.
            while len(fewer := _sweep(victims, test, counting)) < len(victims):
                victims = fewer
        gone = {unit.number for unit in victims}
        return Plan(
            domain=self.domain.name,
            placement=placement,
            victims=tuple(unit for unit in self.local if unit.number in gone),
            spared=tuple(unit for unit in self.local if unit.number not in gone),
            broken=counting.broken(victims),
            ceiling=ceiling,
            pods=self.question.demand.pods,
            starved=self.takeable.gangs.starved(victims) if self.takeable.gangs is not None else 0,
        )

    def _at_risk(self, placement: Placement, taken: Sequence[Unit]) -> Sequence[Unit]:
        """A unit is at no risk if it has no pod on the nodes in use, no budget, and matters to no constraint.

        Such units can be put back in any order, and make no difference to the others.
        """
        question, units = self.question, self.takeable.units
        if len(taken) <= question.shortcuts.units or not counts_room(question.demand):
            return taken
        pods = self._used(placement) | self.takeable.matter
        pods[self.takeable.accounts.pods] = True
        at_risk = units.with_any(pods).tolist()
        return [unit for unit in taken if at_risk[unit.number]]

    def _used(self, placement: Placement) -> Mask:
        """[pod] whether it runs on a node in use."""
        view = self.question.view
        used = np.zeros(len(view.nodes) + 1, np.bool_)  # the last one stands for nowhere
        used[[node for node in placement.nodes if node != NOWHERE]] = True
        on_used: Mask = used[view.where]
        return on_used

    def _counting(self, going: Sequence[Unit]) -> Counting:
        if self.question.policy.budgets is BudgetCounting.UPSTREAM:
            return InOrder(self.takeable.accounts, going, self.question.view)
        return Joint(self.takeable.accounts, going)

    def _trial(self, placement: Placement, gone: Iterable[Unit]) -> Trial:
        settled = self._settled(placement, _pods_of(gone))
        return RoomAndPorts(settled) if self.by_room else trial(settled, self.takeable.matter)

    def _settled(self, placement: Placement, gone: Ints) -> Settled:
        question = self.question
        return Settled(question.demand, placement, question.profile, question.view, gone)


class _Prices:
    """What units cost, as far as it was asked: of many units, few are."""

    def __init__(self, question: Question, takeable: Takeable, reach: Reach, others: Iterable[Unit]) -> None:
        """``reach``: the units of which costs may be asked. Of others, all is known at once."""
        self._takeable, self._order = takeable, question.policy.disturbance
        self._cascades = Cascades(question, takeable.units)
        numbers = np.array([unit.number for unit in others], np.int64)
        self._expected, self._known = (np.zeros(len(takeable.units.priority), np.bool_) for _ in range(2))
        self._expected[reach.units], self._expected[numbers] = True, True
        self.costs = costs_of(takeable.units, self._expected, takeable.accounts, self._order)
        self.of(numbers)

    def of_victims(self, plans: Iterable[Plan]) -> Costs:
        return self.of(np.array([unit.number for plan in plans for unit in plan.victims], np.int64))

    def of(self, numbers: Ints) -> Costs:
        """With what is known of these units, too."""
        new, takeable, costs = np.unique(numbers[~self._known[numbers]]), self._takeable, self.costs
        if not self._expected[new].all():
            self._expected[new] = True
            wider = costs_of(takeable.units, self._expected, takeable.accounts, self._order)
            costs = replace(wider, cascade=costs.cascade, lost_work=costs.lost_work)
        self._known[new] = True
        if len(new) and takeable.lost_work is not None:
            wanted = np.zeros_like(self._known)
            wanted[new] = True
            costs = replace(costs, lost_work=costs.lost_work + takeable.lost_work(wanted))
        if len(new) and Disturbance.CASCADE in costs.order:
            costs = replace(costs, cascade=costs.cascade + self._cascades.of(new))
        self.costs = costs
        return costs


def least_short(freed: Ints, choose: Choose) -> Choose:
    """Prefers nodes that would be short of the least, if the pods stayed that count as gone.

    ``freed``: [resource, node] what these pods use.
    """

    def chosen(ask: Ask, feasible: Mask) -> int:
        short = np.where(feasible, _shortage(ask, ask.view.requested + freed), np.inf)
        return choose(ask, short == short.min())

    return chosen


def _shortage(ask: Ask, requested: Ints) -> Floats:
    """[node] what it lacks for the pod, as a part of what the pod needs, if so much is requested there."""
    needs = ask.view.pods.requests[:, ask.pod]
    asked = needs > 0
    lack = needs[asked, None] - (ask.view.allocatable[asked] - requested[asked])
    short: Floats = (np.maximum(lack, 0) / needs[asked, None]).max(axis=0, initial=0.0)
    return short


def more_room_never_hurts(question: Question, matter: Mask) -> bool:
    """Feasibility is monotone in the victims if the demand's pods are identical and no other pod matters.

    Otherwise a victim may be the very pod that the demand has an affinity to. Groups of a tree take room from
    each other, and more room may mean that the first take more.
    """
    pods = question.view.pods
    if question.demand.tree is not None:
        return False
    return len({pods.shape(pod) for pod in question.demand.pods}) == 1 and not matter.any()


def _pods_of(units: Iterable[Unit]) -> Ints:
    return np.array([pod for unit in units for pod in unit.pods], np.int64)


@dataclass(frozen=True, slots=True)
class _Below:
    """The units up to a priority are gone, and the demand fits."""

    ceiling: int
    taken: tuple[Unit, ...]
    placement: Placement


def _tried(units: Sequence[Unit], counting: Counting) -> list[int]:
    """In which order units are put back, as long as none is reprieved."""
    breakers = counting.first_chance([u for u in units if counting.breaks(u)])
    first = {u.number for u in breakers}
    return [*(u.number for u in breakers), *(u.number for u in units if u.number not in first)]


def _sweep(units: Sequence[Unit], test: Trial, counting: Counting) -> list[Unit]:
    """The units that cannot be put back, after those that break budgets had the first chance."""
    spared = _breakers_spared(units, test, counting)
    left = [u for u in units if u.number not in spared]
    return [u for u in left if counting.breaks(u) or not _put_back(u, test, counting)]


def _breakers_spared(units: Sequence[Unit], test: Trial, counting: Counting) -> set[int]:
    breakers = [u for u in units if counting.breaks(u)]
    tried = counting.first_chance(breakers)
    return {u.number for u in tried if counting.breaks(u) and _put_back(u, test, counting)}


def _put_back(unit: Unit, test: Trial, counting: Counting) -> bool:
    if not test.put_back(unit):
        return False
    counting.spare(unit)
    return True
