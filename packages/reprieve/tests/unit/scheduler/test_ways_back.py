"""Plans that fail: what is put right, what is reported, and what is counted on no longer."""

from typing import Any

import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, later, target
from tests.unit.scheduler.serving import OPEN, TIME, Served, nominated_to, served, until
from tests.unit.scheduler.stage import Stage as Acts
from tests.unit.scheduler.stage import notes, stage_with

from reprieve.model.conditions import MARK
from reprieve.model.effects import Announce, Bind, Evict, Nominate, SetCondition
from reprieve.model.events import Failed, Gone, Unknown
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.settings import Settings

NODE, OLD, NEW = a_node("n1"), a_pod("old", cpu="3", on="n1"), a_pod("new", cpu="2", priority=9)
HALVES = [a_pod(name, cpu="2", on="n1") for name in ("old", "older")]


def a_plan(**settings: Any) -> Served:
    return served(NODE, OLD, NEW, settings=Settings(**settings))


# --- an object that is gone ----------------------------------------------------------------------


def test_a_victim_that_is_gone_when_it_is_to_be_marked_stops_nothing() -> None:
    cluster = until(served(NODE, *HALVES, a_pod("new", cpu="4", priority=9)), Stage.MARKING)
    (mark,) = cluster.take(SetCondition, names=["old"])
    cluster.stage.happens(Failed(mark, "not found", missing=True))
    assert cluster.does(SetCondition).wanted(Evict) == ["old", "older"]
    assert cluster.gone("old").does(Evict).drained().comes_true().places() == {"new": "n1"}
    assert cluster.outcomes().count("Preempts") == 1


def test_a_victim_of_whose_end_is_heard_in_the_same_breath_is_not_evicted() -> None:
    cluster = until(a_plan(), Stage.MARKING)
    (mark,) = cluster.take(SetCondition, names=["old"])
    victim = cluster.named("old")
    cluster.stage.happens(Failed(mark, "not found", missing=True), Gone(victim))
    assert cluster.wanted(Evict) == []
    del cluster.objects[victim]
    assert cluster.comes_true().places() == {"new": "n1"}


def test_a_preemptor_that_is_gone_when_it_is_to_be_nominated_disturbs_nothing() -> None:
    cluster = a_plan()
    (nominate,) = cluster.take(Nominate)
    cluster.stage.happens(Failed(nominate, "not found", missing=True))
    assert cluster.gone("new").comes_true().places() == {"old": "n1"}
    assert cluster.unfinished() == {}


@pytest.mark.parametrize("stage", [Stage.NOMINATED, Stage.MARKING])
def test_a_victim_that_another_client_deletes_is_not_evicted_and_its_room_counts(stage: Stage) -> None:
    cluster = until(served(NODE, *HALVES, a_pod("new", cpu="4", priority=9)), stage).deleted("old")
    cluster.does(Nominate).does(SetCondition)
    assert cluster.wanted(Evict) == ["older"]
    assert [pod.name for pod in cluster.plan().leaving] == ["old"]
    cluster.does(Evict).gone("older")
    assert cluster.wanted(Bind) == [], "it waits for the other one"
    assert cluster.gone("old").comes_true().places() == {"new": "n1"}


def test_if_all_victims_are_being_deleted_already_none_is_evicted() -> None:
    cluster = until(a_plan(), Stage.MARKING).deleted("old").does(SetCondition)
    assert (cluster.wanted(Evict), cluster.plan().stage) == ([], Stage.DRAINING)
    assert cluster.comes_true().places() == {"new": "n1"}


# --- what was written and is not true any more ---------------------------------------------------


def a_whole_group(stage: Stage = Stage.EVICTING) -> Served:
    group = a_group("train", 5, disruptedWhole=True)
    pods = [a_member(f"t{i}", "train", cpu="3", priority=5, on=f"n{i + 1}") for i in range(2)]
    return until(served(NODE, a_node("n2"), group, *pods, NEW), stage)


def test_a_group_whose_plan_is_called_off_before_the_first_delete_is_not_marked_any_more() -> None:
    cluster = a_whole_group(Stage.COMMITTING).gone("new")
    cluster.does()
    marks = [
        cluster.conditions(name, kind).get(MARK) for name, kind in (("train", "PodGroup"), ("t0", "Pod"))
    ]
    assert marks == ["False", "False"]
    assert cluster.unfinished() == {}


