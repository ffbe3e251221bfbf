"""The algorithm: take all that may be taken, place the demand, then spare whoever can be spared."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.nodes import Nodes
from reprieve.model.snapshot import Snapshot
from reprieve.model.whatif import without
from reprieve.placement.domains import Domain, topology_domains
from reprieve.placement.place import Placement, place
from reprieve.preemption.budgets import Counting, InOrder, Joint, Stock, stocks
from reprieve.preemption.eligibility import eligible
from reprieve.preemption.glance import worth_planning
from reprieve.preemption.plan import NoPlan, Plan, Why
from reprieve.preemption.policy import BudgetCounting, Search
from reprieve.preemption.question import Question, Takeable
from reprieve.preemption.ranking import rank
from reprieve.preemption.sparing import Trial, trial
from reprieve.preemption.units import Unit

CLUSTER = "cluster"

_FEW_NODES = 20  # so many are planned for one by one; of more, only those that may win


def search(question: Question, now: float) -> Plan | NoPlan:
    """The best plan."""
    plans = plans_worth_ranking(question, now)
    if isinstance(plans, NoPlan):
        return plans
    return min(plans, key=lambda plan: rank(plan, question.policy.ranking))


def plans_worth_ranking(question: Question, now: float) -> list[Plan] | NoPlan:
    """A plan for every domain that could have the best."""
    if not question.demand.may_preempt:
        return NoPlan(Why.NEVER_PREEMPTS)
    units = question.policy.units(question.view)
    verdict = eligible(units, question.demand, question.policy.rules, now)
    if not verdict.allowed.any():
        return NoPlan(Why.NOBODY_ELIGIBLE, verdict.until)
    takeable = Takeable(units, verdict.allowed, stocks(question.view))
    plans = [plan for d in domains(question, takeable) if (plan := plan_in(d, question, takeable))]
    return plans or NoPlan(Why.NO_HELP, verdict.until)


def domains(question: Question, takeable: Takeable) -> Iterator[Domain]:
    """For a pod, nodes that refused it for a reason that evictions can cure.

    For a group the cluster, or each value of the topology that it must not leave.
    """
    nodes = question.view.nodes
    if _asks_alone(question):
        yield from (_node(nodes, int(row)) for row in _curable_nodes(question, takeable))
    elif question.demand.topology_key:
        yield from topology_domains(question.view, question.demand)
    else:
        allowed = question.demand.allowed
        yield Domain(CLUSTER, np.ones(len(nodes), np.bool_) if allowed is None else allowed)


def _asks_alone(question: Question) -> bool:
    """A group of one is no better off than a pod; kube-scheduler looks for one place for it all the same."""
    view, pods = question.view, question.demand.pods
    as_group = question.policy.search is Search.UPSTREAM and view.groups.root(view.pods.groups[pods[0]])
    return len(pods) == 1 and not as_group


def _node(nodes: Nodes, row: int) -> Domain:
    only = np.zeros(len(nodes), np.bool_)
    only[row] = True
    return Domain(nodes.names[row], only)


def _curable_nodes(question: Question, takeable: Takeable) -> Ints:
    rows = np.flatnonzero(question.found.curable())
    if len(rows) <= _FEW_NODES:
        return rows
    promising = worth_planning(question, takeable)
    return rows if promising is None else promising


def plan_in(domain: Domain, question: Question, takeable: Takeable) -> Plan | None:
    units, allowed = takeable.units, takeable.allowed
    touching = units.touching(domain.nodes)
    local = [units.unit(number) for number in units.in_order(touching[allowed[touching]])]
    if not local:
        return None
    planning = Planning(question, domain, takeable.stocks, tuple(local))
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
    stocks: tuple[Stock, ...]
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
            pods=self.question.demand.pods,
        )

    def _counting(self, going: Sequence[Unit]) -> Counting:
        if self.question.policy.budgets is BudgetCounting.UPSTREAM:
            return InOrder(self.stocks, going, self.question.view)
        return Joint(self.stocks, going)

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
