"""A line for each change in a cluster that is worth showing, and for each decision.

Made from watch events and decisions alone. Most changes give no line.
"""

from collections.abc import Iterable

from reprieve.model.conditions import is_deferred
from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.model.footprint import footprint
from reprieve.model.objects import KubernetesObject, Node, Pod, ref_of
from reprieve.model.resources import Problems, node_capacity
from reprieve.report.text_layout import LineStyle, TextLine, amount
from reprieve.scheduler.reporting.decision import Decision, Outcome


def timed_line(seconds: float, line: TextLine) -> TextLine:
    """The line with its time, in seconds from the start of the scene."""
    return TextLine(f"{seconds:7.1f} s  {line.text}", line.tone)


def decision_line(decision: Decision) -> TextLine:
    """A decision in one line: the node, or why there is none."""
    match decision.outcome:
        case Outcome.PLACED:
            return TextLine(decision.text, LineStyle.GOOD)
        case Outcome.PREEMPTS | Outcome.WAITING | Outcome.IMPROVING:
            return TextLine(decision.text)
        case Outcome.FITS:
            return TextLine(f"{decision.demand}: {decision.text}", LineStyle.GOOD)
        case Outcome.ERROR:
            return TextLine(f"{decision.demand}: {decision.text}", LineStyle.BAD)
        case Outcome.UNSCHEDULABLE:
            why = ", ".join(finding.reason.said_of(finding.nodes) for finding in decision.findings)
            return TextLine(f"{decision.demand} is unschedulable: {why or 'there is no node'}", LineStyle.BAD)


_TERMINATING = "Terminating"


class ChangeTracker:
    """Remembers the last state of each object, to find what changed."""

    def __init__(self) -> None:
        self._phases: dict[str, str] = {}
        self._sizes: dict[str, str] = {}  # the line about the resources of each pod

    def line_for(self, event: Seen | Unread | Gone | Synced) -> TextLine | None:
        match event:
            case Seen(Node() as node) if self._is_new(node):
                return TextLine(f"Node {node.metadata.name} joins with {_capacity(node)}")
            case Seen(Pod() as pod):
                return self._pod_line(pod)
            case Unread(target, problem):
                return TextLine(f"{target} cannot be read: {problem}", LineStyle.BAD)
            case Gone(target) if self._phases.pop(target.uid, "") and target.kind == "Pod":
                return TextLine(f"{target} was deleted")
            case _:
                return None

    def _pod_line(self, pod: Pod) -> TextLine | None:
        before = self._phases.get(pod.metadata.uid, "")
        phase = self._phases[pod.metadata.uid] = pod.status.phase or "Pending"
        ref, where = ref_of(pod), pod.spec.node_name
        if pod.metadata.deletion_timestamp is not None and where and before != _TERMINATING:
            self._phases[pod.metadata.uid] = _TERMINATING
            return TextLine(f"{ref} is terminating on {where}")
        if before in (phase, _TERMINATING):
            return self._resize_line(pod) if before == phase else None
        self._resize_line(pod)
        match phase:
            case "Running":
                return TextLine(f"{ref} runs on {where}")
            case "Succeeded":
                return TextLine(f"{ref} succeeded on {where}")
            case "Failed":
                return TextLine(f"{ref} failed on {where}", LineStyle.BAD)
            case _:
                return None

    def _resize_line(self, pod: Pod) -> TextLine | None:
        """About an in-place resize."""
        if not pod.spec.node_name:
            return None
        weight, ref, where = footprint(pod, Problems(ref_of(pod))), ref_of(pod), pod.spec.node_name
        wants, has = (", ".join(_amounts(amounts.items())) for amounts in (weight.charged, weight.held))
        size = f"{ref} now has {has} on {where}"
        if is_deferred(pod):
            size = f"{ref} is to be resized to {wants}; the kubelet on {where} defers it"
        before, self._sizes[pod.metadata.uid] = self._sizes.get(pod.metadata.uid, size), size
        return TextLine(size) if size != before else None

    def _is_new(self, thing: KubernetesObject) -> bool:
        known = thing.metadata.uid in self._phases
        self._phases[thing.metadata.uid] = ""
        return not known


def _capacity(node: Node) -> str:
    capacity = node_capacity(node, Problems(ref_of(node)))
    return ", ".join(_amounts(capacity.items()))


def _amounts(amounts: Iterable[tuple[str, int]]) -> Iterable[str]:
    return (f"{name} {amount(name, number)}" for name, number in amounts if number)
