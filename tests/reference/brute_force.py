"""The search as the design tells it, without any shortcut, and the best plan there is, by trying all.

For small worlds only: the one asks every constraint for every unit, the other looks at every set of victims.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
from msgspec import structs

from reprieve.model.snapshot import Snapshot
from reprieve.model.whatif import with_pod, without
from reprieve.placement.demand import Ask
from reprieve.placement.domains import Domain
from reprieve.placement.gang_search import place_in_any_order
from reprieve.placement.place import Placement, survey
from reprieve.preemption.budgets import InOrder
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Question
from reprieve.preemption.prices import Evictable
from reprieve.preemption.reprieve import holds
from reprieve.preemption.search import domains
from reprieve.preemption.units import Unit, UnitKind
from tests.reference.plain.members import importance, leaf_of, too_small

Units = tuple[Unit, ...]


def touching(domain: Domain, question: Question, evictable: Evictable) -> Units:
    """Eligible units with a pod in the domain, the most important first."""
    numbers = [int(n) for n in np.flatnonzero(evictable.allowed)]
    units = [evictable.units.unit(number) for number in numbers]
    where = question.view.where
    local = (unit for unit in units if any(domain.nodes[where[pod]] for pod in unit.pods))
    return tuple(sorted(local, key=partial(importance, evictable.units)))


def upstream_importance(unit: Unit) -> tuple[int, int, int, float, list[str]]:
    return -unit.priority, -unit.kind, -len(unit.pods), unit.start, unit.name.split("/")


def gone(view: Snapshot, units: Iterable[Unit]) -> Snapshot:
    return without(view, [pod for unit in units for pod in unit.pods])


Rank = tuple[tuple[float, ...], str]


def _rank(plan: Plan) -> Rank:
    return tuple(plan.cost), plan.domain


# --- the algorithm, step by step -----------------------------------------------------------------


class PlainSearch:
    def __init__(self, question: Question, domain: Domain, evictable: Evictable) -> None:
        self._question, self._domain, self._evictable = question, domain, evictable
        self._local = touching(domain, question, evictable)

    def plan(self) -> Plan | None:
        """With all removed; if that breaks budgets, also around their breakers; and in another order."""
        plan = self._plan(self._local) if self._local else None
        if plan is None:
            return None
        if plan.broken and len(plan.pods) > 1:
            kinder = self._plan(tuple(unit for unit in self._local if not self._broken([unit])))
            plan = min(plan, kinder, key=_rank) if kinder is not None else plan
        rival, ends_gangs = self._rival_plan(), plan.gangs_broken
        plan = min(plan, rival, key=_rank) if rival is not None else plan
        return self._kinder_to_gangs(plan) if ends_gangs or plan.gangs_broken else plan

    def _kinder_to_gangs(self, plan: Plan) -> Plan:
        """Pods that gangs need are put back first: the most important, or else the smallest."""
        placement = self._place(self._local)
        assert placement is not None
        for order in (self._local, sorted(self._local, key=self._size)):
            needed = self._needed_by_gangs(placement, order)
            other = self._below_ceiling(placement, tuple(unit for unit in self._local if unit not in needed))
            plan = min(plan, other, key=_rank)
            if not other.gangs_broken:
                break
        return plan

    def _size(self, unit: Unit) -> list[int]:
        requests = self._question.view.pods.requests
        return [int(amounts[list(unit.pods)].sum()) for amounts in requests]

    def _needed_by_gangs(self, placement: Placement, order: Iterable[Unit]) -> list[Unit]:
        """Units elsewhere need not go, so that they count for no gang as going."""
        units, where, used = self._evictable.units, self._question.view.where, set(placement.nodes)
        matter, kept = self._evictable.matter, list[Unit]()
        near = [u for u in order if any(where[pod] in used or matter[pod] for pod in u.pods)]
        for unit in near:
            going = [other for other in near if other not in kept]
            is_needed = leaf_of(units, unit) in too_small(units, going)
            rest = [other for other in self._local if other not in kept and other is not unit]
            if is_needed and self._fits(placement, rest):
                kept.append(unit)
        return kept

    def _plan(self, taken: Units) -> Plan | None:
        """With budget breakers spared, then with none above the ceiling removed, or as first placed."""
        placement = self._place(taken)
        return self._below_ceiling(placement, taken) if placement is not None else None

    def _below_ceiling(self, placement: Placement, taken: Units) -> Plan:
        left = self._without_breakers(placement, taken)
        first = self._reprieve(placement, left, None)
        for ceiling in sorted({unit.priority for unit in left}):
            taken = tuple(unit for unit in left if unit.priority <= ceiling)
            found = self._place(taken)
            if found is not None:
                below = self._reprieve(found, taken, ceiling)
                return below if found == placement else min(below, first, key=_rank)
        return first

    def _place(self, taken: Units) -> Placement | None:
        question = self._question
        demand = replace(question.demand, allowed=self._domain.nodes)
        found = place_in_any_order(demand, gone(question.view, taken), question.profile)
        return found if isinstance(found, Placement) else None

    def _fits(self, placement: Placement, still_gone: Iterable[Unit]) -> bool:
        question = self._question
        return holds(question.demand, placement, gone(question.view, still_gone), question.profile)

    def _broken(self, units: Iterable[Unit]) -> int:
        return self._evictable.accounts.exceeded_by(units)

    def _without_breakers(self, placement: Placement, taken: Units) -> Units:
        """Units that break a budget are spared if they can be, the most harmful first."""
        left = taken
        for unit in sorted(taken, key=lambda u: -self._broken([u])):
            rest = tuple(u for u in left if u is not unit)
            if self._broken(rest) < self._broken(left) and self._fits(placement, rest):
                left = rest
        return left

    def _reprieve(self, placement: Placement, taken: Units, ceiling: int | None) -> Plan:
        """Puts back every unit that can be, again and again until none can."""
        victims, before = taken, None
        while victims != before:
            before = victims
            victims = self._without_breakers(placement, victims)
            for unit in victims:
                rest = tuple(u for u in victims if u is not unit)
                if self._broken(rest) == self._broken(victims) and self._fits(placement, rest):
                    victims = rest
        return self._told(placement, victims, ceiling)

    def _rival_plan(self) -> Plan | None:
        """As kube-scheduler would put them back, where that is another order."""
        placement, taken = self._place(self._local), self._local
        if self._evictable.upstream is None or placement is None:
            return None
        taken = tuple(sorted(taken, key=lambda u: upstream_importance(self._as_ranked_by_rival(u))))
        upstream = self._evictable.upstream
        counting = InOrder(upstream.accounts, [unit.number for unit in taken], upstream.units)
        order = sorted(taken, key=lambda u: not counting.breaks(u.number))
        if order == self._tried_first():
            return None
        victims, before = list(order), None
        while victims != before:
            before = list(victims)
            for unit in before:
                rest = [u for u in victims if u is not unit]
                victims = rest if self._fits(placement, rest) else victims
        return self._told(placement, tuple(u for u in self._local if u in victims), None)

    def _as_ranked_by_rival(self, unit: Unit) -> Unit:
        """A pod that names a group ranks as one, also if it is evicted alone."""
        names_one = self._question.view.pods.groups[unit.pods[0]] is not None
        return (
            structs.replace(unit, kind=UnitKind.POD_GROUP)
            if unit.kind is UnitKind.POD and names_one
            else unit
        )

    def _tried_first(self) -> list[Unit]:
        """In our own order: units that break budgets, the most harmful first, then the rest."""
        harm = self._broken(self._local)
        rest = {u.number: self._broken(v for v in self._local if v is not u) for u in self._local}
        breakers = [u for u in self._local if rest[u.number] < harm]
        others = [u for u in self._local if rest[u.number] >= harm]
        return [*sorted(breakers, key=lambda u: -self._broken([u])), *others]

    def _told(self, placement: Placement, victims: Units, ceiling: int | None) -> Plan:
        return Plan(
            domain=self._domain.name,
            placement=placement,
            victims=victims,
            spared=tuple(unit for unit in self._local if unit not in victims),
            broken=self._broken(victims),
            ceiling=ceiling,
            pods=self._question.demand.pods,
            gangs_broken=len(too_small(self._evictable.units, victims)),
            cost=self._evictable.prices.of(victims, self._broken(victims)),
        )


# --- the best there is ---------------------------------------------------------------------------


def optimum(question: Question, evictable: Evictable) -> Plan | None:
    """The best plan by its price, whatever the search would find."""
    plans = [best_in(domain, question, evictable) for domain in domains(question, evictable)]
    return min((p for p in plans if p is not None), key=_rank, default=None)


def best_in(domain: Domain, question: Question, evictable: Evictable) -> Plan | None:
    local = touching(domain, question, evictable)
    candidates = [
        Plan(
            domain.name,
            Placement(()),
            victims,
            (),
            evictable.accounts.exceeded_by(victims),
            gangs_broken=len(too_small(evictable.units, victims)),
            cost=evictable.prices.of(victims, evictable.accounts.exceeded_by(victims)),
        )
        for victims in subsets(local)
    ]
    for plan in sorted(candidates, key=_rank):
        view = gone(question.view, plan.victims)
        nodes = next(placements(question, domain, view, question.demand.pods), None)
        if nodes is not None:
            return replace(plan, placement=Placement(nodes), pods=question.demand.pods)
    return None


def subsets(units: Sequence[Unit]) -> Iterator[Units]:
    for size in range(len(units) + 1):
        yield from combinations(units, size)


def placements(
    question: Question, domain: Domain, view: Snapshot, pods: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Every way to place all of the pods, one after the other."""
    if not pods:
        yield ()
        return
    pod, *others = pods
    found = survey(Ask(view, pod, question.profile), question.demand.constraints, domain.nodes)
    for node in np.flatnonzero(found.feasible).tolist():
        for nodes in placements(question, domain, with_pod(view, pod, node), others):
            yield (node, *nodes)
