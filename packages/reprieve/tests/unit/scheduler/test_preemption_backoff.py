"""No pod is evicted in vain again and again."""

import pytest
from tests.unit.scheduler.making import a_claim, a_class, a_node, a_pod, target
from tests.unit.scheduler.serving import Served, served, until
from tests.unit.scheduler.stage import notes, remains

from reprieve.model.effects import Bind, Effect, Evict, Nominate, SelectNode, SetCondition
from reprieve.model.objects import Pod
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.preemption_backoff import PreemptionBackoff

NODE, OLD, NEW = a_node("n1"), a_pod("old", cpu="3", on="n1"), a_pod("new", cpu="2", priority=9)
STORED = a_pod("new", cpu="2", priority=9, claims=["data"])
POD, DAY = target(NEW), 86400.0


def in_place_of_another(pod: Pod = NEW) -> Served:
    """A pod was evicted, and the preemptor is to have its room."""
    cluster = served(NODE, OLD, a_class(), a_claim("data"), pod)
    return until(cluster, Stage.DRAINING).does().drained()


def replaced(cluster: Served, round_: int) -> Served:
    """The evicted pod is back, in its old place."""
    return cluster.show(a_pod("old", cpu="3", on="n1", uid=f"another-{round_}"))


def rounds(cluster: Served, failing: type[Effect], seconds: float) -> int:
    """How often a pod is evicted in that time, if it comes back and the preemptor can never start."""
    evictions = 0
    while cluster.stage.now < seconds:
        cluster.fails(failing)
        if "old" not in cluster.places():
            replaced(cluster, evictions)
        evictions += len(cluster.wanted(Evict))
        cluster.does().drained()
        cluster.stage.after(5.0)
    return evictions


@pytest.mark.parametrize(("pod", "failing"), [(NEW, Bind), (STORED, SelectNode)], ids=["bind", "volume"])
def test_a_pod_that_can_never_start_has_others_evicted_ever_more_rarely(
    pod: Pod, failing: type[Effect]
) -> None:
    evictions = rounds(in_place_of_another(pod), failing, DAY)
    assert 5 <= evictions <= 40, "every few seconds it would be thousands"


def test_it_is_told_why_it_may_not_preempt() -> None:
    cluster = replaced(in_place_of_another(), 0).fails(Bind)
    cluster.stage.after(10.0)
    assert cluster.wanted(Evict) == []
    assert any(
        "could not use the room of pods evicted for it" in note for note in notes(cluster.stage.wanted)
    )
    decision = cluster.stage.decisions[-1]
    assert decision.eviction is not None
    assert (decision.eviction.because.code, decision.retry_at) == ("EvictedInVain", 30.0)
    cluster.stage.after(25.0)
    assert cluster.outcomes()[-1] == "Preempts"


def test_room_that_is_free_it_may_have_at_once() -> None:
    cluster = in_place_of_another().fails(Bind)
    cluster.stage.after(2.0)
    assert cluster.comes_true().places() == {"new": "n1"}
    assert remains(cluster.stage.scheduler) == []


def test_others_are_not_held_back_with_it() -> None:
    cluster = replaced(in_place_of_another(), 0).fails(Bind)
    cluster.stage.after(10.0)
    cluster.show(a_pod("twin", cpu="2", priority=9))
    assert cluster.wanted(Nominate)[-1] == "twin"


def test_a_victim_that_the_server_does_not_let_go_is_not_counted_on_again() -> None:
    """Otherwise the pods evicted with it would be evicted in vain, each time they are back."""
    guarded, others = a_pod("guarded", cpu="2", on="n1"), [a_pod("other", cpu="2", on="n1")]
    cluster = served(NODE, guarded, *others, a_pod("new", cpu="4", priority=9))
    evicted = 0
    for round_ in range(1000):
        cluster.does(*[kind for kind in Effect.__args__ if kind is not Evict])
        cluster.fails(Evict, "guarded")
        evicted += len(cluster.wanted(Evict))
        cluster.does().drained()
        if "other" not in cluster.places():
            cluster.show(a_pod("other", cpu="2", on="n1", uid=f"another-{round_}"))
        cluster.stage.after(5.0)
    assert 2 <= evicted <= 12


def test_a_pod_that_waits_for_such_a_victim_is_looked_at_again_when_it_may_be_asked() -> None:
    cluster = served(NODE, OLD, NEW)
    for _ in range(2):
        cluster.does(Nominate).does(SetCondition).fails(Evict).does()
        cluster.stage.after(10.0)
    assert cluster.outcomes()[-1] == "Unschedulable"
    cluster.stage.after(30.0)
    assert cluster.outcomes()[-1] == "Preempts"


def test_it_is_asked_again_after_a_while_and_forgotten_when_it_is_gone() -> None:
    restraint = PreemptionBackoff()
    for _ in range(2):
        restraint.on_refused(POD, 100.0)
    assert (restraint.staying(129.0), restraint.staying(130.0)) == ([POD], [])
    restraint.on_gone(POD)
    restraint.on_refused(POD, 200.0)
    assert restraint.staying(200.0) == []


def test_each_time_it_takes_twice_as_long_up_to_an_hour() -> None:
    restraint, lengths = PreemptionBackoff(), []
    for _ in range(9):
        restraint.serve([POD])
        restraint.on_room_wasted(POD, 0.0)
        lengths.append(restraint.until([POD], 0.0))
    assert lengths == [30.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 3600.0, 3600.0]


def test_a_pod_that_made_none_go_is_not_held_back() -> None:
    restraint = PreemptionBackoff()
    restraint.on_room_wasted(POD, 0.0)
    assert restraint.until([POD], 0.0) is None
