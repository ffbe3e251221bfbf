"""A decision as people read it, and as programs do."""

import json
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs
from tests.unit.report import texts
from tests.unit.scheduler import crowds
from tests.unit.scheduler.crowds import a_budget, a_group, a_member, only_decision
from tests.unit.scheduler.making import a_node, a_pod, leaving

from reprieve.preemption.searches import LEAST_DISTURBANCE, REPRIEVE
from reprieve.report.decisions import choice_sentences, decision_lines, quality_cells, quality_sentences
from reprieve.scheduler.reporting.decision import (
    Decision,
    Eviction,
    EvictionReason,
    PlanQuality,
    Preemption,
    ProtectedBy,
    VictimsOnward,
)
from reprieve.scheduler.reporting.decision_document import document_of


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


def disturbing_least() -> Decision:
    """A gang for which two of three pods are evicted."""
    return only_decision(
        *(a_node(f"n{i}") for i in range(3)),
        *(a_pod(f"p{i}", cpu="3", on=f"n{i}", priority=i // 2) for i in range(3)),
        a_group("urgent", 9, 2),
        *(a_member(f"urgent-{i}", "urgent", cpu="3", priority=9) for i in range(2)),
        policy=replace(REPRIEVE, search=LEAST_DISTURBANCE),
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
        "  Disturbance: BudgetsBroken 1, HighestPriority 1, PodsStopped 3, WorkloadsEnded 2, Cascade 4.",
        "  Proved: no plan disturbs less.",
        "  If created again, the 3 victims would fit nowhere.",
    ]


def quality(**changes: Any) -> PlanQuality:
    found = PlanQuality(
        cost={"HighestPriority": 5, "PodsStopped": 7, "Cascade": 3},
        bound={"HighestPriority": 5, "PodsStopped": 4},
        proved=False,
        effort=20,
        saved={"HighestPriority": 4, "PodsStopped": -1, "Cascade": 5},
    )
    return structs.replace(found, **changes)


def test_how_far_a_plan_may_be_from_the_least_and_what_it_saves() -> None:
    assert list(quality_sentences(quality(), VictimsOnward(2, 1, 1))) == [
        "Disturbance: HighestPriority 5, PodsStopped 7, Cascade 3.",
        "Proved through HighestPriority: no plan has a lower highest priority among its victims.",
        "No plan is below HighestPriority 5, PodsStopped 4.",
        "PriorityCeiling would disturb more: HighestPriority 4, Cascade 5.",
        "If created again, of 4 victims 2 would fit, 1 would have to preempt others, 1 would fit nowhere.",
    ]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"proved": True}, "proved: no plan disturbs less"),
        ({"bound": {}}, "no other placement was compared"),
        ({"bound": {"HighestPriority": 4}}, "no other placement was compared"),
        (
            {"bound": {"HighestPriority": 5, "PodsStopped": 7}},
            "proved through PodsStopped: no plan that is as good by the criteria before stops fewer pods",
        ),
        (
            {"cost": {"HighestPriority": None, "Own": 1}, "bound": {"HighestPriority": None, "Own": 1}},
            "proved through Own: no plan that is as good by the criteria before is better by Own",
        ),
    ],
)
def test_what_is_proved_of_one_plan(changes: dict[str, Any], text: str) -> None:
    assert Preemption(quality=quality(**changes)).choice_text == text


def test_only_an_exhaustive_search_says_that_there_is_no_other_plan() -> None:
    by = EvictionReason("FewestPods", "fewest pods")
    assert Preemption().choice_text == "no other placement was compared"
    assert Preemption(exhaustive=True).choice_text == "no other placement is possible"
    several = Preemption(domain="n1", plans=8, decided_by=by, quality=quality(proved=True))
    text = "the best of 8 placements by: fewest pods; proved: no plan disturbs less"
    assert several.choice_text == text
    assert [*choice_sentences("n1", several)] == ["n1 is the best of 8 placements by: fewest pods."]
    assert [*choice_sentences("n1", Preemption())] == ["No other placement was compared."]
    one = Preemption(quality=quality(proved=True))
    assert [*choice_sentences("n1", one)] == [], "the proof stands with the disturbance"


def test_spared_units_and_their_pods_are_both_counted() -> None:
    assert Preemption(units_spared=20, pods_spared=1936).spared_text == "20 units (1936 pods)"
    assert Preemption(units_spared=20).spared_text == "20 units", "an older version did not count pods"


