"""From a decision to evict to the bind: what is reserved for which pod, and what happens on failures."""

from dataclasses import replace

import msgspec
import pytest
from tests.unit.scheduler.crowds import a_budget, a_stranger
from tests.unit.scheduler.making import a_node, a_pod, later, leaving
from tests.unit.scheduler.serving import OPEN, SETTLING, STEPS, Served, nominated_to, served, until
from tests.unit.scheduler.stage import notes

from reprieve.model.conditions import MARK
from reprieve.model.effects import Bind, Effect, Evict, Nominate, SetCondition
from reprieve.model.events import Done, Failed
from reprieve.model.objects import Node, NodeSpec
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

NODE, OLD, NEW = a_node("n1"), a_pod("old", cpu="3", on="n1"), a_pod("new", cpu="2", priority=9)


def a_plan() -> Served:
    """``new`` waits for the room of ``old``."""
    return served(NODE, OLD, NEW)


# --- step by step --------------------------------------------------------------------------------


def test_no_pod_is_touched_before_the_step_before_was_acknowledged() -> None:
    cluster = a_plan()
    assert (cluster.wanted(Nominate), cluster.wanted(Evict)) == (["new"], [])
    cluster.take(SetCondition)
    assert cluster.does(Nominate).wanted(SetCondition) == ["old"]
    assert cluster.wanted(Evict) == []
    assert cluster.does(SetCondition).wanted(Evict) == ["old"]
    assert cluster.does(Evict).wanted(Bind) == []
    assert cluster.gone("old").wanted(Bind) == ["new"]
    assert cluster.comes_true().places() == {"new": "n1"}
    assert cluster.unfinished() == {}


def test_both_sides_can_see_it_in_their_conditions() -> None:
    cluster = until(a_plan(), Stage.DRAINING)
    assert cluster.conditions("old") == {MARK: "True"}
    assert cluster.conditions("new") == {"PodScheduled": "False"}
    assert cluster.pod("new").status.nominated_node_name == "n1"


def test_a_victim_learns_no_name_of_another_namespace() -> None:
    cluster = served(NODE, OLD, a_stranger("new", cpu="2", priority=9))
    told = [notes([effect]) for effect in _everything(cluster) if effect.target.name == "old"]
    assert told
    assert not any("new" in note.replace("uid-new", "") for notes in told for note in notes)
    assert not any("other" in note for notes in told for note in notes)


def _everything(cluster: Served) -> list[Effect]:
    effects: list[Effect] = []
    while cluster.stage.wanted:
        effects += cluster.stage.wanted
        cluster.does().drained()
    return effects


@pytest.mark.parametrize("stage", SETTLING)
def test_while_calls_are_under_way_the_preemptor_is_not_looked_at(stage: Stage) -> None:
    cluster = until(a_plan(), stage)
    cluster.show(a_node("n2"), later(cluster.pod("new")))
    assert cluster.outcomes() == ["Preempts"]


def test_what_happened_in_the_meantime_counts_as_soon_as_calls_are_over() -> None:
    cluster = until(a_plan(), Stage.EVICTING).show(a_node("n2"))
    cluster.does(Evict).stage.after(1.0)
    assert cluster.does(Bind).places() == {"old": "n1", "new": "n2"}


@pytest.mark.parametrize("stage", [Stage.NOMINATED, Stage.MARKING])
def test_no_pod_is_evicted_if_room_was_found_before_that(stage: Stage) -> None:
    cluster = until(a_plan(), stage).show(a_node("n2")).comes_true()
    assert cluster.places() == {"old": "n1", "new": "n2"}
    assert cluster.conditions("old").get(MARK, "False") == "False"


def test_no_pod_is_evicted_for_a_preemptor_that_asks_for_less_in_the_meantime() -> None:
    cluster = a_plan().show(later(a_pod("new", cpu="1", priority=9))).comes_true()
    assert cluster.places() == {"old": "n1", "new": "n1"}


@pytest.mark.parametrize("stage", [Stage.NOMINATED, Stage.MARKING])
@pytest.mark.parametrize(
    "node", [later(a_node(unschedulable=True)), later(a_node(cpu="1"))], ids=["cordoned", "smaller"]
)
def test_no_pod_is_evicted_for_room_that_is_of_no_use_any_more(stage: Stage, node: Node) -> None:
    cluster = until(a_plan(), stage).show(node).comes_true()
    assert cluster.places() == {"old": "n1"}
    assert cluster.unfinished().keys() == {"in line"}


