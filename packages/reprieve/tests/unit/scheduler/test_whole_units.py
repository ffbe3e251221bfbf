"""A group that is evicted whole goes whole or not at all, whatever happens meanwhile."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.scheduler.crowds import a_budget, a_group, a_member
from tests.unit.scheduler.making import a_claim, a_class, a_node, a_pod, later, target, wanting
from tests.unit.scheduler.serving import Served, served, until
from tests.unit.scheduler.test_trees import a_tree

from reprieve.model.conditions import MARK
from reprieve.model.effects import Announce, Bind, Evict, Nominate, SetCondition
from reprieve.model.events import Done, Failed, Gone, Unknown
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.preemption.policy import Policy
from reprieve.preemption.resize import DeferredResizes
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.plan_records import EndReason, PlanEnded
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings

NODES = [a_node(f"n{i}", labels={"host": f"n{i}"}) for i in (1, 2, 3)]
NEW = a_pod("new", cpu="2", priority=9, nodeSelector={"host": "n1"})
BEFORE = [Stage.NOMINATED, Stage.MARKING, Stage.COMMITTING]
AFTER = [Stage.EVICTING, Stage.DRAINING]


def member(number: int, on: str = "", **fields: Any) -> Pod:
    return a_member(f"t{number}", "train", cpu="3", priority=5, on=on, **fields)


def train(**spec: Any) -> list[KubernetesObject]:
    return [a_group("train", 5, disruptedWhole=True, **spec), member(0, on="n1"), member(1, on="n2")]


def a_plan(*more: KubernetesObject, stage: Stage, **settings: Any) -> Served:
    return until(served(*NODES, *train(), *more, NEW, settings=Settings(**settings)), stage)


def names(cluster: Served) -> set[str]:
    return {pod.metadata.name for pod in cluster.pods()}


def called_off(cluster: Served) -> list[EndReason]:
    return [record.reason for record in cluster.stage.records if isinstance(record, PlanEnded)]


# --- pods that join before the first delete ------------------------------------------------------


@pytest.mark.parametrize("stage", BEFORE)
def test_a_member_that_another_client_places_before_the_first_delete_goes_too(stage: Stage) -> None:
    cluster = a_plan(stage=stage).show(member(2, on="n3"))
    cluster.does(Nominate)
    while not cluster.wanted(Evict):
        cluster.does(SetCondition)
    assert cluster.wanted(Evict) == ["t0", "t1", "t2"]
    assert cluster.conditions("t2")[MARK] == "True"
    assert cluster.comes_true().places() == {"new": "n1"}
    assert cluster.unfinished() == {}


def test_a_member_that_is_being_bound_goes_too() -> None:
    cluster = a_plan(stage=Stage.MARKING).show(member(2))
    assert cluster.places_wanted() == {"t2": "n3"}
    cluster.does(Bind)
    while not cluster.wanted(Evict):
        cluster.does(SetCondition)
    assert cluster.wanted(Evict) == ["t0", "t1", "t2"]


def test_a_group_that_turns_out_to_be_whole_goes_whole() -> None:
    """The group was created after its pods, and after the decision."""
    group, *pods = train()
    cluster = until(served(*NODES, *pods, NEW), Stage.MARKING).show(group)
    cluster.does(SetCondition)
    assert cluster.plan().stage is Stage.COMMITTING
    assert until(cluster, Stage.EVICTING).wanted(Evict) == ["t0", "t1"]


def test_a_member_that_may_not_be_evicted_yet_protects_its_group() -> None:
    cluster = a_plan(stage=Stage.MARKING).show(later(a_group("train", 20, disruptedWhole=True)))
    cluster.does(SetCondition).does(SetCondition)
    assert cluster.wanted(Evict) == []
    assert called_off(cluster) == [EndReason.VICTIMS_CHANGED]
    assert cluster.comes_true().places()["t0"] == "n1"


# --- budgets at the last moment ------------------------------------------------------------------

ALWAYS: dict[str, Any] = {"policies": {SCHEDULER_NAME: replace(REPRIEVE, breaks_no_budget=True)}}


@pytest.mark.parametrize("policy", [REPRIEVE, replace(REPRIEVE, breaks_no_budget=True)])
def test_a_budget_that_shrinks_before_the_evictions_is_looked_at(policy: Policy) -> None:
    old = a_pod("old", cpu="3", on="n1", labels={"app": "a"})
    settings = Settings(policies={SCHEDULER_NAME: policy})
    cluster = served(NODES[0], old, a_budget("a", 1, app="a"), NEW, settings=settings)
    until(cluster, Stage.MARKING).show(later(a_budget("a", 0, app="a")))
    cluster.does(SetCondition)
    assert (cluster.wanted(Evict), called_off(cluster)) == ([], [EndReason.VICTIMS_CHANGED])
    cluster.stage.after(20.0)
    assert cluster.comes_true().places() == ({"old": "n1"} if policy.breaks_no_budget else {"new": "n1"})


def test_a_budget_that_was_known_to_be_exceeded_stops_nothing() -> None:
    old = a_pod("old", cpu="3", on="n1", labels={"app": "a"})
    cluster = served(NODES[0], old, a_budget("a", 0, app="a"), NEW)
    assert until(cluster, Stage.EVICTING).wanted(Evict) == ["old"]


def test_a_member_that_joins_is_counted_by_budgets() -> None:
    cluster = a_plan(a_budget("a", 0, app="a"), stage=Stage.MARKING, **ALWAYS)
    cluster.show(member(2, on="n3", labels={"app": "a"}))
    cluster.does(SetCondition).does(SetCondition)
    assert (cluster.wanted(Evict), called_off(cluster)) == ([], [EndReason.VICTIMS_CHANGED])


# --- from the first delete on --------------------------------------------------------------------


@pytest.mark.parametrize("stage", AFTER)
def test_the_unit_is_finished_without_its_preemptor(stage: Stage) -> None:
    cluster = a_plan(stage=stage).gone("new")
    assert names(cluster.comes_true()) == set()
    assert cluster.unfinished() == {}


def test_a_preemptor_that_goes_in_the_breath_of_the_last_mark_is_too_late() -> None:
    cluster = a_plan(stage=Stage.COMMITTING)
    (mark,) = [effect for effect in cluster.stage.wanted if effect in cluster.plan().pending]
    new = cluster.named("new")
    cluster.stage.wanted.remove(mark)
    cluster.stage.happens(Done(mark), *cluster.applied(mark), Gone(new))
    del cluster.objects[new]
    assert names(cluster.comes_true()) == set()
    assert cluster.unfinished() == {}


@pytest.mark.parametrize("before", [True, False])
def test_a_unit_of_which_every_delete_is_refused_stays_when_its_preemptor_is_gone(before: bool) -> None:
    """Whether the preemptor goes before the refusals arrive or after them."""
    cluster = a_plan(stage=Stage.EVICTING)
    cluster = cluster.gone("new").fails(Evict) if before else cluster.fails(Evict).gone("new")
    for _ in range(5):
        assert cluster.does(SetCondition).wanted(Evict) == [], "nobody needs the room"
        cluster.stage.after(30.0)
    assert cluster.comes_true().places() == {"t0": "n1", "t1": "n2"}
    assert {cluster.conditions(name)[MARK] for name in ("t0", "t1")} == {"False"}
    assert cluster.unfinished() == {}


def test_a_unit_of_which_every_delete_is_refused_is_tried_again_while_its_preemptor_waits() -> None:
    cluster = a_plan(stage=Stage.EVICTING).fails(Evict)
    cluster.stage.after(1.0)
    cluster.does(SetCondition)
    assert cluster.wanted(Evict) == ["t0", "t1"]


def test_a_unit_of_which_the_outcome_of_one_delete_is_unknown_is_finished() -> None:
    cluster = a_plan(stage=Stage.EVICTING).gone("new")
    first, second = cluster.take(Evict)
    cluster.stage.happens(Unknown(first, "no answer"), Failed(second, "refused"))
    cluster.comes_true().stage.after(20.0)
    assert names(cluster.comes_true()) == set()


def test_victims_are_told_though_their_preemptor_is_gone() -> None:
    cluster = a_plan(stage=Stage.EVICTING).gone("new").does(Evict)
    told = [e for e in cluster.stage.wanted if isinstance(e, Announce) and e.reason == "Preempted"]
    assert [e.target.name for e in told] == ["t0", "t1"]


@pytest.mark.parametrize("done", [False, True])
def test_a_delete_whose_answer_is_lost_is_sent_until_the_pod_leaves(done: bool) -> None:
    cluster = a_plan(stage=Stage.EVICTING).gone("new").loses(Evict, done=done)
    assert names(cluster.comes_true()) == set()


def test_a_member_of_which_is_heard_after_the_first_delete_goes_too() -> None:
    cluster = a_plan(stage=Stage.EVICTING).show(member(2, on="n3")).gone("new")
    assert names(cluster.comes_true()) == set()
    assert cluster.unfinished() == {}


def test_a_member_that_a_watch_shows_late_goes_too_though_a_victim_counts_as_stuck() -> None:
    """The watch is behind for longer than the scheduler waits for victims."""
    cluster = a_plan(stage=Stage.EVICTING, stuck_victim_seconds=15.0)
    cluster.stage.happens(*map(Done, cluster.take(Evict)))
    cluster.stage.after(15.0)
    assert called_off(cluster) == [EndReason.VICTIM_STUCK]
    cluster.gone("t0").show(member(2, on="n3"))
    assert cluster.does(SetCondition).wanted(Evict) == ["t2"]


def test_a_group_around_it_that_appears_meanwhile_does_not_let_it_start_in_part() -> None:
    """The unit is what it was at its first delete: until that is over, no pod of it starts or stays."""
    tree = a_tree(priority=5, disruptedWhole=True)
    inside, *pods = train(parent="tree")
    cluster = until(served(*NODES, inside, *pods, NEW), Stage.EVICTING)
    cluster.does(Evict).gone("t0").show(tree, member(2), member(3, on="n3"))
    cluster.stage.after(20.0)
    assert cluster.does(SetCondition).wanted(Evict) == ["t3"]
    assert "t2" not in cluster.places_wanted()
    assert cluster.does(Evict).drained().comes_true().places().keys() == {"new", "t2"}


def test_nor_does_the_group_around_it_that_is_deleted_and_comes_back_meanwhile() -> None:
    inside = a_group("train", 5, disruptedWhole=True, parent="tree")
    other, its = a_group("eval", 5, parent="tree"), a_member("e0", "eval", cpu="1", priority=5, on="n3")
    tree = a_tree(priority=5, disruptedWhole=True)
    cluster = until(served(*NODES, tree, inside, *train()[1:], other, its, NEW), Stage.EVICTING)
    assert sorted(cluster.wanted(Evict)) == ["e0", "t0", "t1"]
    cluster.does(Evict).gone("t0").gone("tree", kind="CompositePodGroup")
    cluster.show(a_tree(priority=5), member(2)).stage.after(20.0)
    assert cluster.places_wanted().keys() <= {"new"}
    assert cluster.drained().comes_true().places().keys() == {"new", "t2"}


@pytest.mark.parametrize(("seconds", "goes"), [(20.0, ["t2"]), (70.0, [])])
def test_a_member_that_a_watch_shows_late_goes_too_though_a_delete_is_refused_for_good(
    seconds: float, goes: list[str]
) -> None:
    """After a minute it is a new start."""
    cluster = a_plan(stage=Stage.EVICTING).gone("t1").fails(Evict, "t0")
    cluster.stage.after(1.0)
    cluster.fails(Evict, "t0")
    cluster.stage.set_clock(-1000.0)
    cluster.stage.after(seconds)
    cluster.take(Evict)  # t0 may be due again
    assert cluster.show(member(2, on="n3")).does(SetCondition).wanted(Evict) == goes


def test_members_that_start_because_a_victim_is_stuck_are_left_alone() -> None:
    """Whether they are placed by this scheduler, or by another client when all that was there is shown."""
    cluster = a_plan(stage=Stage.DRAINING, stuck_victim_seconds=15.0).show(member(2))
    cluster.gone("t0").stage.after(15.0)
    cluster.does(SetCondition)
    assert cluster.does(Bind).places().get("t2") == "n3"
    cluster.stage.after(45.0)
    cluster.show(member(3, on="n1")).does(SetCondition)
    assert cluster.wanted(Evict) == []


def test_what_is_placed_after_the_last_victim_is_gone_is_left_alone() -> None:
    cluster = a_plan(stage=Stage.DRAINING).drained().show(member(2, on="n3"))
    assert cluster.comes_true().places() == {"new": "n1", "t2": "n3"}


def test_one_refused_eviction_does_not_save_the_rest() -> None:
    cluster = a_plan(stage=Stage.EVICTING).fails(Evict, "t1")
    assert cluster.does(Evict).drained().places() == {"t1": "n2"}
    cluster.stage.after(1.0)
    assert cluster.wanted(Evict) == ["t1"], "it is tried again"
    cluster.comes_true().stage.after(20.0)
    assert cluster.comes_true().places() == {"new": "n1"}
    assert cluster.unfinished() == {}


def test_another_plan_for_the_rest_of_a_unit_does_not_take_its_marks_along() -> None:
    cluster = a_plan(stage=Stage.EVICTING).fails(Evict, "t1").does(Evict).gone("new").drained()
    other = a_pod("other", cpu="2", priority=9, nodeSelector={"host": "n2"})
    until(cluster.show(other), Stage.COMMITTING).gone("other").does(SetCondition)
    assert cluster.conditions("t1")[MARK] == "True"
    cluster.stage.after(1.0)
    assert names(cluster.comes_true()) == set()


def test_an_eviction_that_is_refused_for_good_is_named_on_the_group() -> None:
    cluster = a_plan(stage=Stage.EVICTING).fails(Evict, "t1").does(Evict).drained()
    cluster.stage.after(1.0)
    cluster.fails(Evict)
    text = "the eviction of t1 is refused, and tried again: refused"
    told = [e for e in cluster.stage.wanted if isinstance(e, Announce) and e.target.kind == "PodGroup"]
    assert [(e.reason, e.note) for e in told] == [("PreemptionIncomplete", text)]
    assert cluster.does().conditions("train", "PodGroup")["PreemptionIncomplete"] == "True"
    cluster.stage.after(100.0)
    swept = [e for e in cluster.stage.wanted if isinstance(e, SetCondition) and e.type == MARK]
    assert not [e for e in swept if e.status != "True"], "marks are kept"
    assert cluster.conditions("train", "PodGroup")[MARK] == "True"
    assert cluster.wanted(Evict) == ["t1"]
    cluster.fails(Evict)
    told = [e for e in cluster.stage.wanted if isinstance(e, Announce) and e.target.kind == "PodGroup"]
    assert [e.note for e in told] == [text], "the event before may be lost, or expired"
    cluster.stage.after(100.0)
    cluster.comes_true()
    assert "t1" not in names(cluster)
    assert cluster.conditions("train", "PodGroup")["PreemptionIncomplete"] == "False"


def test_a_new_leader_does_not_withdraw_at_the_first_refusal_what_the_group_says() -> None:
    cluster = a_plan(stage=Stage.EVICTING).fails(Evict, "t1").does(Evict).drained()
    cluster.stage.after(1.0)
    cluster.fails(Evict).does()
    assert cluster.conditions("train", "PodGroup")["PreemptionIncomplete"] == "True"
    cluster = cluster.restarted()
    for _ in range(9):
        if not cluster.wanted(Evict):
            cluster.does()
    assert cluster.wanted(Evict) == ["t1"]
    cluster.fails(Evict)
    said = [
        e for e in cluster.stage.wanted if isinstance(e, SetCondition) and e.type == "PreemptionIncomplete"
    ]
    assert [e for e in said if e.status == "False"] == []


def test_every_refused_eviction_is_named_on_the_group() -> None:
    others = [member(i, on="n2") for i in range(2, 30)]
    cluster = a_plan(*others, stage=Stage.EVICTING).fails(Evict)
    cluster.stage.after(1.0)
    cluster.fails(Evict)
    told = [e for e in cluster.stage.wanted if isinstance(e, Announce) and e.target.kind == "PodGroup"]
    (shown,) = (e for e in cluster.stage.wanted if isinstance(e, SetCondition) and e.message == told[-1].note)
    named = {word.rstrip(",") for word in shown.message.split()}
    assert {f"t{i}" for i in range(30)} <= named


def test_the_names_of_refused_evictions_leave_room_for_the_error() -> None:
    long = "t" * 60
    others = [a_member(f"{long}{i}", "train", cpu="3", priority=5, on="n2") for i in range(20)]
    cluster = a_plan(*others, stage=Stage.EVICTING).fails(Evict)
    cluster.stage.after(1.0)
    cluster.fails(Evict)
    told = [e for e in cluster.stage.wanted if isinstance(e, Announce) and e.target.kind == "PodGroup"]
    assert len(told[-1].note) < 1024 and told[-1].note.endswith(" more is refused, and tried again: refused")


def test_the_mark_of_a_group_that_went_and_runs_again_does_not_say_that_it_was_called_off() -> None:
    cluster = a_plan(stage=Stage.DRAINING).comes_true().show(member(7, on="n2"))
    (cleared,) = [e for e in cluster.take(SetCondition) if isinstance(e, SetCondition) and e.type == MARK]
    assert (cleared.target.kind, cleared.reason) == ("PodGroup", "PreemptionOver")


# --- pods without a node -------------------------------------------------------------------------


def test_members_without_a_node_wait_until_the_last_victim_is_gone() -> None:
    cluster = a_plan(stage=Stage.DRAINING).show(member(2))
    assert cluster.wanted(Bind) == []
    assert cluster.gone("t0").does(Bind).places() == {"new": "n1", "t1": "n2"}
    assert cluster.gone("t1").wanted(Bind) == [], "the mark on the group is open"
    assert cluster.does(SetCondition).wanted(Bind) == ["t2"]


def test_they_are_told_what_they_wait_for() -> None:
    cluster = a_plan(stage=Stage.DRAINING).show(member(2))
    text = "PodGroup default/train is being preempted: its pods start when all preempted pods are gone"
    assert text in [e.message for e in cluster.stage.wanted if isinstance(e, SetCondition)]


def test_they_do_not_wait_for_a_victim_that_is_stuck() -> None:
    cluster = a_plan(stage=Stage.DRAINING).show(member(2)).gone("t0").does(Bind)
    cluster.take()
    cluster.stage.after(299.0)
    assert cluster.wanted(Bind) == []
    cluster.stage.after(1.0)
    assert cluster.does(SetCondition).wanted(Bind) == ["t2"]


def test_they_do_not_wait_for_a_victim_whose_node_is_gone() -> None:
    cluster = a_plan(stage=Stage.DRAINING).show(member(2)).gone("t0").does(Bind)
    assert cluster.gone("n2", kind="Node").does(SetCondition).wanted(Bind) == ["t2"]


def test_they_do_not_wait_for_a_victim_that_is_refused_for_good() -> None:
    cluster = a_plan(stage=Stage.EVICTING).fails(Evict, "t1").does(Evict).drained().show(member(2))
    assert "t2" not in cluster.wanted(Bind)
    cluster.stage.after(1.0)
    assert "t2" in cluster.fails(Evict).does(SetCondition).wanted(Bind)


def test_they_may_start_when_the_plan_is_called_off_before_the_first_delete() -> None:
    cluster = a_plan(stage=Stage.COMMITTING).show(member(2))
    assert cluster.wanted(Bind) == []
    assert cluster.gone("new").wanted(Bind) == ["t2"]


def test_a_member_whose_volumes_get_ready_meanwhile_waits_as_well() -> None:
    late = member(2, claims=["data"])
    cluster = a_plan(a_class(), a_claim("data"), stage=Stage.MARKING).show(late)
    cluster.does(SetCondition).does(SetCondition).does(Evict)
    assert "t2" not in cluster.wanted(Evict)
    cluster.drained().comes_true()
    assert cluster.places()["new"] == "n1"


# --- resizes -------------------------------------------------------------------------------------


def test_a_unit_is_finished_when_the_resize_is_withdrawn() -> None:
    grows = a_pod("grows", cpu="1", priority=9, on="n1")
    settings = Settings(policies={SCHEDULER_NAME: replace(REPRIEVE, resizes=DeferredResizes())})
    cluster = served(*NODES, *train(), grows, settings=settings).show(wanting(grows, cpu="3"))
    until(cluster, Stage.EVICTING).show(later(a_pod("grows", cpu="1", priority=9, on="n1")))
    assert names(cluster.comes_true()) == {"grows"}


# --- restart -------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", AFTER)
def test_a_new_leader_finishes_a_unit_whose_preemptor_is_gone(stage: Stage) -> None:
    cluster = a_plan(stage=stage)
    cluster.take()
    del cluster.objects[cluster.named("new")]
    cluster = cluster.restarted()
    assert names(cluster.comes_true()) == set()
    assert cluster.unfinished() == {}


def test_a_new_leader_takes_in_a_member_that_its_predecessor_did_not_see() -> None:
    cluster = a_plan(stage=Stage.EVICTING)
    cluster.take()
    late = member(2, on="n3")
    cluster.objects[target(late)] = late
    del cluster.objects[cluster.named("new")]
    assert names(cluster.restarted().comes_true()) == set()


@pytest.mark.parametrize("stage", [Stage.MARKING, Stage.COMMITTING])
def test_a_new_leader_evicts_nothing_of_a_unit_that_was_not_committed(stage: Stage) -> None:
    cluster = a_plan(stage=stage)
    cluster.take()
    del cluster.objects[cluster.named("new")]
    cluster = cluster.restarted()
    cluster.stage.after(31.0)
    assert cluster.comes_true().places() == {"t0": "n1", "t1": "n2"}
    assert cluster.unfinished() == {}


def test_a_new_leader_lets_members_without_a_node_wait() -> None:
    cluster = a_plan(stage=Stage.DRAINING).show(member(2))
    cluster.take()
    cluster = cluster.restarted()
    assert "t2" not in cluster.wanted(Bind)
    assert "t2" in cluster.drained().does(SetCondition).wanted(Bind)


def test_a_group_that_went_before_a_restart_runs_again() -> None:
    cluster = a_plan(stage=Stage.DRAINING).comes_true().show(member(7, on="n2"))
    cluster = cluster.restarted()
    assert cluster.comes_true().places() == {"new": "n1", "t7": "n2"}
