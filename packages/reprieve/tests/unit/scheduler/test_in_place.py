"""Running pods that want more: when they are decided, and what is not done for them."""

from dataclasses import replace

import pytest
from tests.unit.scheduler.crowds import a_budget
from tests.unit.scheduler.making import a_key, a_node, a_pod, granted, later, leaving, target, wanting
from tests.unit.scheduler.serving import Served, conditioned
from tests.unit.scheduler.stage import Stage, remains

from reprieve.model.conditions import MARK
from reprieve.model.effects import Announce, Bind, Evict, Nominate, SetCondition
from reprieve.model.events import Done, Seen, Synced, Unread
from reprieve.model.moment import Due
from reprieve.model.objects import Condition, KubernetesObject, Node, Pod, Problem, Ref
from reprieve.preemption.resize import DeferredResizes
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.demand_key import DemandKind
from reprieve.scheduler.plans.handover import MARK_REASON
from reprieve.scheduler.reporting.decision import Grown
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

GROWS = a_pod("grows", cpu="2", priority=9, on="n1")
DEAR = a_pod("dear", cpu="2", priority=20, on="n1")
LOW = a_pod("low", cpu="2", priority=1, on="n1")


def settings(**policy: object) -> Settings:
    fields = {"resizes": DeferredResizes(), **policy}
    return Settings(policies={SCHEDULER_NAME: replace(REPRIEVE, **fields)})  # type: ignore[arg-type]  # by name


def stage(*things: KubernetesObject, **policy: object) -> Stage:
    return Stage(Scheduler(settings(**policy)), 1000.0).happens(*map(Seen, things), Synced())


def looks(on: Stage, *things: Pod | Node) -> int:
    """How often it is looked at because of this, when no backoff is in the way."""
    on.after(20)
    before = len(on.decisions)
    on.see(*things)
    return len(on.decisions) - before


def waiting(*others: Pod | Node) -> Stage:
    """It does not fit, and no pod may be preempted for it."""
    return stage(a_node("n1"), a_node("n2"), wanting(GROWS, "3"), DEAR, *others)


def test_a_pod_that_leaves_its_node_is_news() -> None:
    on = waiting()
    on.after(20)
    before = len(on.decisions)
    on.lose(DEAR)
    assert [d.outcome for d in on.decisions[before:]] == ["FitsInPlace"]


def test_a_pod_that_shrinks_there_is_news() -> None:
    smaller = later(a_pod("dear", cpu="1", priority=20, on="n1"))
    assert looks(waiting(), smaller) == 1


def test_a_node_that_grows_is_news() -> None:
    assert looks(waiting(), later(a_node("n1", cpu="5"))) == 1


def test_what_happens_elsewhere_is_not() -> None:
    other = a_pod("other", cpu="2", priority=20, on="n2")
    on = waiting(other)
    assert looks(on, later(a_pod("other", cpu="1", priority=20, on="n2"))) == 0
    assert looks(on, later(a_node("n2", cpu="9")), a_node("n3")) == 0
    before = len(on.decisions)
    on.lose(other)
    assert len(on.decisions) == before


def test_a_pod_that_grows_or_comes_is_not_while_it_does_not_fit() -> None:
    assert looks(waiting(), later(a_pod("dear", cpu="3", priority=20, on="n1"))) == 0


def test_budgets_are_if_they_must_not_be_broken() -> None:
    low = a_pod("low", cpu="2", priority=1, on="n1", labels={"app": "db"})
    things = a_node("n1"), wanting(GROWS, "3"), low, a_budget("db", 0, app="db")
    on = stage(*things, breaks_no_budget=True).after(20)
    before = len(on.decisions)
    on.see(later(a_budget("db", 1, app="db")))
    assert [d.outcome for d in on.decisions[before:]] == ["Preempts"]


@pytest.mark.parametrize(
    "taker", [a_pod("dear", cpu="2", priority=20, on="n1"), later(a_pod("small", cpu="2", on="n1"))]
)
def test_once_it_fits_whatever_takes_room_is_news(taker: Pod) -> None:
    on = stage(a_node("n1"), wanting(GROWS, "3"), a_pod("small", cpu="1", on="n1"))
    assert [d.outcome for d in on.decisions] == ["FitsInPlace"]
    on.see(taker)
    assert len(on.decisions) == 2


def test_once_it_fits_departures_are_not() -> None:
    small = a_pod("small", cpu="1", on="n1")
    on = stage(a_node("n1"), wanting(GROWS, "3"), small)
    on.lose(small)
    on.see(later(a_node("n1", cpu="8")))
    assert len(on.decisions) == 1


def test_failures_make_it_wait_longer_and_longer() -> None:
    on = waiting()
    for wait in (1.0, 2.0, 4.0):
        gone = a_pod(f"gone-{wait}", on="n1")
        on.see(gone).lose(gone)
        assert on.next_time() == on.decisions[-1].at + wait
        on.after(wait)


# --- what is not done ----------------------------------------------------------------------------


def test_nothing_is_nominated_bound_or_said_of_its_place() -> None:
    served = Served(stage(), {})
    served.show(a_node("n1"), wanting(GROWS, "3"), LOW)
    done = []
    while served.stage.wanted:
        done += served.stage.wanted
        served.does()
    served.drained()
    done += served.stage.wanted
    assert not [e for e in done if isinstance(e, Nominate | Bind)]
    assert not [e for e in done if isinstance(e, SetCondition) and e.type == "PodScheduled"]
    reasons = [e.reason for e in done if isinstance(e, Announce) and e.target == target(GROWS)]
    assert reasons == ["Preempting", "FitsInPlace"]


