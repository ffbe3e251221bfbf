"""The plan within one domain that disturbs least: the usual one, or one that a search in a model finds.

Every plan that comes from a model is made again by ``domain_plan``, which checks all constraints. How the
model is searched is in ``least_disturbance``.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import gt

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.objects import ObjectKey
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.demand import Branch, Demand
from reprieve.placement.effort import Effort
from reprieve.placement.gang_search import place_on
from reprieve.placement.place import Placement
from reprieve.preemption.criteria import BUDGETS_BROKEN, HIGHEST_PRIORITY, LOST_WORK, Cost, Criterion
from reprieve.preemption.domain_plan import Planning
from reprieve.preemption.least_disturbance.counted_bound import CountedBound
from reprieve.preemption.least_disturbance.deferral import Deferral, Remembered
from reprieve.preemption.least_disturbance.first_plan import Rooms, begun, worth_solving
from reprieve.preemption.least_disturbance.improve import Improved, Solution
from reprieve.preemption.least_disturbance.model import RoomModel
from reprieve.preemption.least_disturbance.model_of_question import Reach, RoomsInReach, model_of, reach_of
from reprieve.preemption.least_disturbance.solver_task import room_of
from reprieve.preemption.plan import Plan, Quality

_NODES_TWICE = 1000  # of more nodes, the usual plan is not made again for a room that has grown
_RETRIES = 3  # after solutions of a model that constraints beyond room forbid


@dataclass(frozen=True, slots=True, eq=False)
class TreeChoice:
    gang: Demand
    members: tuple[int, ...]  # the positions of its pods in the tree
    of: int  # how many pods the tree has

    def narrowed(self, placement: Placement) -> Placement:
        """A placement of the tree's pods that has no others, as one of the gang's."""
        positions = {member: i for i, member in enumerate(self.members)}
        nodes = tuple(placement.nodes[member] for member in self.members)
        return Placement(nodes, tuple(positions[member] for member in placement.turns))

    def widened(self, placement: Placement) -> Placement:
        nodes = [NOWHERE] * self.of
        for member, node in zip(self.members, placement.nodes, strict=True):
            nodes[member] = node
        return Placement(tuple(nodes), tuple(self.members[i] for i in placement.turns))


def choice_of(demand: Demand, view: Snapshot, nodes: Sequence[int]) -> TreeChoice:
    """``nodes``: of a placement that meets the tree."""
    assert demand.tree is not None
    everywhere = np.ones(len(view.nodes), np.bool_)
    masks = dict(_within(demand.tree, view, nodes, everywhere))
    members = tuple(sorted(masks))
    gang = replace(
        demand.with_members(members, needed=len(members)),
        within=tuple(masks[member] for member in members),
        is_one_of_several=not demand.tree.leaves_no_choice,
    )
    return TreeChoice(gang, members, len(demand.pods))


def _within(group: Branch, view: Snapshot, nodes: Sequence[int], mask: Mask) -> Iterator[tuple[int, Mask]]:
    there = [nodes[position] for position in group.positions() if nodes[position] != NOWHERE]
    if not there:
        return
    if group.allowed is not None:
        mask = mask & group.allowed
    if group.topology_key:
        codes = view.nodes.label(group.topology_key).codes
        mask = mask & (codes == codes[there[0]])
    yield from ((member, mask) for member in group.members if nodes[member] != NOWHERE)
    for child in group.children:
        yield from _within(child, view, nodes, mask)


@dataclass(frozen=True, slots=True, eq=False)
class LeastDisturbancePlanning:
    """A plan in the making. ``planning`` makes the usual plan, and realises what is found in a model."""

    planning: Planning

    def plan(self, placement: Placement) -> Plan:
        """``placement``: where the demand goes without all units that may be evicted."""
        if self.planning.question.demand.tree is not None:
            return self._of_tree(placement)
        if (known := self._as_remembered(placement)) is not None:
            return known
        return self._less_disturbing(placement, self.planning.by_ceiling(placement))

    def _less_disturbing(self, placement: Placement, usual: Plan) -> Plan:
        """The plan that disturbs least, of these and of those that a search in a model of the room finds."""
        planning, question = self.planning, self.planning.question
        reach = self._reach(self._ceiling(usual))
        # Where not all members are needed, the usual plan may have room for fewer than fit without all units.
        target = sum(node != NOWHERE for node in usual.placement.nodes)
        counted, strict = self._counted(reach, target), question.policy.breaks_no_budget
        bound = counted.below(question.criteria, usual.cost)
        effort = question.demand.effort.lent(all_of_it=not question.demand.topology_key)
        # Where room is not what is missing, a model of the room knows no better plan.
        if counted.has_room or (not (strict and usual.broken) and _meet(bound, usual.cost)):
            return replace(usual, quality=self._quality(usual, usual, bound, reach, effort.spent))
        rooms = RoomsInReach(question, planning.evictable, reach, target)
        deferral, spent = self._deferral, question.demand.effort.spent
        asked = len(deferral.rooms)
        model, start = begun(rooms, partial(_solution, usual))
        first = self._realised(start, model) if start is not None else None
        plans = [usual] if first is None else [usual, first]
        if not _priority_leads(question.criteria):
            plans.append(planning.plan_evicting(placement, planning.local))
        plan = min(plans, key=lambda one: (strict and one.broken > 0, one.cost))
        bound = bound if plan is usual else counted.below(question.criteria, plan.cost)
        if (strict and plan.broken) or not _meet(bound, plan.cost):
            found, other = self._sought(plan, rooms, model, (start, first), effort)
            if question.demand.effort.units:  # where there is none, one record stands for all demands
                # Also if nothing was spent: that a solver has not answered costs nothing.
                question.demand.effort.returned(effort)
            if not (found.proved or found.awaited):
                plans.append(planning.plan_evicting(placement, planning.local))
            plans += [other] if other is not None else []
            before, plan = plan, min(plans, key=lambda one: (strict and one.broken > 0, one.cost))
            bound = bound if plan is before else counted.below(question.criteria, plan.cost)
            bound = max(found.bound, bound)
        quality = self._quality(plan, usual, bound, reach, effort.spent)
        for _, highest in deferral.rooms[asked : asked + 1]:
            named = tuple(unit.name for unit in plan.victims), self._named(plan.places)
            remembered = Remembered(*named, quality, highest, target, spent, self._left(reach))
            deferral.noted[planning.domain.name] = remembered
        return replace(plan, quality=quality)

    def _quality(self, plan: Plan, usual: Plan, bound: Sequence[float], reach: Reach, spent: int) -> Quality:
        """Bound and proof are about room alone: with other constraints between pods nothing is claimed."""
        names = [criterion.name for criterion in plan.cost.order]
        return Quality(
            cost=plan.cost.named(),
            bound=tuple(zip(names, bound, strict=False)) if reach.is_exact else (),
            proved=reach.is_exact and _meet(bound, plan.cost),
            effort=spent,
            ceiling_cost=usual.cost.named(),
        )

    def _counted(self, reach: Reach, target: int) -> CountedBound:
        view, demand = self.planning.question.view, self.planning.question.demand
        requests = view.pods.requests[reach.resource_rows][:, list(demand.pods)]
        return CountedBound(self.planning.evictable, reach, requests, target)

    @property
    def _deferral(self) -> Deferral:
        return self.planning.question.policy.deferral or Deferral(0.0)

    def _reach(self, ceiling: float) -> Reach:
        return reach_of(self.planning.question, self.planning.evictable, self.planning.domain.nodes, ceiling)

    def _left(self, reach: Reach) -> dict[str, Sequence[int]]:
        names = self.planning.question.view.nodes.names
        return dict(zip((names[node] for node in reach.nodes.tolist()), reach.left.tolist(), strict=True))

    # --- what an earlier decision found ---

    def _as_remembered(self, placement: Placement) -> Plan | None:
        """The plan that an earlier decision made here, or a better one that a solver has found since.

        Or one that is made anew, where there is more room than before. None if none of the earlier ones holds
        any more, or if the best costs more now: then it is searched anew. Work that is lost grows by the time
        between the decisions, for all plans alike, and is no reason.
        """
        planning, question, deferral = self.planning, self.planning.question, self._deferral
        evictable = planning.evictable
        first = deferral.earlier.get(planning.domain.name)
        if first is None:
            return None
        answers = [one for one in deferral.answers if one.units is not None]
        numbers = planning.named({*first.victims, *(name for one in answers for name in one.units or ())})
        reach = self._reach(first.solved)
        model = model_of(question, evictable, reach, first.target)
        room = room_of(model, evictable.units)
        wanted = [(first.victims, self._positions(first.places))]
        wanted += [(one.units or (), room.seats(one)) for one in answers]
        strict = question.policy.breaks_no_budget
        again = (
            self._realised_without([numbers[name] for name in victims if name in numbers], seats)
            for victims, seats in wanted
            if seats is not None
        )
        plans = [plan for plan in again if plan is not None and not (strict and plan.broken)]
        if not plans:
            return None
        before = question.demand.effort.spent
        known = deferral.known_of(room, first, question.demand.effort)
        simple = None if known.proved else planning.plan_evicting(placement, planning.local)
        more = [simple] if simple is not None else []
        if _has_grown(self._left(reach), first.left):
            more += self._made_anew(placement, RoomsInReach(question, evictable, reach, first.target))
        plans += [one for one in more if not (strict and one.broken)]
        plan = min(plans, key=lambda one: one.cost)
        if _lasting(plan.cost) > tuple(first.cost[: len(_lasting(plan.cost))]):
            return None
        counted = self._counted(reach, first.target).below(question.criteria, plan.cost)
        spent = question.demand.effort.spent - max(before, first.spent)
        quality = self._quality(plan, plan, max(known.bound, counted), reach, spent)
        return replace(plan, quality=replace(quality, ceiling_cost=first.quality.ceiling_cost))

    def _made_anew(self, placement: Placement, rooms: Rooms) -> Iterator[Plan]:
        """Plans for a room that has grown: pods have left, so that perhaps fewer have to go.

        In a large cluster the usual plan takes too long to be made twice.
        """
        model, start = begun(rooms, lambda _: None)
        first = self._realised(start, model) if start is not None else None
        if first is not None:
            yield first
        if len(self.planning.question.view.nodes) <= _NODES_TWICE:
            yield self.planning.by_ceiling(placement)

    def _named(self, places: Iterable[tuple[int, int]]) -> tuple[tuple[ObjectKey, str], ...]:
        pods, nodes = self.planning.question.view.pods, self.planning.question.view.nodes
        metas = ((pods.compiled[pod].pod.metadata, nodes.names[node]) for pod, node in places)
        return tuple(((meta.namespace, meta.name), node) for meta, node in metas)

    def _positions(self, places: Iterable[tuple[ObjectKey, str]]) -> list[tuple[int, int]] | None:
        """Members (positions) and nodes (rows); None if one of them is not there any more."""
        view, demand = self.planning.question.view, self.planning.question.demand
        position_of = {pod: position for position, pod in enumerate(demand.pods)}
        rows = ((view.pods.rows.get(pod, NOWHERE), view.nodes.rows.get(node)) for pod, node in places)
        found = [(position_of.get(pod), node) for pod, node in rows]
        there = [(member, node) for member, node in found if member is not None and node is not None]
        return there if len(there) == len(found) else None

    # --- a search in a model ---

    def _ceiling(self, plan: Plan) -> float:
        """No plan that evicts units above this priority is better than this one.

        For if it costs nothing by the criteria that come before the priority, none is better by them.
        """
        if plan.broken or not _priority_leads(self.planning.question.criteria):
            return math.inf
        return max((unit.priority for unit in plan.victims), default=-math.inf)

    def _sought(  # noqa: PLR0913, PLR0917  calls itself with a model that knows more
        self,
        plan: Plan,
        rooms: Rooms,
        model: RoomModel,
        known: tuple[Solution | None, Plan | None],
        effort: Effort,
        retries: int = _RETRIES,
    ) -> tuple[Improved, Plan | None]:
        """What is found in one of the models, and the plan that it makes. ``known``: the same of the first.

        Where constraints beyond room forbid what was found, it is cut off from the model, which is exact no
        longer, and something else is sought.
        """
        start, first = known
        if effort.units <= effort.spent:  # a first plan is all that can be found
            return Improved(start), None
        improve = self.planning.question.policy.improving(self.planning.evictable.units)
        found = improve(worth_solving(model, start), start, effort)
        other = first
        if found.best is not start:
            other = self._realised(found.best, model) if found.best is not None else None
        if other is not None or found.best is None or found.best == _solution(plan, model):
            return found, other
        if not retries:
            return replace(found, bound=(), proved=False), None
        barred = rooms.below(math.inf).without_success(found.best.units)
        model, start = begun(barred, partial(_solution, plan))
        first = self._realised(start, model) if start is not None else None
        found, other = self._sought(plan, barred, model, (start, first), effort, retries - 1)
        return replace(found, bound=(), proved=False), other

    def _realised(self, solution: Solution, model: RoomModel) -> Plan | None:
        """A plan that evicts no more than the solution does, checked against all constraints."""
        seats = model.nodes_for(solution.seats) if len(model.needs) > 1 else []
        return self._realised_without(solution.units, seats)

    def _realised_without(self, numbers: Sequence[int], seats: Sequence[tuple[int, int]]) -> Plan | None:
        """The plan without units of these numbers, as far as they may be evicted."""
        planning = self.planning
        taken = planning.local & planning.evictable.units.mask(np.array(numbers, np.int64))
        placement = self._seated(taken, seats) if seats else self.planning.place(taken)
        return self.planning.plan_evicting(placement, taken) if placement is not None else None

    def _seated(self, taken: Mask, seats: Sequence[tuple[int, int]]) -> Placement | None:
        """Members on given nodes, and the others that are wanted wherever they fit."""
        question = self.planning.question
        demand = replace(question.demand, allowed=self.planning.domain.nodes)
        view = without(question.view, self.planning.pods_of(taken))
        return place_on(seats, demand, view, question.profile, question.policy.choose)

    # --- a tree as a gang ---

    def _of_tree(self, placement: Placement) -> Plan:
        """The model knows gangs: pods that are placed, and the domains of their groups, stay as they are."""
        planning = self.planning
        if (places := self._remembered_places()) is not None:
            choice = self._choice_of(places)
            gang = self._for_gang(choice)
            anywhere = gang.planning.place(planning.local)
            known = gang._as_remembered(anywhere) if anywhere is not None else None
            if known is not None:
                return self._widened(known, choice)
        plan = planning.by_ceiling(placement)
        choice = self._choice_of(plan.placement.nodes)
        there = choice.narrowed(plan.placement)
        usual = replace(plan, placement=there, pods=choice.gang.pods)
        return self._widened(self._for_gang(choice)._less_disturbing(there, usual), choice)

    def _choice_of(self, nodes: Sequence[int]) -> TreeChoice:
        question = self.planning.question
        return choice_of(replace(question.demand, allowed=self.planning.domain.nodes), question.view, nodes)

    def _for_gang(self, choice: TreeChoice) -> "LeastDisturbancePlanning":
        question = replace(self.planning.question, demand=choice.gang)
        return LeastDisturbancePlanning(replace(self.planning, question=question))

    def _widened(self, plan: Plan, choice: TreeChoice) -> Plan:
        pods = self.planning.question.demand.pods
        return replace(plan, placement=choice.widened(plan.placement), pods=pods)

    def _remembered_places(self) -> tuple[int, ...] | None:
        """The nodes of pods by the plan that an earlier decision made here, if it still meets the tree."""
        view, demand = self.planning.question.view, self.planning.question.demand
        first = self._deferral.earlier.get(self.planning.domain.name)
        places = self._positions(first.places) if first is not None else None
        if places is None:
            return None
        nodes = [NOWHERE] * len(demand.pods)
        for position, node in places:
            nodes[position] = node
        keeps = demand.tree is None or demand.tree.keeps_domains(view, nodes)
        return tuple(nodes) if keeps and demand.is_met_by(nodes) else None


def _solution(plan: Plan, model: RoomModel) -> Solution | None:
    """The plan in words of the model, if the model has all of its victims."""
    units = tuple(sorted(unit.number for unit in plan.victims))
    if model.counts_of(units) is None:
        return None
    return Solution(units, model.seats_of(plan.placement.nodes))


def _has_grown(left: Mapping[str, Sequence[int]], before: Mapping[str, Sequence[int]]) -> bool:
    """Whether a node has more room than before, or is new."""
    return any(node not in before or any(map(gt, have, before[node])) for node, have in left.items())


def _meet(bound: Sequence[float], cost: Cost) -> bool:
    """Whether no plan is below this one, by any criterion."""
    return len(bound) == len(cost) and tuple(bound) == tuple(cost)


def _lasting(cost: Cost) -> tuple[float, ...]:
    """By the criteria before lost work, which grows with time; those after it decide only where it ties."""
    place = cost.order.index(LOST_WORK) if LOST_WORK in cost.order else len(cost)
    return tuple(cost[:place])


def _priority_leads(order: Sequence[Criterion]) -> bool:
    """Whether nothing but budgets comes before the priority, as for ``PriorityCeiling``."""
    if HIGHEST_PRIORITY not in order:
        return False
    return {*order[: order.index(HIGHEST_PRIORITY)]} <= {BUDGETS_BROKEN}
