"""What victims, preemptors and groups are told, and that nothing is told twice."""

import msgspec
from tests.unit.scheduler.crowds import a_group, a_member, a_stranger, preempting
from tests.unit.scheduler.making import a_node, a_pod, later, leaving
from tests.unit.scheduler.stage import Stage

from reprieve.model.effects import Announce, Bind, Effect, Evict, SetCondition, Target
from reprieve.model.events import Done, Failed
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.reporting.status_reporter import Notice, StatusReporter

DIVERGES, SCHEDULED = "PodsNotMatchingPriority", "PodGroupInitiallyScheduled"


def events(effects: list[Effect], name: str) -> list[tuple[str, str]]:
    """Reasons and notes of the events on an object."""
    return [(e.reason, e.note) for e in effects if isinstance(e, Announce) and e.target.name == name]


def conditions(effects: list[Effect], kind: str) -> list[tuple[str, str]]:
    """Values and messages of a condition."""
    return [(e.status, e.message) for e in effects if isinstance(e, SetCondition) and e.type == kind]


def until_evicted(stage: Stage) -> list[Effect]:
    """Carries out the plan as far as the evictions; all that was wanted on the way."""
    wanted: list[Effect] = []
    while not any(isinstance(effect, Evict) for effect in stage.wanted):
        wanted += stage.succeed()
    return [*wanted, *stage.take()]


def evicted(stage: Stage) -> list[Effect]:
    """The same, and what is said when they have been evicted."""
    wanted = until_evicted(stage)
    stage.happens(*(Done(effect) for effect in wanted if isinstance(effect, Evict)))
    return [*wanted, *stage.take()]


# --- both sides of a preemption ------------------------------------------------------------------


def test_a_victim_learns_a_uid_and_a_node_and_the_preemptor_a_number() -> None:
    stage = preempting(a_node("n1"), a_pod("old", cpu="3", on="n1"), a_stranger("new", cpu="2", priority=9))
    (decision,) = stage.decisions
    told = evicted(stage)
    assert events(told, "old") == [
        (
            "Preempted",
            "Preempted by pod uid-new on node n1: the preemptor's priority is 9 "
            f"(decision {decision.id}); more: reprieve why pod/old -n default",
        )
    ]
    note = f"preempting 1 pod on n1: 1 pod of other namespaces (highest priority 0) (decision {decision.id})"
    assert events(told, "new") == [("Preempting", note)]
    waits = f"waits for room on n1: preempting 1 pod on n1 (decision {decision.id})"
    assert conditions(told, "PodScheduled") == [("False", waits)]


def test_several_victims_of_a_gang_learn_their_own_node() -> None:
    stage = preempting(
        a_node("n1"),
        a_node("n2"),
        *(a_pod(f"p-{i}", cpu="2", on="n1") for i in range(2)),
        a_pod("q", cpu="3", on="n2"),
        a_group("g", 9, 2),
        *(a_member(f"g-{i}", cpu="4", priority=9) for i in range(2)),
    )
    (decision,) = stage.decisions
    told = evicted(stage)
    assert events(told, "q") == [
        (
            "Preempted",
            "Preempted by podgroup g on node n2: the preemptor's priority is 9 "
            f"(decision {decision.id}); more: reprieve why pod/q -n default",
        )
    ]
    note = f"preempting 2 pods on n1, 1 pod on n2: p-0, p-1, q (decision {decision.id})"
    assert events(told, "g") == [("Preempting", note)]


def test_many_nodes_are_counted() -> None:
    nodes = [a_node(f"n{i}") for i in range(6)]
    crowd = [a_pod(f"p-{i}", cpu="3", on=f"n{i}") for i in range(6)]
    gang = [a_member(f"g-{i}", cpu="3", priority=9) for i in range(6)]
    (decision,) = preempting(*nodes, *crowd, a_group("g", 9, 6), *gang).decisions
    assert decision.text.startswith("waits for room on 6 nodes: preempting 6 pods on 6 nodes (decision ")


