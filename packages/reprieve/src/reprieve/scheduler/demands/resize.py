"""A demand of a pod that runs, and whose node has deferred its resize.

Only its own node can help it. If it fits the kubelet acts: nothing is bound, nominated or written into the
pod's conditions.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from reprieve.model.effects import Target
from reprieve.model.events import Change
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Demand
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code
from reprieve.preemption.policy import Resizes
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands.group_rules import GroupRules
from reprieve.scheduler.demands.pod import NotYet
from reprieve.scheduler.demands.queueing_hints import ROOM_IN_PLACE
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.reporting.decision import MOST_BESIDE, Finding, Grown, Growth
from reprieve.scheduler.reporting.status_reporter import Notice, StatusReporter
from reprieve.scheduler.targets import pod_target


@dataclass(frozen=True, slots=True)
class WaitingResize:
    key: DemandKey
    pod: CompiledPod
    priority: int  # of its group, if it has one: the pod is preempted with that, too
    may_preempt: bool
    rule: Resizes
    forbidden: str = ""  # why no pod may be evicted for it, whichever pods there are
    gang: GroupKey | None = None  # that it is a member of
    beside: tuple[str, ...] = ()  # other members of the gang that are decided in the same go

    needed: ClassVar[int] = 1
    is_starting: ClassVar[bool] = False
    nominates: ClassVar[bool] = False

    @property
    def pods(self) -> tuple[CompiledPod, ...]:
        return (self.pod,)

    @property
    def target(self) -> Target:
        return pod_target(self.pod.pod)

    @property
    def node(self) -> str:
        return self.pod.pod.spec.node_name

    @property
    def growth(self) -> Growth:
        """What the pod is to have more of than it has."""
        weight = self.pod.weight
        amounts = ((name, Grown(weight.held.get(name, 0), wants)) for name, wants in weight.charged.items())
        more = {name: one for name, one in sorted(amounts) if one.wants > one.has}
        return Growth(self.node, more, self.beside[:MOST_BESIDE], len(self.beside))

    def helped_by(self, _: Collection[Code]) -> frozenset[Change]:
        return ROOM_IN_PLACE

    def considered(self, _: int) -> int:
        """How many nodes could have been chosen."""
        return 1

    def relevant(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """That the pod cannot grow on other nodes goes without saying."""
        return tuple(finding for finding in findings if finding.reason.code is not Code.OUTSIDE_DOMAIN)


def waiting_resize(
    world: World, key: DemandKey, rule: Resizes | None, rules: GroupRules
) -> WaitingResize | NotYet | None:
    """None if the pod has what it wants, or is being deleted, or if resizes do not count."""
    compiled = world.pod(key.object)
    if rule is None or compiled is None or not _is_waiting(compiled, rule):
        return None
    pod, node = compiled.pod, world.node(compiled.pod.spec.node_name)
    if node is None or compiled.problems:
        return NotYet("" if node is None else "; ".join(map(str, compiled.problems)), (compiled,))
    priority, never = pod.spec.priority or 0, pod.spec.preemption_policy == "Never"
    of_pod = group_key(pod)
    group = world.groups.group(of_pod) if of_pod is not None else None
    if group is not None:
        priority = rules.priority(world.groups, group, (compiled,))
        never = never or rules.never_preempts(world.groups, group)
    gang = of_pod if group is not None and group.spec.gang is not None else None
    return WaitingResize(key, compiled, priority, not never, rule, rule.forbidden(pod, node), gang)


def _is_waiting(compiled: CompiledPod, rule: Resizes) -> bool:
    return compiled.pod.metadata.deletion_timestamp is None and rule.is_waiting(compiled.pod)


def waiting_resize_demand(
    requester: WaitingResize, view: Snapshot, profile: Profile, now: float
) -> tuple[Demand, Snapshot]:
    """The demand, and the cluster as it counts for that."""
    demand, around = requester.rule.demand(view, view.pods.rows[requester.key.object], now, profile)
    return replace(demand, priority=requester.priority, may_preempt=requester.may_preempt), around


def report_deferred(reporter: StatusReporter, pods: Iterable[CompiledPod], notice: Notice) -> None:
    for pod in pods:
        reporter.report_waiting_resize(pod_target(pod.pod), notice)
