"""The plan within one domain: place the demand without units that may go, then reprieve those that can stay.

A domain is a node, a value of a topology key, or the cluster.
"""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.model.snapshot import NOWHERE, on_nodes
from reprieve.model.whatif import without
from reprieve.placement.demand import Ask
from reprieve.placement.domains import Domain, place_within
from reprieve.placement.effort import price_of_placing
from reprieve.placement.place import Placement
from reprieve.placement.rating import Choose, Least
from reprieve.preemption.budgets import Counting, InOrder, Joint, UnitShares
from reprieve.preemption.criteria import Cost
from reprieve.preemption.gangs import GangTally
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import BudgetCounting, Question
from reprieve.preemption.prices import Evictable, UpstreamOrder
from reprieve.preemption.reprieve import PlacedDemand, RoomAndPorts, Trial, counts_room, trial
from reprieve.preemption.units import Listing, Unit, numbers_of


def begun_in(
    domain: Domain, question: Question, evictable: Evictable, *, by_room: bool
) -> "tuple[Planning, Placement] | None":
    """The planning with all units that may be evicted there, and where the demand is placed without them."""
    units, allowed = evictable.units, evictable.allowed
    touching = units.touching(domain.nodes)
    local = touching[allowed[touching]]
    planning = Planning(question, domain, evictable, units.mask(local), by_room)
    placement = planning.place_without(units.pods_of(local)) if len(local) else None
    return (planning, placement) if placement is not None else None


@dataclass(frozen=True, slots=True, eq=False)
class AtRisk:
    """Units of which some cannot be put back.

    Most that are charged to a budget are nowhere near the nodes in use, and nothing keeps them from being put
    back. They have their turn, too, since it changes what the others break.
    """

    order: Sequence[int]  # numbers, the most important first
    near: Mapping[int, Unit]  # those that the demand may need gone
    shares: UnitShares  # of all units that are gone, in the budgets that these exceed

    def of(self, victims: Sequence[Unit]) -> "AtRisk":
        return replace(self, order=[unit.number for unit in victims])