def test_others_are_scheduled_while_victims_drain() -> None:
    cluster = until(a_plan(), Stage.DRAINING).show(a_node("n2"), a_pod("other", priority=9))
    assert cluster.does(Bind).places()["other"] == "n2"


# --- the second attempt --------------------------------------------------------------------------


def two_nodes() -> Served:
    """The victims on n1 cost least, and drain."""
    dear = [a_pod("dear", cpu="3", priority=8, on="n2"), a_pod("tiny", priority=8, on="n2")]
    return until(served(NODE, OLD, NEW, a_node("n2"), *dear), Stage.DRAINING)


def test_no_new_preemption_while_the_nomination_is_feasible() -> None:
    cluster = two_nodes().gone("tiny")
    cluster.stage.after(5.0)
    assert cluster.outcomes() == ["Preempts", "WaitsForVictims"]
    assert cluster.wanted(Evict) == []


def test_another_place_may_be_taken_meanwhile() -> None:
    cluster = two_nodes().gone("dear")
    cluster.stage.after(5.0)
    cluster.comes_true()
    assert cluster.places()["new"] == "n2"
    assert cluster.unfinished() == {}


def test_a_nomination_that_is_no_longer_feasible_is_cleared_and_planned_anew() -> None:
    """What is leaving already counts as gone."""
    cluster = two_nodes().show(a_pod("newest", cpu="4", priority=20))
    assert cluster.outcomes() == ["Preempts", "Preempts", "Preempts"]
    assert cluster.plan_of("newest").victims == ()
    assert [victim.name for victim in cluster.plan_of("new").victims] == ["dear"]
    assert ("new", "") in cluster.nominations()
    assert cluster.comes_true().places() == {"newest": "n1", "new": "n2", "tiny": "n2"}


def test_a_node_that_is_closed_is_given_up_at_the_next_look() -> None:
    cluster = two_nodes().show(msgspec.structs.replace(later(NODE), spec=NodeSpec(unschedulable=True)))
    cluster.gone("tiny").stage.after(5.0)
    assert cluster.nominations() == [("new", "n2")]
    assert [victim.name for victim in cluster.plan().victims] == ["dear"]


def test_a_nomination_that_is_no_longer_feasible_is_cleared_also_if_there_is_no_other_plan() -> None:
    cluster = until(a_plan(), Stage.DRAINING).show(a_pod("newest", cpu="4", priority=20))
    assert cluster.outcomes()[-1] == "Unschedulable"
    cluster.comes_true()
    assert cluster.places() == {"newest": "n1"}
    assert cluster.pod("new").status.nominated_node_name == ""


# --- reserved room -------------------------------------------------------------------------------


def half_drained() -> Served:
    """One of two victims is gone: half of n1 is free, and all of it reserved for ``new``."""
    halves = [a_pod(name, cpu="2", on="n1") for name in ("old", "older")]
    return until(served(NODE, *halves, a_pod("new", cpu="4", priority=9)), Stage.DRAINING).gone("old")


@pytest.mark.parametrize("priority", [0, 9])
def test_reserved_room_is_respected_by_equals_and_lower_priorities(priority: int) -> None:
    cluster = half_drained().show(a_pod("other", cpu="1", priority=priority))
    assert cluster.wanted(Bind) == []
    cluster.comes_true()
    assert cluster.places() == {"new": "n1"}


def test_reserved_room_is_ignored_by_higher_priorities() -> None:
    cluster = half_drained().show(a_pod("other", cpu="1", priority=10))
    assert cluster.wanted(Bind) == ["other"]
    assert ("new", "") in cluster.nominations(), "what is left is not enough for it"


def test_a_higher_priority_that_leaves_enough_room_disturbs_no_plan() -> None:
    halves = [a_pod(name, cpu="2", on="n1") for name in ("old", "older")]
    cluster = until(served(NODE, *halves, a_pod("new", cpu="3", priority=9)), Stage.DRAINING).gone("old")
    cluster.show(a_pod("other", cpu="1", priority=10))
    assert cluster.nominations() == []
    assert cluster.comes_true().places() == {"other": "n1", "new": "n1"}


