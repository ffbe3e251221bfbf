"""The mark on a group is open while its eviction is under way: what a new leader does, and when it ends."""

import pytest
from tests.unit.scheduler import stage as plain
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_pod, later, target
from tests.unit.scheduler.serving import TIME, Served, served, until
from tests.unit.scheduler.test_trees import a_tree
from tests.unit.scheduler.test_whole_units import NEW, NODES, a_plan, member, names

from reprieve.model.conditions import MARK
from reprieve.model.effects import Bind, Effect, Evict, SetCondition
from reprieve.model.events import Done, Failed, Seen
from reprieve.model.objects import PodGroup
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.handover import Stage, is_open, shown_mark

OTHER = a_pod("other", cpu="2", priority=9, nodeSelector={"host": "n2"})


def group(cluster: Served, name: str = "train") -> PodGroup:
    found = cluster.objects[cluster.named(name, "PodGroup")]
    assert isinstance(found, PodGroup)
    return found


def closings(cluster: Served) -> list[str]:
    """Groups whose mark is to be closed."""
    marks = [e for e in cluster.stage.wanted if isinstance(e, SetCondition) and e.type == MARK]
    return [e.target.name for e in marks if e.target.kind == "PodGroup" and e.status == "True"]


def taken_marks(cluster: Served, *names: str) -> list[Effect]:
    """The marks on these, or their ends, which are wanted; they stay undone."""
    taken = cluster.take(SetCondition, names=names)
    return [effect for effect in taken if isinstance(effect, SetCondition) and effect.type == MARK]


def without_new(cluster: Served) -> Served:
    """The preemptor is gone, and the scheduler dies before it learns of it; so do its calls."""
    cluster.take()
    del cluster.objects[cluster.named("new")]
    return cluster.restarted()


# --- what a new leader does ----------------------------------------------------------------------


@pytest.mark.parametrize("is_seen", [False, True])
def test_a_member_goes_that_was_not_marked_when_the_last_marked_pod_was_gone(is_seen: bool) -> None:
    cluster = a_plan(stage=Stage.EVICTING)
    late = member(2, on="n3")
    if is_seen:
        cluster.show(late)
    cluster.objects[target(late)] = late
    for name in ("t0", "t1"):
        del cluster.objects[cluster.named(name)]
    cluster = without_new(cluster)
    assert names(cluster.comes_true()) == set()
    assert cluster.unfinished() == {}
    assert not is_open(group(cluster))


def test_the_group_starts_when_the_new_leader_has_closed_the_mark() -> None:
    cluster = a_plan(stage=Stage.DRAINING).show(member(2))
    cluster.drained()
    cluster = without_new(cluster)
    assert (closings(cluster), cluster.wanted(Bind)) == (["train"], [])
    assert cluster.does(SetCondition).wanted(Bind) == ["t2"]


def test_a_pod_that_is_bound_after_the_mark_was_closed_is_left_alone() -> None:
    cluster = a_plan(stage=Stage.DRAINING).drained().does(SetCondition).show(member(2, on="n3"))
    assert shown_mark(group(cluster))
    assert names(without_new(cluster).comes_true()) == {"t2"}


def test_what_started_beside_a_stuck_victim_is_left_alone() -> None:
    cluster = a_plan(stage=Stage.DRAINING, stuck_victim_seconds=15.0).show(member(2)).gone("t0")
    cluster.stage.after(15.0)
    cluster.does(SetCondition).does(Bind)
    assert cluster.places()["t2"] == "n3"
    cluster = without_new(cluster)
    assert {"t1", "t2"} == names(cluster) - {"new"}
    assert "t2" in names(cluster.comes_true())


def test_a_group_whose_preemption_was_called_off_stays_though_its_own_mark_was_not_cleared() -> None:
    cluster = a_plan(stage=Stage.COMMITTING)
    (mark,) = taken_marks(cluster, "train")
    cluster.applied(mark)
    cluster.gone("new")
    assert len(taken_marks(cluster, "train", "t1")) == 2, "which are lost"
    cluster.does(SetCondition)
    assert (cluster.conditions("t0")[MARK], is_open(group(cluster))) == ("False", True)
    cluster = cluster.restarted()
    cluster.stage.after(31.0)
    assert cluster.comes_true().places() == {"t0": "n1", "t1": "n2"}
    assert not is_open(group(cluster))
    assert cluster.unfinished() == {}


def test_the_mark_of_a_group_that_is_being_deleted_counts() -> None:
    cluster, late = a_plan(stage=Stage.EVICTING), member(2, on="n3")
    ends = later(group(cluster), deletion_timestamp=TIME)
    cluster.objects.update({target(late): late, target(ends): ends})
    assert names(without_new(cluster).comes_true()) == set()


def test_marks_are_not_swept_before_all_objects_are_known() -> None:
    marked = a_plan(stage=Stage.EVICTING)
    stage = plain.Stage(Scheduler())
    stage.happens(*map(Seen, marked.objects.values()))
    stage.after(100.0)
    assert stage.wanted == []


# --- how the mark is closed ----------------------------------------------------------------------


