"""Where does a tree of groups fit? Each group gets what it needs, or none of its pods gets a node.

Groups are placed in their order, and a group keeps what it took from those after it. If that fails, every
choice of children, of domains and of members is tried, as far as the demand's effort reaches; each choice is
a gang with given nodes for each member, which ``gang_search`` places. Pods that no group needs come last.

Without effort only the order is tried, and each group takes all that it can before the next one is looked at:
so does kube-scheduler.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.shape import Shape
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import NOTHING_PROMISED, Ask, Branch, Demand, Promised
from reprieve.placement.domain_reports import fullness, named
from reprieve.placement.effort import Share
from reprieve.placement.gang_members import Ties, members_of
from reprieve.placement.gang_search import rearranged_within
from reprieve.placement.place import Choose, Placement, Unplaceable, place, place_in, views_of
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.rejection_codes import Code
from reprieve.placement.taking import with_taken

_NODES_PER_UNIT = 250  # placing a pod is one unit of effort for so many nodes


def place_tree(
    demand: Demand,
    view: Snapshot,
    profile: Profile = DEFAULT_PROFILE,
    choose: Choose | None = None,
    promised: Promised = NOTHING_PROMISED,
) -> Placement | Unplaceable:
    """A node for as many pods as possible; none unless every group that has one gets what it needs."""
    assert demand.tree is not None
    return _Search(demand, demand.tree, view, profile, choose, promised).run()


@dataclass(frozen=True, slots=True, eq=False)
class _Seated:
    """Some pods are placed."""

    views: Sequence[Snapshot]
    seats: tuple[tuple[int, int], ...] = ()  # positions and nodes, in turn
    domains: Mapping[Branch, Mask] = field(default_factory=dict)  # that were chosen for groups

    @property
    def placed(self) -> frozenset[int]:
        return frozenset(position for position, _ in self.seats)


@dataclass(slots=True, eq=False)
class _Search:
    demand: Demand
    tree: Branch
    view: Snapshot
    profile: Profile
    choose: Choose | None
    promised: Promised
    misses: list[Unplaceable] = field(default_factory=list)
    codes: set[Code] = field(default_factory=set)

    def run(self) -> Placement | Unplaceable:
        demand, everywhere = self.demand, np.ones(len(self.view.nodes), np.bool_)
        nodes = everywhere if demand.allowed is None else demand.allowed
        start, in_order = _Seated(views_of(self.view, self.promised)), not demand.effort.units
        found = self._meet(self.tree, start, nodes, surplus=in_order and demand.most is None)
        if not in_order:
            found = found or self._rearranged(start, nodes)
            if found is not None and demand.most is None:
                found = self._fill(self.tree, self._widen(self.tree, found, nodes), nodes)
        if found is None or not found.seats:
            return self._unplaceable()
        placed = dict(found.seats)
        nodes_of = tuple(placed.get(position, NOWHERE) for position in range(len(demand.pods)))
        return Placement(nodes_of, tuple(position for position, _ in found.seats))

    # --- in order --------------------------------------------------------------------------------

    def _meet(self, group: Branch, seated: _Seated, nodes: Mask, *, surplus: bool) -> _Seated | None:
        """With as many pods of the group as it needs, in the domain that gets the fullest; or with more of
        them, in the domain where most fit."""
        domains = [*self.domains(group, seated, nodes)]
        if not surplus:
            # As many pods come to each domain: the first in which they fit is the best.
            pods = [self.demand.pods[position] for position in group.positions()]
            if len(domains) > 1:
                domains.sort(key=lambda one: -fullness(seated.views[0], one[1], pods))
            tries = (self._meet_in(group, seated, there, name, surplus=False) for name, there in domains)
            return next((met for met in tries if met is not None), None)
        found = [
            (domain, there)
            for name, domain in domains
            if (there := self._meet_in(group, seated, domain, name, surplus=surplus)) is not None
        ]
        if len(found) < 2:
            return found[0][1] if found else None
        most = max(len(there.seats) for _, there in found) - len(seated.seats)

        def score(fit: tuple[Mask, _Seated]) -> int:
            new = [self.demand.pods[position] for position, _ in fit[1].seats[len(seated.seats) :]]
            return (len(new) * 100 // most if most else 0) + fullness(seated.views[0], fit[0], new)

        return max(found, key=score)[1]

    def domains(self, group: Branch, seated: _Seated, nodes: Mask) -> Iterator[tuple[str, Mask]]:
        """Where the group may be: in one of these. Of equals the first by name is taken."""
        if group in seated.domains:
            yield "", seated.domains[group]
            return
        nodes = nodes if group.allowed is None else nodes & group.allowed
        if not group.topology_key:
            yield "", nodes
            return
        column = self.view.nodes.label(group.topology_key)
        for value in sorted(value for value in column.index if value is not None):
            domain = nodes & (column.codes == column.index[value])
            if domain.any():
                yield value, domain

    def _meet_in(
        self, group: Branch, seated: _Seated, nodes: Mask, name: str, *, surplus: bool
    ) -> _Seated | None:
        before = len(self.misses)
        seated = replace(seated, domains={**seated.domains, group: nodes})
        found = (
            self._children(group, seated, nodes, surplus=surplus)
            if group.children
            else (self._members(group.members, group.needed, seated, nodes, surplus=surplus))
        )
        if name and found is None:
            there = f"{group.topology_key}={name}"
            self.misses[before:] = [named(miss, group.topology_key, there) for miss in self.misses[before:]]
        return found

    def _children(self, group: Branch, seated: _Seated, nodes: Mask, *, surplus: bool) -> _Seated | None:
        met, children = 0, self.in_order(group)
        for i, child in enumerate(children):
            if met + len(children) - i < group.needed:
                return None
            if met >= group.needed and not surplus:
                break
            found = self._meet(child, seated, nodes, surplus=surplus)
            if found is not None:
                seated, met = found, met + 1
        return seated if met >= group.needed else None

    def in_order(self, group: Branch) -> Sequence[Branch]:
        """With effort, children that need nothing come first, then those that have room reserved."""
        if not self.demand.effort.units:
            return group.children
        return sorted(group.children, key=lambda child: (child.fewest() > 0, not self._is_reserved(child)))

    def _is_reserved(self, group: Branch) -> bool:
        nominated = self.demand.nominated
        return bool(nominated) and any(nominated[member] != NOWHERE for member in group.positions())

    def _members(
        self,
        members: Sequence[int],
        needed: int,
        seated: _Seated,
        nodes: Mask,
        *,
        surplus: bool,
    ) -> _Seated | None:
        if needed > len(members):
            return None
        if not members or not (needed or surplus):
            return seated
        demand = self.flat(members, needed, most=None if surplus else needed)
        demand = replace(demand, allowed=nodes)
        found, views = place_in(demand, seated.views, self.profile, self.choose, goes_on=True)
        if isinstance(found, Unplaceable):
            self.misses.append(replace(found, placed=found.placed + len(seated.seats)))
            self.codes.update(found.codes)
            return None
        pairs = zip(members, found.nodes, strict=True)
        seats = tuple((member, node) for member, node in pairs if node != NOWHERE)
        return _Seated(views, (*seated.seats, *seats), seated.domains)

    def flat(self, members: Sequence[int], needed: int, most: int | None = None) -> Demand:
        """Pods of the tree as if they were a gang."""
        demand = self.demand
        return replace(
            demand,
            pods=tuple(demand.pods[member] for member in members),
            nominated=tuple(demand.nominated[member] for member in members) if demand.nominated else (),
            needed=needed,
            most=most,
            tree=None,
            topology_key="",
        )

    # --- what no group needs ---------------------------------------------------------------------

    def _widen(self, group: Branch, seated: _Seated, nodes: Mask) -> _Seated:
        """Children beyond those that a group needs, each with what it needs itself."""
        nodes = seated.domains.get(group, nodes)
        for child in group.children:
            if not child.is_met(seated.placed) or child not in seated.domains:
                seated = self._meet(child, seated, nodes, surplus=False) or seated
        for child in group.children:
            if child in seated.domains and child.is_met(seated.placed):
                seated = self._widen(child, seated, nodes)
        return seated

    def _fill(self, group: Branch, seated: _Seated, nodes: Mask) -> _Seated:
        """Pods beyond those that their group needs, each by itself."""
        nodes = seated.domains.get(group, nodes)
        for child in group.children:
            if child in seated.domains and child.is_met(seated.placed):
                seated = self._fill(child, seated, nodes)
        left = [member for member in group.members if member not in seated.placed]
        return self._members(left, 0, seated, nodes, surplus=True) or seated

    # --- every choice ----------------------------------------------------------------------------

    def _rearranged(self, start: _Seated, nodes: Mask) -> _Seated | None:
        """Another way to meet the tree: other children, other domains, or members in another order."""
        share, everything = self.demand.effort.share(), self.flat(range(len(self.demand.pods)), 0)
        ties = members_of(everything, self.view, self.profile).ties
        choices = _Choices(self, start, share, may_help=ties is Ties.ORDER)
        for choice in choices.of(self.tree, nodes):
            if not choice:
                continue  # nothing is missing: pods that no group needs are placed later
            found = choices.placed(choice)
            if found is not None:
                return self._seat(choice, found, start)
            if share.is_spent:
                break
        return None

    def _seat(self, choice: "_Choice", found: Placement, start: _Seated) -> _Seated:
        views = start.views
        seats = []
        for turn in found.turns:
            position, node = choice.members[turn], found.nodes[turn]
            views = [with_taken(Ask(view, self.demand.pods[position], self.profile), node) for view in views]
            seats.append((position, node))
        return _Seated(views, tuple(seats), choice.domains)

    def _unplaceable(self) -> Unplaceable:
        if self.misses:
            nearest = max(self.misses, key=lambda miss: miss.placed)
            return replace(nearest, codes=nearest.codes | self.codes)
        nowhere = replace(
            self.flat(range(len(self.demand.pods)), len(self.demand.pods)),
            allowed=np.zeros(len(self.view.nodes), np.bool_),
        )
        found = place(nowhere, self.view, self.profile, self.choose, self.promised)
        assert isinstance(found, Unplaceable)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """Members (positions) that are to be placed, the nodes that their groups leave them, and the domains."""

    members: tuple[int, ...] = ()
    within: tuple[Mask, ...] = ()
    domains: Mapping[Branch, Mask] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.members)

    def __or__(self, other: "_Choice") -> "_Choice":
        domains = {**self.domains, **other.domains}
        return _Choice((*self.members, *other.members), (*self.within, *other.within), domains)


@dataclass(slots=True, eq=False)
class _Choices:
    """All ways to meet a tree, as gangs of which every member is needed."""

    search: _Search
    start: _Seated
    share: Share
    may_help: bool  # a member can admit another to nodes: then more than are needed may be better

    def of(self, group: Branch, nodes: Mask) -> Iterator[_Choice]:
        for _, domain in self.search.domains(group, self.start, nodes):
            inside = self._of_children(group, domain) if group.children else self._of_leaf(group, domain)
            for choice in inside:
                if self.share.is_spent:
                    return
                yield replace(choice, domains={**choice.domains, group: domain})

    def _of_children(self, group: Branch, nodes: Mask) -> Iterator[_Choice]:
        children = self.search.in_order(group)
        for size in self._sizes(group.needed, len(children)):
            for chosen in combinations(children, size):
                yield from self._of_all(chosen, nodes)

    def _sizes(self, needed: int, there_are: int) -> range:
        return range(needed, there_are + 1 if self.may_help else min(needed, there_are) + 1)

    def _of_all(self, groups: Sequence[Branch], nodes: Mask) -> Iterator[_Choice]:
        if not groups:
            yield _Choice()
            return
        for first in self.of(groups[0], nodes):
            for others in self._of_all(groups[1:], nodes):
                yield first | others

    def _of_leaf(self, leaf: Branch, nodes: Mask) -> Iterator[_Choice]:
        for size in self._sizes(leaf.needed, len(leaf.members)):
            for members in self._of_members(leaf.members, size):
                choice = _Choice(members, (nodes,) * len(members))
                # Others only take room from it, so that what does not fit alone never fits.
                if not members or self.may_help or self.placed(choice) is not None:
                    yield choice

    def _of_members(self, members: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
        """So many of the members; those of one shape are interchangeable."""
        pods, shapes = self.search.view.pods, dict[Shape, list[int]]()
        for member in members:
            shapes.setdefault(pods.shape(self.search.demand.pods[member]), []).append(member)
        yield from _drawn(tuple(map(tuple, shapes.values())), size)

    def placed(self, choice: _Choice) -> Placement | None:
        search = self.search
        price = len(choice.members) * (1 + len(search.view.nodes) // _NODES_PER_UNIT)
        if not self.share.take(price):
            return None
        demand = replace(search.flat(choice.members, len(choice.members)), within=choice.within)
        found = place(demand, search.view, search.profile, search.choose, search.promised)
        if isinstance(found, Placement):
            return found
        search.codes.update(found.codes)
        other = rearranged_within(
            self.share, demand, search.view, search.profile, search.choose, search.promised
        )
        if isinstance(other, Placement):
            return other
        search.codes.update(other)
        return None


def _drawn(kinds: Sequence[tuple[int, ...]], size: int) -> Iterator[tuple[int, ...]]:
    if not kinds:
        if not size:
            yield ()
        return
    for count in range(min(size, len(kinds[0])), -1, -1):
        for rest in _drawn(kinds[1:], size - count):
            yield (*kinds[0][:count], *rest)