def test_a_nominated_pod_tries_its_node_first() -> None:
    nodes = [a_node("n1"), a_node("n2")]
    assert served(*nodes, NEW).does(Bind).places() == {"new": "n1"}
    nominated = nominated_to(NEW, "n2")
    assert served(*nodes, nominated).does(Bind).places() == {"new": "n2"}


@pytest.mark.parametrize("stage", OPEN)
def test_a_vanished_node_frees_what_waits_for_it(stage: Stage) -> None:
    cluster = until(a_plan(), stage).show(a_node("n2", uid="uid-2"))
    cluster.gone("n1", kind="Node")
    assert cluster.places_wanted() == {"new": "n2"}
    assert cluster.gone("old").comes_true().places() == {"new": "n2"}
    assert cluster.unfinished() == {}


def test_what_a_pod_shows_late_reserves_nothing() -> None:
    """The nomination was withdrawn, and its last echo arrives only now."""
    cluster = until(a_plan(), Stage.EVICTING).fails(Evict)
    cluster.take(Nominate)
    cluster.stage.see(later(cluster.pod("new")))
    assert cluster.show(a_pod("small", cpu="1")).wanted(Bind) == ["small"]


@pytest.mark.parametrize("ending", ["deleted", "placed elsewhere"])
def test_a_pod_that_was_kept_out_by_a_reservation_is_woken_when_it_ends(ending: str) -> None:
    cluster = half_drained().show(a_pod("peer", cpu="2", priority=9))
    assert cluster.wanted(Bind) == []
    cluster.stage.after(5.0)
    if ending == "deleted":
        cluster.gone("new")
    else:
        cluster.show(a_node("n2"))
    assert cluster.does(Bind).places()["peer"] == "n1"


# --- something goes wrong ------------------------------------------------------------------------


def test_when_an_eviction_fails_the_nomination_is_withdrawn_and_the_demand_told_and_in_line() -> None:
    cluster = until(a_plan(), Stage.EVICTING)
    cluster.take(SetCondition)
    cluster.fails(Evict)
    assert cluster.nominations() == [("new", "")]
    assert "preemption failed at Pod default/old: refused" in notes(cluster.stage.wanted)
    cluster.does()
    assert cluster.conditions("old") == {MARK: "False"}
    assert cluster.stage.after(1.9).wanted == []
    cluster.stage.after(0.1)
    assert cluster.outcomes() == ["Preempts", "Preempts"]
    assert cluster.comes_true().places() == {"new": "n1"}


@pytest.mark.parametrize("stage", [Stage.NOMINATED, Stage.MARKING])
def test_when_a_step_fails_none_is_evicted(stage: Stage) -> None:
    halves = [a_pod(name, cpu="2", on="n1") for name in ("old", "older")]
    cluster = until(served(NODE, *halves, a_pod("new", cpu="4", priority=9)), stage)
    cluster.fails(STEPS[SETTLING.index(stage)], "new" if stage is Stage.NOMINATED else "old")
    cluster.does()
    assert cluster.wanted(Evict) == []
    assert "True" not in (cluster.conditions("old").get(MARK), cluster.conditions("older").get(MARK))


def test_what_was_evicted_before_another_eviction_failed_counts_as_leaving() -> None:
    halves = [a_pod(name, cpu="2", on="n1") for name in ("old", "older")]
    cluster = until(served(NODE, *halves, a_pod("new", cpu="4", priority=9)), Stage.EVICTING)
    cluster.fails(Evict, "old").does()
    assert (cluster.conditions("old")[MARK], cluster.conditions("older")[MARK]) == ("False", "True")
    cluster.stage.after(2.0)
    assert [victim.name for victim in cluster.plan().victims] == ["old"]
    assert [pod.name for pod in cluster.plan().leaving] == ["older"]


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("step", STEPS)
def test_an_answer_that_is_lost_is_asked_for_again(step: type[Effect], done: bool) -> None:
    cluster = until(a_plan(), SETTLING[STEPS.index(step)])
    cluster.loses(step, done=done)
    assert cluster.plan().stage is SETTLING[STEPS.index(step)]
    assert cluster.comes_true().places() == {"new": "n1"}
    assert cluster.unfinished() == {}


