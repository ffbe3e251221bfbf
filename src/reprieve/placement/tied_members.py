"""Members that exclude or admit each other by more than room: they are tried in what-ifs, one by one.

Also the plain reasons why too few of them can be placed: pods that exclude each other need a domain each.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.shape import PodTerm
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.backtracking import first_complete
from reprieve.placement.constraints.pods import pod_affinity
from reprieve.placement.constraints.ports import host_ports
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.effort import Share, price_of_placing
from reprieve.placement.gang_members import has_unbound_claims
from reprieve.placement.place import in_all, rate, survey
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code
from reprieve.placement.taking import with_taken

# How many what-ifs the search can return to. In a large cluster each holds most of a megabyte, and within any
# usual effort it never returns further.
_KEPT = 64

Seat = tuple[int, int]  # a member (position in the demand), and its node


class Seating:
    """What does not change during a search."""

    def __init__(
        self, demand: Demand, profile: Profile, shapes: tuple[tuple[int, ...], ...], *, in_order: bool
    ) -> None:
        self.demand, self.profile = demand, profile
        self.in_order = in_order  # it matters which member is placed first
        self.shape_of = {member: i for i, members in enumerate(shapes) for member in members}
        self.codes: set[Code] = set()  # for what nodes were refused during the search
        self.claiming: frozenset[int] = (
            frozenset()
        )  # shapes with claims that get a volume when they are placed
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
    most = [(len(rows), int(is_open[rows].any(axis=0).sum())) for rows in crowds]
    if pod_affinity in demand.constraints:
        for term, rows in _by_term(demand, view):
            column = view.nodes.label(term.topology_key)
            codes = np.unique(column.codes[is_open[rows].any(axis=0)])
            if 0 not in codes:  # nodes without the label are in no domain, and take any number
                most.append((len(rows), len(codes)))
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
