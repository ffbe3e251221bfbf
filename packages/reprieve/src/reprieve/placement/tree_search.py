"""Where does a tree of groups fit? Each group gets what it needs, or none of its pods gets a node.

Groups are placed in their order, and a group keeps what it took from those after it. If that fails, every
choice of children, of domains and of members is tried, as far as the demand's effort reaches; each choice is
a gang with given nodes for each member, which ``gang_search`` places. Pods that no group needs come last.

Without effort only the order is tried, and each group takes all that it can before the next one is looked at:
so does kube-scheduler.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.resources import CPU, MEMORY
from reprieve.model.shape import Shape
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import NOTHING_PROMISED, Ask, Branch, Demand, Promised
from reprieve.placement.effort import Share, price_of_placing
from reprieve.placement.gang_members import Ties, members_of
from reprieve.placement.gang_search import rearranged_within
from reprieve.placement.place import Placement, Unplaceable, place, place_in, views_of, with_taken
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.rating import Choose
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def named(miss: Unplaceable, topology_key: str, domain: str) -> Unplaceable:
    """The miss with reasons that say which domain nodes are outside of, and which nodes are in none."""
    lacks = miss.view.nodes.label(topology_key).codes == 0
    rejections: list[Rejection] = []
    for one in miss.survey.rejections:
        if one.reason.code is not Code.OUTSIDE_DOMAIN:
            rejections.append(one)
            continue
        missing = Reason(Code.DOMAIN_LABEL_MISSING, topology_key)
        rejections.append(replace(one, rows=one.rows & lacks, reason=missing))
        rejections.append(replace(one, rows=one.rows & ~lacks, reason=Reason(one.reason.code, domain)))
    return replace(miss, survey=replace(miss.survey, rejections=tuple(rejections)))


def domain_score(view: Snapshot, nodes: Mask, pods: Sequence[int], most: int) -> int:
    """How good a placement in these nodes ([node]) is: the more pods the better, and the fuller they get.

    ``most``: how many pods have a node in the domain with the most of them.
    """
    return (len(pods) * 100 // most if most else 0) + _fullness(view, nodes, pods)


def _fullness(view: Snapshot, nodes: Mask, pods: Sequence[int]) -> int:
    """How much of the domain's cpu and memory is used then, in percent."""
    return fullness_of_each(view, np.where(nodes, 0, 1), 2, pods)[0]


