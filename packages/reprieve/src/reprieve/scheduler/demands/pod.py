"""A demand of one pod that has no node. If it fits it is bound, and any node may help it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from reprieve.model.effects import Target
from reprieve.model.events import Change
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Demand
from reprieve.placement.place import pod_demand
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands.queueing_hints import helpful
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.reporting.decision import Finding, Growth
from reprieve.scheduler.reporting.status_reporter import Notice, StatusReporter
from reprieve.scheduler.targets import pod_target


@dataclass(frozen=True, slots=True)
class NotYet:
    """The answer that a demand cannot be decided yet, and why.

    ``text`` is reported on ``pods``; it is empty if the one that holds them back reports it itself.

    ``arriving``: there are too few pods, and more may be created or lose their gates any moment.
    ``flaw``: the groups around are not as they must be, which no pod can mend: the reason of a condition on
    its PodGroups, which get an event as well.
    """

    text: str
    pods: tuple[CompiledPod, ...] = ()
    arriving: bool = False
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class WaitingPod:
    key: DemandKey
    pod: CompiledPod
    priority: int
    may_preempt: bool

    needed: ClassVar[int] = 1
    is_starting: ClassVar[bool] = False
    nominates: ClassVar[bool] = True
    forbidden: ClassVar[str] = ""
    growth: ClassVar[Growth | None] = None

    @property
    def pods(self) -> tuple[CompiledPod, ...]:
        return (self.pod,)

    @property
    def target(self) -> Target:
        return pod_target(self.pod.pod)

    def helped_by(self, codes: Collection[Code]) -> frozenset[Change]:
        return helpful(codes)

    def considered(self, nodes: int) -> int:
        return nodes

    def relevant(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return findings


def waiting_pod(world: World, key: DemandKey) -> WaitingPod | NotYet | None:
    """None if the pod has its node, or is being deleted."""
    pod = world.pod(key.object)
    if pod is None or world.is_placed(key.object) or pod.pod.metadata.deletion_timestamp is not None:
        return None
    spec = pod.pod.spec
    if spec.scheduling_gates:
        return NotYet("")
    return WaitingPod(key, pod, spec.priority or 0, spec.preemption_policy != "Never")


def waiting_pod_demand(
    requester: WaitingPod, view: Snapshot, profile: Profile, reserved: Mapping[Target, str]
) -> Demand:
    (row,) = rows_of_pods(requester.pods, view)
    # The nomination that the pod shows may be out of date.
    return pod_demand(view, row, profile, reserved_rows(requester.pods, view, reserved))


def rows_of_pods(pods: Iterable[CompiledPod], view: Snapshot) -> tuple[int, ...]:
    return tuple(view.pods.rows[pod.pod.metadata.namespace, pod.pod.metadata.name] for pod in pods)


def reserved_rows(
    pods: Iterable[CompiledPod], view: Snapshot, reserved: Mapping[Target, str]
) -> tuple[int, ...]:
    """The nodes that are reserved for pods: each tries its own before all others."""
    if not reserved:
        return tuple(NOWHERE for _ in pods)
    names = (reserved.get(pod_target(pod.pod), "") for pod in pods)
    return tuple(view.nodes.rows.get(name, NOWHERE) for name in names)


def report_unscheduled(
    reporter: StatusReporter, pods: Iterable[CompiledPod], notice: Notice, silent: Target | None = None
) -> None:
    """``silent``: a pod that gets the condition and no event, since another event says the same."""
    for pod in pods:
        target = pod_target(pod.pod)
        reporter.report_waiting_pod(target, "Unschedulable", notice, aloud=target != silent)