def test_a_group_keeps_its_mark_while_some_of_it_leave_and_until_it_runs_again() -> None:
    cluster = a_whole_group().fails(Evict, "t0").does()
    assert cluster.conditions("train", "PodGroup")[MARK] == "True"
    cluster.stage.after(2.0)
    cluster.comes_true().stage.after(100.0)
    assert cluster.conditions("train", "PodGroup")[MARK] == "True", "it went, after all"
    cluster.show(a_member("t9", "train", priority=5, on="n2")).stage.after(30.0)
    assert cluster.does().conditions("train", "PodGroup")[MARK] == "False"


@pytest.mark.parametrize("answer", [Failed, Unknown])
def test_a_nomination_that_could_not_be_withdrawn_is_withdrawn_later(answer: type[Failed | Unknown]) -> None:
    """A more important demand takes the room, and the API server is not well."""
    cluster = until(a_plan(), Stage.DRAINING).show(a_pod("newest", cpu="4", priority=20))
    (withdrawal,) = [e for e in cluster.take(Nominate) if e == Nominate(target(NEW), "")]
    cluster.stage.happens(answer(withdrawal, "try later"))
    cluster.stage.after(29.0)
    assert cluster.nominations() == []
    cluster.stage.after(1.0)
    assert cluster.nominations() == [("new", "")]
    cluster.does().stage.after(100.0)
    assert (cluster.pod("new").status.nominated_node_name, cluster.nominations()) == ("", [])


def test_a_nomination_that_holds_again_is_not_withdrawn() -> None:
    cluster = until(a_plan(), Stage.EVICTING).fails(Evict)
    (withdrawal,) = cluster.take(Nominate)
    cluster.stage.happens(Failed(withdrawal, "try later"))
    cluster.stage.after(2.0)
    assert cluster.nominations() == [("new", "n1")]
    cluster.does(Nominate).does(SetCondition).does(Evict).stage.after(60.0)
    assert cluster.nominations() == []
    assert cluster.comes_true().places() == {"new": "n1"}


def test_a_nomination_that_a_failed_bind_did_not_clear_is_withdrawn_later() -> None:
    """The pod was to be bound to the node that it was nominated to; now it waits, and for no node."""
    cluster = until(a_plan(), Stage.DRAINING).drained().show(later(a_node("n1", unschedulable=True)))
    cluster.fails(Bind).stage.after(20.0)
    assert cluster.does().pod("new").status.nominated_node_name == "n1"
    cluster.stage.after(20.0)
    assert cluster.does().pod("new").status.nominated_node_name == ""


def test_nominations_by_others_are_left_alone() -> None:
    cluster = served(NODE, OLD, a_pod("new", cpu="9", priority=9))
    cluster.show(nominated_to(cluster.pod("new"), "n1")).stage.after(100.0)
    assert cluster.nominations() == []


# --- a victim never leaves -----------------------------------------------------------------------


def stuck() -> Served:
    """The cheapest victim is on n1, and stays there although it was deleted."""
    others = (a_node("n2"), a_pod("dear", cpu="3", priority=5, on="n2"))
    cluster = until(served(NODE, OLD, *others, NEW), Stage.DRAINING)
    cluster.take()
    cluster.stage.after(299.0)
    assert cluster.plan().victims == (target(OLD),)
    cluster.stage.after(1.0)
    return cluster


def test_after_a_while_a_plan_is_made_that_does_not_count_on_it() -> None:
    cluster = stuck()
    assert [victim.name for victim in cluster.plan().victims] == ["dear"]
    assert ("new", "") in cluster.nominations()
    for step in (Nominate, SetCondition, Evict):
        cluster.does(step)
    cluster.gone("dear")
    assert cluster.does().places() == {"old": "n1", "new": "n2"}


def test_people_are_told_of_a_victim_that_does_not_leave() -> None:
    told = {e.target.name: e for e in stuck().stage.wanted if isinstance(e, Announce) and e.tone == "Warning"}
    assert told["old"].reason == "PreemptionStuck"
    assert (
        told["old"].note
        == "it has not left within 300 s of being asked to; its room is not counted on any more"
    )
    texts = notes(stuck().stage.wanted)
    assert "preemption failed at Pod default/old: it has not left within 300 s" in texts


def test_if_there_is_no_other_plan_it_waits_and_is_woken_when_the_victim_goes_after_all() -> None:
    cluster = until(a_plan(stuck_victim_seconds=60.0), Stage.DRAINING)
    cluster.stage.after(100.0)
    cluster.does()
    assert (cluster.outcomes()[-1], cluster.unfinished().get("plans")) == ("Unschedulable", None)
    assert cluster.drained().comes_true().places() == {"new": "n1"}
    assert cluster.unfinished() == {}


