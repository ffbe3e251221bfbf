"""Does a gang fit although its members, placed one after the other, did not?

The fixed order is tried first, and decides alone wherever it is exact. Then plain bounds may refute the gang,
or it may fit with the most constrained members first. All of that is no more work than the fixed order. Only
then a search with backtracking tries everything, as far as the demand's effort reaches: in ``packing`` if
members only take room from each other, or else in what-ifs, one by one.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.shape import PodTerm
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.constraints.pods import host_ports, pod_affinity
from reprieve.placement.constraints.resources import is_ignored, resources
from reprieve.placement.demand import NOTHING_PROMISED, Ask, Demand, Promised
from reprieve.placement.effort import Share, first_complete, price_of_placing
from reprieve.placement.gang_members import (
    LIFTED,
    Members,
    Ties,
    equal_members,
    has_unbound_claims,
    members_of,
)
from reprieve.placement.packing import Packing, Room
from reprieve.placement.place import (
    Placement,
    Survey,
    Unplaceable,
    in_all,
    place,
    survey,
    with_promises,
    with_taken,
)
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.rating import Choose, best, rate
from reprieve.placement.rejection_codes import NO_CODES, Code

# How many what-ifs the search can return to. In a large cluster each holds most of a megabyte, and within any
# usual effort it never returns further.
_KEPT = 64

Seat = tuple[int, int]  # a member (position in the demand), and its node


class Seating:
    """The part of a search that does not change: the demand, and its members by shape."""

    def __init__(
        self, demand: Demand, profile: Profile, shapes: tuple[tuple[int, ...], ...], *, in_order: bool
    ) -> None:
        self.demand, self.profile = demand, profile
        self.in_order = in_order  # it matters which member is placed first
        self.shape_of = {member: i for i, members in enumerate(shapes) for member in members}
        self.codes: set[Code] = set()  # for what nodes were refused during the search
        # Shapes with claims that get a volume when a member is placed.
        self.claiming: frozenset[int] = frozenset()
        self._shapes = shapes  # members of one shape, the most constrained shape first

    def search(self, views: tuple[Snapshot, ...], share: Share) -> tuple[Seat, ...] | None:
        """Members and their nodes, in the order in which they were placed."""
        firsts = [views[0].pods.shape(self.demand.pods[members[0]]) for members in self._shapes]
        self.claiming = frozenset(i for i, shape in enumerate(firsts) if has_unbound_claims(views[0], shape))
        start = PartialSeating(self, views, (), self._shapes, self.demand.needed)
        found = first_complete(start, share, _KEPT)
        return None if found is None else found.seats


@dataclass(frozen=True, slots=True, eq=False)
class PartialSeating:
    """Some members are placed, and some are left out."""

    seating: Seating
    views: tuple[Snapshot, ...]  # as the member that was placed last saw the cluster
    seats: tuple[Seat, ...]  # in turn
    left: tuple[tuple[int, ...], ...]  # members of each shape that are neither placed nor left out
    missing: int
    # Nodes that no more members of the first shape left go to: with one of them there, all has been tried.
    barred: frozenset[int] = frozenset()

    @property
    def key(self) -> Hashable:
        """Members of one shape are interchangeable; which volumes claims get depends on the order as well."""
        shape_of, claiming = self.seating.shape_of, self.seating.claiming
        seats = [(shape_of[member], node) for member, node in self.seats]
        in_turn = tuple(seat for seat in seats if seat[0] in claiming)
        return tuple(sorted(seats)), in_turn, tuple(map(len, self.left))

    def successors(self, share: Share) -> Iterator["PartialSeating"]:
        """A member of the first shape goes to each node, the best first; or no more of the shape do.

        Where the order matters, any shape can be next, and members that never are have been left out.
        """
        views, price = self._views_now(), price_of_placing(1, len(self.views[0].nodes))
        waiting = [i for i, members in enumerate(self.left) if members]
        for shape in waiting if self.seating.in_order else waiting[:1]:
            if not share.take(price):
                return
            yield from self._placing(shape, views)
            others = sum(map(len, self.left)) - len(self.left[shape])
            if not self.seating.in_order and others >= self.missing:
                left = _without(self.left, shape, self.left[shape])
                yield PartialSeating(self.seating, self.views, self.seats, left, self.missing)

    def _views_now(self) -> tuple[Snapshot, ...]:
        """Made only when they are needed: most states turn out to be equal to one before."""
        if not self.seats:
            return self.views
        member, node = self.seats[-1]
        pod, profile = self.seating.demand.pods[member], self.seating.profile
        return tuple(with_taken(Ask(view, pod, profile), node) for view in self.views)

    def _placing(self, shape: int, views: tuple[Snapshot, ...]) -> Iterator["PartialSeating"]:
        seating, demand = self.seating, self.seating.demand
        members, tried = self.left[shape], set(self.barred)
        asks = [Ask(view, demand.pods[members[0]], seating.profile) for view in views]
        nodes = demand.nodes_for(members[0])
        found = in_all([survey(ask, demand.constraints, nodes) for ask in asks])
        seating.codes.update(rejection.reason.code for rejection in found.rejections)
        reserved = {demand.nominated[member]: member for member in members} if demand.nominated else {}
        for node in _best_first(asks[0], found.feasible, reserved):
            if node in tried:
                continue
            member = reserved.get(node, members[0])
            left = _without(self.left, shape, (member,))
            barred = frozenset(tried) if left[shape] and not seating.in_order else frozenset[int]()
            seats = (*self.seats, (member, node))
            yield PartialSeating(seating, views, seats, left, self.missing - 1, barred)
            if not seating.in_order:
                tried.add(node)


def _best_first(ask: Ask, feasible: Mask, reserved: Mapping[int, int]) -> list[int]:
    """Nodes where room is reserved for one of the members, then by rating, then by name."""
    rows = np.flatnonzero(feasible)
    if not len(rows):
        return []
    ratings, rank = rate(ask, feasible).total[rows], ask.view.nodes.rank[rows]
    is_reserved = np.isin(rows, [node for node in reserved if node != NOWHERE])
    best: list[int] = rows[np.lexsort((rank, -ratings, ~is_reserved))].tolist()
    return best


def _without(
    left: tuple[tuple[int, ...], ...], shape: int, gone: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    kept = tuple(member for member in left[shape] if member not in gone)
    return (*left[:shape], kept, *left[shape + 1 :])


# --- plain refutations ---------------------------------------------------------------------------


def too_few_domains(demand: Demand, view: Snapshot, is_open: Mask) -> bool:
    """Whether members exclude each other from domains, or by ports from nodes, and there are too few of them.

    ``is_open`` are the nodes [member, node] that each could use by itself.
    """
    crowds = [*_by_port(demand, view)] if host_ports in demand.constraints else []
    # How many members exclude each other, and in how many domains one of them could be.
    most = [(len(rows), int(is_open[rows].any(axis=0).sum())) for rows in crowds]
    if pod_affinity in demand.constraints:
        for term, rows in _by_term(demand, view):
            column = view.nodes.label(term.topology_key)
            codes = np.unique(column.codes[is_open[rows].any(axis=0)])
            if 0 not in codes:  # nodes without the label are in no domain, and take any number
                most.append((len(rows), len(codes)))
    # Each domain takes one of them, and the others of them must be left out.
    return any(len(demand.pods) - max(0, size - domains) < demand.needed for size, domains in most)


def _by_port(demand: Demand, view: Snapshot) -> Iterator[list[int]]:
    users: dict[Hashable, list[int]] = {}
    for member, pod in enumerate(demand.pods):
        for port in view.pods.shape(pod).ports:
            users.setdefault(port, []).append(member)
    yield from users.values()


def _by_term(demand: Demand, view: Snapshot) -> Iterator[tuple[PodTerm, list[int]]]:
    """Members that have an anti-affinity in common which selects all of them."""
    users: dict[PodTerm, list[int]] = {}
    for member, pod in enumerate(demand.pods):
        for term in view.pods.shape(pod).anti_affinity:
            if view.pods_matching(term)[pod]:
                users.setdefault(term, []).append(member)
    yield from users.items()


def place_in_any_order(
    demand: Demand,
    view: Snapshot,
    profile: Profile = DEFAULT_PROFILE,
    choose: Choose | None = None,
    promised: Promised = NOTHING_PROMISED,
) -> Placement | Unplaceable:
    """Like ``place``; members that do not fit in the demand's order are rearranged, within its effort."""
    found = place(demand, view, profile, choose, promised)
    if isinstance(found, Placement):
        return found
    return either(found, rearranged(demand, view, profile, choose, promised))


