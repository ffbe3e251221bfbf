"""Members that exclude or admit each other by more than room: they are tried in what-ifs, one by one.

Also the plain reasons why too few of them can be placed: pods that exclude each other need a domain each.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.shape import PodTerm
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.backtracking import first_complete
from reprieve.placement.constraints.pods import pod_affinity
from reprieve.placement.constraints.ports import host_ports
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.effort import Share
from reprieve.placement.place import in_all, rate, survey
from reprieve.placement.profile import Profile
from reprieve.placement.reasons import Code
from reprieve.placement.taking import with_taken

# How many what-ifs the search can return to. In a large cluster each holds most of a megabyte, and within any
# usual effort it never returns further.
_KEPT = 64


@dataclass(frozen=True, slots=True, eq=False)
class Seating:
    """What does not change during a search."""

    demand: Demand
    profile: Profile
    shapes: tuple[tuple[int, ...], ...]  # members (positions) of one shape, the most constrained shape first
    in_order: bool  # it matters which member is placed first
    codes: set[Code] = field(default_factory=set)  # for what nodes were refused

    def search(self, views: tuple[Snapshot, ...], share: Share) -> list[tuple[int, int]] | None:
        """Members and their nodes, in the order in which they were placed."""
        start = PartialSeating(self, views, self.shapes, self.demand.needed, ())
        found = first_complete(start, share, _KEPT)
        return None if found is None else list(found.seats)


@dataclass(frozen=True, slots=True, eq=False)
class PartialSeating:
    """Some members are placed, and some are left out."""

    seating: Seating
    views: tuple[Snapshot, ...]
    left: tuple[tuple[int, ...], ...]  # members of each shape that are neither placed nor left out
    missing: int
    seats: tuple[tuple[int, int], ...]  # members and their nodes, in turn

    @property
    def key(self) -> Hashable:
        """Members of one shape are interchangeable; which volumes claims get depends on the order as well."""
        shapes = {member: i for i, members in enumerate(self.seating.shapes) for member in members}
        seats = [(shapes[member], node) for member, node in self.seats]
        with_claims = any(view.storage.claims for view in self.views)
        return tuple(seats if with_claims else sorted(seats)), tuple(map(len, self.left))

    def successors(self, share: Share) -> Iterator["PartialSeating"]:
        """A member of the first shape goes to each node, the best first; or no more of the shape do.

        Where the order matters, any shape can be next, and those that never are have been left out.
        """
        waiting = [i for i, members in enumerate(self.left) if members]
        for shape in waiting if self.seating.in_order else waiting[:1]:
            if not share.take():
                return
            yield from self._placing(shape)
            others = sum(map(len, self.left)) - len(self.left[shape])
            if not self.seating.in_order and others >= self.missing:
                yield replace(self, left=_without(self.left, shape, self.left[shape]))

    def _placing(self, shape: int) -> Iterator["PartialSeating"]:
        seating, demand = self.seating, self.seating.demand
        members = self.left[shape]
        asks = [Ask(view, demand.pods[members[0]], seating.profile) for view in self.views]
        found = in_all([survey(ask, demand.constraints, demand.allowed) for ask in asks])
        seating.codes.update(rejection.reason.code for rejection in found.rejections)
        if not found.feasible.any():
            return
        reserved = {demand.nominated[member]: member for member in members} if demand.nominated else {}
        for node in _best_first(asks[0], found.feasible, reserved):
            member = reserved.get(node, members[0])
            asks = [Ask(view, demand.pods[member], seating.profile) for view in self.views]
            views = tuple(with_taken(ask, node) for ask in asks)
            left = _without(self.left, shape, (member,))
            yield PartialSeating(seating, views, left, self.missing - 1, (*self.seats, (member, node)))


def _best_first(ask: Ask, feasible: Mask, reserved: Mapping[int, int]) -> list[int]:
    """Nodes where room is reserved for one of the members, then by rating, then by name."""
    rows = np.flatnonzero(feasible)
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