def test_the_mark_is_open_until_the_last_victim_is_gone() -> None:
    cluster = a_plan(stage=Stage.EVICTING)
    assert (is_open(group(cluster)), closings(cluster)) == (True, [])
    cluster.does(Evict).gone("t0")
    assert (is_open(group(cluster)), closings(cluster)) == (True, [])
    cluster.gone("t1").does(SetCondition)
    assert (is_open(group(cluster)), cluster.conditions("train", "PodGroup")[MARK]) == (False, "True")


def test_a_write_that_is_refused_is_tried_again() -> None:
    cluster = a_plan(stage=Stage.DRAINING).show(member(2)).drained()
    refused = cluster.take(SetCondition, names=["train"])
    cluster.stage.happens(*(Failed(effect, "refused") for effect in refused))
    assert "t2" not in cluster.wanted(Bind)
    cluster.stage.after(1.0)
    assert closings(cluster) == ["train"]
    assert "t2" in cluster.does(SetCondition).wanted(Bind)


def test_nothing_waits_for_ever_for_a_write_that_is_refused() -> None:
    cluster = a_plan(stage=Stage.DRAINING).show(member(2)).drained().does(Bind)
    for _ in range(60):
        cluster.fails(SetCondition, "train")
        cluster.stage.after(1.0)
    assert cluster.wanted(Bind) == ["t2"]
    cluster.does(Bind).stage.after(60.0)
    assert not is_open(group(cluster.comes_true())), "it is swept when the group runs"


@pytest.mark.parametrize("done", [False, True])
def test_a_write_whose_answer_is_lost_is_sent_again(done: bool) -> None:
    cluster = a_plan(stage=Stage.DRAINING).show(member(2)).drained()
    cluster.loses(SetCondition, done=done)
    assert (closings(cluster), "t2" in cluster.wanted(Bind)) == (["train"], False)
    assert "t2" in cluster.does(SetCondition).wanted(Bind)


def test_a_write_that_is_never_answered_ends_the_wait() -> None:
    cluster = a_plan(stage=Stage.DRAINING).show(member(2)).drained().does(Bind)
    cluster.take(SetCondition)
    cluster.stage.after(59.0)
    assert cluster.wanted(Bind) == []
    cluster.stage.after(1.0)
    assert cluster.wanted(Bind) == ["t2"]


def test_a_group_that_is_gone_is_not_waited_for() -> None:
    cluster = a_plan(stage=Stage.DRAINING).gone("train", kind="PodGroup").comes_true()
    assert cluster.unfinished() == {}
    assert not len(cluster.stage.scheduler._state.ledger.open_marks)


def test_a_plan_that_is_called_off_leaves_no_open_mark_behind() -> None:
    """The first eviction is over, though one pod is refused; the second plan has marked the group anew."""
    cluster = a_plan(stage=Stage.EVICTING).fails(Evict, "t1").does(Evict).gone("new").drained()
    cluster.stage.after(1.0)
    cluster.fails(Evict).does(SetCondition)
    assert not is_open(group(cluster))
    cluster.stage.after(29.0)
    cluster.show(OTHER)
    cluster.stage.after(2.0)
    (mark,) = taken_marks(until(cluster.fails(Evict), Stage.COMMITTING), "train")
    cluster.stage.happens(*cluster.applied(mark))
    assert is_open(group(cluster))
    cluster.gone("other").stage.happens(Done(mark))
    cluster.does(SetCondition)
    assert not is_open(group(cluster))


def test_a_new_leader_finishes_a_tree_with_a_member_that_joined_another_group_of_it() -> None:
    pods = [a_member(f"t{i}", f"g{i}", cpu="3", priority=5, on=f"n{i + 1}") for i in (0, 1)]
    groups = [a_group(f"g{i}", 5, parent="tree") for i in (0, 1, 2)]
    tree = a_tree(priority=5, disruptedWhole=True)
    cluster = until(served(*NODES, tree, *groups, *pods, NEW), Stage.EVICTING)
    cluster.show(a_member("late", "g2", cpu="1", priority=5, on="n3")).does(SetCondition)
    assert cluster.conditions("late")[MARK] == "True"
    assert names(without_new(cluster).comes_true()) == set()


def test_all_groups_of_a_tree_are_closed_before_one_of_them_starts() -> None:
    pods = [a_member(f"t{i}", f"g{i}", cpu="3", priority=5, on=f"n{i + 1}") for i in (0, 1)]
    groups = [a_group(f"g{i}", 5, parent="tree") for i in (0, 1)]
    tree = a_tree(priority=5, disruptedWhole=True)
    cluster = until(served(*NODES, tree, *groups, *pods, NEW), Stage.DRAINING)
    cluster.show(a_member("next", "g0", cpu="3", priority=5)).drained().does(Bind)
    assert (closings(cluster), cluster.wanted(Bind)) == (["g0", "g1"], [])
    first, second = taken_marks(cluster, "g0", "g1")
    cluster.stage.happens(Done(first), *cluster.applied(first))
    assert cluster.wanted(Bind) == []
    late = a_member("late", "g0", cpu="1", priority=5, on="n3")
    cluster.objects[target(late)] = late
    assert names(cluster.restarted().comes_true()) == {"new", "next"}, "one group is still open"
    cluster.stage.happens(Done(second), *cluster.applied(second))
    assert cluster.wanted(Bind) == ["next"]
