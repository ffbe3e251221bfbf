"""How do the pods of an object that exists become those of its manifest, step by step?

As its controller would do it, by the same rules (``cluster.api.rollouts``): a Deployment within its limits,
a StatefulSet in order, a DaemonSet node by node. Each rollout is asked for its next steps whenever something
has changed in the cluster of a rehearsal. This module must not know admission.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from reprieve.cluster.api.codec import Decoded
from reprieve.cluster.api.rollouts import (
    DeletionRank,
    DeploymentRules,
    SeenDaemonNode,
    SeenPod,
    SeenReplicaSet,
    StatefulSetRules,
    daemons_to_replace,
    daemons_too_many,
    is_healthy,
    nodes_to_surge,
    outdated_to_delete,
    size_of_new,
    sizes_of_old,
    surplus_to_delete,
)
from reprieve.inquiry.controller_objects import EligibleNode, created_again
from reprieve.inquiry.rehearsal import PodName, StandingPod, Step
from reprieve.model.annotations import member_cost
from reprieve.model.effects import Target
from reprieve.model.formatting import counted
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.scheduler.reporting.decision import DecisionPart

Seen = Decoded[KubernetesObject]
Standing = Mapping[PodName, StandingPod]
# Creates a pod, with the claims that belong to it, or says in a sentence why it is refused.
MakePod = Callable[[Json], tuple[Seen, ...] | str]


class RolloutFacts(DecisionPart, frozen=True):
    """``changes``: what differs from what runs. ``how``: by which rules its pods are replaced.

    ``stopped``: its pods that are gone in the end, victims among them. ``left``: how many should be and are
    not. ``missing``: how many pods it has too few then. ``refused``: why a pod could not be created.
    """

    changes: tuple[str, ...] = ()
    how: str = ""
    stopped: tuple[Target, ...] = ()
    left: int = 0
    missing: int = 0
    refused: str = ""

    @property
    def is_done(self) -> bool:
        return not (self.left or self.missing)


@dataclass(slots=True)
class Member:
    """A pod of the object. ``place``: its ordinal, or the row of its node or of its ReplicaSet."""

    is_new: bool
    place: int = 0
    created: float = 0.0
    cost: int = 0  # of its deletion


@dataclass(frozen=True, slots=True)
class RolledObject:
    """``min_ready``: how long a pod must be ready to be available. ``scheduler``: which its pods name."""

    kind: str
    namespace: str
    name: str
    changes: tuple[str, ...]
    how: str
    make: MakePod
    min_ready: float = 0.0
    scheduler: str = ""


@dataclass(slots=True)
class ObjectRollout(ABC):
    """``members``: all pods that it has. ``pods``: those of them that it has created, and those of the new
    template that waited already. ``stopped``: pods of before that are gone."""

    of: RolledObject
    members: dict[PodName, Member]
    pods: dict[PodName, Pod] = field(default_factory=dict)
    refused: str = ""
    stopped: list[Target] = field(default_factory=list)
    _created: set[PodName] = field(default_factory=set)

    def on_gone(self, pod: Target) -> None:
        name = pod.namespace, pod.name
        self.pods.pop(name, None)
        if self.members.pop(name, None) is not None and name not in self._created:
            self.stopped.append(pod)
        self._created.discard(name)

    @abstractmethod
    def steps(self, standing: Standing, now: float) -> Iterator[Step]:
        """Which pods are created and deleted next."""

    @abstractmethod
    def missing(self, standing: Standing, now: float) -> tuple[int, int]:
        """How many pods of earlier templates should be gone and are not; and how many pods it has too few."""

    def facts(self, standing: Standing, now: float) -> RolloutFacts:
        left, missing = self.missing(standing, now)
        refused = self.refused if missing else ""
        return RolloutFacts(self.of.changes, self.of.how, tuple(self.stopped), left, missing, refused)

    def next_time(self, standing: Standing, now: float) -> float:
        """When the next of its pods becomes available."""
        times = (self._available_at(standing[name]) for name in self.members if name in standing)
        return min((at for at in times if at > now), default=inf)

    # --- for the rules of each kind ---

    def _available_at(self, pod: StandingPod) -> float:
        return pod.ready_since + self.of.min_ready

    def _here(self, standing: Standing) -> Iterator[tuple[PodName, Member, StandingPod]]:
        return ((name, self.members[name], standing[name]) for name in self.members if name in standing)

    def _seen(self, name: PodName, standing: Standing, now: float) -> SeenPod:
        pod = standing[name]
        return SeenPod(name[1], self.members[name].is_new, pod.is_leaving, self._available_at(pod) <= now)

    def _create(self, body: Json, member: Member) -> Iterator[Step]:
        made = self.of.make(body)
        if isinstance(made, str):
            self.refused = made
            return
        self.refused = ""
        for one in made:
            if isinstance(pod := one.object, Pod):
                name = pod.metadata.namespace, pod.metadata.name
                self.members[name] = replace(member, cost=member_cost(pod.metadata)[1])
                self.pods[name] = pod
                self._created.add(name)
        yield from made

    def _delete(self, name: str) -> Step:
        return self.of.namespace, name


# --- Deployments and ReplicaSets -----------------------------------------------------------------


@dataclass(slots=True)
class SizedSet:
    """A ReplicaSet of the rollout: how many pods it is asked for, and what makes one."""

    asked: int
    pod: Callable[[], Json]


@dataclass(slots=True)
class DeploymentRollout(ObjectRollout):
    """``sets``: the old ReplicaSets by age, then the new one, if it exists; of a ReplicaSet without a
    Deployment, itself. Members have the row of theirs."""

    sets: list[SizedSet] = field(default_factory=list)
    rules: DeploymentRules | None = None
    new: Callable[[], Json] | None = None  # makes a pod of the new ReplicaSet as long as that does not exist

    def steps(self, standing: Standing, now: float) -> Iterator[Step]:
        """A size that changes no pods (a new ReplicaSet may begin with none) leads to the next size."""
        resized = True
        while resized:
            resized = self.rules is not None and self._resize_sets(self.rules, standing, now)
            rows = enumerate(self.sets)
            found = [step for row, one in rows for step in self._difference(row, one, standing, now)]
            if found:
                yield from found
                return

    def _resize_sets(self, rules: DeploymentRules, standing: Standing, now: float) -> bool:
        """Whether a size has changed."""
        before = [one.asked for one in self.sets]
        seen = [self._seen_set(row, standing, now) for row in range(len(self.sets))]
        old, new = (seen, None) if self.new is not None else (seen[:-1], seen[-1])
        if self.new is None:
            self.sets[-1].asked = size_of_new(rules, old, new)
        for one, size in zip(self.sets, sizes_of_old(rules, old, new), strict=False):
            one.asked = size
        if self.new is not None:
            self.sets.append(SizedSet(size_of_new(rules, old, None), self.new))
            self.new = None
        return before != [one.asked for one in self.sets]

    def _seen_set(self, row: int, standing: Standing, now: float) -> SeenReplicaSet:
        own = [pod for _, member, pod in self._here(standing) if member.place == row]
        active = [pod for pod in own if not pod.is_leaving]
        available = sum(self._available_at(pod) <= now for pod in active)
        return SeenReplicaSet(self.sets[row].asked, len(own), available)

    def _difference(self, row: int, one: SizedSet, standing: Standing, now: float) -> Iterator[Step]:
        here = [(name, member, pod) for name, member, pod in self._here(standing) if member.place == row]
        active = [(name, member, pod) for name, member, pod in here if not pod.is_leaving]
        for _ in range(one.asked - len(active)):
            is_new = row == len(self.sets) - 1 and self.new is None
            yield from self._create(one.pod(), Member(is_new, row, now))
        ranks = sorted(
            DeletionRank(bool(pod.node), ready, ready, member.cost, member.created, name[1]).order
            for name, member, pod in active
            for ready in [pod.ready_since <= now]
        )
        yield from (self._delete(order[-1]) for order in ranks[: max(0, len(active) - one.asked)])

    def missing(self, standing: Standing, now: float) -> tuple[int, int]:
        own = [(member, pod) for _, member, pod in self._here(standing) if not pod.is_leaving]
        old = sum(not member.is_new for member, _ in own) if self.rules is not None else 0
        wanted = self.rules.replicas if self.rules is not None else self.sets[-1].asked
        up = sum(bool(pod.node) for member, pod in own if member.is_new or self.rules is None)
        return (0, 0) if self.new is not None else (old, max(0, wanted - up))


# --- StatefulSets --------------------------------------------------------------------------------


@dataclass(slots=True)
class StatefulSetRollout(ObjectRollout):
    """``pod``: makes the pod with an ordinal, of the new template or of the one before."""

    rules: StatefulSetRules = field(default=StatefulSetRules(range(0), is_ordered=True))
    rolls: bool = True  # not with OnDelete
    pod: Callable[[int, bool], Json] = field(default=lambda _number, _new: {})

    def steps(self, standing: Standing, now: float) -> Iterator[Step]:
        pods = {member.place: self._seen(name, standing, now) for name, member, _ in self._here(standing)}
        for number in self.rules.numbers:
            if number not in pods:
                is_new = not self.rolls or number in self.rules.replaced
                yield from self._create(self.pod(number, is_new), Member(is_new, number, now))
            if self.rules.is_ordered and not is_healthy(pods.get(number)):
                return
        if any(number not in self.rules.numbers for number in pods):
            chosen = surplus_to_delete(self.rules, pods)
        else:
            chosen = outdated_to_delete(self.rules, pods) if self.rolls else []
        yield from (self._delete(pods[number].name) for number in chosen)

    def missing(self, standing: Standing, now: float) -> tuple[int, int]:
        own = [(member, pod) for _, member, pod in self._here(standing) if not pod.is_leaving]
        replaced = self.rules.replaced if self.rolls else range(0)
        old = sum(not member.is_new for member, _ in own if member.place in replaced)
        surplus = sum(member.place not in self.rules.numbers for member, _ in own)
        up = sum(bool(pod.node) for member, pod in own if member.place in self.rules.numbers)
        return old + surplus, len(self.rules.numbers) - up


# --- DaemonSets ----------------------------------------------------------------------------------


@dataclass(slots=True)
class DaemonSetRollout(ObjectRollout):
    """Members have the row of their node. ``most``: how many nodes may be without an available pod."""

    nodes: Sequence[EligibleNode] = ()
    rolls: bool = True  # not with OnDelete
    surge: int = 0
    most: int = 1
    pod: Callable[[str], Json] = field(default=lambda _node: {})

    def steps(self, standing: Standing, now: float) -> Iterator[Step]:
        by_row: dict[int, list[tuple[bool, float, str]]] = {}
        for name, member, pod in self._here(standing):
            by_row.setdefault(member.place, []).append((not pod.node, member.created, name[1]))
        nodes = [
            SeenDaemonNode(
                [
                    self._seen((self.of.namespace, name), standing, now)
                    for _, _, name in sorted(by_row.get(row, ()))
                ],
                node.may_create,
            )
            for row, node in enumerate(self.nodes)
        ]
        first = [*self._one_per_node(nodes, now)]
        yield from first
        if first or not self.rolls:
            return
        if self.surge:
            for row in nodes_to_surge(nodes, self.surge):
                yield from self._create_on(row, now)
        else:
            yield from (self._delete(pod.name) for pod in daemons_to_replace(nodes, self.most))

    def _one_per_node(self, nodes: Sequence[SeenDaemonNode], now: float) -> Iterator[Step]:
        for row, (known, node) in enumerate(zip(self.nodes, nodes, strict=True)):
            staying = [pod for pod in node.pods if not pod.is_leaving]
            surplus = daemons_too_many(node, self.surge) if known.may_stay else staying
            yield from (self._delete(pod.name) for pod in surplus)
            if known.may_create and not (staying if self.surge else node.pods):
                yield from self._create_on(row, now)

    def _create_on(self, row: int, now: float) -> Iterator[Step]:
        return self._create(self.pod(self.nodes[row].name), Member(True, row, now))

    def missing(self, standing: Standing, now: float) -> tuple[int, int]:
        own = [(member, pod) for _, member, pod in self._here(standing) if not pod.is_leaving]
        old = sum(not member.is_new for member, _ in own) if self.rolls else 0
        up = {member.place for member, pod in own if pod.node}
        return old, sum(node.may_create and row not in up for row, node in enumerate(self.nodes))


# --- victims of others ---------------------------------------------------------------------------


@dataclass(slots=True)
class CreatedAgain:
    """Victims that controllers create again, which then need room beside the pods of rollouts.

    A ReplicaSet and a Job create a pod as soon as one terminates; what has a name of its own, or a node, only
    once it is gone.
    """

    rollouts: Sequence[ObjectRollout]
    _seen_leaving: dict[PodName, Pod] = field(default_factory=dict)

    def steps(self, standing: Standing) -> Iterator[Step]:
        for name, pod in [*self._seen_leaving.items()]:
            if name not in standing:
                del self._seen_leaving[name]
                if _controller_of(pod) in _AFTERWARDS:
                    yield Decoded(object=created_again(pod, name[1]))
        ours = {name for rollout in self.rollouts for name in rollout.members}
        for name, found in standing.items():
            if found.is_leaving and name not in ours and name not in self._seen_leaving:
                self._seen_leaving[name] = found.pod
                if found.is_victim and _controller_of(found.pod) in _AT_ONCE:
                    yield Decoded(object=created_again(found.pod, f"{name[1]}-again"))


_AT_ONCE = ("ReplicaSet", "ReplicationController", "Job")
_AFTERWARDS = ("StatefulSet", "DaemonSet")


def _controller_of(pod: Pod) -> str:
    return next((ref.kind for ref in pod.metadata.owner_references if ref.controller), "")


# --- all of them ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Rollouts:
    """The controllers of a rehearsal. ``on_gone``: is told of every pod that is gone."""

    all: Sequence[ObjectRollout]
    forget: Callable[[PodName], None]
    again: CreatedAgain = field(init=False)

    def __post_init__(self) -> None:
        self.again = CreatedAgain(self.all)

    def steps(self, standing: Standing, now: float) -> Iterator[Step]:
        for rollout in self.all:
            yield from rollout.steps(standing, now)
        yield from self.again.steps(standing)

    def on_gone(self, pod: Target) -> None:
        self.forget((pod.namespace, pod.name))
        for rollout in self.all:
            rollout.on_gone(pod)

    def next_time(self, standing: Standing, now: float) -> float:
        return min((rollout.next_time(standing, now) for rollout in self.all), default=inf)


# --- words ---------------------------------------------------------------------------------------


def deployment_words(rules: DeploymentRules) -> str:
    if rules.recreates:
        return "all pods stop before the new ones start (Recreate)"
    at_a_time = min(rules.replicas, rules.surge + rules.unavailable)
    limits = f"{rules.surge} more, {rules.unavailable} unavailable"
    return f"{at_a_time} of {counted(rules.replicas, 'pod')} at a time ({limits})"


def stateful_set_words(rules: StatefulSetRules, *, rolls: bool) -> str:
    if not rules.numbers or not rolls:
        return "pods are replaced when they are deleted (OnDelete)" if not rolls else "it has no pods"
    down_to = f" down to ordinal {rules.replaced.start}, the partition" if rules.partition else ""
    first = f"{rules.at_a_time} of {counted(len(rules.numbers), 'pod')} at a time, the highest first"
    return f"{first}{down_to}"


def daemon_set_words(wanted: int, surge: int, most: int, *, rolls: bool) -> str:
    if not rolls:
        return "pods are replaced when they are deleted (OnDelete)"
    nodes = counted(wanted, "node")
    if surge:
        return f"{min(surge, wanted)} of {nodes} at a time, the new pod beside the old one"
    return f"{min(most, wanted)} of {nodes} at a time"