@pytest.mark.parametrize(
    ("onward", "text"),
    [
        (VictimsOnward(1, 0, 0), "If created again, the victim would fit."),
        (VictimsOnward(0, 3, 0), "If created again, the 3 victims would have to preempt others."),
    ],
)
def test_where_all_victims_go_the_same_way(onward: VictimsOnward, text: str) -> None:
    assert list(quality_sentences(quality(), onward))[-1] == text


def test_people_read_no_sums_of_shifted_priorities_and_no_zeros_after_the_first_criteria() -> None:
    cost = {"BudgetsBroken": 0, "HighestPriority": None, "PodsStopped": 0, "WorkloadsEnded": 0}
    cost |= {"PrioritySum": 4294967316, "Cascade": 1, "LostWork": 0, "LatestStart": -1772443800}
    found = quality(cost=cost, bound={**cost, "PrioritySum": 1}, saved={"PrioritySum": 5, "LatestStart": 9})
    assert list(quality_sentences(found, None)) == [
        "Disturbance: BudgetsBroken 0, PodsStopped 0, Cascade 1.",
        "Proved through WorkloadsEnded: no plan that is as good by the criteria before ends fewer workloads.",
    ]
    shown = "BudgetsBroken 0, PodsStopped 0, Cascade 1"
    assert quality_cells(found) == [shown, "0, 0, 1", "PrioritySum", "through WorkloadsEnded"]


def test_victims_that_another_demand_evicts_cost_nothing() -> None:
    """The second pod fits beside the first, or counts on its victim and evicts one more."""
    pods = [a_pod(f"p{i}", cpu="2", on="n1") for i in range(2)]
    first, second = a_pod("first", cpu="1", priority=9), a_pod("second", cpu="3", priority=8)
    found = [
        d for d in crowds.preempting(a_node("n1"), *pods, first, second).decisions if d.preemption is not None
    ]
    rooms = [(d.demand.name, d.preemption) for d in found if d.preemption is not None]
    assert [(name, room.pods, room.in_flight) for name, room in rooms] == [("first", 1, 0), ("second", 2, 1)]
    (_, last) = rooms[-1]
    assert last.quality is not None
    assert (last.quality.cost["PodsStopped"], last.quality.proved) == (1, False)
    line = "  It fits after preemption: preempting 2 pods on n1 (1 of them in flight already)."
    assert line in texts(decision_lines(found[-1]))


def test_costs_as_cells_of_a_table() -> None:
    cost, through = "HighestPriority 5, PodsStopped 7, Cascade 3", "through HighestPriority"
    assert quality_cells(quality()) == [cost, "5, 4", "PodsStopped 3", through]
    assert quality_cells(quality(bound={}))[1:] == ["-", "-", "no"]
    assert quality_cells(None) == ["-", "-", "-", "-"]


def in_two_racks() -> Decision:
    """Each rack has a plan; the one in rack b costs more."""
    pods = [a_pod(f"p{i}", cpu="3", on=f"n{i}", priority=i) for i in range(2)]
    return only_decision(
        *(a_node(f"n{i}", labels={"rack": "ab"[i]}) for i in range(2)),
        *pods,
        a_group("urgent", 9, 2, topologyKey="rack"),
        *(a_member(f"urgent-{i}", "urgent", cpu="2", priority=9) for i in range(2)),
        policy=replace(REPRIEVE, search=LEAST_DISTURBANCE),
    )


def test_what_another_plan_would_have_cost() -> None:
    lines = texts(decision_lines(in_two_racks()))
    (row,) = [line for line in lines if line.startswith("  b ")]
    assert "HighestPriority 1, PodsStopped 1" in row
    assert row.endswith("yes")
    (loser,) = document_of(in_two_racks())["preemption"]["losers"]
    assert (loser["quality"]["cost"]["HighestPriority"], loser["quality"]["proved"]) == (1, True)


def test_by_which_criterion_others_lost() -> None:
    lines = texts(decision_lines(choosing()))
    assert "  n1 is the best of 2 placements by: lowest highest victim priority." in lines
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


def held_until(first: float, ends: str) -> Eviction:
    protected = ProtectedBy("Toleration", ("batch",), 1, "of class batch", first, ends)
    return Eviction(EvictionReason("Toleration", ""), protected=(protected,))


