"""Does a gang fit although its members, placed one after the other, did not?

The fixed order is tried first, and decides alone wherever it is exact. Then plain bounds may refute the gang,
or it may fit with the most constrained members first. All of that is no more work than the fixed order. Only
then a search with backtracking tries everything, as far as the demand's effort reaches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.constraints.resources import is_ignored, resources
from reprieve.placement.demand import NOTHING_PROMISED, Ask, Demand, Promised
from reprieve.placement.effort import Share
from reprieve.placement.gang_members import LIFTED, Members, Ties, equal_members, members_of
from reprieve.placement.packing import Packing, Room
from reprieve.placement.place import (
    Choose,
    Placement,
    Survey,
    Unplaceable,
    best,
    in_all,
    place,
    survey,
    with_promises,
)
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.rejection_codes import NO_CODES, Code
from reprieve.placement.tied_members import Seating, too_few_domains


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
        """The nodes that each member could use if it were alone, or with the right members beside it."""
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
        left = view.allocatable[counted] - view.requested[counted]
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
        """With the members that are not needed, if there is room for them."""
        if seats is None:
            return None
        nodes = dict(seats)
        others = [member for member in range(len(self.demand.pods)) if member not in nodes]
        return self._in_turn([*nodes, *others], [*nodes.values(), *self._nominated(others)])

    def _in_turn(self, order: Sequence[int], nodes: Sequence[int]) -> Placement | None:
        """One after the other in this order, on these nodes where they can be used."""
        pods = tuple(self.demand.pods[member] for member in order)
        within = tuple(self.demand.within[member] for member in order) if self.demand.within else ()
        demand = replace(self.demand, pods=pods, nominated=tuple(nodes), within=within)
        found = place(demand, self.view, self.profile, self.choose, self.promised)
        if isinstance(found, Unplaceable):
            return None
        placed = dict(zip(order, found.nodes, strict=True))
        turns = tuple(member for member in order if placed[member] != NOWHERE)
        return Placement(tuple(placed[member] for member in range(len(order))), turns)
