"""PodDisruptionBudgets, compiled: which pods they select, and how many disruptions they allow now."""

from collections.abc import Iterable
from dataclasses import dataclass

from reprieve.model.objects import KubernetesObject, PodDisruptionBudget, Problem, ref_of
from reprieve.model.resources import Problems
from reprieve.model.selectors import Selector, compile_selector


@dataclass(frozen=True, slots=True)
class Budget:
    """In policy/v1 an empty selector selects every pod of the namespace, and an absent one no pod."""

    namespace: str
    name: str
    selector: Selector
    allowed: int
    disrupted: frozenset[str]  # names in status.disruptedPods: evictions that it has counted already


def budgets_table(objects: Iterable[KubernetesObject], problems: list[Problem]) -> tuple[Budget, ...]:
    budgets = []
    for thing in objects:
        if not isinstance(thing, PodDisruptionBudget):
            continue
        found = Problems(ref_of(thing))
        selector = compile_selector(thing.spec.selector, "spec.selector", found)
        problems.extend(found.all())
        status, meta = thing.status, thing.metadata
        disrupted = frozenset(status.disrupted_pods)
        budgets.append(Budget(meta.namespace, meta.name, selector, status.disruptions_allowed, disrupted))
    return tuple(sorted(budgets, key=lambda budget: (budget.namespace, budget.name)))
