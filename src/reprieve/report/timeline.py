"""What happens in a cluster, as a line for each thing that somebody would want to know.

Made from what the cluster shows and from decisions. Most changes say nothing to people, and give no line.
"""

from collections.abc import Iterable

from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.model.footprint import footprint
from reprieve.model.objects import KubernetesObject, Node, Pod, ref_of
from reprieve.model.resizing import is_deferred
from reprieve.model.resources import Problems, node_capacity
from reprieve.report.text_layout import LineStyle, TextLine, amount
from reprieve.scheduler.decision import Decision, Outcome


def at(seconds: float, line: TextLine) -> TextLine:
    """When it happened, counted from the beginning of the story."""
    return TextLine(f"{seconds:7.1f} s  {line.text}", line.tone)


def decided(decision: Decision) -> TextLine:
    """In one line: where it goes, or why it waits."""
    match decision.outcome:
        case Outcome.PLACED:
            return TextLine(decision.text, LineStyle.GOOD)
        case Outcome.PREEMPTS | Outcome.WAITING:
            return TextLine(decision.text)
        case Outcome.FITS:
            return TextLine(f"{decision.demand}: {decision.text}", LineStyle.GOOD)
        case Outcome.UNSCHEDULABLE:
            why = ", ".join(finding.reason.said_of(finding.nodes) for finding in decision.findings)
            return TextLine(f"{decision.demand} has to wait: {why or 'there is no node'}", LineStyle.BAD)


_LEAVING = "Leaving"


class ChangeTracker:
    """Remembers what an object was, to tell what became of it."""

    def __init__(self) -> None:
        self._phases: dict[str, str] = {}
        self._sizes: dict[str, str] = {}  # what a pod has, or waits for

    def sees(self, sight: Seen | Unread | Gone | Synced) -> TextLine | None:
        match sight:
            case Seen(Node() as node) if self._is_new(node):
                return TextLine(f"Node {node.metadata.name} joins with {_offer(node)}")
            case Seen(Pod() as pod):
                return self._sees_pod(pod)
            case Unread(target, problem):
                return TextLine(f"{target} cannot be read: {problem}", LineStyle.BAD)
            case Gone(target) if self._phases.pop(target.uid, "") and target.kind == "Pod":
                return TextLine(f"{target} is gone")
            case _:
                return None

    def _sees_pod(self, pod: Pod) -> TextLine | None:
        before = self._phases.get(pod.metadata.uid, "")
        phase = self._phases[pod.metadata.uid] = pod.status.phase or "Pending"
        who, where = ref_of(pod), pod.spec.node_name
        if pod.metadata.deletion_timestamp is not None and where and before != _LEAVING:
            self._phases[pod.metadata.uid] = _LEAVING
            return TextLine(f"{who} is asked to leave {where}")
        if before in (phase, _LEAVING):
            return self._sees_size(pod) if before == phase else None
        self._sees_size(pod)
        match phase:
            case "Running":
                return TextLine(f"{who} runs on {where}")
            case "Succeeded":
                return TextLine(f"{who} has done its work on {where}")
            case "Failed":
                return TextLine(f"{who} has failed on {where}", LineStyle.BAD)
            case _:
                return None

    def _sees_size(self, pod: Pod) -> TextLine | None:
        """That a pod is resized where it runs."""
        if not pod.spec.node_name:
            return None
        weight, who, where = footprint(pod, Problems(ref_of(pod))), ref_of(pod), pod.spec.node_name
        wants, has = (", ".join(_amounts(amounts.items())) for amounts in (weight.charged, weight.held))
        size = f"{who} has {has} on {where} now"
        if is_deferred(pod):
            size = f"{who} is to have {wants}, and {where} puts that off"
        before, self._sizes[pod.metadata.uid] = self._sizes.get(pod.metadata.uid, size), size
        return TextLine(size) if size != before else None

    def _is_new(self, thing: KubernetesObject) -> bool:
        known = thing.metadata.uid in self._phases
        self._phases[thing.metadata.uid] = ""
        return not known


def _offer(node: Node) -> str:
    offered = node_capacity(node, Problems(ref_of(node)))
    return ", ".join(_amounts(offered.items()))


def _amounts(amounts: Iterable[tuple[str, int]]) -> Iterable[str]:
    return (f"{name} {amount(name, number)}" for name, number in amounts if number)
