"""In the chosen plan, members of a group are exchanged for others of it that cost the group less.

Only where every criterion stays equal, and no other victim changes: what a workload says of its own pods
moves no eviction to another workload.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.snapshot import on_nodes
from reprieve.placement.domains import Domain
from reprieve.preemption.domain_plan import Planning, begun_in
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Question
from reprieve.preemption.prices import Evictable
from reprieve.preemption.units import Unit

_TRIES = 64  # of other members, for one victim
_NODES = 16  # with cheaper members, that one pod could use as well


def exchanged(question: Question, evictable: Evictable, plans: list[Plan]) -> list[Plan]:
    """The plans with the best one changed, or with an equal one in its place."""
    if evictable.units.members is None or not any(_is_member(unit, evictable) for unit in plans[0].victims):
        return plans
    exchange, best = _Exchange(question, evictable), plans[0]
    others = [plan for plan in plans[1:] if exchange.is_equal(plan, best)]
    if len(question.demand.pods) == 1:
        others += exchange.on_other_nodes(best, {plan.domain for plan in plans})
    found = min((exchange.within(plan) for plan in (best, *others)), key=exchange.rank)
    rest = [plan for plan in plans if plan.domain != found.domain]
    return [replace(found, quality=best.quality), *rest]


def _is_member(unit: Unit, evictable: Evictable) -> bool:
    members = evictable.units.members
    return members is not None and bool(members.ordered[unit.number])


class _Exchange:
    def __init__(self, question: Question, evictable: Evictable) -> None:
        self._question, self._takeable = question, evictable

    def rank(self, plan: Plan) -> tuple[list[tuple[int, int]], str]:
        """The dearest members first; the name decides last."""
        return sorted(map(self._cost, self._members(plan)), reverse=True), plan.domain

    def is_equal(self, plan: Plan, best: Plan) -> bool:
        """Whether the victims are as many members of the same groups, and the others the same."""
        return self._signature(plan) == self._signature(best) and plan.cost == best.cost

    def _signature(self, plan: Plan) -> Counter[object]:
        return Counter(
            self._group(unit) if _is_member(unit, self._takeable) else unit.name for unit in plan.victims
        )

    def _members(self, plan: Plan) -> list[Unit]:
        return [unit for unit in plan.victims if _is_member(unit, self._takeable)]

    def _cost(self, unit: Unit) -> tuple[int, int]:
        return unit.cheaper, unit.cheaper_to_delete

    def _group(self, unit: Unit) -> object:
        return self._question.view.pods.groups[unit.pods[0]]

    def on_other_nodes(self, best: Plan, known: set[str]) -> Iterator[Plan]:
        """Equal plans for one pod, on nodes where cheaper members run."""
        view, nodes = self._question.view, dict[int, None]()
        for victim in self._members(best):
            for unit in self._cheaper(victim, self._takeable.allowed):
                nodes.setdefault(int(view.where[unit.pods[0]]))
        for node in [*nodes][:_NODES]:
            if view.nodes.names[node] in known or not self._question.found.curable()[node]:
                continue
            only = np.zeros(len(view.nodes), np.bool_)
            only[node] = True
            begun = begun_in(
                Domain(view.nodes.names[node], only), self._question, self._takeable, by_room=False
            )
            plan = self._question.policy.search.plan(*begun) if begun is not None else None
            if plan is not None and self.is_equal(plan, best):
                yield plan

    def within(self, plan: Plan) -> Plan:
        """The plan with cheaper members in place of its own, as long as there are any."""
        planning = self._planning(plan)
        used = on_nodes(self._question.view, sorted({node for _, node in plan.places}))
        local = planning.local & self._takeable.units.with_any(used)
        for victim in sorted(self._members(plan), key=self._cost, reverse=True):
            gone = {unit.number for unit in plan.victims}
            if victim.number not in gone:
                continue
            for unit in self._cheaper(victim, local):
                if unit.number not in gone:
                    other = self._with(planning, plan, [*(gone - {victim.number}), unit.number])
                    if (
                        other is not None
                        and self.is_equal(other, plan)
                        and self.rank(other) < self.rank(plan)
                    ):
                        plan = replace(other, ceiling=plan.ceiling)
                        break
        return plan

    def _planning(self, plan: Plan) -> Planning:
        units, question = self._takeable.units, self._question
        row = question.view.nodes.rows.get(plan.domain)
        nodes = np.ones(len(question.view.nodes), np.bool_)
        if row is not None and len(question.demand.pods) == 1:
            nodes = np.zeros(len(question.view.nodes), np.bool_)
            nodes[row] = True
        elif question.demand.topology_key:
            label = question.view.nodes.label(question.demand.topology_key)
            nodes = label.where_in([plan.domain])
        if question.demand.allowed is not None:
            nodes = nodes & question.demand.allowed
        local = units.mask(units.touching(nodes)) & self._takeable.allowed
        return Planning(question, Domain(plan.domain, nodes), self._takeable, local, by_room=False)

    def _cheaper(self, victim: Unit, among: Mask) -> Sequence[Unit]:
        """Other members of its group that cost less, the cheapest first."""
        units, group = self._takeable.units, self._question.view.pods.groups.codes
        alike = np.flatnonzero((group == group[victim.pods[0]]) & (units.of_pod == np.arange(len(group))))
        found = units.made(alike[among[alike] & (units.priority[alike] <= victim.priority)])
        cheaper = (unit for unit in found if self._cost(unit) < self._cost(victim))
        return sorted(cheaper, key=lambda unit: (self._cost(unit), unit.name))[:_TRIES]

    def _with(self, planning: Planning, plan: Plan, numbers: Sequence[int]) -> Plan | None:
        """The plan that evicts these units, where its pods are or wherever they fit."""
        gone = self._takeable.units.mask(np.array(numbers, np.int64)) & planning.local
        placement = planning.place(gone)
        return planning.plan_evicting(placement, gone) if placement is not None else None