@pytest.mark.parametrize(
    ("eviction", "what"),
    [
        (held_until(60.0, "a toleration of class batch"), "A toleration of class batch ends"),
        (held_until(60.0, ""), "More pods may be evicted"),
        (held_until(61.0, "a toleration of class batch"), "More pods may be evicted"),
        (Eviction(EvictionReason("EvictedInVain", "")), "It may preempt again"),
        (Eviction(EvictionReason("NoHelp", "")), "More pods may be evicted"),
    ],
)
def test_what_happens_when_it_is_retried(eviction: Eviction, what: str) -> None:
    decision = structs.replace(refused(), eviction=eviction, retry_at=60.0)
    assert f"  {what} at 1970-01-01 00:01:00 UTC; it is retried then." in texts(decision_lines(decision))


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
    found = document_of(disturbing_least())["preemption"]["quality"]
    cost = {
        "BudgetsBroken": 0,
        "HighestPriority": 0,
        "PodsStopped": 2,
        "WorkloadsEnded": 2,
        "PrioritySum": 2 << 31,
        "Cascade": 4,
        "LostWork": 0,
        "LatestStart": None,
    }
    assert (found["cost"], found["bound"], found["proved"]) == (cost, cost, True)
    assert found["effort"] >= 0


def test_a_preemption_as_json() -> None:
    decision = preempting()
    document = document_of(decision)
    assert json.loads(json.dumps(document)) == document
    assert (document["kind"], document["id"], document["outcome"]) == ("Decision", decision.id, "Preempts")
    assert document["at"] == "1970-01-01T00:00:00Z"
    whole = {"kind": "PodGroup", "namespace": "default", "name": "urgent", "uid": "uid-urgent"}
    assert (document["demand"], document["priority"], document["pods"]) == (whole, 9, 2)
    assert [(one["pod"]["name"], one["node"]) for one in document["placements"]] == [
        ("urgent-0", "n2"),
        ("urgent-1", "n1"),
    ]
    room = document["preemption"]
    assert room["victims"][0] == {
        "pod": {"kind": "Pod", "namespace": "default", "name": "t-0", "uid": "uid-t-0"},
        "node": "n1",
        "priority": 1,
        "unit": "PodGroup/default/train",
        "budgets": [],
        "because": {"code": "RoomNeeded", "text": "n1 is short of cpu by 3"},
        "ownPriority": None,
        "controller": "",
    }
    assert [(v["unit"], v["budgets"]) for v in room["victims"][2:]] == [("Pod/default/web", ["default/web"])]
    assert (room["pods"], room["victimNodes"]) == (3, {"n1": 1, "n2": 2})
    assert room["exceeded"] == [{"budget": "default/web", "allowed": 0, "going": 1}]
    assert room["spared"][0]["because"]["code"] == "AboveCeiling"
    assert (room["unitsSpared"], room["podsSpared"]) == (1, 1)
    assert (room["ceiling"], room["decidedBy"], document["retryAt"]) == (1, None, None)


def test_a_choice_as_json() -> None:
    room = document_of(choosing())["preemption"]
    lost_by = {"code": "LowestHighestPriority", "text": "lowest highest victim priority"}
    assert room["losers"] == [
        {
            "domain": "n2",
            "pods": 1,
            "highest": 5,
            "broken": 0,
            "lostBy": lost_by,
            "units": ["Pod/default/dear"],
            "quality": None,
            "unitCount": 1,
        }
    ]
    assert (room["decidedBy"], room["plans"], room["exhaustive"]) == (lost_by, 2, False)
    by = "lowest highest victim priority"
    assert room["choice"] == f"the best of 2 placements by: {by}; proved: no plan disturbs less"


def test_a_refusal_as_json() -> None:
    document = document_of(refused())
    assert document["outcome"] == "Unschedulable"
    assert document["preemption"] is None
    reason = {"code": "InsufficientResource", "detail": "cpu", "text": "has insufficient cpu left"}
    assert document["findings"] == [{"reason": reason, "nodes": 2, "curable": True, "examples": ["n1", "n2"]}]
    miss = document["miss"]
    assert (miss["pod"]["name"], miss["resource"], miss["short"], miss["nodes"]) == ("g-0", "cpu", 1000, 2)
    assert document["eviction"]["because"]["code"] == "NoHelp"
    assert document["eviction"]["atBest"]["pod"]["name"] == "g-1"


def test_nodes_that_were_chosen_are_not_counted_as_refused() -> None:
    (finding,) = choosing().findings
    assert (finding.nodes, finding.examples) == (1, ("n2",)), "n1 has its room in the end"
    assert preempting().findings == ()


def test_documents_have_the_same_fields_whatever_was_decided() -> None:
    assert document_of(preempting()).keys() == document_of(refused()).keys()