@pytest.mark.parametrize("stage", OPEN)
def test_evictions_that_were_not_sent_are_not_sent_when_the_preemptor_is_gone(stage: Stage) -> None:
    cluster = until(a_plan(), stage)
    cluster.gone("new")
    assert cluster.wanted(Evict) == (["old"] if stage is Stage.EVICTING else [])
    cluster.comes_true()
    spared = stage in (Stage.NOMINATED, Stage.MARKING)
    assert cluster.places() == ({"old": "n1"} if spared else {})
    assert not spared or cluster.conditions("old").get(MARK, "False") == "False"
    assert cluster.unfinished() == {}


def test_a_preemptor_that_is_being_deleted_needs_no_room() -> None:
    cluster = until(a_plan(), Stage.MARKING).deleted("new")
    assert cluster.comes_true().places() == {"old": "n1"}


def test_a_preemptor_that_another_client_binds_needs_no_room() -> None:
    cluster = until(a_plan(), Stage.MARKING)
    cluster.show(a_node("n2"))
    cluster.stage.happens(*cluster.applied(Bind(cluster.named("new"), "n2")))
    assert cluster.comes_true().places() == {"old": "n1", "new": "n2"}


@pytest.mark.parametrize("stage", OPEN)
def test_a_victim_may_vanish_by_itself_at_any_time(stage: Stage) -> None:
    cluster = until(a_plan(), stage).gone("old")
    cluster.take(Evict, names=["old"])
    assert cluster.comes_true().places() == {"new": "n1"}
    assert cluster.unfinished() == {}


def test_answers_about_a_victim_that_vanished_change_nothing() -> None:
    cluster = until(a_plan(), Stage.EVICTING).gone("old")
    (late,) = cluster.take(Evict)
    assert cluster.does(Nominate, Bind).places() == {"new": "n1"}
    cluster.stage.happens(Done(late), Failed(late, "not found"))
    assert cluster.comes_true().places() == {"new": "n1"}
    assert cluster.unfinished() == {}


def test_a_pod_that_is_leaving_anyway_is_not_evicted_and_its_room_counts() -> None:
    cluster = served(NODE, leaving(OLD), a_pod("older", cpu="1", on="n1"), a_pod("new", cpu="3", priority=9))
    until(cluster, Stage.DRAINING)
    assert (cluster.wanted(Evict), cluster.plan().victims) == ([], ())
    assert cluster.gone("old").comes_true().places() == {"older": "n1", "new": "n1"}


def test_only_that_cannot_stay_is_evicted_beside_those_that_leave_anyway() -> None:
    cluster = served(NODE, leaving(OLD), a_pod("older", cpu="1", on="n1"), a_pod("new", cpu="4", priority=9))
    assert [victim.name for victim in cluster.plan().victims] == ["older"]
    assert cluster.comes_true().places() == {"new": "n1"}


# --- several plans -------------------------------------------------------------------------------


def test_two_that_ask_for_the_same_room_do_not_both_get_it() -> None:
    cluster = served(NODE, OLD, NEW, a_pod("peer", cpu="3", priority=9))
    cluster.comes_true()
    assert len(cluster.places()) == 1
    assert cluster.outcomes().count("Preempts") == 1


def test_two_plans_on_one_node_make_room_for_both() -> None:
    old = [a_pod(name, cpu="4", on="n1") for name in ("old", "older")]
    new = [a_pod(name, cpu="4", priority=9) for name in ("new", "newer")]
    cluster = served(a_node("n1", cpu="8"), *old, *new)
    assert cluster.outcomes() == ["Preempts", "Preempts"]
    assert cluster.comes_true().places() == {"new": "n1", "newer": "n1"}


def shared() -> Served:
    """Both have room enough when one and the same pod goes."""
    cluster = served(NODE, a_pod("old", cpu="4", on="n1"), NEW, a_pod("peer", cpu="2", priority=9))
    assert cluster.outcomes() == ["Preempts", "Preempts"]
    return cluster


def test_two_plans_may_share_a_victim() -> None:
    cluster = shared().comes_true()
    assert cluster.places() == {"new": "n1", "peer": "n1"}
    assert cluster.unfinished() == {}


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_a_plan_that_is_called_off_strands_no_other_that_shares_its_victim(steps: int) -> None:
    cluster = shared()
    for step in STEPS[:steps]:
        cluster.does(step)
    cluster.gone("new")
    assert cluster.comes_true().places() == {"peer": "n1"}