def test_a_pod_that_has_what_it_wants_is_forgotten() -> None:
    on = stage(a_node("n1"), wanting(GROWS, "3"))
    assert remains(on.scheduler)
    on.see(granted(wanting(GROWS, "3")))
    assert not [path for path in remains(on.scheduler) if ".ledger.parts" in path]
    assert not on.scheduler._state.queue._entries


def test_a_pod_that_goes_is_forgotten() -> None:
    on = stage(a_node("n1"), wanting(GROWS, "3"), LOW)
    on.see(leaving(wanting(GROWS, "3")))
    assert not len(on.scheduler._state.plans)
    on.lose(GROWS)
    assert not on.scheduler._state.queue._entries


def test_a_pod_that_another_scheduler_is_about_to_evict_has_its_plan_called_off() -> None:
    on = stage(a_node("n1"), wanting(GROWS, "3"), LOW)
    assert len(on.scheduler._state.plans)
    mark = Condition(type=MARK, status="True", reason=MARK_REASON, message="reprieve: preempting …")
    pod = later(wanting(GROWS, "3"))
    on.see(conditioned(pod, *pod.status.conditions, mark)).lose(LOW)
    assert [decision.outcome for decision in on.decisions] == ["Preempts", "Unschedulable"]
    assert not len(on.scheduler._state.plans)


def test_a_pod_may_be_bound_and_deferred_before_it_is_seen_again() -> None:
    """A watch may skip what happened in between."""
    on = stage(a_node("n1"), a_pod("grows", cpu="2", priority=9), DEAR)
    (bind,) = on.take()[:1]
    assert isinstance(bind, Bind)
    on.see(wanting(later(GROWS), "3"))
    assert list(on.scheduler._state.queue._entries) == [a_key("grows", DemandKind.RESIZE)]
    assert not len(on.scheduler._state.ledger.assumed)


def test_a_namesake_on_another_node_asks_there() -> None:
    on = stage(a_node("n1"), a_node("n2"), wanting(GROWS, "3"), DEAR)
    other = wanting(a_pod("grows", cpu="2", priority=9, on="n2", uid="another"), "3")
    on.see(later(later(other)))
    assert on.scheduler._state.queue.at("n1") == []
    assert on.scheduler._state.queue.at("n2") == [a_key("grows", DemandKind.RESIZE)]
    assert on.decisions[-1].outcome == "FitsInPlace"


def test_no_pod_goes_for_a_pod_that_cannot_be_read_any_more() -> None:
    """It is looked at again as soon as it can be."""
    on = stage(a_node("n1"), wanting(GROWS, "3"), LOW)
    on.happens(Unread(target(GROWS), Problem(Ref("Pod", "default", "grows"), "spec", "broken")))
    assert not len(on.scheduler._state.plans)
    decided = len(on.decisions)
    on.lose(LOW)
    assert len(on.decisions) == decided
    on.see(later(wanting(GROWS, "3")))
    assert [decision.outcome for decision in on.decisions[decided:]] == ["FitsInPlace"]


def test_a_decision_tells_what_was_asked_for() -> None:
    on = waiting()
    decision = on.decisions[0]
    assert decision.growth is not None
    assert (decision.growth.node, decision.growth.resources) == ("n1", {"cpu": Grown(2000, 3000)})
    assert decision.considered == 1
    assert decision.text == (
        "no room for 3 cpu on n1: it has insufficient cpu left; nearest miss: n1 is short of cpu by 1; "
        "preemption cannot help: no running pod has a priority below 9"
    )


def test_no_pod_is_evicted_for_what_was_settled_in_the_same_breath() -> None:
    """The mark is acknowledged, and at once its node shows that it was granted without an eviction."""
    on = stage(a_node("n1"), wanting(GROWS, "3"), LOW)
    (mark,) = [effect for effect in on.take() if isinstance(effect, SetCondition)]
    on.happens(Done(mark), Seen(granted(wanting(GROWS, "3"))))
    cleared = [effect for effect in on.wanted if isinstance(effect, SetCondition)]
    assert [(e.target.name, e.status) for e in cleared] == [("low", "False")]
    assert not [effect for effect in on.wanted if isinstance(effect, Evict)]
    on.succeed()
    assert not on.scheduler._state.queue._entries
    assert on.scheduler.next_time() == Due()


def test_a_decision_tells_what_forbids_it_and_by_how_much_it_does_not_fit() -> None:
    says_no = a_node("n1", podPreemptionPolicy={"disableResizePreemption": ["example.com/ca"]})
    decision = stage(says_no, wanting(GROWS, "3"), LOW).decisions[0]
    assert decision.eviction is not None
    assert decision.eviction.because.code == "Forbidden"
    assert decision.eviction.because.text.endswith("node n1 is disabled by example.com/ca")
    assert decision.miss is not None
    assert (decision.miss.resource, decision.miss.short) == ("cpu", 1000)


def test_heartbeats_of_a_node_that_forbids_it_are_no_news() -> None:
    says_no = a_node("n1", podPreemptionPolicy={"disableResizePreemption": ["example.com/ca"]})
    on = stage(says_no, wanting(GROWS, "3"), LOW)
    assert looks(on, later(says_no)) == 0
    assert looks(on, later(later(a_node("n1")))) == 1
