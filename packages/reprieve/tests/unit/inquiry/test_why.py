"""Why a pod was preempted, or why it waits: what is said, from which source, and what is advised.

The texts in golden/why are judged by one question: could a person act on them that has never met preemption?
"""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from tests.unit.inquiry.asking_why import NOW, an_event, decided, why
from tests.unit.report import texts

from reprieve.inquiry.decision_list import decision_table
from reprieve.inquiry.why import Source, UnknownObjectError, WhyReport, WhyState, why_json, why_lines
from reprieve.inquiry.why_answers import why_decision
from reprieve.model.json import Json
from reprieve.runtime.recent_decisions import KeptDecision, PlanCourse
from reprieve.scheduler.plans.plan_records import EndReason
from tests.scenarios.reading import BudgetLine, ClassLine, GroupLine, NodeLine, PodLine, WorldLine

GOLDEN = Path(__file__).with_name("golden") / "why"
CLASSES = {
    "batch": ClassLine(value=10),
    "batch-1h": ClassLine(value=10, minimum=2000, seconds=7200),
    "service": ClassLine(value=500),
    "urgent": ClassLine(value=1000),
}
# Two nodes are full; the demand fits where web runs, or where both pods of a group do.
FULL = WorldLine(
    nodes={"n1": "cpu 4", "n2": "cpu 4"},
    classes=CLASSES,
    groups={"train": GroupLine(class_name="service", disruption="all")},
    budgets={"web": BudgetLine(selects={"app": "web"}, allowed=1)},
    pods={
        "web-7d-abcde": PodLine(on="n1", cpu=3, class_name="batch", labels={"app": "web"}),
        "small": PodLine(on="n1", cpu=1, class_name="batch"),
        "t-0": PodLine(on="n2", cpu=2, group="train", class_name="service", priority=500),
        "t-1": PodLine(on="n2", cpu=2, group="train", class_name="service", priority=500),
        "new": PodLine(cpu=3, class_name="urgent", start=None),
    },
)


def after_preemption(*gone: str) -> WorldLine:
    """The preemptor runs, and a ReplicaSet has created another pod."""
    pods = {name: pod for name, pod in FULL.pods.items() if name not in gone}
    pods["new"] = msgspec.structs.replace(pods["new"], on="n1", start=61)
    return msgspec.structs.replace(FULL, pods=pods)


def a_replacement(
    name: str = "web-7d-fghij", owner: str = "web-7d", created: str = "2026-01-02T01:00:30Z"
) -> Json:
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": owner,
        "uid": "rs",
        "controller": True,
    }
    meta = {"name": name, "namespace": "default", "uid": name, "creationTimestamp": created}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**meta, "ownerReferences": [reference]},
        "spec": {"containers": [{"name": "main"}], "priority": 10, "priorityClassName": "batch"},
    }


def checked(report: WhyReport, name: str) -> None:
    shown = "\n".join([*texts(why_lines(report)), *(f"Note: {note}" for note in report.notes), ""])
    assert shown == (GOLDEN / f"{name}.txt").read_text()


def codes(report: WhyReport) -> list[str]:
    return [remedy.code for remedy in report.remedies]


def sources(report: WhyReport) -> dict[str, Source]:
    return {statement.code: statement.source for statement in report.statements}


# --- victims -------------------------------------------------------------------------------------


def test_a_victim_that_is_gone() -> None:
    kept = decided(FULL, "new")
    events = [an_event("web-7d-abcde", "Started", "Started container main", 10)]
    report = why("pod/web-7d-abcde", after_preemption("web-7d-abcde"), [kept], [a_replacement(), *events])
    assert report.state is WhyState.PREEMPTED
    assert sources(report)["RanFor"] is Source.EVENT
    assert sources(report)["Replacement"] is Source.OBJECT
    checked(report, "victim")


def test_a_group_that_was_evicted_whole() -> None:
    alone = {name: pod for name, pod in FULL.pods.items() if name not in ("web-7d-abcde", "small")}
    pods = {**alone, "web": PodLine(on="n1", cpu=4, priority=2000)}
    world = msgspec.structs.replace(FULL, pods=pods)
    kept = decided(world, "new")
    gone = msgspec.structs.replace(world, pods={"web": pods["web"]})
    group = why("podgroup/train", gone, [kept])
    assert "whole or not at all" in group.statements[1].text
    checked(group, "victim-group")
    pod = why("pod/t-0", gone, [kept])
    assert pod.subject.name == "t-0"
    assert "DisruptionModeAll" not in codes(pod)