def test_a_mark_that_another_plan_needs_is_not_cleared() -> None:
    cluster = shared().does(Nominate)
    assert cluster.plan_of("new").stage is Stage.MARKING
    cluster.take(SetCondition)
    cluster.gone("new")
    assert not [e for e in cluster.stage.wanted if isinstance(e, SetCondition) and e.type == MARK]


def test_a_pod_that_has_to_go_anyway_is_taken_rather_than_another_client() -> None:
    """The pod on n2 would cost less, but the one on n1 is evicted in any case."""
    first = a_pod("first", cpu="1", priority=9, nodeSelector={"host": "n1"})
    nodes = [a_node(name, labels={"host": name}) for name in ("n1", "n2")]
    cluster = served(
        *nodes, a_pod("old", cpu="4", priority=5, on="n1"), a_pod("cheap", cpu="4", on="n2"), first
    )
    cluster.show(a_pod("second", cpu="2", priority=9))
    assert cluster.comes_true().places() == {"first": "n1", "second": "n1", "cheap": "n2"}


def test_a_budget_pays_for_evictions_under_way_only_once() -> None:
    """The one disruption that is allowed is used up by the first plan before the budget shows it."""
    nodes = [a_node(name, labels={"host": name}) for name in ("n1", "n2", "n3")]
    guarded = [a_pod(f"web-{n}", cpu="4", on=n, labels={"app": "web"}) for n in ("n1", "n2")]
    dear = a_pod("dear", cpu="4", priority=5, on="n3")
    cluster = served(*nodes, *guarded, dear, a_budget("web", 1, app="web"))
    cluster.show(a_pod("first", cpu="4", priority=9, nodeSelector={"host": "n1"}))
    cluster.show(a_pod("second", cpu="4", priority=9))
    assert [victim.name for victim in cluster.plan_of("second").victims] == ["dear"]


def test_a_higher_demand_takes_over_the_victims_of_a_plan() -> None:
    cluster = until(a_plan(), Stage.MARKING).show(a_pod("newest", cpu="4", priority=20))
    assert cluster.comes_true().places() == {"newest": "n1"}
    assert cluster.outcomes()[:2] == ["Preempts", "Preempts"]


def test_no_pod_counts_on_a_pod_that_only_waits_for_its_node() -> None:
    """A pod that wants to be near one that is nominated is not worth a victim yet."""
    term = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "db"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    node = a_node("n1", cpu="8", labels={"host": "n1"})
    cluster = served(node, *(a_pod(name, cpu="4", on="n1") for name in ("old", "older")))
    cluster.show(a_pod("db", cpu="4", priority=9, labels={"app": "db"}))
    cluster.show(a_pod("app", cpu="4", priority=9, affinity=near))
    assert cluster.outcomes() == ["Preempts", "Unschedulable"]
    cluster.comes_true().stage.after(10.0)
    assert cluster.comes_true().places() == {"db": "n1", "app": "n1"}


# --- demands that evict nothing ------------------------------------------------------------------


def test_a_pod_that_never_preempts_waits() -> None:
    cluster = served(NODE, OLD, a_pod("new", cpu="2", priority=9, preemptionPolicy="Never"))
    assert cluster.outcomes() == ["Unschedulable"]
    cluster.gone("old").stage.after(5.0)
    assert cluster.comes_true().places() == {"new": "n1"}


def test_a_scheduler_without_a_policy_evicts_nothing() -> None:
    cluster = served(NODE, OLD, NEW, settings=Settings(policies={}))
    assert (cluster.outcomes(), cluster.wanted(Nominate)) == (["Unschedulable"], [])


def test_a_budget_that_must_not_be_broken_is_waited_for() -> None:
    web, strict = (
        a_pod("web", cpu="3", on="n1", labels={"app": "web"}),
        replace(REPRIEVE, breaks_no_budget=True),
    )
    budget, policies = a_budget("web", 0, app="web"), {SCHEDULER_NAME: strict}
    cluster = served(NODE, web, budget, NEW, settings=Settings(policies=policies))
    assert cluster.outcomes() == ["Unschedulable"]
    allowed = msgspec.structs.replace(budget.status, disruptions_allowed=1)
    cluster.show(msgspec.structs.replace(later(budget), status=allowed)).stage.after(1.0)
    assert cluster.comes_true().places() == {"new": "n1"}


def test_equals_are_not_evicted() -> None:
    assert served(NODE, a_pod("old", cpu="3", priority=9, on="n1"), NEW).outcomes() == ["Unschedulable"]