def either(found: Placement | Unplaceable, other: Placement | frozenset[Code]) -> Placement | Unplaceable:
    """The placement that was found in another order; or why there is none, with what more is known then."""
    if isinstance(other, Placement) or isinstance(found, Placement):
        return other if isinstance(other, Placement) else found
    return replace(found, codes=found.codes | other)


def rearranged(
    demand: Demand, view: Snapshot, profile: Profile, choose: Choose | None, promised: Promised
) -> Placement | frozenset[Code]:
    """Another placement of members that do not fit in the demand's order; or for what nodes are refused."""
    if not demand.effort.units:
        return NO_CODES
    return rearranged_within(demand.effort.share(), demand, view, profile, choose, promised)


def rearranged_within(  # noqa: PLR0913, PLR0917  what ``rearranged`` takes, and how much it may spend
    share: Share,
    demand: Demand,
    view: Snapshot,
    profile: Profile,
    choose: Choose | None,
    promised: Promised,
) -> Placement | frozenset[Code]:
    if demand.needed < 2:
        return NO_CODES  # if one is enough, each has been tried by itself
    members = members_of(demand, view, profile)
    if members.fixed_order_is_exact:
        return NO_CODES
    return _Search(demand, view, profile, choose, promised, members).run(share)


def place_on(
    seats: Sequence[tuple[int, int]], demand: Demand, view: Snapshot, profile: Profile, choose: Choose | None
) -> Placement | None:
    """Members (positions) on given nodes where these can be used, and then the others wherever they fit."""
    members = members_of(demand, view, profile)
    return _Search(demand, view, profile, choose, NOTHING_PROMISED, members).seated(seats)


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    demand: Demand
    view: Snapshot
    profile: Profile
    choose: Choose | None
    promised: Promised
    members: Members

    def run(self, share: Share) -> Placement | frozenset[Code]:
        surveys = [self._survey(positions[0]) for positions in self.members.by_shape]
        codes = self.members.codes.union(r.reason.code for found in surveys for r in found.rejections)
        is_open = self._open(surveys)
        packing = Packing(self._room(is_open))
        if packing.is_refuted or too_few_domains(self.demand, self.view, is_open):
            return codes
        order = self._most_constrained_first(packing, is_open)
        placed = self._in_turn(order, self._nominated(order))
        if placed is not None:
            return placed
        if self.members.ties is Ties.ROOM:
            return self.seated(packing.search(share, self._suiting)) or codes
        seating = self._seating(order)
        return self.seated(seating.search(self._views(), share)) or codes | seating.codes

    def _views(self) -> tuple[Snapshot, ...]:
        return (self.view, with_promises(self.view, self.promised)) if self.promised else (self.view,)

    def _survey(self, member: int) -> Survey:
        demand, pod = self.demand, self.demand.pods[member]
        asks = [Ask(view, pod, self.profile) for view in self._views()]
        return in_all([survey(ask, demand.constraints, demand.nodes_for(member)) for ask in asks])

    def _open(self, surveys: Sequence[Survey]) -> Mask:
        """[member, node] whether the member could use it alone, or with the right ones beside it."""
        is_open = np.zeros((len(self.demand.pods), len(self.view.nodes)), np.bool_)
        for positions, found in zip(self.members.by_shape, surveys, strict=True):
            nodes = found.feasible
            if self.members.ties is Ties.ORDER:
                lifted = (r.rows for r in found.rejections if r.reason.code in LIFTED)
                nodes = np.logical_or.reduce([nodes, *lifted])
            is_open[list(positions)] = nodes
        return is_open

    def _room(self, is_open: Mask) -> Room:
        view = self._views()[-1]
        requests = view.pods.requests[:, list(self.demand.pods)]
        counted = [
            row
            for row in np.flatnonzero(requests.any(axis=1)).tolist()
            if resources in self.demand.constraints and not is_ignored(view.axis.names[row], self.profile)
        ]
        left = view.allocatable[counted] - view.requested[counted]  # [counted resource, node]
        return Room(requests[counted], left, is_open, self.demand.needed)

    def _most_constrained_first(self, packing: Packing, is_open: Mask) -> list[int]:
        """Those with the fewest nodes, and of these the largest."""
        nodes, size = is_open.sum(axis=1), packing.member_sizes()
        return sorted(range(len(self.demand.pods)), key=lambda member: (nodes[member], -size[member], member))

    def _seating(self, order: Sequence[int]) -> Seating:
        by_shape = equal_members(self.demand, self.view, order)
        return Seating(self.demand, self.profile, by_shape, in_order=self.members.ties is Ties.ORDER)

    def _suiting(self, members: Sequence[int], nodes: Sequence[int]) -> tuple[int, int]:
        """A member for which room is reserved on one of the nodes; or the first, and the best node for it."""
        reserved = zip(members, self._nominated(members), strict=True)
        kept = next((pair for pair in reserved if pair[1] in nodes), None)
        if kept is not None:
            return kept
        feasible = np.zeros(len(self.view.nodes), np.bool_)
        feasible[list(nodes)] = True
        return members[0], best(Ask(self.view, self.demand.pods[members[0]], self.profile), feasible)

    def _nominated(self, members: Sequence[int]) -> list[int]:
        return [self.demand.nominated[member] if self.demand.nominated else NOWHERE for member in members]

    def seated(self, seats: Sequence[tuple[int, int]] | None) -> Placement | None:
        """A placement by these seats, and with the members that are not needed if there is room for them."""
        if seats is None:
            return None
        nodes = dict(seats)
        others = [member for member in range(len(self.demand.pods)) if member not in nodes]
        return self._in_turn([*nodes, *others], [*nodes.values(), *self._nominated(others)])

    def _in_turn(self, order: Sequence[int], nodes: Sequence[int]) -> Placement | None:
        """Place all members one after the other in this order, on these nodes where they can be used."""
        pods = tuple(self.demand.pods[member] for member in order)
        within = tuple(self.demand.within[member] for member in order) if self.demand.within else ()
        demand = replace(self.demand, pods=pods, nominated=tuple(nodes), within=within)
        found = place(demand, self.view, self.profile, self.choose, self.promised)
        if isinstance(found, Unplaceable):
            return None
        placed = dict(zip(order, found.nodes, strict=True))
        turns = tuple(member for member in order if placed[member] != NOWHERE)
        return Placement(tuple(placed[member] for member in range(len(order))), turns)
