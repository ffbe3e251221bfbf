"""A decision as people read it, and as programs do."""

import json
from dataclasses import replace
from typing import Any

import pytest

from reprieve.model.json import Json
from reprieve.placement.profile import DEFAULT_PROFILE
from reprieve.preemption.searches import LEAST_DISTURBANCE, REPRIEVE
from reprieve.report.decisions import (
    decision_json,
    decision_lines,
    quality_cells,
    quality_json,
    quality_sentences,
)
from reprieve.scheduler.decision import (
    Because,
    Decision,
    Eviction,
    Limited,
    PlanQuality,
    Tolerating,
    VictimsOnward,
)
from reprieve.scheduler.settings import SCHEDULER_NAME
from tests.unit.report import texts
from tests.unit.scheduler.crowds import a_budget, a_group, a_member, only_decision
from tests.unit.scheduler.making import a_node, a_pod, leaving


def preempting() -> Decision:
    """A gang of two on two nodes: a group is evicted as a whole, a more important pod is spared."""
    return only_decision(
        a_node("n1"),
        a_node("n2"),
        a_budget("web", allowed=0, app="web"),
        a_group("train", 1, disruptedWhole=True),
        a_member("t-0", "train", cpu="3", priority=1, on="n1"),
        a_member("t-1", "train", cpu="1", priority=1, on="n2"),
        a_pod("web", cpu="2", on="n2", labels={"app": "web"}),
        a_pod("dear", cpu="1", on="n1", priority=5),
        a_group("urgent", 9, 2),
        *(a_member(f"urgent-{i}", "urgent", cpu="3", priority=9) for i in range(2)),
    )


def choosing() -> Decision:
    """A pod for which room can be made on either of two nodes."""
    return only_decision(
        a_node("n1"),
        a_node("n2"),
        a_pod("cheap", cpu="3", on="n1"),
        a_pod("dear", cpu="3", on="n2", priority=5),
        a_pod("new", cpu="2", priority=9),
    )


def refused() -> Decision:
    return only_decision(
        a_node("n1"),
        a_node("n2"),
        a_pod("cheap", cpu="1", on="n1"),
        a_pod("dear", cpu="3", on="n1", priority=50),
        a_pod("dearer", cpu="4", on="n2", priority=60),
        a_group("g", 9, 2),
        *(a_member(f"g-{i}", cpu="1", priority=9) for i in range(2)),
    )


