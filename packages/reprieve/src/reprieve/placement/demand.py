"""What needs room, and the question that is put to a constraint or a preference about one pod of it.

A ``Demand`` says what must be placed together; an ``Ask`` is one pod, in one view of the cluster, under one
profile.
"""

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from reprieve.model.columns import Ints, Mask
from reprieve.model.groups import Group
from reprieve.model.shape import Shape
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.effort import NO_EFFORT, Effort
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.rejection_codes import Rejection


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    view: Snapshot
    pod: int
    profile: Profile = DEFAULT_PROFILE

    @property
    def shape(self) -> Shape:
        return self.view.pods.shape(self.pod)


@dataclass(frozen=True, slots=True, eq=False)
class Promised:
    """Pods (rows) of other demands for which room is reserved, and the nodes (rows) where it is.

    They load their node and exclude by anti-affinity, but satisfy no affinity: a placement must hold with
    them and without them.
    """

    pods: Sequence[int] | Ints = ()
    nodes: Sequence[int] | Ints = ()

    def __bool__(self) -> bool:
        return len(self.pods) > 0


NOTHING_PROMISED = Promised()


# Yields the nodes it refuses; silence means every node will do.
Constraint = Callable[[Ask], Iterable[Rejection]]

# Scores from 0 to 100 for every row; only feasible rows (the mask) count, also when scores are scaled.
# None when the pod gives no ground for a preference, so that all nodes are equal.
Scorer = Callable[[Ask, Mask], Ints | None]


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """A group within a demand: a leaf has pods of the demand (positions), any other group has child groups.

    What runs already is not needed again: a leaf that has enough pods, and a group that has enough children,
    needs none.
    """

    needed: int  # how many of its pods, or of its children, it needs to be met
    members: tuple[int, ...] = ()
    children: tuple["Branch", ...] = ()
    topology_key: str = ""  # all pods inside must be where this label of nodes has one value
    allowed: Mask | None = None  # the domain of those that run already; None: any

    def is_met(self, placed: Container[int]) -> bool:
        """Whether it has what it needs if these pods (positions) have a node."""
        met = sum(child.is_met(placed) for child in self.children)
        return met + sum(member in placed for member in self.members) >= self.needed

    def is_whole(self, placed: Collection[int]) -> bool:
        """Whether no group inside that is not met has a pod with a node."""
        if not self.is_met(placed):
            return not any(member in placed for member in self.positions())
        return all(child.is_whole(placed) for child in self.children)

    def needs(self, position: int, placed: Container[int]) -> bool:
        """Whether one more of its pods is needed if these have a node."""
        if self.is_met(placed):
            return False
        return position in self.members or any(child.needs(position, placed) for child in self.children)

    def keeps_domains(self, view: Snapshot, nodes: Sequence[int]) -> bool:
        """Whether each group inside is in one domain, beside those that run, with its pods on these nodes."""
        there = [nodes[position] for position in self.positions() if nodes[position] != NOWHERE]
        if self.allowed is not None and not self.allowed[there].all():
            return False
        domains = set(view.nodes.label(self.topology_key).codes[there].tolist()) if self.topology_key else ()
        if len(domains) > 1 or 0 in domains:
            return False
        return all(child.keeps_domains(view, nodes) for child in self.children)

    def positions(self) -> Iterator[int]:
        yield from self.members
        for child in self.children:
            yield from child.positions()

    @property
    def has_topology_inside(self) -> bool:
        return any(child.topology_key or child.has_topology_inside for child in self.children)

    @property
    def leaves_no_choice(self) -> bool:
        """Whether every pod inside is needed, and no group inside has to choose a domain."""
        if self.has_topology_inside or self.needed < len(self.children) + len(self.members):
            return False
        return all(child.leaves_no_choice for child in self.children)

    def fewest(self) -> float:
        """With how many pods it can be met; infinity: with none that there are."""
        if not self.children:
            return self.needed if self.needed <= len(self.members) else inf
        each = sorted(child.fewest() for child in self.children)
        return sum(each[: self.needed]) if self.needed <= len(each) else inf


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """Pods (rows) that are placed together, each seeing the ones before it."""

    pods: tuple[int, ...]
    constraints: tuple[Constraint, ...]
    needed: int  # how many of them must find a node; the others may
    priority: int = 0
    may_preempt: bool = True
    allowed: Mask | None = None  # None: every node
    topology_key: str = ""  # all its pods must be where this label of nodes has one value
    most: int | None = None  # so many are enough; None: as many as find a node
    # For each pod a node to be tried before all others, or NOWHERE; empty if there is none for any.
    nominated: tuple[int, ...] = ()
    alone: bool = False  # its pod needs room for itself, also if it is in a group
    spares_gangs: bool = False  # gangs are to keep the pods they need, in any search, also if they go whole
    # A group around its pod of which too little runs: no pod is evicted for a member until that has changed.
    degraded: Group | None = None
    until: float | None = None  # room that comes later is of no use
    effort: Effort = NO_EFFORT  # what searches for it may spend; nothing: the order of its pods is fixed
    # The groups that its pods are in, if it is a tree of groups. Then ``needed`` is the least number of pods
    # that can meet it, and if ``most`` is given, no pods are placed beyond those that its groups need.
    tree: Branch | None = None
    # For each pod the nodes that its groups leave it; empty: ``allowed`` counts for all of them.
    within: tuple[Mask, ...] = ()
    is_one_of_several: bool = False  # it stands for a tree, which could be served with other pods or domains

    def nodes_for(self, position: int) -> Mask | None:
        """[node] whether the pod at this position may use it; None: every node."""
        if not self.within:
            return self.allowed
        return self.within[position] if self.allowed is None else self.within[position] & self.allowed

    def with_members(
        self, members: Iterable[int], *, needed: int, most: int | None = None, tree: Branch | None = None
    ) -> "Demand":
        """Some of its pods (positions) as a demand of their own; ``tree``: the groups that these are in."""
        chosen = tuple(members)
        return replace(
            self,
            pods=tuple(self.pods[member] for member in chosen),
            needed=needed,
            most=most,
            nominated=tuple(self.nominated[member] for member in chosen) if self.nominated else (),
            tree=tree,
            within=tuple(self.within[member] for member in chosen) if self.within else (),
        )

    def is_met_by(self, nodes: Sequence[int]) -> bool:
        """Whether enough of its pods have one of these nodes, NOWHERE being none."""
        placed = {position for position, node in enumerate(nodes) if node != NOWHERE}
        if len(placed) < self.needed:
            return False
        return self.tree is None or (self.tree.is_met(placed) and self.tree.is_whole(placed))