def test_a_pod_that_is_leaving_for_another_reason_is_not_counted_on_for_ever_either() -> None:
    cluster = served(
        NODE,
        later(OLD, deletion_timestamp=TIME),
        a_pod("low", cpu="1", on="n1"),
        a_pod("new", cpu="1", priority=9),
        a_node("n2", cpu="1"),
        a_pod("dear", cpu="1", priority=5, on="n2"),
    )
    assert cluster.plan().victims == ()
    cluster.stage.after(300.0)
    assert [victim.name for victim in cluster.plan().victims] == ["low"]


def test_an_own_grace_period_of_years_pins_no_preemptor() -> None:
    years = a_pod("old", cpu="3", on="n1", terminationGracePeriodSeconds=315_360_000)
    others = (a_node("n2"), a_pod("dear", cpu="3", priority=5, on="n2"))
    cluster = until(served(NODE, years, *others, NEW), Stage.DRAINING)
    cluster.show(later(cluster.pod("old"), deletion_grace_period_seconds=315_360_000))
    cluster.stage.after(299.0)
    assert cluster.plan().stage is Stage.DRAINING
    cluster.stage.after(1.0)
    assert [victim.name for victim in cluster.plan().victims] == ["dear"]


@pytest.mark.parametrize(("own", "given"), [(601, 600), (600, None), (None, None)])
def test_a_victim_gets_no_longer_to_stop_than_an_administrator_allows(
    own: int | None, given: int | None
) -> None:
    old = a_pod("old", cpu="3", on="n1", terminationGracePeriodSeconds=own)
    cluster = until(served(NODE, old, NEW, settings=Settings(longest_grace=600)), Stage.EVICTING)
    assert [effect.grace for effect in cluster.stage.wanted if isinstance(effect, Evict)] == [given]


def test_an_eviction_that_is_never_answered_does_not_hold_its_preemptor_for_ever() -> None:
    cluster = until(
        served(NODE, OLD, a_node("n2"), a_pod("dear", cpu="3", priority=5, on="n2"), NEW), Stage.EVICTING
    )
    for _ in range(30):
        cluster.loses(Evict, done=False)
        cluster.stage.after(10.0)
    assert [victim.name for victim in cluster.plan().victims] == ["dear"]
    cluster.stage.after(30.0)
    assert cluster.does().conditions("old")[MARK] == "False"


def test_the_rest_of_a_group_can_be_taken_without_the_one_that_is_stuck() -> None:
    group = a_group("train", 5, disruptedWhole=True)
    pods = [a_member(f"t{i}", "train", cpu="3", priority=5, on=f"n{i + 1}") for i in range(2)]
    cluster = served(NODE, a_node("n2"), group, pods[0], later(pods[1], deletion_timestamp=TIME))
    cluster.stage.after(300.0)
    cluster.show(NEW)
    assert [victim.name for victim in cluster.plan().victims] == ["t0"]


# --- the clock is set ----------------------------------------------------------------------------

SET = (-3600.0, 3600.0)  # seconds


@pytest.mark.parametrize("seconds", SET)
@pytest.mark.parametrize("stage", OPEN)
def test_a_clock_that_is_set_holds_nothing_up(stage: Stage, seconds: float) -> None:
    cluster = until(a_plan(), stage)
    cluster.stage.set_clock(seconds)
    assert cluster.comes_true().places() == {"new": "n1"}
    assert cluster.unfinished() == {}


@pytest.mark.parametrize("seconds", SET)
def test_a_backoff_takes_as_long_when_the_clock_is_set(seconds: float) -> None:
    cluster = until(a_plan(), Stage.EVICTING).fails(Evict)
    cluster.stage.set_clock(seconds).after(0.9)
    assert cluster.outcomes() == ["Preempts"]
    cluster.stage.after(1.1)
    assert cluster.outcomes() == ["Preempts", "Preempts"]


@pytest.mark.parametrize("seconds", SET)
def test_a_bind_in_doubt_is_sent_again_in_time_when_the_clock_is_set(seconds: float) -> None:
    stage: Acts = stage_with(NODE, NEW)
    (bind,) = stage.take()
    stage.happens(Unknown(bind, "no answer"))
    assert stage.set_clock(seconds).after(9.9).take() == []
    assert stage.after(0.1).take() == [bind]


def test_people_are_told_of_a_bind_that_was_in_doubt_and_fails_since() -> None:
    stage = stage_with(NODE, NEW)
    (bind,) = stage.take()
    stage.happens(Unknown(bind, "no answer"))
    told = []
    for _ in range(3):
        stage.after(10.0)
        stage.take()
        told += notes(stage.happens(Failed(bind, "not allowed")).wanted)
    assert told == ["an answer was lost, and binding to n1 fails since: not allowed"]