@dataclass(frozen=True, slots=True, eq=False)
class Planning:
    """A plan in the making, from the units of the domain that may be evicted.

    There may be tens of thousands, so that sets of them are masks, and few are listed.
    """

    question: Question
    domain: Domain
    evictable: Evictable
    local: Mask  # [unit] whether it may be evicted, and has pods in the domain. So are all masks here
    by_room: bool  # the domain is a node where nothing but room and ports is missing

    def listed(self, chosen: Mask) -> Sequence[Unit]:
        """The most important first."""
        return self.evictable.units.listed(np.flatnonzero(chosen & self.local))

    def named(self, names: Collection[str]) -> dict[str, int]:
        """The numbers of the units that have these names, as far as they may be evicted."""
        numbers = np.flatnonzero(self.local)
        found = zip(self.evictable.units.names(numbers), numbers.tolist(), strict=True)
        return {name: number for name, number in found if name in names}

    def pods_of(self, chosen: Mask) -> Ints:
        """The rows of all pods of these units ([unit])."""
        return self.evictable.units.pods_of(np.flatnonzero(chosen))

    def place(self, gone: Mask) -> Placement | None:
        """Where the demand would go in this domain if these units were gone."""
        return self.place_without(self.pods_of(gone))

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
        risky = self._at_risk(placement, self.local)
        plan = self.below_ceiling(placement, self.local, risky)
        plan = self.or_around_budgets(plan) if plan.broken else plan
        ends_gangs = plan.gangs_broken > 0
        plan = self.or_as_upstream(plan, placement, risky)
        plan = self.or_sparing_gangs(plan, placement) if ends_gangs or plan.gangs_broken else plan
        return self.or_elsewhere(plan) if len(self.question.demand.pods) > 1 else plan

    def below_ceiling(self, placement: Placement, taken: Mask, risky: AtRisk) -> Plan:
        """Reprieves units that break budgets, then all above the lowest priority that leaves enough room.

        ``risky``: those of the units that are at risk. A demand of several pods may be placed elsewhere then,
        and that may cost more than it saves.
        """
        spared = _breakers_spared(risky, self._trial(placement, taken), self._counting(risky))
        left = taken.copy()
        left[[*spared]] = False
        found = self._lowest(left, taken, placement)
        if found is None:
            return self.plan_evicting(placement, left)
        below = self.plan_evicting(found.placement, found.taken, found.ceiling)
        if found.placement == placement:
            return below
        return min(below, self.plan_evicting(placement, left), key=_cost)

    def or_around_budgets(self, plan: Plan) -> Plan:
        """This plan, or a better one for several pods, placed around the budgets that it breaks."""
        if len(self.question.demand.pods) == 1:
            return plan
        harmless = self._within_budgets(self.local)
        placement = self.place(harmless)
        if placement is None:
            return plan
        risky = self._at_risk(placement, harmless)
        return min(plan, self.below_ceiling(placement, harmless, risky), key=_cost)

    def or_as_upstream(self, plan: Plan, placement: Placement, risky: AtRisk) -> Plan:
        """This plan, or a better one with units reprieved in kube-scheduler's order.

        The order in which units are reprieved decides which of them still fit, and no order is always best.
        So no plan is worse than kube-scheduler's own.
        """
        upstream = self.evictable.upstream
        if upstream is None:
            return plan
        ranked, ours = self._as_ranked_by(upstream, risky), self._counting(risky)
        counting = InOrder(upstream.accounts, ranked.order, upstream.units)
        if _tried(ranked.order, counting) == _tried(risky.order, ours):
            return plan
        theirs = self._plan_evicting(placement, ranked, self._trial(placement, self.local), counting)
        broken = ours.broken(theirs.victims)
        theirs = replace(theirs, broken=broken, cost=self.evictable.prices.of(theirs.victims, broken))
        return min(plan, theirs, key=_cost)

    def _as_ranked_by(self, upstream: UpstreamOrder, risky: AtRisk) -> AtRisk:
        pods, numbers = self.question.view.pods, np.array(risky.order, np.int64)
        if not pods.groups.codes[numbers[numbers < len(pods)]].any():
            return risky
        return replace(risky, order=upstream.units.in_order(numbers).tolist())

    def or_sparing_gangs(self, plan: Plan, placement: Placement) -> Plan:
        """This plan, or a better one that leaves no gang with too few pods: other units may do just as well.

        Pods that gangs need are put back before all others: in the order of importance, and if gangs still
        have too few, the smallest first, for a large pod may leave no room for another that is needed, too.
        """
        requests = self.question.view.pods.requests
        near = self._in_the_way(placement)
        for by_size in (False, True):
            if by_size:
                near = sorted(near, key=lambda unit: requests[:, list(unit.pods)].sum(axis=1).tolist())
            left = self._not_needed_by_gangs(placement, near)
            if self.question.policy.search.has_ceiling:
                other = self.below_ceiling(placement, left, self._at_risk(placement, left))
            else:
                other = self.plan_evicting(placement, left)
            plan = min(plan, other, key=_cost)
            if not other.gangs_broken:
                break
        return plan

    def _in_the_way(self, placement: Placement) -> Sequence[Unit]:
        """The units that may have to go: all others can stay, whatever the demand needs."""
        if not counts_room(self.question.demand):
            return self.listed(self.local)
        return self.listed(self.evictable.units.with_any(self._used(placement) | self.evictable.matter))

    def _not_needed_by_gangs(self, placement: Placement, order: Sequence[Unit]) -> Mask:
        """[unit] those that are left if some stay so that gangs keep as many pods as they need."""
        gangs, left = self.evictable.gangs, self.local.copy()
        test = self._trial(placement, left)
        tally = GangTally(gangs, order) if gangs is not None else None
        for unit in order:
            if tally is not None and tally.needs(unit) and test.put_back(unit):
                left[unit.number] = False
                tally.put_back(unit)
        return left

    def or_elsewhere(self, plan: Plan) -> Plan:
        """This plan, or a better one on other nodes: members were placed as if all units were gone.

        The second placement prefers nodes where the least must go, and is skipped if the first one is on such
        nodes by chance. Each further one avoids the node of the one before that cost most.
        """
        question, nodes = self.question, self.domain.nodes.copy()
        share = question.demand.effort.share()
        price = price_of_placing(len(question.demand.pods), len(nodes))
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
            other = self.plan_evicting(placement, taken, plan.ceiling)
            nodes[self._dearest_node(other)] = False
            plan = min(plan, other, key=_cost)
        return plan

    def _is_least_short(self, plan: Plan) -> bool:
        """Whether no other nodes lack less for a first member than those of the plan."""
        question, used = self.question, sorted({node for _, node in plan.places})
        short = _shortage(
            Ask(question.view, question.demand.pods[0], question.profile), question.view.requested
        )
        least = np.partition(short[self.domain.nodes], len(used) - 1)[: len(used)]
        return bool(short[used].sum() <= least.sum())

    def _no_worse_than(self, plan: Plan) -> Mask:
        """[unit] whether its eviction exceeds no budget and no priority that the plan does not."""
        taken = self._up_to(plan.victims[0].priority, self.local)
        return taken if plan.broken else self._within_budgets(taken)

    def _up_to(self, ceiling: int, units: Mask) -> Mask:
        """[unit] those of these units that have no higher priority."""
        mask: Mask = units & (self.evictable.units.priority <= ceiling)
        return mask

    def _within_budgets(self, units: Mask) -> Mask:
        """The units ([unit]) whose eviction alone exceeds no budget."""
        if self.question.policy.budgets is BudgetCounting.UPSTREAM:
            of = self.evictable.units
            order = of.in_order(np.flatnonzero(self.local)).tolist()
            counting = InOrder(self.evictable.accounts, order, of)
            return units & ~of.mask(np.array([unit for unit in order if counting.breaks(unit)], np.int64))
        return units & ~self.evictable.shares.unaffordable()

    def _where_least_goes(self, taken: Mask, nodes: Mask) -> Placement | None:
        question = self.question
        emptied = without(question.view, self.pods_of(taken))
        choose = least_short(question.view.requested - emptied.requested, question.policy.choose)
        demand = replace(question.demand, allowed=nodes)
        placed = place_within(demand, emptied, question.profile, choose)
        return placed if isinstance(placed, Placement) else None

    def _dearest_node(self, plan: Plan) -> int:
        """The node in use that the most victims go for; a unit counts in part for each of its nodes."""
        price, where = dict.fromkeys((node for _, node in plan.places), 0.0), self.question.view.where
        for unit in plan.victims:
            there = {node for node in where[list(unit.pods)].tolist() if node in price}
            for node in there:
                price[node] += len(unit.pods) / len(there)
        return max(price, key=lambda node: (price[node], self.question.view.nodes.rank[node]))

    def _lowest(self, left: Mask, taken: Mask, placement: Placement) -> "_Below | None":
        """The lowest priority such that the demand fits with no unit above it gone.

        left       [unit]  those that may go
        taken      [unit]  those without which it fits where ``placement`` puts it
        """
        ceilings: list[int] = np.unique(self.evictable.units.priority[left]).tolist()

        @cache
        def below(ceiling: int) -> _Below | None:
            gone = self._up_to(ceiling, left)
            there = placement if np.array_equal(gone, taken) else self.place(gone)
            return _Below(ceiling, gone, there) if there is not None else None

        # Each try places the demand anew, so where the answers are monotone in the ceiling, it is bisected.
        if more_room_never_hurts(self.question, self.evictable.matter):
            ceilings = ceilings[bisect_left(ceilings, True, key=lambda c: below(c) is not None) :]
        return next((found for c in ceilings if (found := below(c)) is not None), None)

    def plan_evicting(self, placement: Placement, taken: Mask, ceiling: int | None = None) -> Plan:
        """The plan that evicts those of these units that cannot be put back.

        If there are none, the demand fits as things are, though not where it was tried first.
        """
        risky = self._at_risk(placement, taken)
        return self._plan_evicting(
            placement, risky, self._trial(placement, taken), self._counting(risky), ceiling
        )

    def _plan_evicting(
        self,
        placement: Placement,
        risky: AtRisk,
        test: Trial,
        counting: Counting,
        ceiling: int | None = None,
    ) -> Plan:
        victims = _sweep(risky, test, counting)
        if self.question.policy.search.tries_again:
            # Putting one back can make room for another where constraints look beyond one node.
            while len(fewer := _sweep(risky.of(victims), test, counting)) < len(victims):
                victims = fewer
        units = self.evictable.units
        gone, broken = units.mask(numbers_of(victims)), counting.broken(victims)
        listed = tuple(self.listed(gone))
        return Plan(
            domain=self.domain.name,
            placement=placement,
            victims=listed,
            spared=Listing(units, np.flatnonzero(self.local & ~gone)),
            broken=broken,
            ceiling=ceiling,
            pods=self.question.demand.pods,
            gangs_broken=self.evictable.gangs.broken(victims) if self.evictable.gangs is not None else 0,
            cost=self.evictable.prices.of(listed, broken),
        )

    def _at_risk(self, placement: Placement, taken: Mask) -> AtRisk:
        """Of these units, those that may not be put back, and those with which they share a budget.

        All others can be put back in any order, and make no difference to these.
        """
        question, units, near = self.question, self.evictable.units, taken
        if np.count_nonzero(taken) > question.shortcuts.units and counts_room(question.demand):
            near = taken & units.with_any(self._used(placement) | self.evictable.matter)
        shares, listed = self.evictable.shares.exceeding(taken), self.listed(near)
        order = [unit.number for unit in listed]
        if shares and not near[shares.unit].all():
            order = units.in_order(np.union1d(order, shares.unit)).tolist()
        return AtRisk(order, {unit.number: unit for unit in listed}, shares)

    def _used(self, placement: Placement) -> Mask:
        """[pod] whether it runs on a node in use."""
        return on_nodes(self.question.view, [node for node in placement.nodes if node != NOWHERE])

    def _counting(self, going: AtRisk) -> Counting:
        if self.question.policy.budgets is BudgetCounting.UPSTREAM:
            return InOrder(self.evictable.accounts, going.order, self.evictable.units)
        return Joint(self.evictable.accounts, going.shares)

    def _trial(self, placement: Placement, gone: Mask) -> Trial:
        placed = self._settled(placement, self.pods_of(gone))
        return RoomAndPorts(placed) if self.by_room else trial(placed, self.evictable.matter)

    def _settled(self, placement: Placement, gone: Ints) -> PlacedDemand:
        question = self.question
        return PlacedDemand(question.demand, placement, question.profile, question.view, gone)