def pieces(demand: Demand, group: Branch, allowed: Mask | None = None) -> Iterator[Demand]:
    """The parts of a tree that need nothing of each other: all of it, unless enough of it runs.

    If enough of a group runs, each of its children is a part, and each pod of a leaf. ``allowed``: the nodes
    that the groups around leave.
    """
    if group.allowed is not None:
        allowed = group.allowed if allowed is None else group.allowed & allowed
    if not group.is_met(()):
        members, fewest = [*group.positions()], group.fewest()
        if fewest < inf:
            tree = renumbered(group, {member: i for i, member in enumerate(members)})
            yield _part(demand, members, tree, int(fewest), allowed)
        return
    for child in group.children:
        yield from pieces(demand, child, allowed)
    for member in group.members:
        yield _part(demand, [member], None, 1, allowed)


def _part(
    demand: Demand, members: Sequence[int], tree: Branch | None, needed: int, allowed: Mask | None
) -> Demand:
    return replace(
        demand.with_members(members, needed=needed, most=needed, tree=tree),
        topology_key=tree.topology_key if tree is not None else "",
        allowed=allowed,
    )


def renumbered(group: Branch, numbers: Mapping[int, int]) -> Branch:
    """The group as it is in a demand that has only some of the pods, at these positions."""
    members = tuple(numbers[member] for member in group.members)
    return replace(group, members=members, children=tuple(renumbered(c, numbers) for c in group.children))
