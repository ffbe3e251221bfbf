"""Which budgets select which pods, remembered while pods and budgets come and go."""

from reprieve.model.budgets import Budget, BudgetSelection, LabelSet
from reprieve.model.columns import Column
from reprieve.model.selectors import Operator, Requirement, Selector


def budget(selector: Selector, namespace: str = "default") -> Budget:
    return Budget(namespace, "budget", selector, 1, frozenset())


def app(*values: str) -> Requirement:
    return Requirement("app", Operator.IN, frozenset(values))


def pods(*labels: LabelSet) -> Column[LabelSet]:
    return Column.of(labels)


def found(selection: BudgetSelection, labels: Column[LabelSet], *budgets: Budget) -> list[tuple[int, int]]:
    rows, places = selection.pairs(labels, budgets)
    return [*zip(rows.tolist(), places.tolist(), strict=True)]


A: LabelSet = ("default", (("app", "a"), ("tier", "web")))
B: LabelSet = ("default", (("app", "b"),))


def test_sets_of_labels_may_be_added_later() -> None:
    selection, things = BudgetSelection(), [A]
    one = budget(Selector((app("b"),)))
    before = Column(pods(A).codes, things, {})
    assert not found(selection, before, one)
    things.append(B)
    after = Column(pods(A, B, B).codes, things, {})
    assert found(selection, after, one) == [(1, 0), (2, 0)]


def test_other_budgets_and_other_sets_are_read_anew() -> None:
    selection = BudgetSelection()
    assert found(selection, pods(A, B), budget(Selector((app("a"),)))) == [(0, 0)]
    assert found(selection, pods(A, B), budget(Selector((app("b"),)))) == [(1, 0)]
    assert found(selection, pods(B, A), budget(Selector((app("b"),)))) == [(0, 0)]
    assert not found(selection, pods(A, B))