def test_a_victim_on_a_cluster_without_reprieve() -> None:
    note = f"Preempted by pod {uid('new')} on node n1"
    event = an_event("small", "Preempted", note, 45)
    report = why("pod/small", after_preemption("small"), more=[event], policy="Upstream")
    assert sources(report) == {
        "Preempted": Source.EVENT,
        "Preemptor": Source.OBJECT,
        "NoReplacement": Source.OBJECT,
    }
    assert codes(report) == ["Priority", "Budget"]
    checked(report, "victim-by-event")


def test_a_preemptor_that_is_gone_leaves_its_uid() -> None:
    event = an_event("small", "Preempted", "Preempted by pod 1234-abcd on node n1", 45)
    report = why("pod/small", after_preemption("small", "t-0"), more=[event])
    assert "Pod with UID 1234-abcd is gone, or you may not read it." in [s.text for s in report.statements]
    assert report.remedies == ()


def test_an_event_that_names_a_decision_points_to_the_journal() -> None:
    note = "Preempted by a higher priority pod (decision d-77)"
    report = why("pod/small", after_preemption("small"), more=[an_event("small", "Preempted", note, 45)])
    assert "Decision d-77" in report.notes[0]


def test_a_victim_that_still_terminates_is_known_by_its_condition() -> None:
    mark = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": "default-scheduler: preempting to accommodate a higher priority pod",
    }
    small = msgspec.structs.replace(FULL.pods["small"], terminating=True, status={"conditions": [mark]})
    world = msgspec.structs.replace(FULL, pods={**FULL.pods, "small": small})
    report = why("pod/small", world)
    assert report.state is WhyState.PREEMPTED
    assert sources(report)["DisruptionTarget"] is Source.CONDITION


def test_a_plan_that_was_called_off_preempted_no_pod() -> None:
    kept = replace(decided(FULL, "new"), plan=PlanCourse("marking", EndReason.PREEMPTOR_GONE, NOW))
    report = why("pod/web-7d-abcde", FULL, [kept])
    assert report.state is WhyState.RUNNING


def test_a_gang_that_lost_a_pod_it_needs() -> None:
    gang = GroupLine(priority=10, min=2)
    pods = {
        "m-0": PodLine(on="n1", cpu=3, priority=10, group="gang"),
        "m-1": PodLine(on="n2", cpu=3, priority=10, group="gang"),
        "new": PodLine(cpu=3, class_name="urgent", start=None),
    }
    world = msgspec.structs.replace(FULL, pods=pods, groups={"gang": gang})
    kept = decided(world, "new")
    (victim,) = kept.decision.preemption.victims if kept.decision.preemption is not None else ()
    again = a_replacement(victim.pod.name, "m")
    again["spec"]["schedulingGroup"] = {"podGroupName": "gang"}
    left = msgspec.structs.replace(world, pods={n: p for n, p in pods.items() if n != victim.pod.name})
    again["spec"]["nodeName"] = "n9"
    again["metadata"]["deletionTimestamp"] = "2026-01-02T01:00:40Z"
    report = why(f"pod/{victim.pod.name}", left, [kept], [again])
    text = "PodGroup default/gang runs 1 of the 2 pods it needs."
    assert [s.text for s in report.statements if s.code == "GroupBroken"] == [text]


def test_an_eviction_in_vain_is_told() -> None:
    kept = decided(FULL, "new")
    assert kept.plan is not None
    plan = msgspec.structs.replace(kept.plan, end=EndReason.PLACED_ELSEWHERE, used=(), wasted=kept.plan.used)
    report = why("pod/web-7d-abcde", after_preemption("web-7d-abcde"), [replace(kept, plan=plan)])
    text = "In vain: the preemptor did not use the room (the plan ended with PlacedElsewhere)."
    assert text in [statement.text for statement in report.statements]


def test_no_class_is_high_enough() -> None:
    classes = {"batch": CLASSES["batch"], "service": CLASSES["service"]}
    pods = {**FULL.pods, "new": PodLine(cpu=3, priority=1000, start=None)}
    world = msgspec.structs.replace(FULL, classes=classes, pods=pods)
    report = why("pod/web-7d-abcde", world_without(world, "web-7d-abcde"), [decided(world, "new")])
    first, second, *_ = report.remedies
    assert first.how == "no PriorityClass has such a value: create one with value: 1000 or more"
    assert "minimum-preemptable-priority" in second.how


