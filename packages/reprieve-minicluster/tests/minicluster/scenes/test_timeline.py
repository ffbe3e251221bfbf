"""What happens in a cluster, told in a line each; most changes are not worth one."""

import msgspec
import pytest
from tests.unit.scheduler.making import a_node, a_pod, granted, leaving, target, wanting

from reprieve.model.effects import Target
from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.model.objects import Pod, Problem, Ref
from reprieve.placement.rejection_codes import Code, Reason
from reprieve.report.text_layout import LineStyle, TextLine
from reprieve.scheduler.reporting.decision import Decision, Finding, Outcome
from reprieve_minicluster.scenes.timeline import ChangeTracker, decision_line, timed_line

POD = a_pod("p")


def with_phase(pod: Pod, phase: str) -> Pod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase=phase))


def decision(outcome: Outcome, *findings: Finding) -> Decision:
    places = ((target(POD), "n1"),) if outcome is Outcome.PLACED else ()
    return Decision("d-1", target(POD), 0, 0.0, outcome, places=places, considered=3, findings=findings)


def text_of(line: TextLine | None) -> str:
    return line.text if line is not None else ""


def phases(*names: str) -> list[str]:
    tracker = ChangeTracker()
    pods: list[Pod] = [with_phase(a_pod("p", on="n1" if name else ""), name) for name in names]
    return [text_of(tracker.line_for(Seen(pod))) for pod in pods]


def test_a_moment_stands_before_what_happened() -> None:
    assert timed_line(12.34, TextLine("It rains", LineStyle.BAD)) == TextLine(
        "   12.3 s  It rains", LineStyle.BAD
    )


def test_where_a_pod_goes() -> None:
    assert decision_line(decision(Outcome.PLACED)) == TextLine("Pod default/p goes to n1", LineStyle.GOOD)


def test_a_resize_that_fits() -> None:
    assert decision_line(decision(Outcome.FITS)).text == f"Pod default/p: {decision(Outcome.FITS).text}"


def test_why_a_pod_waits() -> None:
    full = Finding(Reason(Code.INSUFFICIENT_RESOURCE, "cpu"), 3, curable=True)
    line = decision_line(decision(Outcome.UNSCHEDULABLE, full))
    assert line == TextLine(
        "Pod default/p is unschedulable: 3 nodes have insufficient cpu left", LineStyle.BAD
    )
    assert (
        decision_line(decision(Outcome.UNSCHEDULABLE)).text
        == "Pod default/p is unschedulable: there is no node"
    )


def test_a_node_joins_once() -> None:
    tracker = ChangeTracker()
    assert text_of(tracker.line_for(Seen(a_node("n1")))) == "Node n1 joins with cpu 4, memory 8Gi, pods 110"
    assert tracker.line_for(Seen(a_node("n1"))) is None


def test_the_life_of_a_pod() -> None:
    told = phases("", "Pending", "Running", "Running", "Succeeded")
    assert told == ["", "", "Pod default/p runs on n1", "", "Pod default/p succeeded on n1"]
    assert phases("Failed") == ["Pod default/p failed on n1"]


def test_only_known_pods_can_be_gone() -> None:
    tracker = ChangeTracker()
    assert tracker.line_for(Gone(target(POD))) is None
    tracker.line_for(Seen(with_phase(POD, "Running")))
    assert text_of(tracker.line_for(Gone(target(POD)))) == "Pod default/p was deleted"


@pytest.mark.parametrize("sight", [Synced(), Gone(Target("Node", "", "n1", "uid-n1"))])
def test_what_is_worth_no_line(sight: Synced | Gone) -> None:
    assert ChangeTracker().line_for(sight) is None


def test_what_cannot_be_read() -> None:
    problem = Problem(ref=Ref(kind="Pod", namespace="default", name="p"), path="spec", expected="wrong")
    line = ChangeTracker().line_for(Unread(target(POD), problem))
    assert line == TextLine("Pod default/p cannot be read: Pod default/p: spec: wrong", LineStyle.BAD)


def test_a_pod_is_asked_to_leave_once() -> None:
    tracker, pod = ChangeTracker(), with_phase(a_pod("p", on="n1"), "Running")
    tracker.line_for(Seen(pod))
    told = [text_of(tracker.line_for(Seen(leaving(pod)))) for _ in range(2)]
    assert told == ["Pod default/p is terminating on n1", ""]


def test_a_pod_that_is_resized_where_it_runs() -> None:
    running = with_phase(a_pod(cpu="2", on="n1"), "Running")
    put_off = with_phase(wanting(running, "3"), "Running")
    tracker = ChangeTracker()
    seen = running, running, put_off, put_off, with_phase(granted(put_off), "Running")
    assert [text_of(tracker.line_for(Seen(pod))) for pod in seen] == [
        "Pod default/p runs on n1",
        "",
        "Pod default/p is to be resized to cpu 3; the kubelet on n1 defers it",
        "",
        "Pod default/p now has cpu 3 on n1",
    ]
