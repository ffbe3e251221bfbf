"""The algorithm: take all that may be taken, place the demand, then spare whoever can be spared."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.snapshot import Snapshot
from reprieve.model.whatif import without
from reprieve.placement.demand import Demand
from reprieve.placement.place import Placement, Survey, place
from reprieve.placement.profile import Profile
from reprieve.preemption.budgets import Counting, InOrder, Joint, Stock, stocks
from reprieve.preemption.eligibility import eligible
from reprieve.preemption.plan import NoPlan, Plan, Why
from reprieve.preemption.policy import BudgetCounting, Policy, Search
from reprieve.preemption.ranking import rank
from reprieve.preemption.sparing import Trial, trial
from reprieve.preemption.units import Unit, Units

CLUSTER = "cluster"


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """Part of the cluster that is planned for as a whole."""

    name: str
    nodes: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Who could give way to this demand, in this cluster, by this policy?"""

    demand: Demand
    view: Snapshot
    profile: Profile
    policy: Policy


def search(question: Question, found: Survey, now: float) -> Plan | NoPlan:
    """The best plan. ``found`` says why the demand does not fit as things are."""
    plans = all_plans(question, found, now)
    if isinstance(plans, NoPlan):
        return plans
    return min(plans, key=lambda plan: rank(plan, question.policy.ranking))


def all_plans(question: Question, found: Survey, now: float) -> list[Plan] | NoPlan:
    """A plan for every domain that has one."""
    if not question.demand.may_preempt:
        return NoPlan(Why.NEVER_PREEMPTS)
    units = question.policy.units(question.view)
    verdict = eligible(units, question.demand, question.policy.rules, now)
    if not verdict.allowed.any():
        return NoPlan(Why.NOBODY_ELIGIBLE, verdict.until)
    known = stocks(question.view)
    places = domains(question, found)
    plans = [plan for d in places if (plan := plan_in(d, question, units, verdict.allowed, known))]
    return plans or NoPlan(Why.NO_HELP, verdict.until)


def domains(question: Question, found: Survey) -> Iterator[Domain]:
    """For a pod every node that refused it for a reason that evictions can cure; for a group the cluster."""
    nodes = question.view.nodes
    if len(question.demand.pods) > 1:
        yield Domain(CLUSTER, np.ones(len(nodes), np.bool_))
        return
    for row in np.flatnonzero(found.curable()):
        only = np.zeros(len(nodes), np.bool_)
        only[row] = True
        yield Domain(nodes.names[row], only)


def plan_in(
    domain: Domain, question: Question, units: Units, allowed: Mask, known: tuple[Stock, ...]
) -> Plan | None:
    touching = units.touching(domain.nodes)
    local = [units.unit(number) for number in units.in_order(touching[allowed[touching]])]
    if not local:
        return None
    planning = Planning(question, domain, known, tuple(local))
    placement = planning.place(local)
    if placement is None:
        return None
    if question.policy.search is Search.UPSTREAM:
        return planning.spare(placement, local)
    return planning.below_ceiling(placement)


@dataclass(frozen=True, slots=True, eq=False)
class Planning:
    """A plan in the making: who of the domain's units could go, the most important first."""

    question: Question
    domain: Domain
    known: tuple[Stock, ...]
    local: tuple[Unit, ...]

    def place(self, gone: Iterable[Unit]) -> Placement | None:
        """Where the demand would go in this domain if these units were gone."""
        question = self.question
        demand = replace(question.demand, allowed=self.domain.nodes)
        placed = place(demand, self._without(gone), question.profile, question.policy.choose)
        return placed if isinstance(placed, Placement) else None

    def below_ceiling(self, placement: Placement) -> Plan | None:
        """Spares who breaks budgets; then nobody above the lowest priority that leaves enough room goes."""
        counting = self._counting(self.local)
        test = self._trial(placement, self.local)
        left = [u for u in self.local if not (counting.breaks(u) and _put_back(u, test, counting))]
        for ceiling in sorted({unit.priority for unit in left}):
            taken = [unit for unit in left if unit.priority <= ceiling]
            found = self.place(taken)
            if found is not None:
                return self.spare(found, taken, ceiling)
        return self.spare(placement, left)

    def spare(self, placement: Placement, taken: Sequence[Unit], ceiling: int | None = None) -> Plan | None:
        """Of the units that were taken, only those go who cannot be put back."""
        counting = self._counting(taken)
        test = self._trial(placement, taken)
        victims = _sweep(taken, test, counting)
        if self.question.policy.search is not Search.UPSTREAM:
            # Putting one back can make room for another where constraints look beyond one node.
            while len(fewer := _sweep(victims, test, counting)) < len(victims):
                victims = fewer
        broken = counting.broken(victims)
        if not victims or (broken and self.question.policy.breaks_no_budget):
            return None
        gone = {unit.name for unit in victims}
        return Plan(
            domain=self.domain.name,
            placement=placement,
            victims=tuple(unit for unit in self.local if unit.name in gone),
            spared=tuple(unit for unit in self.local if unit.name not in gone),
            broken=broken,
            ceiling=ceiling,
        )

    def _counting(self, going: Sequence[Unit]) -> Counting:
        if self.question.policy.budgets is BudgetCounting.UPSTREAM:
            return InOrder(self.known, going, self.question.view)
        return Joint(self.known, going)

    def _trial(self, placement: Placement, gone: Iterable[Unit]) -> Trial:
        question = self.question
        demand, profile = question.demand, question.profile
        return trial(question.view, self._without(gone), demand, placement, profile)

    def _without(self, gone: Iterable[Unit]) -> Snapshot:
        return without(self.question.view, [pod for unit in gone for pod in unit.pods])


def _sweep(units: Sequence[Unit], test: Trial, counting: Counting) -> list[Unit]:
    """Those who cannot be put back, after those who break budgets had the first chance."""
    left = [u for u in units if not (counting.breaks(u) and _put_back(u, test, counting))]
    return [u for u in left if counting.breaks(u) or not _put_back(u, test, counting)]


def _put_back(unit: Unit, test: Trial, counting: Counting) -> bool:
    if not test.put_back(unit):
        return False
    counting.spare(unit)
    return True