def test_a_newer_pod_of_the_same_name_is_the_replacement() -> None:
    kept = decided(FULL, "new")
    again = a_replacement("web-7d-abcde", "web")
    report = why("pod/web-7d-abcde", world_without(FULL, "web-7d-abcde"), [kept], [again])
    assert report.state is WhyState.PENDING
    before = next(statement for statement in report.statements if statement.code == "PreemptedBefore")
    assert "`reprieve why d-0123456789`" in before.text


# --- decisions -----------------------------------------------------------------------------------


def test_a_whole_decision() -> None:
    checked(why_decision("d-0123456789", [decided(FULL, "new")]), "decision")


def test_a_decision_that_is_not_known() -> None:
    with pytest.raises(UnknownObjectError, match="decision d-9 is not known"):
        why_decision("d-9", [decided(FULL, "new")])


# --- pods that wait ------------------------------------------------------------------------------


def waiting(**pods: PodLine) -> WorldLine:
    others = {name: pod for name, pod in FULL.pods.items() if name != "new"}
    return msgspec.structs.replace(FULL, pods={**others, **pods})


def test_a_pod_that_waits_for_room() -> None:
    report = why("pod/etl", waiting(etl=PodLine(cpu=2, class_name="batch", start=None)))
    assert codes(report) == ["FreeRoom", "PriorityClass", "AddNode"]
    checked(report, "pending")


def test_a_gang_that_waits() -> None:
    world = waiting(**{f"g-{i}": PodLine(cpu=3, priority=10, group="gang", start=None) for i in range(3)})
    gang = GroupLine(priority=10, min=3)
    world = msgspec.structs.replace(world, groups={**world.groups, "gang": gang})
    checked(why("podgroup/gang", world), "pending-gang")


def test_a_toleration_that_ends_is_waited_for() -> None:
    """Its class protects the pod for two hours since minute 0."""
    world = WorldLine(
        nodes={"n1": "cpu 4"},
        classes=CLASSES,
        pods={
            "held": PodLine(on="n1", cpu=4, class_name="batch-1h"),
            "etl": PodLine(cpu=2, class_name="service", start=None),
        },
    )
    report = why("pod/etl", world)
    first = report.remedies[0]
    assert first.code == "WaitForToleration"
    assert first.text == (
        "Wait until 02:00:00 UTC, when a toleration of class batch-1h ends: then it runs on n1, after "
        "preempting default/held."
    )
    checked(report, "pending-toleration")


def test_terminating_pods_are_waited_for() -> None:
    world = waiting(etl=PodLine(cpu=3, class_name="batch", start=None))
    old = msgspec.structs.replace(world.pods["web-7d-abcde"], terminating=True)
    report = why("pod/etl", msgspec.structs.replace(world, pods={**world.pods, "web-7d-abcde": old}))
    assert codes(report) == ["StuckTermination"]
    assert "default/web-7d-abcde" in report.remedies[0].text
    assert "once 1 terminating pod is gone" in report.headline