def test_a_pod_that_waits_for_a_reader_that_leaves_anyway() -> None:
    stage = preempting(
        a_node("n1"), leaving(a_pod("old", cpu="3", on="n1")), a_pod("new", cpu="2", priority=9)
    )
    assert stage.decisions[0].text.startswith("waits for room on n1: 1 pod terminates anyway (decision ")


def test_that_a_plan_came_to_nothing_is_told_in_an_event_of_its_own() -> None:
    stage = preempting(a_node("n1"), a_pod("old", cpu="3", on="n1"), a_pod("new", cpu="2", priority=9))
    evicting = next(effect for effect in until_evicted(stage) if isinstance(effect, Evict))
    stage.happens(Failed(evicting, "it is forbidden"))
    ((reason, note),) = events(stage.take(), "new")
    assert (reason, note.partition(":")[0]) == ("FailedScheduling", "preemption failed at Pod default/old")


def test_what_was_only_written_down_is_told_when_no_other_tells_it() -> None:
    outbox, pod = Outbox(), Target("Pod", "default", "new", "uid-new")
    telling = StatusReporter(outbox)
    telling.report_waiting_pod(pod, "Unschedulable", Notice("no room"), aloud=False)
    assert [type(effect) for effect in outbox.take()] == [SetCondition]
    telling.report_waiting_pod(pod, "Unschedulable", Notice("no room"))
    assert [type(effect) for effect in outbox.take()] == [Announce]
    telling.report_waiting_pod(pod, "Unschedulable", Notice("no room"))
    assert outbox.take() == []


def test_what_failed_in_another_namespace_is_not_named() -> None:
    stage = preempting(a_node("n1"), a_pod("old", cpu="3", on="n1"), a_stranger("new", cpu="2", priority=9))
    evicting = next(effect for effect in until_evicted(stage) if isinstance(effect, Evict))
    stage.happens(Failed(evicting, "pods old is forbidden"))
    (message,) = (message for _, message in conditions(stage.wanted, "PodScheduled"))
    assert message == "preemption failed: a pod of another namespace could not be evicted"


# --- groups --------------------------------------------------------------------------------------


def test_a_group_is_told_of_a_pod_with_another_priority_and_when_it_is_gone() -> None:
    wrong = a_member("g-1", priority=3)
    stage = preempting(a_node("n1"), a_group("g", 9), a_member("g-0", priority=9), wrong)
    assert conditions(stage.take(), DIVERGES) == [("True", "pod g-1 has priority 3, the group 9")]
    stage.lose(wrong)
    assert conditions(stage.take(), DIVERGES) == [("False", "all pods have the priority of the group")]


def test_several_that_differ_are_counted() -> None:
    pods = [a_member(f"g-{i}", priority=i) for i in range(3)]
    (told,) = conditions(preempting(a_group("g", 9), *pods).take(), DIVERGES)
    assert told == ("True", "pod g-0 has priority 0, the group 9; 2 more pods differ")


def test_running_pods_count_too() -> None:
    stage = preempting(a_node("n1"), a_group("g", 9), a_member("g-0", priority=3, on="n1"))
    assert len(conditions(stage.take(), DIVERGES)) == 1


def test_a_group_that_agrees_is_told_nothing() -> None:
    stage = preempting(a_node("n1"), a_group("g", 9), a_member("g-0", priority=9))
    assert conditions(stage.take(), DIVERGES) == []


def test_what_the_group_says_already_is_not_said_again() -> None:
    known = {"type": DIVERGES, "status": "True", "message": "pod g-0 has priority 3, the group 9"}
    told = preempting(a_group("g", 9, conditions=[known]), a_member("g-0", priority=3))
    assert conditions(told.take(), DIVERGES) == []
    cured = preempting(a_group("g", 3, conditions=[known]), a_member("g-0", priority=3))
    assert [status for status, _ in conditions(cured.take(), DIVERGES)] == ["False"]


