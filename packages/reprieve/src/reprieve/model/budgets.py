"""PodDisruptionBudgets, compiled: which pods they select, and how many disruptions they allow now.

Which budgets select a set of labels is remembered from one snapshot to the next. A cluster has far fewer sets
of labels than pods, and most budgets require a value of a label, so that few come into question for a set.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

import numpy as np

from reprieve.model.columns import Column, Ints
from reprieve.model.objects import KubernetesObject, PodDisruptionBudget, Problem, ref_of
from reprieve.model.resources import Problems
from reprieve.model.selectors import Operator, Selector, compile_selector


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


LabelSet = tuple[str, tuple[tuple[str, str], ...]]  # namespace, sorted labels

_Hint = tuple[str, str, str] | str  # namespace, key and value; or a namespace


class BudgetSelection:
    def __init__(self) -> None:
        self._selectors: list[tuple[str, Selector]] = []
        self._sets: Sequence[LabelSet] = ()
        self._by_hint: dict[_Hint, list[int]] = {}
        self._found: list[list[int]] = []  # [set] the budgets that select it
        self._starts = np.zeros(1, np.int64)  # the same in one column: where the part of each set begins
        self._flat = np.zeros(0, np.int64)

    def pairs(self, labels: Column[LabelSet], budgets: Sequence[Budget]) -> tuple[Ints, Ints]:
        """Pods (rows, in order) and budgets (places) that select them, whether or not the pods run."""
        if not budgets:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._update(labels.things, budgets)
        first = self._starts[labels.codes]  # [pod]
        times = self._starts[labels.codes + 1] - first  # [pod] how many budgets select it
        rows = np.repeat(np.arange(len(times)), times)  # [pair]
        # [pair] 0, 1, … for the budgets of each pod in turn
        turn = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
        return rows, self._flat[first[rows] + turn]

    def _update(self, sets: Sequence[LabelSet], budgets: Sequence[Budget]) -> None:
        """Things of a column only grow in number, or become another list."""
        selectors = [(budget.namespace, budget.selector) for budget in budgets]
        if sets is not self._sets or selectors != self._selectors:
            self._sets, self._selectors = sets, selectors
            self._by_hint, self._found = _by_hint(selectors), []
        elif len(self._found) == len(sets):
            return
        self._found += map(self._selecting, sets[len(self._found) :])
        self._starts = np.array([0, *accumulate(map(len, self._found))], np.int64)
        self._flat = np.array([*chain.from_iterable(self._found)], np.int64)

    def _selecting(self, labels: LabelSet) -> list[int]:
        namespace, pairs = labels
        hints: list[_Hint] = [namespace, *((namespace, key, value) for key, value in pairs)]
        likely = sorted(chain.from_iterable(self._by_hint.get(hint, ()) for hint in hints))
        values = dict(pairs)
        return [i for i in likely if self._selectors[i][1].matches(values)]


def _by_hint(selectors: Sequence[tuple[str, Selector]]) -> dict[_Hint, list[int]]:
    """Each budget under whatever a set of labels must have for it to be selected."""
    found: dict[_Hint, list[int]] = {}
    for i, (namespace, selector) in enumerate(selectors):
        for hint in _hints(namespace, selector):
            found.setdefault(hint, []).append(i)
    return found


def _hints(namespace: str, selector: Selector) -> Iterator[_Hint]:
    exact = next((one for one in selector.requirements if one.operator is Operator.IN), None)
    if exact is None:
        yield namespace
    else:
        yield from ((namespace, exact.key, value) for value in exact.values)