def test_grace_periods_that_are_not_over_are_waited_for() -> None:
    leaving = a_replacement("leaving")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-02T01:00:20Z"
    leaving["spec"]["nodeName"] = "n3"
    leaving["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
    world = waiting(etl=PodLine(cpu=3, class_name="batch", start=None))
    world = msgspec.structs.replace(world, nodes={**world.nodes, "n3": "cpu 4"})
    report = why("pod/etl", world, more=[leaving])
    assert codes(report) == ["WaitForTermination"]
    assert "Wait until 01:00:20 UTC" in report.remedies[0].text


def test_a_gang_may_need_a_higher_class() -> None:
    world = waiting(**{f"g-{i}": PodLine(cpu=2, priority=10, group="gang", start=None) for i in range(2)})
    groups = {**world.groups, "gang": GroupLine(priority=10, min=2)}
    report = why("podgroup/gang", msgspec.structs.replace(world, groups=groups))
    assert "PriorityClass" in codes(report)


def test_a_pod_of_a_gang_waits_with_its_group() -> None:
    world = waiting(**{f"g-{i}": PodLine(cpu=3, priority=10, group="gang", start=None) for i in range(3)})
    groups = {**world.groups, "gang": GroupLine(priority=10, min=3)}
    report = why("pod/g-1", msgspec.structs.replace(world, groups=groups))
    assert report.subject.kind == "PodGroup"
    assert "Pod default/g-1 is scheduled with its group." in [s.text for s in report.statements]


def test_a_pod_that_fits_or_preempts_only_has_to_wait() -> None:
    fits = why("pod/etl", waiting(etl=PodLine(cpu=0, class_name="batch", start=None)))
    assert codes(fits) == ["WaitForScheduler"]
    preempts = why("pod/new", FULL)
    assert codes(preempts) == ["WaitForPreemption"]
    assert "once 1 pod is preempted" in preempts.headline


def test_a_pod_that_is_too_large_should_ask_for_less() -> None:
    report = why("pod/etl", waiting(etl=PodLine(cpu=6, class_name="urgent", start=None)))
    first = report.remedies[0]
    assert first.code == "RequestLess"
    assert "FreeRoom" not in codes(report)
    assert "AddNode" not in codes(report)


@pytest.mark.parametrize(
    "node, pod, code",
    [
        ({"unschedulable": True}, {}, "Uncordon"),
        ({"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}, {}, "Toleration"),
        ({}, {"nodeSelector": {"disk": "ssd"}}, "NodeSelector"),
    ],
)
def test_a_constraint_that_excludes_the_only_room(node: Json, pod: Json, code: str) -> None:
    world = WorldLine(
        nodes={"n1": NodeLine(cpu=4, spec=node)},
        classes=CLASSES,
        pods={"etl": PodLine(cpu=2, class_name="urgent", start=None, spec=pod)},
    )
    report = why("pod/etl", world)
    assert codes(report) == [code]
    assert "n1" in report.remedies[0].text


def test_anti_affinity_that_excludes_the_only_node() -> None:
    world = WorldLine(
        nodes={"n1": "cpu 4"},
        pods={
            "web-0": PodLine(on="n1", cpu=1, priority=10, labels={"app": "web"}),
            "web-1": PodLine(cpu=1, start=None, avoids={"app": "web"}),
        },
    )
    assert "PodConstraints" in codes(why("pod/web-1", world))


def test_scheduling_gates_come_first() -> None:
    gated = PodLine(cpu=2, class_name="batch", start=None, spec={"schedulingGates": [{"name": "quota"}]})
    report = why("pod/etl", waiting(etl=gated))
    assert report.statements[0].code == "SchedulingGated"
    assert codes(report)[0] == "RemoveGates"


def test_what_the_scheduler_last_said_counts_unless_a_decision_is_known() -> None:
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes"}
    world = waiting(etl=PodLine(cpu=2, class_name="batch", start=None, status={"conditions": [said]}))
    assert sources(why("pod/etl", world))["Unschedulable"] is Source.CONDITION
    kept = KeptDecision(decided(world, "etl").decision, None, 7)
    (first, *_) = why("pod/etl", world, [kept]).statements
    assert first.source is Source.DECISION
    assert "(decided 7 times)" in first.text


def test_a_deferred_resize() -> None:
    db = PodLine(on="n1", cpu=2, priority=500, wants={"cpu": 4})
    world = WorldLine(
        nodes={"n1": "cpu 4", "n2": "cpu 4"},
        classes=CLASSES,
        pods={"db": db, "web": PodLine(on="n1", cpu=2, priority=900)},
    )
    report = why("pod/db", world)
    assert report.state is WhyState.RESIZE_DEFERRED
    assert codes(report) == ["FreeRoom"]
    checked(report, "resize")


# --- others --------------------------------------------------------------------------------------


def test_a_pod_that_runs_and_was_not_preempted() -> None:
    report = why("pod/small", FULL)
    assert report.headline == "Pod default/small is running on n1."
    for_it = why("pod/new", after_preemption("web-7d-abcde"), [decided(FULL, "new")])
    assert for_it.statements[-1].code == "PreemptedOthers"


def test_an_object_of_which_nothing_is_known() -> None:
    with pytest.raises(UnknownObjectError, match="Pod default/nothing is not known"):
        why("pod/nothing", FULL)


def test_the_name_may_be_in_another_namespace() -> None:
    elsewhere = a_replacement("far")
    elsewhere = {**elsewhere, "metadata": {**elsewhere["metadata"], "namespace": "team-b"}}
    with pytest.raises(UnknownObjectError, match=r"names it; did you mean -n team-b\?$"):
        why("pod/far", FULL, more=[elsewhere])


def test_json_has_codes_sentences_and_sources() -> None:
    document = why_json(why("pod/web-7d-abcde", after_preemption("web-7d-abcde"), [decided(FULL, "new")]))
    assert (document["kind"], document["state"]) == ("WhyReport", "Preempted")
    assert document["subject"]["name"] == "web-7d-abcde"
    assert document["decision"]["id"] == "d-0123456789"
    assert {statement["source"] for statement in document["statements"]} >= {"Decision", "Object"}
    assert all(remedy["code"] and remedy["text"] for remedy in document["remedies"])
    assert msgspec.json.decode(msgspec.json.encode(document)) == document


def world_without(world: WorldLine, *names: str) -> WorldLine:
    pods = {name: pod for name, pod in world.pods.items() if name not in names}
    return msgspec.structs.replace(world, pods=pods)


def uid(name: str) -> str:
    """As the worlds of scenarios make them."""
    return f"Pod-{name}"


def test_what_a_plan_that_disturbs_least_cost() -> None:
    gang = {"g": GroupLine(class_name="urgent", priority=1000, min=1), **FULL.groups}
    member = PodLine(cpu=3, class_name="urgent", priority=1000, start=None, group="g")
    pods = {**FULL.pods, "new": member}
    world = msgspec.structs.replace(FULL, groups=gang, pods=pods)
    kept = decided(world, "g", "PodGroup", policy="LeastDisturbance")
    gone = after_preemption("web-7d-abcde")
    (said,) = [one for one in why("pod/web-7d-abcde", gone, [kept]).statements if one.topic == "Disturbance"]
    assert said.code == "Proved"
    assert said.text.startswith("BudgetsBroken 0, HighestPriority 10, PodsStopped 1")
    assert said.text.endswith("If created again, the victim would fit nowhere.")
    (row,) = texts(decision_table([kept], wide=True, header=False))
    assert "Cascade 2 (proved)" in row


# --- trees of groups -----------------------------------------------------------------------------


def test_a_pod_of_a_tree_waits_with_all_of_it() -> None:
    groups = {
        "root": GroupLine(class_name="service", composite=True, min=2),
        "left": GroupLine(class_name="service", min=1, parent="root"),
        "right": GroupLine(class_name="service", min=1, parent="root"),
    }
    pods = {
        "full": PodLine(on="n1", cpu=2, class_name="service"),
        "l-0": PodLine(cpu=2, group="left", class_name="service", priority=500),
        "r-0": PodLine(cpu=2, group="right", class_name="service", priority=500),
    }
    world = WorldLine(nodes={"n1": "cpu 4"}, classes=CLASSES, groups=groups, pods=pods)
    for name in ("pod/l-0", "podgroup/left", "compositepodgroup/root"):
        report = why(name, world)
        assert (report.subject.kind, report.subject.name) == ("CompositePodGroup", "root")
        assert report.state is WhyState.PENDING
        assert any("urgent" in remedy.text for remedy in report.remedies)


def test_a_group_of_a_tree_was_preempted_with_it() -> None:
    groups = {
        "root": GroupLine(class_name="service", composite=True, min=2, disruption="all"),
        "left": GroupLine(class_name="service", min=1, parent="root"),
        "right": GroupLine(class_name="service", min=1, parent="root"),
    }
    pods = {
        "l-0": PodLine(on="n1", cpu=4, group="left", class_name="service", priority=500),
        "r-0": PodLine(on="n2", cpu=1, group="right", class_name="service", priority=500),
        "new": PodLine(cpu=4, class_name="urgent", start=None),
    }
    world = WorldLine(nodes={"n1": "cpu 4", "n2": "cpu 2"}, classes=CLASSES, groups=groups, pods=pods)
    kept = decided(world, "new")
    gone = msgspec.structs.replace(world, pods={"new": msgspec.structs.replace(pods["new"], on="n1")})
    for name in ("podgroup/right", "compositepodgroup/root"):
        report = why(name, gone, [kept])
        assert (report.subject.kind, report.subject.name) == ("CompositePodGroup", "root")
        assert report.state is WhyState.PREEMPTED
    assert why("podgroup/right", gone, [kept]).statements[0].text == "PodGroup default/right is a part of it."
    assert why("podgroup/right", gone).state is WhyState.RUNNING
