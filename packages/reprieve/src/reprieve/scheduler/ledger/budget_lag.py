"""Which terminating pods a PodDisruptionBudget has not counted yet, as it was last shown before they left.

A budget's controller counts anew whenever a pod leaves, and takes its time; until it has, the budget allows
more disruptions than it should. Only pods that were ready count: of others the controller has nothing new
to say, and the scheduler would wait for ever. Nor has it anything to say if a replacement is ready by the
time it counts; so a pod that is gone is waited for no longer, and a namesake that replaces it is not taken
for it.

The world tells this module what the cluster shows, since the world knows which sights are outdated.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from reprieve.model.budgets import Budget
from reprieve.model.effects import Target
from reprieve.model.objects import ObjectKey, Pod
from reprieve.scheduler.ledger.index import Index


class BudgetLag:
    def __init__(self) -> None:
        self._pods: Index[ObjectKey, Target] = Index()
        self._budgets: Index[Target, ObjectKey] = Index()

    def __iter__(self) -> Iterator[tuple[ObjectKey, Target]]:
        """Each budget, with each pod that it has not counted."""
        for budget in self._pods:
            yield from ((budget, pod) for pod in sorted(self._pods.under(budget)))

    def on_terminating(self, target: Target, pod: Pod, budgets: Iterable[Budget]) -> bool:
        """Notes a pod that begins to leave, as it was before; says whether any of the budgets covers it."""
        if not _is_ready(pod):
            return False
        meta = pod.metadata
        ours = [b for b in budgets if b.namespace == meta.namespace and b.selector.matches(meta.labels)]
        for budget in ours:
            self._pods.add((budget.namespace, budget.name), target)
            self._budgets.add(target, (budget.namespace, budget.name))
        return bool(ours)

    def on_gone(self, pod: Target) -> bool:
        """Says whether any of the budgets had not counted it."""
        found = self._budgets.under(pod)
        for budget in found:
            self._remove(budget, pod)
        return bool(found)

    def on_shown(self, budget: ObjectKey) -> None:
        """The budget was written after the pods left, or is gone itself."""
        for pod in self._pods.under(budget):
            self._remove(budget, pod)

    def added_to(self, budget: Budget) -> Budget:
        """The budget as it will be once its controller has counted."""
        pods = self._pods.under((budget.namespace, budget.name))
        names = {pod.name for pod in pods} - budget.disrupted
        if not names:
            return budget
        return replace(budget, allowed=budget.allowed - len(names), disrupted=budget.disrupted | names)

    def _remove(self, budget: ObjectKey, pod: Target) -> None:
        self._pods.remove(budget, pod)
        self._budgets.remove(pod, budget)


def _is_ready(pod: Pod) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions)