def disturbing_least(planning_effort: int = 10_000) -> Decision:
    """A gang for which two of three pods are evicted."""
    return only_decision(
        *(a_node(f"n{i}") for i in range(3)),
        *(a_pod(f"p{i}", cpu="3", on=f"n{i}", priority=i // 2) for i in range(3)),
        a_group("urgent", 9, 2),
        *(a_member(f"urgent-{i}", "urgent", cpu="3", priority=9) for i in range(2)),
        policy=replace(REPRIEVE, search=LEAST_DISTURBANCE),
        profiles={SCHEDULER_NAME: replace(DEFAULT_PROFILE, planning_effort=planning_effort)},
    )


# --- for people ----------------------------------------------------------------------------------


def test_victims_and_spared_units_and_why() -> None:
    decision = preempting()
    assert texts(decision_lines(decision)) == [
        f"PodGroup default/urgent (priority 9, 2 pods): decision {decision.id}",
        "  It fits after preemption: preempting 1 pod on n1, 2 pods on n2.",
        "  Then urgent-0 goes to n2, urgent-1 goes to n1.",
        "",
        "  VICTIM       NODE  PRIORITY  EVICTED WITH            BECAUSE",
        "  default/t-0  n1           1  PodGroup/default/train  n1 is short of cpu by 3",
        "  default/t-1  n2           1  PodGroup/default/train  n2 is short of cpu by 2",
        "  default/web  n2           0  -                       n2 is short of cpu by 2",
        "  PodDisruptionBudget default/web allows 0 evictions; this plan has 1.",
        "",
        "  SPARED            PODS  PRIORITY  BECAUSE",
        "  Pod/default/dear     1         5  no unit above priority 1 has to be evicted",
        "",
        "  Disturbance: BudgetsBroken 1, HighestPriority 1, PodsStopped 3, WorkloadsEnded 2, "
        "PrioritySum 6442450946, Cascade 4, LostWork 0, LatestStart -.",
        "  Proved: no plan disturbs less.",
        "  If created again, the 3 victims would fit nowhere.",
    ]


def test_what_a_plan_costs_and_whether_that_is_proved_to_be_the_least() -> None:
    lines = texts(decision_lines(disturbing_least()))
    assert lines[-3:] == [
        "  Disturbance: BudgetsBroken 0, HighestPriority 0, PodsStopped 2, WorkloadsEnded 2, "
        "PrioritySum 4294967296, Cascade 4, LostWork 0, LatestStart -.",
        "  Proved: no plan disturbs less.",
        "  If created again, the 2 victims would fit nowhere.",
    ]


def test_a_plan_without_effort_is_not_proved() -> None:
    lines = texts(decision_lines(disturbing_least(planning_effort=0)))
    bound = "BudgetsBroken 0, HighestPriority 0, PodsStopped 2, WorkloadsEnded 2, PrioritySum 2863311532"
    assert lines[-2] == f"  Not proved to be the least; no plan is below {bound}."


def quality(**changes: Any) -> PlanQuality:
    found = PlanQuality(
        cost=(("HighestPriority", 5), ("Pods", 7), ("Cascade", 3)),
        bound=(("HighestPriority", 5), ("Pods", 4)),
        proved=False,
        effort=20,
        ceiling_cost=(("HighestPriority", 9), ("Pods", 6), ("Cascade", 8)),
    )
    return replace(found, **changes)


def test_how_far_a_plan_may_be_from_the_least_and_what_it_saves() -> None:
    assert list(quality_sentences(quality(), VictimsOnward(2, 1, 1))) == [
        "Disturbance: HighestPriority 5, Pods 7, Cascade 3.",
        "Not proved to be the least; no plan is below HighestPriority 5, Pods 4.",
        "PriorityCeiling would disturb more: HighestPriority 4, Cascade 5.",
        "If created again, of 4 victims 2 would fit, 1 would have to preempt others, 1 would fit nowhere.",
    ]
    assert quality_json(quality(), VictimsOnward(2, 1, 1)) == {
        "cost": {"HighestPriority": 5, "Pods": 7, "Cascade": 3},
        "bound": {"HighestPriority": 5, "Pods": 4},
        "proved": False,
        "gap": {"Pods": 3},
        "effort": 20,
        "saved": {"HighestPriority": 4, "Pods": -1, "Cascade": 5},
        "cascade": {"fit": 2, "preempt": 1, "nowhere": 1},
    }


@pytest.mark.parametrize(
    ("onward", "text"),
    [
        (VictimsOnward(1, 0, 0), "If created again, the victim would fit."),
        (VictimsOnward(0, 3, 0), "If created again, the 3 victims would have to preempt others."),
    ],
)
def test_where_all_victims_go_the_same_way(onward: VictimsOnward, text: str) -> None:
    assert list(quality_sentences(quality(), onward))[-1] == text


def test_costs_as_cells_of_a_table() -> None:
    assert quality_cells(quality()) == ["HighestPriority 5, Pods 7, Cascade 3", "5, 4", "Pods 3", "no"]
    assert quality_cells(None) == ["-", "-", "-", "-"]


def in_two_racks() -> Decision:
    """Each rack has a plan; the one in rack b costs more."""
    pods = [a_pod(f"p{i}", cpu="3", on=f"n{i}", priority=i) for i in range(2)]
    return only_decision(
        *(a_node(f"n{i}", labels={"rack": "ab"[i]}) for i in range(2)),
        *pods,
        a_group("urgent", 9, 2, topologyKey="rack"),
        *(a_member(f"urgent-{i}", "urgent", cpu="1500m", priority=9) for i in range(2)),
        policy=replace(REPRIEVE, search=LEAST_DISTURBANCE),
    )


def test_what_another_plan_would_have_cost() -> None:
    lines = texts(decision_lines(in_two_racks()))
    (row,) = [line for line in lines if line.startswith("  b ")]
    assert "HighestPriority 1, PodsStopped 1" in row
    assert row.endswith("yes")
    (node,) = decision_json(in_two_racks())["nodes"]
    assert (node["plan"]["cost"]["HighestPriority"], node["plan"]["proved"]) == (1, True)


def test_by_which_criterion_others_lost() -> None:
    lines = texts(decision_lines(choosing()))
    assert "  n1 won over 1 other plan by: lowest highest victim priority." in lines
    assert "  n2                1        5                    0  lowest highest victim priority" in lines


def test_why_preemption_cannot_help_and_what_is_missing() -> None:
    decision = refused()
    assert texts(decision_lines(decision)) == [
        f"PodGroup default/g (priority 9, 2 pods): decision {decision.id}",
        "  It fits on none of 2 nodes.",
        "  Pod g-0 lacks 1 cpu on n1, the nearest of 2 nodes that lack it.",
        "  Preemption cannot help: even after evicting the only pod of lower priority, "
        "pod g-1 would not fit: n1 would still lack 1 cpu (2 nodes would lack it).",
        "",
        "  NODES  PREEMPTION     WHY NOT",
        "      2  does not help  has insufficient cpu left",
    ]


@pytest.mark.parametrize(
    ("eviction", "what"),
    [
        (Eviction(Because("Tolerated", ""), tolerating=(Tolerating("batch", 1, 60.0),)), "A toleration ends"),
        (
            Eviction(Because("EvictionLimit", ""), limited=(Limited("Deployment/default/web", 1, 3, 60.0),)),
            "The protection of a workload by evictionLimit ends",
        ),
        (Eviction(Because("EvictedInVain", "")), "It may preempt again"),
        (Eviction(Because("NoHelp", "")), "More pods may be evicted"),
    ],
)
def test_what_happens_when_it_is_retried(eviction: Eviction, what: str) -> None:
    decision = replace(refused(), eviction=eviction, retry_at=60.0)
    assert f"  {what} at 1970-01-01T00:01:00.000Z; it is retried then." in texts(decision_lines(decision))


def test_a_pod_that_fits() -> None:
    decision = only_decision(a_node("n1"), a_pod("new"))
    assert texts(decision_lines(decision)) == [
        f"Pod default/new (priority 0): decision {decision.id}",
        "  It fits without preemption: new goes to n1.",
    ]


def test_a_pod_that_fits_when_victims_have_terminated() -> None:
    old = leaving(a_pod("old", cpu="4", on="n1"))
    decision = only_decision(a_node("n1"), old, a_pod("new", cpu="1"))
    assert texts(decision_lines(decision))[1:] == [
        "  It fits once 1 terminating pod is gone.",
        "  Then new goes to n1.",
    ]


# --- for programs --------------------------------------------------------------------------------


def test_the_cost_and_its_bound_as_json() -> None:
    document = decision_json(disturbing_least())
    cost = {
        "BudgetsBroken": 0,
        "HighestPriority": 0,
        "PodsStopped": 2,
        "WorkloadsEnded": 2,
        "PrioritySum": 2 * 2**31,
        "Cascade": 4,
        "LostWork": 0,
        "LatestStart": None,
    }
    assert (document["cost"], document["bound"], document["proved"]) == (cost, cost, True)
    assert document["effort"] >= 0
    nothing = decision_json(only_decision(a_node("n1"), a_pod("fits", cpu="1")))
    assert not any(nothing.get(key) for key in ("cost", "bound", "proved", "effort"))


def test_a_preemption_as_json() -> None:
    decision = preempting()
    document = decision_json(decision)
    assert json.loads(json.dumps(document)) == document
    assert (document["kind"], document["id"], document["outcome"]) == ("Decision", decision.id, "Preempts")
    assert document["at"] == "1970-01-01T00:00:00.000Z"
    assert document["demand"] == {
        "kind": "PodGroup",
        "namespace": "default",
        "name": "urgent",
        "uid": "uid-urgent",
        "priority": 9,
        "pods": 2,
    }
    assert document["placements"] == {"default/urgent-0": "n2", "default/urgent-1": "n1"}
    assert document["victims"][0] == {
        "namespace": "default",
        "name": "t-0",
        "uid": "uid-t-0",
        "node": "n1",
        "priority": 1,
        "unit": "PodGroup/default/train",
        "breaksBudget": None,
        "because": {"code": "RoomNeeded", "text": "n1 is short of cpu by 3"},
    }
    assert [(v["unit"], v["breaksBudget"]) for v in document["victims"][2:]] == [("Pod", "default/web")]
    assert document["budgets"] == [{"name": "default/web", "disruptionsAllowed": 0, "evictions": 1}]
    assert document["spared"][0]["because"]["code"] == "AboveCeiling"
    assert (document["ceiling"], document["decidedBy"], document["retryAt"]) == (1, None, None)


def test_a_choice_as_json() -> None:
    document = decision_json(choosing())
    lost_by = {"code": "LowestHighestPriority", "text": "lowest highest victim priority"}
    units: Json = {"units": ["Pod/default/dear"], "unitCount": 1}
    plan = {"victims": 1, "highestPriority": 5, "beyondBudgets": 0, **units}
    assert document["nodes"] == [{"name": "n2", "plan": plan, "lostBy": lost_by}]
    assert document["decidedBy"] == lost_by


def test_a_refusal_as_json() -> None:
    document = decision_json(refused())
    assert document["outcome"] == "Unschedulable"
    assert document["victims"] == []
    assert document["refused"] == [
        {
            "nodes": 2,
            "excludedBy": {"code": "InsufficientResource", "text": "has insufficient cpu left"},
            "evictionMayHelp": True,
            "examples": ["n1", "n2"],
        }
    ]
    miss = document["nearestMiss"]
    assert (miss["pod"], miss["resource"], miss["short"], miss["nodes"]) == ("default/g-0", "cpu", "1", 2)
    assert document["eviction"]["because"]["code"] == "NoHelp"
    assert document["eviction"]["nearestMiss"]["pod"] == "default/g-1"


def test_documents_have_the_same_fields_whatever_was_decided() -> None:
    assert decision_json(preempting()).keys() == decision_json(refused()).keys()