def _cost(plan: Plan) -> Cost:
    return plan.cost


def least_short(freed: Ints, choose: Choose) -> Choose:
    """Prefers nodes that would be short of the least, if the pods stayed that count as gone.

    freed  [resource, node]  what these pods use
    """
    return Least(lambda ask: _shortage(ask, ask.view.requested + freed), choose)


def _shortage(ask: Ask, requested: Ints) -> Floats:
    """[node] what it lacks for the pod, in shares of what the pod needs: of all resources the largest share.

    requested  [resource, node]  by other pods
    """
    needs = ask.view.pods.requests[:, ask.pod]
    asked = needs > 0
    lack = needs[asked, None] - (ask.view.allocatable[asked] - requested[asked])
    short: Floats = (np.maximum(lack, 0) / needs[asked, None]).max(axis=0, initial=0.0)
    return short


def more_room_never_hurts(question: Question, matter: Mask) -> bool:
    """Whether a demand that fits also fits with more units gone.

    Feasibility is monotone in the victims if the demand's pods are identical and no other pod matters
    ([pod]). Otherwise a victim may be the very pod that the demand has an affinity to. Groups of a tree take
    room from each other, and more room may mean that the first take more.
    """
    pods = question.view.pods
    if question.demand.tree is not None:
        return False
    return len({pods.shape(pod) for pod in question.demand.pods}) == 1 and not matter.any()


