"""Who asks: a pod for itself, or a group for its pods. What it asks for, and what it still waits for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprieve.model.columns import Mask
from reprieve.model.effects import Target
from reprieve.model.formatting import counted
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.objects import Pod, PodGroup
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.constraints import constraints_under
from reprieve.placement.demand import Demand
from reprieve.placement.profile import Profile
from reprieve.preemption.policy import InPlace
from reprieve.scheduler.pod_rows import PodKey
from reprieve.scheduler.queue import Key
from reprieve.scheduler.world import World

GROUP = "PodGroup"
IN_PLACE = "InPlace"  # a pod that asks for more where it runs


@dataclass(frozen=True, slots=True)
class GroupRules:
    """What counts of all that groups say."""

    divergence_allowed: bool = False  # pods may have other priorities than their group
    own_policy: bool = True  # whether a group says itself if it preempts; its class may always
    trees: bool = True  # groups may be in other groups
    priorities: bool = True  # the priority of a group is that of its pods; otherwise they have their own


NO_SPECIAL_RULES = GroupRules()


@dataclass(frozen=True, slots=True)
class Asker:
    """A demand in words of the cluster: its pods that wait, the most urgent first."""

    key: Key
    pods: tuple[CompiledPod, ...]
    priority: int
    may_preempt: bool
    group: PodGroup | None = None
    running: int = 0  # pods of the group that have their node
    forbidden: str = ""  # why nobody may be evicted for it, whoever there is

    @property
    def is_starting(self) -> bool:
        """Whether it is a gang that does not run yet: its pods need each other."""
        gang = self.group.spec.gang if self.group is not None else None
        return gang is not None and self.running < gang.min_count

    @property
    def needed(self) -> int:
        """How many must find a node for any to get one; whoever is beyond that asks for himself."""
        gang = self.group.spec.gang if self.group is not None else None
        return max(1, gang.min_count - self.running) if gang is not None else 1


@dataclass(frozen=True, slots=True)
class NotYet:
    """Why nothing can be asked yet; empty if whoever holds it back knows.

    ``arriving``: there are too few pods, and more may be on their way.
    """

    text: str
    pods: tuple[CompiledPod, ...] = ()
    arriving: bool = False


def key_of(pod: Pod, *, groups: bool) -> Key:
    """The demand that a pod is part of."""
    group = group_key(pod) if groups else None
    if group is not None:
        return GROUP, *group
    return "Pod", pod.metadata.namespace, pod.metadata.name


def asker(world: World, key: Key, rules: GroupRules = NO_SPECIAL_RULES) -> Asker | NotYet | None:
    """None if nobody of it waits any more."""
    if key[0] != GROUP:
        pod = world.pod(key[1:])
        if pod is None or world.is_placed(key[1:]) or pod.pod.metadata.deletion_timestamp is not None:
            return None
        spec = pod.pod.spec
        may_preempt = spec.preemption_policy != "Never"
        return NotYet("") if spec.scheduling_gates else Asker(key, (pod,), spec.priority or 0, may_preempt)
    waiting, placed = _members(world, key[1:])
    if not waiting:
        return None
    return _of_group(world, key, waiting, placed, rules)


def asker_in_place(
    world: World, key: Key, in_place: InPlace, rules: GroupRules = NO_SPECIAL_RULES
) -> Asker | NotYet | None:
    """None if the pod has what it wants, or is going. It asks for itself, with the priority of its group."""
    compiled = world.pod(key[1:])
    going = compiled is None or compiled.pod.metadata.deletion_timestamp is not None
    if compiled is None or going or not in_place.asks(compiled.pod):
        return None
    pod, node = compiled.pod, world.node(compiled.pod.spec.node_name)
    if node is None or compiled.problems:
        return NotYet("" if node is None else "; ".join(map(str, compiled.problems)), (compiled,))
    priority, never = pod.spec.priority or 0, pod.spec.preemption_policy == "Never"
    of_pod = group_key(pod)
    group = world.groups.group(of_pod) if of_pod is not None else None
    if group is not None:
        priority = _priority(world, group, [compiled], rules)
        never |= world.groups.never_preempts(group, own_policy=rules.own_policy)
    return Asker(key, (compiled,), priority, not never, forbidden=in_place.forbidden(pod, node))


def _members(world: World, group: GroupKey) -> tuple[list[CompiledPod], list[CompiledPod]]:
    """Those who wait, and those who do not have to any more. Who is being deleted is neither."""
    waiting: list[CompiledPod] = []
    placed: list[CompiledPod] = []
    for key in world.groups.members(group):
        pod = world.pod(key)
        if pod is None or pod.pod.metadata.deletion_timestamp is not None:
            continue
        (placed if world.is_placed(key) else waiting).append(pod)
    return sorted(waiting, key=_urgency), placed


def priority_of(world: World, key: Key, rules: GroupRules = NO_SPECIAL_RULES) -> int:
    """How important a demand is, whether or not it can ask yet."""
    if key[0] == GROUP:
        group = world.groups.group(key[1:])
        if group is None:
            return 0
        pods = [] if rules.priorities else _members(world, key[1:])[0]  # there may be many
        return _priority(world, group, pods, rules)
    pod = world.pod(key[1:])
    return pod.pod.spec.priority or 0 if pod is not None else 0


def _priority(world: World, group: PodGroup, pods: Sequence[CompiledPod], rules: GroupRules) -> int:
    """That of the group; where that does not count, of the most important of its pods that wait."""
    if rules.priorities:
        return world.groups.priority_of(group)
    return max((pod.pod.spec.priority or 0 for pod in pods), default=0)


def is_complete(world: World, group: PodGroup) -> bool:
    """Whether as many of its pods have their node as it needs."""
    _, placed = _members(world, (group.metadata.namespace, group.metadata.name))
    return len(placed) >= (group.spec.gang.min_count if group.spec.gang is not None else 1)


def _urgency(pod: CompiledPod) -> tuple[int, str]:
    return -(pod.pod.spec.priority or 0), pod.pod.metadata.name


def _of_group(
    world: World, key: Key, waiting: list[CompiledPod], placed: list[CompiledPod], rules: GroupRules
) -> Asker | NotYet:
    group = world.groups.group(key[1:])
    if group is None:
        return NotYet(f"PodGroup {key[1]}/{key[2]} does not exist yet", tuple(waiting))
    if any(pod.pod.spec.scheduling_gates for pod in waiting):
        return NotYet("")
    gang = group.spec.gang
    if gang is not None and len(placed) + len(waiting) < gang.min_count:
        # The same for every pod that comes, or all who wait would have to be told again.
        text = f"PodGroup {key[1]}/{key[2]} waits until {gang.min_count} of its pods exist"
        return NotYet(text, tuple(waiting), arriving=True)
    priority = _priority(world, group, waiting, rules)
    policy = world.groups.policy_of(group) if rules.own_policy else ""
    wrong = _disagreement([*waiting, *placed], priority, policy, rules)
    if rules.trees:
        wrong = _tree_problem(world, key) or wrong
    if wrong:
        return NotYet(f"PodGroup {key[1]}/{key[2]} cannot be scheduled: {wrong}", tuple(waiting))
    of_group = world.groups.never_preempts(group, own_policy=rules.own_policy)
    never = of_group or any(p.pod.spec.preemption_policy == "Never" for p in waiting)
    return Asker(key, tuple(waiting), priority, not never, group, len(placed))


def _tree_problem(world: World, key: Key) -> str:
    """What groups ask for together, beyond what each of them asks for, is not served, and not ignored."""
    groups = world.groups.tree()
    missing = groups.missing(key[1:])
    if missing:
        return f"CompositePodGroup {key[1]}/{missing} does not exist yet"
    for group in groups.around(key[1:]):
        name = f"CompositePodGroup {key[1]}/{group.metadata.name}"
        if group.spec.gang is not None and group.spec.gang.min_count > 1:
            return f"{name}: spec.schedulingPolicy.gang.minGroupCount above 1 is not supported"
        if group.spec.topology_key:
            return f"{name}: spec.schedulingConstraints.topology is not supported"
    return ""


def _disagreement(pods: Sequence[CompiledPod], priority: int, policy: str, rules: GroupRules) -> str:
    """A cheap pod must not ride on a dear group, nor two schedulers on one gang.

    ``policy``: what the group says of preemption; empty if that does not count.
    """
    if len({pod.pod.spec.scheduler_name for pod in pods}) > 1:
        return "its pods name different schedulers"
    policies = {pod.pod.spec.preemption_policy or "PreemptLowerPriority" for pod in pods}
    if len(policies) > 1:
        return "its pods have different preemption policies"
    if policy and policies != {policy}:
        return f"its pods have the preemption policy {', '.join(policies)}, the group {policy}"
    others = [p for p in pods if (p.pod.spec.priority or 0) != priority]
    if others and rules.priorities and not rules.divergence_allowed:
        return _differs(others[0].pod, priority)
    return ""


def divergence(world: World, group: PodGroup) -> str:
    """Which pods of a group have another priority than it; empty if none has."""
    priority = world.groups.priority_of(group)
    members = (
        world.pod(key) for key in world.groups.members((group.metadata.namespace, group.metadata.name))
    )
    others = [pod.pod for pod in members if pod is not None and (pod.pod.spec.priority or 0) != priority]
    if not others:
        return ""
    more = len(others) - 1
    rest = "" if not more else f"; {counted(more, 'more pod')} {'differs' if more == 1 else 'differ'}"
    return f"{_differs(others[0], priority)}{rest}"


def _differs(pod: Pod, priority: int) -> str:
    return f"pod {pod.metadata.name} has priority {pod.spec.priority or 0}, the group {priority}"


def demand_of(
    asker: Asker, view: Snapshot, profile: Profile, reserved: Mapping[Target, str], *, topology: bool = True
) -> Demand:
    """The demand in rows of a snapshot. Pods try the nodes that are reserved for them first."""
    rows = tuple(view.pods.rows[p.pod.metadata.namespace, p.pod.metadata.name] for p in asker.pods)
    topology_key = asker.group.spec.topology_key if asker.group is not None and topology else ""
    nominated = (reserved.get(pod_target(pod.pod), "") for pod in asker.pods)
    return Demand(
        pods=rows,
        constraints=constraints_under(profile),
        needed=asker.needed,
        priority=asker.priority,
        may_preempt=asker.may_preempt,
        nominated=tuple(view.nodes.rows.get(name, NOWHERE) for name in nominated),
        topology_key=topology_key,
        allowed=_where_the_others_are(asker, view, topology_key) if topology_key and asker.running else None,
    )


def in_place_key(pod: Pod) -> Key:
    return IN_PLACE, pod.metadata.namespace, pod.metadata.name


def pod_key(pod: Pod) -> PodKey:
    return pod.metadata.namespace, pod.metadata.name


def pod_target(pod: Pod) -> Target:
    return Target("Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _where_the_others_are(asker: Asker, view: Snapshot, topology_key: str) -> Mask:
    """Members that run already decide which domain it is; if they are in several, there is none left."""
    column, group = view.nodes.label(topology_key), view.pods.groups.index[asker.key[1:]]
    there = view.where[(view.pods.groups.codes == group) & (view.where != NOWHERE)]
    codes = set(column.codes[there].tolist())
    return column.codes == codes.pop() if len(codes) == 1 and 0 not in codes else column.codes < 0