def fullness_of_each(view: Snapshot, domain_of: Ints, domains: int, pods: Sequence[int]) -> Sequence[int]:
    """How much of each domain's cpu and memory is used if the pods go there, in percent.

    domain_of  [node]  the number of its domain
    """
    shares: list[list[int]] = [[] for _ in range(domains)]
    for kind, name in enumerate((CPU, MEMORY)):
        capacity = _sums(view.allocatable[view.axis.names.index(name)], domain_of, domains)
        used, more = _sums(view.nonzero[kind], domain_of, domains), int(view.pods.nonzero[kind, pods].sum())
        for share, most, some in zip(shares, capacity, used, strict=True):
            if most:
                share.append(min(some + more, most) * 100 // most)
    return [sum(share) // len(share) if share else 0 for share in shares]


def _sums(amounts: Ints, domain_of: Ints, domains: int) -> list[int]:
    # Not bincount, which adds floats: bytes of many nodes are too many for them.
    sums = np.zeros(domains, np.int64)
    np.add.at(sums, domain_of, amounts)
    return sums.tolist()


_TRIES_IN_ORDER = 1_000  # so many domains may be tried in vain however small the effort is


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
    tries: int = 0  # of domains, in order and in vain

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
        if not surplus:
            # As many pods come to each domain: the first in which they fit is the best.
            return self._meet_in_fullest(group, seated, nodes)
        found = [
            (domain, there)
            for name, domain in self.domains(group, seated, nodes)
            if (there := self._meet_in(group, seated, domain, name, surplus=surplus)) is not None
        ]
        if len(found) < 2:
            return found[0][1] if found else None
        most = max(len(there.seats) for _, there in found) - len(seated.seats)

        def score(fit: tuple[Mask, _Seated]) -> int:
            new = [self.demand.pods[position] for position, _ in fit[1].seats[len(seated.seats) :]]
            return domain_score(seated.views[0], fit[0], new, most)

        return max(found, key=score)[1]

    def _meet_in_fullest(self, group: Branch, seated: _Seated, nodes: Mask) -> _Seated | None:
        before = len(self.misses)
        for name, domain in self.domains(group, seated, nodes, fullest_first=True):
            found = self._meet_in(group, seated, domain, name, surplus=False)
            if found is not None:
                return found
            self._keep_nearest(before)  # there can be as many domains as nodes
            if self.demand.effort.units and not self._may_go_on():
                break
        return None

    def _may_go_on(self) -> bool:
        """Whether another domain may be tried in order.

        These tries take nothing from the effort, or the order would fail after other searches spent it. But
        there are hardly more of them than it has units.
        """
        self.tries += 1
        if self.tries < max(self.demand.effort.units, _TRIES_IN_ORDER):
            return True
        self.demand.effort.fell_short = True
        return False

    def _keep_nearest(self, since: int) -> None:
        self.misses[since:] = sorted(self.misses[since:], key=lambda miss: -miss.placed)[:1]

    def domains(
        self, group: Branch, seated: _Seated, nodes: Mask, *, fullest_first: bool = False
    ) -> Iterator[tuple[str, Mask]]:
        """Where the group may be: in one of these. Of equals the first by name is taken."""
        if group in seated.domains:
            yield "", seated.domains[group]
            return
        nodes = nodes if group.allowed is None else nodes & group.allowed
        if not group.topology_key:
            yield "", nodes
            return
        column = self.view.nodes.label(group.topology_key)
        codes = np.unique(column.codes[nodes]).tolist()
        there = sorted((value, code) for code in codes if (value := column.things[code]) is not None)
        if fullest_first and len(there) > 1:
            pods = [self.demand.pods[position] for position in group.positions()]
            outside = len(column.things)
            domain_of = np.where(nodes, column.codes, outside)
            full = fullness_of_each(seated.views[0], domain_of, outside + 1, pods)
            there.sort(key=lambda one: -full[one[1]])
        # A mask is made when its domain is tried: most often the first will do.
        for value, code in there:
            yield value, nodes & (column.codes == code)

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
        return replace(self.demand.with_members(members, needed=needed, most=most), topology_key="")

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


def _joined(choices: Sequence[_Choice]) -> _Choice:
    return _Choice(
        tuple(chain.from_iterable(choice.members for choice in choices)),
        tuple(chain.from_iterable(choice.within for choice in choices)),
        dict(chain.from_iterable(choice.domains.items() for choice in choices)),
    )


@dataclass(slots=True, eq=False)
class _Choices:
    """All ways to meet a tree, as gangs of which every member is needed."""

    search: _Search
    start: _Seated
    share: Share
    may_help: bool  # a member can admit another to nodes: then more than are needed may be better

    def of(self, group: Branch, nodes: Mask) -> Iterator[_Choice]:
        for _, domain in self.search.domains(group, self.start, nodes):
            if group.topology_key and not self.share.take():
                return
            inside = self._of_children(group, domain) if group.children else self._of_leaf(group, domain)
            for choice in inside:
                yield replace(choice, domains={**choice.domains, group: domain})
            if self.share.is_spent:
                return

    # Each step of the loops below takes from the share, also one that leads to no choice: the choices of
    # some groups are tried again for every choice of the others, and there can be exponentially many.

    def _of_children(self, group: Branch, nodes: Mask) -> Iterator[_Choice]:
        children = self.search.in_order(group)
        for size in self._sizes(group.needed, len(children)):
            for chosen in combinations(children, size):
                if not self.share.take():
                    return
                yield from self._of_all(chosen, nodes)
                if self.share.is_spent:
                    return

    def _sizes(self, needed: int, there_are: int) -> range:
        return range(needed, there_are + 1 if self.may_help else min(needed, there_are) + 1)

    def _of_all(self, groups: Sequence[Branch], nodes: Mask) -> Iterator[_Choice]:
        """Each choice of a group with each of those after it. One loop: there can be thousands of groups."""
        if not groups:
            yield _Choice()
            return
        chosen, trying = list[_Choice](), [self.of(groups[0], nodes)]
        while trying:
            del chosen[len(trying) - 1 :]
            choice = next(trying[-1], None)
            if choice is None:
                trying.pop()
                continue
            chosen.append(choice)
            if len(chosen) == len(groups):
                yield _joined(chosen)
            else:
                trying.append(self.of(groups[len(chosen)], nodes))

    def _of_leaf(self, leaf: Branch, nodes: Mask) -> Iterator[_Choice]:
        for size in self._sizes(leaf.needed, len(leaf.members)):
            for members in self._of_members(leaf.members, size):
                choice = _Choice(members, (nodes,) * len(members))
                # Others only take room from it, so that what does not fit alone never fits.
                is_tried = bool(members) and not self.may_help
                if self.placed(choice) is not None if is_tried else self.share.take():
                    yield choice
                if self.share.is_spent:
                    return

    def _of_members(self, members: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
        """So many of the members; those of one shape are interchangeable."""
        pods, shapes = self.search.view.pods, dict[Shape, list[int]]()
        for member in members:
            shapes.setdefault(pods.shape(self.search.demand.pods[member]), []).append(member)
        yield from _drawn(tuple(map(tuple, shapes.values())), size)

    def placed(self, choice: _Choice) -> Placement | None:
        search = self.search
        price = price_of_placing(len(choice.members), len(search.view.nodes))
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
    """So many of all kinds together, of each kind the first; most of the first kinds come first."""
    sizes = [len(kind) for kind in kinds]
    counts: list[int] | None = _filled(sizes, size) if size <= sum(sizes) else None
    while counts is not None:
        yield tuple(chain.from_iterable(kind[:count] for kind, count in zip(kinds, counts, strict=True)))
        counts = _next_counts(sizes, counts)


def _next_counts(sizes: Sequence[int], counts: Sequence[int]) -> list[int] | None:
    """One fewer of the last kind for which the kinds after it can make up."""
    drawn = room = 0  # of the kinds after it
    for i in reversed(range(len(sizes))):
        if counts[i] and drawn < room:
            return [*counts[:i], counts[i] - 1, *_filled(sizes[i + 1 :], drawn + 1)]
        drawn, room = drawn + counts[i], room + sizes[i]
    return None


def _filled(sizes: Sequence[int], size: int) -> list[int]:
    counts = []
    for most in sizes:
        counts.append(min(most, size))
        size -= counts[-1]
    return counts
