"""Budgets whose controller has not counted the terminating pods yet: no plan exceeds them unawares."""

from dataclasses import replace

import msgspec
from tests.unit.scheduler.crowds import a_budget
from tests.unit.scheduler.making import a_node, a_pod, later, target
from tests.unit.scheduler.serving import Served, conditioned, served

from reprieve.model.budgets import budgets_table
from reprieve.model.objects import Condition, Pod
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.ledger.budget_lag import BudgetLag
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

STRICT = Settings(policies={SCHEDULER_NAME: replace(REPRIEVE, breaks_no_budget=True)})
ALLOWS_ONE, ALLOWS_NONE = a_budget("web", 1, app="web"), later(a_budget("web", 0, app="web"))


def web(number: int, ready: str = "True") -> Pod:
    pod = a_pod(f"web-{number}", cpu="4", on=f"n{number}", labels={"app": "web"})
    return conditioned(pod, Condition("Ready", ready))


def first_has_its_room(ready: str = "True", settings: Settings | None = None, dear: int = 5) -> Served:
    """One pod of two is being evicted, which is all that the budget allows; it does not say so yet."""
    other = a_pod("dear", cpu="4", priority=dear, on="n3")
    nodes = [a_node(f"n{i}") for i in (1, 2, 3)]
    cluster = served(*nodes, ALLOWS_ONE, web(1, ready), web(2, ready), other, settings=settings)
    return cluster.show(a_pod("first", cpu="4", priority=9)).does().does().does()


def gone_after(cluster: Served) -> set[str]:
    cluster.show(a_pod("second", cpu="4", priority=9)).comes_true()
    return {"web-1", "web-2", "dear"} - cluster.places().keys()


def test_a_terminating_pod_is_counted_before_the_budget_does() -> None:
    cluster = first_has_its_room()
    assert cluster.pod("web-1").metadata.deletion_timestamp is not None
    assert gone_after(cluster) == {"web-1", "dear"}


def test_a_pod_that_is_gone_is_not_waited_for() -> None:
    """A controller that counts when another has come already has nothing new to say."""
    assert gone_after(first_has_its_room().comes_true()) == {"web-1", "web-2"}


def test_a_namesake_of_a_pod_that_left_counts() -> None:
    lag, (budget,) = BudgetLag(), budgets_table([ALLOWS_ONE], [])
    pod, namesake = target(web(1)), msgspec.structs.replace(target(web(1)), uid="another")
    assert lag.on_terminating(pod, web(1), [budget])
    assert lag.added_to(budget).disrupted == {"web-1"}
    assert list(lag) == [(("default", "web"), pod)]
    assert not lag.on_gone(namesake)
    assert lag.on_gone(pod)
    assert (lag.added_to(budget), list(lag)) == (budget, [])
    assert not lag.on_gone(pod)


def test_what_is_shown_of_one_budget_says_nothing_of_another() -> None:
    lag = BudgetLag()
    budgets = budgets_table([ALLOWS_ONE, a_budget("all", 2, app="web")], [])
    lag.on_terminating(target(web(1)), web(1), budgets)
    lag.on_shown(("default", "web"))
    assert [lag.added_to(budget).allowed for budget in budgets] == [1, 1]
    lag.on_shown(("default", "all"))
    assert not lag.on_gone(target(web(1)))


def test_a_budget_that_must_hold_holds_and_wakes_what_waits_for_it_when_it_allows_more() -> None:
    cluster = first_has_its_room(settings=STRICT, dear=20).show(a_pod("second", cpu="4", priority=9)).does()
    assert any("respectBudgets is Always" in decision.text for decision in cluster.stage.decisions)
    assert {"web-2", "dear"} <= cluster.places().keys()
    cluster.comes_true().stage.after(10.0)
    assert cluster.comes_true().places()["second"] == "n2"


def test_when_the_budget_has_counted_its_word_counts() -> None:
    allows_more = msgspec.structs.replace(ALLOWS_NONE, status=ALLOWS_ONE.status)
    assert gone_after(first_has_its_room().show(allows_more)) == {"web-1", "web-2"}


def test_a_budget_that_is_shown_again_has_not_counted() -> None:
    assert gone_after(first_has_its_room().show(ALLOWS_ONE)) == {"web-1", "dear"}


def test_a_budget_that_is_gone_counts_nothing_any_more() -> None:
    cluster = first_has_its_room().gone("web", kind="PodDisruptionBudget")
    assert list(cluster.stage.scheduler._state.ledger.budget_lag) == []
    assert gone_after(cluster) == {"web-1", "web-2"}


def test_a_pod_that_was_not_ready_is_never_counted() -> None:
    assert gone_after(first_has_its_room(ready="False")) == {"web-1", "web-2"}
