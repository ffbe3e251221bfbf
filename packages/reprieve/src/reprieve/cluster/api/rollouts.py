"""By which rules do Deployments, StatefulSets and DaemonSets replace their pods, and which goes next?

Pure functions of numbers and of what is seen of pods, for controllers and for predictions. Each answers for
one reconcile: what was decided before shows in the pods.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_PERCENT = re.compile(r"(\d+)%", re.ASCII)


def scaled(value: int | str, total: int, *, round_up: bool) -> int | None:
    """The number, or the percentage of a total; None for a value that is neither."""
    if isinstance(value, int):
        return value
    match = _PERCENT.fullmatch(value)
    if match is None:
        return None
    hundredths = int(match[1]) * total
    return -(-hundredths // 100) if round_up else hundredths // 100


@dataclass(frozen=True, slots=True)
class SeenPod:
    """``is_new``: of the current template. ``is_available``: ready, and for as long as is asked."""

    name: str
    is_new: bool
    is_leaving: bool
    is_available: bool


# --- Deployments and ReplicaSets -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SeenReplicaSet:
    """How many pods it should have, how many there are, terminating or not, and how many are available."""

    asked: int
    present: int = 0
    available: int = 0


@dataclass(frozen=True, slots=True)
class DeploymentRules:
    """``surge``: how many pods more than ``replicas`` there may be; ``unavailable``: how many may miss."""

    replicas: int
    recreates: bool
    surge: int
    unavailable: int

    @classmethod
    def of(cls, replicas: int, strategy: str, surge: int | str, unavailable: int | str) -> "DeploymentRules":
        """(0, 1) if both limits are 0, which would never progress."""
        more = scaled(surge, replicas, round_up=True) or 0
        fewer = min(scaled(unavailable, replicas, round_up=False) or 0, replicas)
        return cls(replicas, strategy == "Recreate", *((more, fewer) if more or fewer else (0, 1)))


def size_of_new(rules: DeploymentRules, old: Sequence[SeenReplicaSet], new: SeenReplicaSet | None) -> int:
    """How many pods the new ReplicaSet may have beside the old ones."""
    if rules.recreates:
        return 0 if any(one.present for one in old) else rules.replicas
    has = new.asked if new is not None else 0
    room = max(0, rules.replicas + rules.surge - sum(one.asked for one in old) - has)
    return min(rules.replicas, has + room)


def sizes_of_old(
    rules: DeploymentRules, old: Sequence[SeenReplicaSet], new: SeenReplicaSet | None
) -> list[int]:
    """Scaled down, the oldest first, while enough pods stay available. ``old``: in order of their age."""
    if new is None and not rules.recreates:
        return [one.asked for one in old]
    spare, sizes = _spare(rules, old, new), []
    for one in old:
        taken = min(one.asked, spare)
        spare -= taken
        sizes.append(one.asked - taken)
    return sizes


def _spare(rules: DeploymentRules, old: Sequence[SeenReplicaSet], new: SeenReplicaSet | None) -> int:
    """How many pods of the old ReplicaSets are not needed for availability."""
    asked = sum(one.asked for one in old) + (new.asked if new is not None else 0)
    if rules.recreates:
        return asked
    not_yet = new.asked - new.available if new is not None else 0
    return max(0, asked - (rules.replicas - rules.unavailable) - not_yet)


@dataclass(frozen=True, slots=True)
class DeletionRank:
    """What a ReplicaSet looks at when it has a pod too many."""

    has_node: bool
    is_running: bool
    is_ready: bool
    cost: int  # of its deletion, as an annotation says
    created: float
    name: str

    @property
    def order(self) -> tuple[bool, bool, bool, int, float, str]:
        """Unscheduled pods go first, then pods not running, unready ones, the cheapest; then the youngest."""
        return self.has_node, self.is_running, self.is_ready, self.cost, -self.created, self.name


# --- StatefulSets --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StatefulSetRules:
    """``numbers``: the ordinals that it should have, in order."""

    numbers: range
    is_ordered: bool
    partition: int = 0
    max_unavailable: int | str = 1

    @property
    def replaced(self) -> range:
        """Pods below the partition keep the template that they have."""
        return self.numbers[self.partition :]

    @property
    def at_a_time(self) -> int:
        return max(1, scaled(self.max_unavailable, len(self.numbers), round_up=True) or 0)


def is_healthy(pod: SeenPod | None) -> bool:
    return pod is not None and pod.is_available and not pod.is_leaving


def surplus_to_delete(rules: StatefulSetRules, pods: Mapping[int, SeenPod]) -> list[int]:
    """In order, one at a time from the highest; an unhealthy one waits for those below it."""
    surplus = sorted((number for number in pods if number not in rules.numbers), reverse=True)
    if not rules.is_ordered:
        return [number for number in surplus if not pods[number].is_leaving]
    first_unhealthy = next((n for n in reversed(surplus) if not is_healthy(pods[n])), None)
    highest = surplus[:1]
    waits = any(not is_healthy(pods[n]) and first_unhealthy != n for n in highest)
    return [] if waits or any(pods[n].is_leaving for n in highest) else highest


def outdated_to_delete(rules: StatefulSetRules, pods: Mapping[int, SeenPod]) -> list[int]:
    """Replaced from the highest down to the partition, within maxUnavailable."""
    healthy = {n for n, pod in pods.items() if n in rules.numbers and is_healthy(pod)}
    spare = max(0, rules.at_a_time - len(rules.numbers) + len(healthy))
    here = sorted((n for n in pods if n in rules.replaced), reverse=True)
    old = [n for n in here if not pods[n].is_leaving and not pods[n].is_new]
    if rules.is_ordered:
        return old[:spare]
    return [*(n for n in old if n not in healthy), *[n for n in old if n in healthy][:spare]]


# --- DaemonSets ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SeenDaemonNode:
    """``pods``: of the set on this node, the oldest first. ``may_create``: whether it may get a new one."""

    pods: Sequence[SeenPod]
    may_create: bool

    @property
    def new(self) -> list[SeenPod]:
        return [pod for pod in self.pods if pod.is_new and not pod.is_leaving]

    @property
    def old(self) -> list[SeenPod]:
        return [pod for pod in self.pods if not pod.is_new and not pod.is_leaving]


def daemons_too_many(node: SeenDaemonNode, surge: int) -> list[SeenPod]:
    """All but the oldest. With maxSurge, an old pod also stays until the new one is available."""
    if not surge:
        return [pod for pod in node.pods if not pod.is_leaving][1:]
    new, old = node.new, node.old
    done = bool(new and old) and (new[0].is_available or not old[0].is_available)
    return [*new[1:], *old[1:], *(old[:1] if done else ())]


def daemons_to_replace(nodes: Iterable[SeenDaemonNode], most: int) -> list[SeenPod]:
    """Old pods that are not available go at once, and others while at most so many nodes have none."""
    missing, unavailable, available = 0, list[SeenPod](), list[SeenPod]()
    for node in nodes:
        if not node.pods and not node.may_create:
            continue
        unavailable += [pod for pod in node.old if not pod.is_available]
        available += [pod for pod in node.old if pod.is_available]
        missing += not any(pod.is_available for pod in (*node.new, *node.old))
    return [*unavailable, *available[: max(0, most - missing)]]


def nodes_to_surge(nodes: Sequence[SeenDaemonNode], surge: int) -> list[int]:
    """The rows of the nodes where a new pod is created beside an old one: within maxSurge, or if the old one
    is not available."""
    spare = surge - sum(bool(node.new and node.old) for node in nodes)
    chosen = []
    for row, node in enumerate(nodes):
        if node.new or not node.old or not node.may_create:
            continue
        if node.old[0].is_available:
            if spare <= 0:
                continue
            spare -= 1
        chosen.append(row)
    return chosen