def test_what_did_not_arrive_is_said_again_with_the_next_change() -> None:
    group, pods = a_group("g", 9), [a_member(f"g-{i}", priority=3) for i in range(2)]
    stage = preempting(a_node("n1"), group, pods[0])
    (condition,) = (e for e in stage.take() if isinstance(e, SetCondition) and e.type == DIVERGES)
    stage.happens(Failed(condition, "conflict")).see(later(group))
    assert conditions(stage.take(), DIVERGES) == [("True", "pod g-0 has priority 3, the group 9")]


def test_a_write_that_fails_says_nothing_of_others_about_the_same_group() -> None:
    """They may still be on their way, and the group still shows what was before them."""
    outbox, group = Outbox(), a_group("g")
    reporter = StatusReporter(outbox)
    reporter.report_incomplete_preemption(group, "t1 stays", again=False)
    first = outbox.take()
    assert len(first) == 2
    waits = SetCondition(first[0].target, SCHEDULED, "False", "Unschedulable", "no room")
    reporter.on_unreported(waits, 0.0)
    reporter.report_incomplete_preemption(group, "t1 stays", again=False)
    assert outbox.take() == []
    reporter.on_unreported(first[0], 0.0)
    reporter.report_incomplete_preemption(group, "t1 stays", again=False)
    assert outbox.take() == first


def test_a_gang_that_waits_for_its_pods_is_told_once() -> None:
    stage = preempting(a_node("n1"), a_group("g", 9, 3))
    stage.see(a_member("g-0", priority=9)).after(4).see(a_member("g-1", priority=9))
    assert stage.take() == [], "the others may be on their way"
    told = stage.after(1).take()
    text = "PodGroup default/g waits until 3 of its pods exist"
    assert conditions(told, SCHEDULED) == [("False", text)]
    assert conditions(told, "PodScheduled") == [("False", text)] * 2


def test_a_pod_that_joins_a_gang_that_is_known_to_wait_is_told_at_once() -> None:
    stage = preempting(a_node("n1"), a_group("g", 9, 3), a_member("g-0", priority=9)).after(5)
    stage.take()
    stage.see(a_member("g-1", priority=9))
    assert [status for status, _ in conditions(stage.take(), "PodScheduled")] == ["False"]
    stage.lose(a_member("g-0", priority=9), a_member("g-1", priority=9)).after(10)
    stage.see(a_member("g-2", priority=9))
    assert stage.take() == [], "another beginning"


def test_a_gang_whose_pods_come_in_time_costs_no_more_than_its_pods_alone() -> None:
    stage = preempting(a_node("n1"), a_group("g", 9, 3))
    stage.see(*(a_member(f"g-{i}", priority=9) for i in range(2))).after(4.9)
    stage.see(a_member("g-2", priority=9))
    told = stage.take()
    assert (len([e for e in told if isinstance(e, Bind)]), conditions(told, "PodScheduled")) == (3, [])


def test_a_group_that_was_scheduled_stays_so() -> None:
    known = {"type": SCHEDULED, "status": "True"}
    group = a_group("g", 9, 1, conditions=[known])
    stage = preempting(a_node("n1"), group, a_member("g-0", cpu="4", priority=9, on="n1"))
    stage.see(a_member("g-1", cpu="4", priority=9))
    assert stage.decisions
    assert conditions(stage.take(), SCHEDULED) == []


def test_a_report_about_a_group_is_no_reason_to_decide_again() -> None:
    group = a_group("g", 9, 1)
    stage = preempting(a_node("n1"), group, a_member("g-0", cpu="5", priority=9))
    assert len(stage.decisions) == 1
    stage.see(later(group))
    assert len(stage.decisions) == 1
    spec = msgspec.structs.replace(group.spec, priority=10)
    stage.see(msgspec.structs.replace(later(later(group)), spec=spec))
    assert len(stage.decisions) == 1, "its pod has another priority now"
