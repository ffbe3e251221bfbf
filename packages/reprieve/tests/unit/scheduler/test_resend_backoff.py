"""Calls whose answers are lost again and again are made ever more slowly."""

import pytest
from tests.unit.scheduler.making import a_claim, a_class, a_node, a_pod
from tests.unit.scheduler.serving import Served, served, until
from tests.unit.scheduler.stage import remains

from reprieve.model.effects import Effect, Evict, Nominate, SelectNode, SetCondition
from reprieve.model.events import Unknown
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.preemption_backoff import ResendBackoff

NODE, OLD, NEW = a_node("n1"), a_pod("old", cpu="3", on="n1"), a_pod("new", cpu="2", priority=9)


def test_at_once_and_then_ever_more_slowly() -> None:
    backoff, now, pauses = ResendBackoff[str](), 100.0, []
    assert not backoff.puts_aside("call", now)
    for _ in range(6):
        assert backoff.puts_aside("call", now)
        due = backoff.next_time()
        assert due is not None
        pauses.append(due - now)
        assert backoff.taken_up(due - 0.1) == []
        assert backoff.taken_up(due) == ["call"]
        now = due
    assert pauses == [1.0, 2.0, 4.0, 8.0, 10.0, 10.0]


def test_an_answer_ends_it() -> None:
    backoff = ResendBackoff[str]()
    for _ in range(2):
        assert not backoff.puts_aside("call", 0.0)
        backoff.end("call")
    assert vars(backoff)["_times"] == {}


STAGES = {Nominate: Stage.NOMINATED, SetCondition: Stage.MARKING, Evict: Stage.EVICTING}


def calls(cluster: Served, kind: type[Effect], seconds: float) -> int:
    """How many are made in that time if each is answered at once, with an error of the server."""
    made, end = 0, cluster.stage.now + seconds
    while cluster.stage.now < end:
        while lost := cluster.take(kind):
            made += len(lost)
            cluster.stage.happens(*(Unknown(effect, "webhook is down") for effect in lost))
        cluster.stage.after(0.5)
    return made


@pytest.mark.parametrize("kind", STAGES)
def test_a_server_in_trouble_is_not_asked_all_the_time(kind: type[Effect]) -> None:
    cluster = until(served(NODE, OLD, NEW), STAGES[kind])
    assert 5 <= calls(cluster, kind, 60.0) <= 12
    cluster.stage.after(10.0)
    assert cluster.comes_true().places() == {"new": "n1"}
    cluster.stage.after(600.0)
    assert remains(cluster.stage.scheduler) == []


def test_nor_for_volumes() -> None:
    cluster = served(NODE, a_class(), a_claim("data"), a_pod("new", claims=["data"]))
    assert 5 <= calls(cluster, SelectNode, 60.0) <= 12


@pytest.mark.parametrize("kind", STAGES)
def test_what_none_needs_any_more_is_not_made_again(kind: type[Effect]) -> None:
    cluster = until(served(NODE, OLD, NEW), STAGES[kind])
    calls(cluster, kind, 5.0)
    cluster.gone("new")
    cluster.take()
    cluster.stage.after(60.0)
    assert cluster.wanted(kind) == [] or kind is SetCondition, "but marks are cleared"
    cluster.comes_true()
    assert cluster.unfinished() == {}
    assert cluster.stage.scheduler._state.resend_backoff.next_time() is None
