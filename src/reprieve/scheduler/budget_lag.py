"""Pods that began to leave after a disruption budget was last shown: it has not counted them yet.

A controller counts anew whenever a pod leaves, and takes its time. Until then a budget allows more than it
should. Only pods that were ready matter to it: of others it says nothing new, which would never be seen. Nor
does it if another is ready by the time it counts; so whoever is gone is not waited for, and who comes back
under his name is not taken for him.
"""

from collections.abc import Iterable
from dataclasses import replace

from reprieve.model.budgets import Budget
from reprieve.model.objects import Pod

BudgetKey = tuple[str, str]  # namespace, name


class BudgetLag:
    def __init__(self) -> None:
        self._leaving: dict[BudgetKey, set[str]] = {}

    def leaves(self, pod: Pod, budgets: Iterable[Budget]) -> bool:
        """Says whether any of the budgets speaks of it."""
        meta = pod.metadata
        ours = [b for b in budgets if b.namespace == meta.namespace and b.selector.matches(meta.labels)]
        ours = ours if _is_ready(pod) else []
        for budget in ours:
            self._leaving.setdefault((budget.namespace, budget.name), set()).add(meta.name)
        return bool(ours)

    def gone(self, pod: Pod) -> bool:
        """Says whether any of the budgets had not counted it."""
        meta = pod.metadata
        told = [names for (space, _), names in self._leaving.items() if space == meta.namespace]
        found = [names for names in told if meta.name in names]
        for names in found:
            names.remove(meta.name)
        return bool(found)

    def shown(self, budget: BudgetKey) -> None:
        """It is as new as we are, or gone."""
        self._leaving.pop(budget, None)

    def added_to(self, budget: Budget) -> Budget:
        """As it will be when it has counted them."""
        names = self._leaving.get((budget.namespace, budget.name), set()) - budget.disrupted
        if not names:
            return budget
        return replace(budget, allowed=budget.allowed - len(names), disrupted=budget.disrupted | names)


def _is_ready(pod: Pod) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)