@dataclass(frozen=True, slots=True, eq=False)
class _Below:
    """The units up to a priority are gone, and the demand fits."""

    ceiling: int
    taken: Mask
    placement: Placement


def _sweep(risky: AtRisk, test: Trial, counting: Counting) -> list[Unit]:
    """The units that cannot be put back, after those that break budgets had the first chance."""
    spared, victims = _breakers_spared(risky, test, counting), list[Unit]()
    for number in risky.order:
        if number in spared:
            continue
        unit = risky.near.get(number)
        if unit is None or (not counting.breaks(number) and test.put_back(unit)):
            counting.refund(number)
        else:
            victims.append(unit)
    return victims


def _breakers_spared(risky: AtRisk, test: Trial, counting: Counting) -> set[int]:
    near, spared = risky.near, set[int]()
    for number in counting.first_chance([n for n in risky.order if counting.breaks(n)]):
        if counting.breaks(number) and (number not in near or test.put_back(near[number])):
            counting.refund(number)
            spared.add(number)
    return spared


def _tried(order: Sequence[int], counting: Counting) -> list[int]:
    """Units in the order in which they are put back, as long as none is reprieved."""
    first = counting.first_chance([unit for unit in order if counting.breaks(unit)])
    others = {*first}
    return [*first, *(unit for unit in order if unit not in others)]
