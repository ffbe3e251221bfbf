"""What do units cost? Worked out for a unit when it is first asked for: of many units, few are.

Which units are asked for, and what becomes of them, is not known here.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.preemption.budgets import Accounts
from reprieve.preemption.least_disturbance.cascade import Cascades
from reprieve.preemption.least_disturbance.costs import Costs, Disturbance, costs_of
from reprieve.preemption.plan import Plan
from reprieve.preemption.question import Question
from reprieve.preemption.units import Units, numbers_of


class Prices:
    """The costs of units by the criteria of a question, as far as they were asked for."""

    def __init__(
        self,
        question: Question,
        units: Units,
        accounts: Accounts,
        lost_work: Callable[[Mask], Ints] | None,
        expected: Ints,
    ) -> None:
        """``lost_work``: see ``Takeable``. ``expected``: units that are likely to be asked for."""
        self._units, self._accounts, self._lost_work = units, accounts, lost_work
        self._order, self._cascades = question.policy.disturbance, Cascades(question, units)
        self._expected, self._known = (np.zeros(len(units.priority), np.bool_) for _ in range(2))
        self._expected[expected] = True
        self._costs = costs_of(units, self._expected, accounts, self._order)

    def of_victims(self, plans: Iterable[Plan]) -> Costs:
        return self.of(numbers_of(unit for plan in plans for unit in plan.victims))

    def of(self, numbers: Ints) -> Costs:
        """With what is known of these units, too."""
        new, costs = np.unique(numbers[~self._known[numbers]]), self._costs
        if not self._expected[new].all():
            self._expected[new] = True
            wider = costs_of(self._units, self._expected, self._accounts, self._order)
            costs = replace(wider, cascade=costs.cascade, lost_work=costs.lost_work)
        self._known[new] = True
        if len(new) and self._lost_work is not None:
            wanted = np.zeros_like(self._known)
            wanted[new] = True
            costs = replace(costs, lost_work=costs.lost_work + self._lost_work(wanted))
        if len(new) and Disturbance.CASCADE in costs.order:
            costs = replace(costs, cascade=costs.cascade + self._cascades.of(new))
        self._costs = costs
        return costs
