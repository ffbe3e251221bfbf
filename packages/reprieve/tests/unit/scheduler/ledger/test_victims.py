"""Calls that outlive their plan, and marks: what is in flight to victims, and what they show."""

import pytest
from tests.unit.scheduler.making import a_node, a_pod, target
from tests.unit.scheduler.serving import Served, conditioned, served, until

from reprieve.model.conditions import MARK
from reprieve.model.effects import Evict
from reprieve.model.objects import Condition
from reprieve.scheduler.ledger.victims import VictimLedger
from reprieve.scheduler.plans.handover import MARK_REASON, Stage

OLD = target(a_pod("old"))


def test_a_stray_call_is_answered_as_often_as_it_was_sent() -> None:
    victims = VictimLedger()
    victims.stray([Evict(OLD)])
    victims.stray([Evict(OLD)])
    assert victims.strays == [Evict(OLD), Evict(OLD)]
    victims.forget(Evict(OLD))
    assert victims.is_stray(Evict(OLD))
    victims.forget(Evict(OLD))
    assert not victims.is_stray(Evict(OLD))


def test_a_mark_is_remembered_while_it_is_shown() -> None:
    victims = VictimLedger()
    victims.on_seen(OLD, marked=True)
    assert victims.marked == {OLD}
    victims.on_seen(OLD, marked=False)
    assert not victims.marked


def marked() -> Served:
    """An earlier run marked a pod, and no plan needs its room."""
    mark = Condition(type=MARK, status="True", reason=MARK_REASON, message="reprieve: preempting …")
    return served(a_node("n1"), conditioned(a_pod("old", on="n1"), mark))


@pytest.mark.parametrize("end", ["is deleted", "is gone", "shows no mark"])
def test_a_pod_that_leaves_or_shows_no_mark_is_not_marked_any_more(end: str) -> None:
    cluster = marked()
    assert cluster.unfinished()["marked"] == {OLD}
    match end:
        case "is deleted":
            cluster.deleted("old")
        case "is gone":
            cluster.gone("old")
        case _:
            cluster.stage.after(30.0)
            cluster.does()
    assert cluster.unfinished() == {}


def test_an_eviction_that_was_sent_for_a_plan_that_is_over_is_answered_for_no_plan() -> None:
    cluster = until(served(a_node("n1"), a_pod("old", cpu="3", on="n1"), NEW), Stage.EVICTING).gone("new")
    assert cluster.stage.scheduler._state.ledger.victims.strays == [Evict(OLD)]
    assert cluster.does(Evict).drained().unfinished() == {}


NEW = a_pod("new", cpu="2", priority=9)
