"""What the scheduler records of plans: each stage, why they end, and whether their evictions were of use."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import (
    a_namespace,
    a_node,
    a_pod,
    bound,
    finished,
    granted,
    later,
    leaving,
    respecified,
    target,
    wanting,
)
from tests.unit.scheduler.serving import Served, served, until
from tests.unit.scheduler.test_toleration_changes import a_class

from reprieve.model.effects import Bind, Evict, Nominate, SetCondition
from reprieve.model.events import Done, Gone
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.preemption.resize import DeferredResizes
from reprieve.preemption.searches import REPRIEVE
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.plans.handover import Stage
from reprieve.scheduler.plans.plan_records import (
    PLANS_REMEMBERED,
    EndReason,
    GrowthEnd,
    GrowthEnded,
    PlanEnded,
    PlanOpened,
    Preemptor,
    StageReached,
    VictimsJudged,
)
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings
from tests.simulation.plan_audit import unjudged

NODE, OLD, NEW = a_node("n1"), a_pod("old", cpu="3", on="n1"), a_pod("new", cpu="2", priority=9)


def a_plan() -> Served:
    return served(NODE, OLD, NEW)


def reasons(cluster: Served) -> list[EndReason]:
    return [record.reason for record in cluster.stage.records if isinstance(record, PlanEnded)]


def verdicts(cluster: Served) -> tuple[list[str], list[str]]:
    """The victims that were used, and those that were wasted."""
    judged = [record for record in cluster.stage.records if isinstance(record, VictimsJudged)]
    used = [victim.name for record in judged for victim in record.used]
    return sorted(used), sorted(victim.name for record in judged for victim in record.wasted)


def remembered(cluster: Served) -> list[str]:
    """Evicted pods whose verdict is to come."""
    return sorted(pod.name for pod in unjudged(cluster.stage.scheduler._state.plan_log))


# --- the life of a plan --------------------------------------------------------------------------


def test_a_plan_that_comes_true() -> None:
    cluster = a_plan()
    cluster.stage.now = 7.0
    cluster.comes_true()
    (decision,) = {d.id for d in cluster.stage.decisions if d.outcome == "Preempts"}
    head = (decision, target(NEW), Preemptor.POD, 1)
    stages = (Stage.MARKING, Stage.COMMITTING, Stage.EVICTING, Stage.DRAINING, Stage.READY)
    assert cluster.stage.records == [
        PlanOpened(*head, 0.0, 0.0),
        *(StageReached(*head, 7.0, 7.0, stage) for stage in stages),
        PlanEnded(*head, 7.0, 7.0, EndReason.ROOM_USED, Stage.READY),
        VictimsJudged(*head, 7.0, 7.0, used=(target(OLD),)),
    ]


def test_records_are_those_of_the_last_step() -> None:
    scheduler = a_plan().stage.scheduler
    assert scheduler.records() == ()
    scheduler.observe([Gone(target(NEW))], on_one_clock(1.0))
    assert [type(record) for record in scheduler.records()] == [PlanEnded]
    assert scheduler.records() == scheduler.records()
    scheduler.observe([], on_one_clock(2.0))
    assert scheduler.records() == ()


def test_a_plan_that_has_nothing_to_do_passes_its_stages_at_once() -> None:
    """Its only victim leaves by itself while it is marked."""
    cluster = until(a_plan(), Stage.MARKING).gone("old")
    assert [r.stage for r in cluster.stage.records if isinstance(r, StageReached)][-1] is Stage.READY
    assert reasons(cluster) == [EndReason.ROOM_USED]
    assert verdicts(cluster.comes_true()) == ([], []), "nothing was evicted"


def test_a_clock_that_is_put_back_makes_no_plan_shorter() -> None:
    cluster = a_plan()
    cluster.stage.now = 60.0
    cluster.does(Nominate)
    cluster.stage.set_clock(-50.0)
    cluster.comes_true()
    (ended,) = (record for record in cluster.stage.records if isinstance(record, PlanEnded))
    assert ended.seconds == 60.0


# --- why plans end -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "stage", "reason"),
    [
        (Nominate, Stage.NOMINATED, EndReason.NOMINATION_FAILED),
        (SetCondition, Stage.MARKING, EndReason.MARK_FAILED),
        (Evict, Stage.EVICTING, EndReason.EVICTION_FAILED),
    ],
)
def test_a_call_that_fails(
    call: type[Nominate | SetCondition | Evict], stage: Stage, reason: EndReason
) -> None:
    cluster = until(a_plan(), stage)
    names = ["old"] if call is SetCondition else []
    cluster.fails(call, *names)
    assert reasons(cluster) == [reason]
    (ended,) = (record for record in cluster.stage.records if isinstance(record, PlanEnded))
    assert ended.stage is stage
    assert remembered(cluster) == []


def test_a_victim_that_is_stuck() -> None:
    cluster = until(a_plan(), Stage.DRAINING)
    cluster.stage.after(1000.0)
    assert reasons(cluster) == [EndReason.VICTIM_STUCK]


def test_a_node_that_is_gone() -> None:
    cluster = until(a_plan(), Stage.DRAINING).gone("n1", kind="Node")
    assert reasons(cluster) == [EndReason.NODE_GONE]


@pytest.mark.parametrize("pod", [leaving(NEW), bound(NEW, "n1"), finished(NEW)])
def test_a_preemptor_that_needs_nothing_more(pod: Pod) -> None:
    assert reasons(a_plan().show(later(pod))) == [EndReason.PREEMPTOR_GONE]


def test_a_preemptor_whose_namespace_is_being_deleted() -> None:
    assert reasons(a_plan().show(leaving(a_namespace("default")))) == [EndReason.PREEMPTOR_NOT_READY]


def test_a_priority_class_that_changes_before_an_eviction_is_sent() -> None:
    cluster = until(a_plan(), Stage.MARKING).show(a_class())
    assert reasons(cluster) == [EndReason.TOLERATIONS_CHANGED]


def test_a_group_that_changes_before_an_eviction_is_sent() -> None:
    members = [a_member(f"u{i}", "urgent", cpu="2", priority=9) for i in range(2)]
    group = a_group("urgent", 9, 1)
    cluster = served(NODE, a_pod("old", cpu="4", on="n1"), group, *members)
    assert reasons(cluster.show(later(later(a_group("urgent", 9, 2))))) == [EndReason.PREEMPTOR_CHANGED]


def test_a_more_important_demand_takes_the_room() -> None:
    cluster = until(a_plan(), Stage.DRAINING).show(a_pod("high", cpu="4", priority=20))
    assert reasons(cluster) == [EndReason.OUTRANKED]


def test_a_preemptor_that_is_placed_elsewhere() -> None:
    cluster = until(a_plan(), Stage.DRAINING)
    cluster.stage.after(20.0)
    assert reasons(cluster.show(a_node("n2"))) == [EndReason.PLACED_ELSEWHERE]


def test_a_plan_that_is_not_needed_any_more() -> None:
    """Another node appears before the victim is evicted."""
    cluster = until(a_plan(), Stage.MARKING).show(a_node("n2")).does(SetCondition)
    assert reasons(cluster) == [EndReason.NO_LONGER_NEEDED]
    assert cluster.wanted(Evict) == []


def test_a_plan_that_does_not_hold_any_more() -> None:
    """Its node is cordoned before the victim is evicted."""
    cluster = until(a_plan(), Stage.MARKING).show(later(a_node("n1", unschedulable=True))).does(SetCondition)
    assert reasons(cluster) == [EndReason.NO_LONGER_FITS]


def test_room_that_another_pod_has_taken() -> None:
    """Another scheduler binds a pod where the victim was."""
    cluster = until(a_plan(), Stage.DRAINING)
    cluster.stage.after(20.0)
    cluster.show(a_pod("theirs", cpu="4", on="n1", priority=50, schedulerName="other"))
    assert reasons(cluster.gone("old")) == [EndReason.NO_LONGER_FITS]


# --- evictions that were of use ------------------------------------------------------------------


def test_a_bind_that_fails_is_no_use_of_the_room() -> None:
    """The plan has ended; whether its victim went in vain is known when the preemptor is bound or gone."""
    cluster = until(a_plan(), Stage.DRAINING).drained().fails(Bind)
    assert reasons(cluster) == [EndReason.ROOM_USED]
    assert (verdicts(cluster), remembered(cluster)) == (([], []), ["old"])
    assert verdicts(cluster.gone("new")) == ([], ["old"])
    assert remembered(cluster) == []


def test_a_preemptor_that_comes_back_to_the_room_of_an_earlier_plan() -> None:
    """It was outranked, and finds the same node when the other is gone."""
    cluster = until(a_plan(), Stage.DRAINING).show(a_pod("high", cpu="4", priority=20)).comes_true()
    assert (cluster.places(), verdicts(cluster)) == ({"high": "n1"}, ([], []))
    cluster.gone("high").stage.after(30.0)
    assert cluster.comes_true().places() == {"new": "n1"}
    assert verdicts(cluster) == (["old"], [])


def test_a_preemptor_that_finds_another_place_wastes_its_victims() -> None:
    cluster = until(a_plan(), Stage.DRAINING)
    cluster.stage.after(20.0)
    cluster.show(a_node("n2")).does(Bind)
    assert (cluster.places(), verdicts(cluster)) == ({"old": "n1", "new": "n2"}, ([], ["old"]))


def test_an_eviction_that_is_refused_is_none() -> None:
    """Two victims; one stays, so the other went in vain."""
    halves = [a_pod(name, cpu="2", on="n1") for name in ("old", "older")]
    cluster = until(served(NODE, *halves, a_pod("new", cpu="4", priority=9)), Stage.EVICTING)
    cluster.fails(Evict, "old")
    assert remembered(cluster) == ["older"]
    assert verdicts(cluster.gone("new")) == ([], ["older"])


def test_an_eviction_that_is_refused_after_its_plan_has_ended_is_none() -> None:
    cluster = until(a_plan(), Stage.EVICTING)
    (evict,) = cluster.take(Evict)
    gates = a_pod(schedulingGates=[{"name": "quota"}]).spec.scheduling_gates
    cluster.show(respecified(cluster.pod("new"), scheduling_gates=gates))
    assert reasons(cluster) == [EndReason.PREEMPTOR_NOT_READY]
    assert remembered(cluster) == ["old"]
    cluster.stage.wanted = [evict]
    assert remembered(cluster.fails(Evict)) == []


def test_an_eviction_that_is_refused_when_its_victim_is_gone_anyway_is_none() -> None:
    """Another client deleted the pod; the plan goes on, with the other victim."""
    halves = [a_pod(name, cpu="2", on="n1") for name in ("old", "older")]
    cluster = until(served(NODE, *halves, a_pod("new", cpu="4", priority=9)), Stage.EVICTING)
    evicts = cluster.take(Evict)
    cluster.gone("old")
    cluster.stage.wanted = list(evicts)
    assert remembered(cluster.fails(Evict, "old")) == ["older"]
    assert reasons(cluster) == []


def test_an_eviction_that_is_not_sent_after_all_is_none() -> None:
    """The preemptor is gone in the step in which its victim would have been evicted."""
    cluster = until(a_plan(), Stage.MARKING)
    marks = cluster.take(SetCondition, names=["old"])
    cluster.stage.happens(*map(Done, marks), Gone(target(NEW)))
    assert cluster.wanted(Evict) == []
    assert (reasons(cluster), verdicts(cluster)) == ([EndReason.PREEMPTOR_GONE], ([], []))
    assert remembered(cluster) == []


def test_a_unit_is_used_as_a_whole() -> None:
    """The room of t1 is not needed, but it is evicted with t0."""
    cluster = served(
        a_node("n1"),
        a_node("n2"),
        a_group("train", 1, 2, disruptedWhole=True),
        a_member("t0", "train", cpu="4", priority=1, on="n1"),
        a_member("t1", "train", cpu="2", priority=1, on="n2"),
        a_pod("fixed", cpu="2", priority=50, on="n2"),
        a_pod("new", cpu="4", priority=9),
    )
    assert verdicts(cluster.comes_true()) == (["t0", "t1"], [])


def test_a_unit_of_which_a_pod_has_left_is_used_as_a_whole() -> None:
    """t0 is gone before the others are evicted; the preemptor goes where it ran."""
    cluster = served(
        *(a_node(f"n{i}") for i in range(3)),
        a_group("train", 1, 3, disruptedWhole=True),
        a_member("t0", "train", cpu="2", priority=1, on="n0"),
        a_member("t1", "train", cpu="2", priority=1, on="n1"),
        a_member("t2", "train", cpu="2", priority=1, on="n2"),
        *(a_pod(f"fixed-{i}", cpu="2", priority=50, on=f"n{i}") for i in (1, 2)),
        a_pod("old", cpu="2", priority=2, on="n0"),
        a_pod("new", cpu="4", priority=9),
    )
    cluster = until(cluster, Stage.MARKING).gone("t0")
    assert cluster.comes_true().places()["new"] == "n0"
    assert verdicts(cluster) == (["old", "t1", "t2"], [])


def test_a_gang_that_needs_one_of_two_rooms() -> None:
    """A node appears while victims on two nodes leave: one pod goes there, and one victim went in vain."""
    pods = [a_member(f"u{i}", "urgent", cpu="4", priority=9) for i in range(2)]
    olds = [a_pod(f"old-{i}", cpu="4", on=f"n{i}") for i in range(2)]
    nodes: Sequence[KubernetesObject] = [a_node(f"n{i}") for i in range(2)]
    cluster = until(served(*nodes, *olds, a_group("urgent", 9, 2), *pods), Stage.DRAINING)
    cluster.gone("old-0").stage.after(20.0)
    cluster.show(a_node("n5")).does(Bind)
    assert sorted(cluster.places().items()) == [("old-1", "n1"), ("u0", "n0"), ("u1", "n5")]
    assert reasons(cluster) == [EndReason.PLACED_ELSEWHERE]
    assert verdicts(cluster) == (["old-0"], ["old-1"])


def test_memory_is_bounded() -> None:
    """A pod whose binds fail plans again and again."""
    cluster, seen = a_plan(), 0
    for i in range(PLANS_REMEMBERED + 2):
        cluster = until(cluster, Stage.DRAINING).drained().fails(Bind)
        plans = cluster.stage.scheduler._state.plan_log._plans
        seen = max(seen, len(plans[DemandKey(DemandKind.POD, "default", "new")]))
        cluster.show(a_pod(f"old-{i}", cpu="3", on="n1", uid=f"uid-old-{i}"))
        cluster.stage.after(4000.0)
    assert seen == PLANS_REMEMBERED
    assert len(verdicts(cluster)[1]) >= 1
    cluster.gone("new")
    assert remembered(cluster) == []


# --- pods that want more where they run ----------------------------------------------------------

GROWS, LOW = wanting(a_pod("grows", cpu="2", priority=9, on="n1"), "3"), a_pod("low", cpu="2", on="n1")


def growing(*others: KubernetesObject) -> Served:
    policies = {SCHEDULER_NAME: replace(REPRIEVE, resizes=DeferredResizes())}
    return served(a_node("n1"), GROWS, LOW, *others, settings=Settings(policies=policies))


def growth(cluster: Served) -> list[GrowthEnd]:
    return [record.end for record in cluster.stage.records if isinstance(record, GrowthEnded)]


def test_a_growth_that_is_granted() -> None:
    cluster = until(growing(), Stage.DRAINING).drained()
    assert reasons(cluster) == [EndReason.ROOM_USED]
    cluster.stage.now += 5.0
    cluster.show(later(granted(GROWS)))
    assert (growth(cluster), verdicts(cluster)) == ([GrowthEnd.GRANTED], (["low"], []))
    (ended,) = (record for record in cluster.stage.records if isinstance(record, GrowthEnded))
    assert (ended.demand, ended.seconds) == (target(GROWS), 5.0)


def test_a_growth_that_is_granted_before_an_eviction_is_sent() -> None:
    cluster = growing().show(granted(GROWS))
    assert (growth(cluster), reasons(cluster)) == ([GrowthEnd.GRANTED], [EndReason.NO_LONGER_NEEDED])


def test_a_growth_that_is_withdrawn() -> None:
    small = respecified(granted(GROWS), containers=a_pod(cpu="2").spec.containers)
    cluster = until(growing(), Stage.DRAINING).show(later(small))
    assert (growth(cluster), reasons(cluster)) == ([GrowthEnd.WITHDRAWN], [EndReason.PREEMPTOR_GONE])
    assert verdicts(cluster) == ([], ["low"])


def test_a_growth_that_can_never_be() -> None:
    never = later(wanting(a_pod("grows", cpu="2", priority=9, on="n1"), "9", "Infeasible"))
    assert growth(growing().show(later(never))) == [GrowthEnd.INFEASIBLE]


def test_a_pod_that_is_deleted_while_it_waits_to_grow() -> None:
    cluster = growing().deleted("grows")
    assert (growth(cluster), reasons(cluster)) == ([GrowthEnd.GONE], [EndReason.PREEMPTOR_GONE])
    assert growth(cluster.gone("grows")) == [GrowthEnd.GONE], "once"


def test_a_pod_that_waits_to_grow_on_a_node_that_is_gone() -> None:
    cluster = until(growing(), Stage.DRAINING).gone("n1", kind="Node")
    assert reasons(cluster) == [EndReason.NODE_GONE]


def test_a_pod_that_is_to_be_evicted_itself() -> None:
    cluster = until(growing(), Stage.MARKING).show(a_pod("high", cpu="4", priority=20))
    assert reasons(cluster) == [EndReason.PREEMPTOR_IS_VICTIM]


def test_a_growth_that_changes_before_an_eviction_is_sent() -> None:
    more = later(later(wanting(a_pod("grows", cpu="2", priority=9, on="n1"), "4")))
    assert reasons(growing().show(more)) == [EndReason.PREEMPTOR_CHANGED]


def test_a_node_that_forbids_evictions_for_growth() -> None:
    says_no = a_node("n1", podPreemptionPolicy={"disableResizePreemption": ["example.com/ca"]})
    assert reasons(growing().show(later(says_no))) == [EndReason.PREEMPTION_FORBIDDEN]
