"""Where does a demand fit, why not elsewhere, and which node is best."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.shape import Shape
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import moved, with_pod
from reprieve.placement.constraints import CONSTRAINTS, constraints_under
from reprieve.placement.constraints.resources import has_room, resources
from reprieve.placement.constraints.volumes import bindings
from reprieve.placement.demand import NOTHING_PROMISED, Ask, Constraint, Demand, Promised
from reprieve.placement.effort import Effort
from reprieve.placement.gang_members import takes_only_room
from reprieve.placement.merits import best_node
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.rating import Choose, best, best_in_turn
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def with_taken(ask: Ask, node: int) -> Snapshot:
    """The pod that asks runs on a node that will do for it; free volumes that its claims get there are not
    free any more, and new ones are made there."""
    view = with_pod(ask.view, ask.pod, node)
    wanted = bindings(ask, node) if ask.shape.claims else None
    if wanted is None or not (wanted.bound or wanted.provisioned):
        return view
    storage = view.storage.reserving(wanted.bound, wanted.provisioned, view.nodes.names[node])
    return replace(view, storage=storage)


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Which nodes one pod can use, and for the others the first reasons why not."""

    feasible: Mask  # [node]
    rejections: tuple[Rejection, ...]

    def refused(self) -> dict[Reason, Mask]:
        """Which nodes were refused for each reason."""
        refused: dict[Reason, Mask] = {}
        for one in self.rejections:
            before = refused.get(one.reason)
            refused[one.reason] = one.rows if before is None else before | one.rows
        return refused

    def reasons_of(self, node: int) -> tuple[Reason, ...]:
        return tuple(sorted({r.reason for r in self.rejections if r.rows[node]}))

    def curable(self) -> Mask:
        """[node] whether it was refused, and might do if some pods were gone."""
        mask = ~self.feasible
        for rejection in self.rejections:
            if not rejection.curable:
                mask &= ~rejection.rows
        return mask


@dataclass(frozen=True, slots=True)
class Placement:
    """A node for each pod of a demand, in the demand's order; NOWHERE for those that found none."""

    nodes: tuple[int, ...]
    # The positions of pods with a node, such that each may be there if those before it are. Empty: the
    # demand's order will do.
    order: tuple[int, ...] = ()

    @property
    def turns(self) -> Sequence[int]:
        """The positions of the pods that have a node, in such an order."""
        return self.order or [position for position, node in enumerate(self.nodes) if node != NOWHERE]


@dataclass(frozen=True, slots=True, eq=False)
class Unplaceable:
    """Too few pods of the demand found a node. ``survey`` is about the first that did not."""

    pod: int
    placed: int
    survey: Survey
    view: Snapshot  # what that one saw: those before it in their places, and promises kept
    codes: frozenset[Code]  # for what nodes were refused to any of its pods that were tried, in any domain


def place(
    demand: Demand,
    view: Snapshot,
    profile: Profile = DEFAULT_PROFILE,
    choose: Choose | None = None,
    promised: Promised = NOTHING_PROMISED,
) -> Placement | Unplaceable:
    """A node for as many pods as possible, one after the other; gives up when too few can be left."""
    if choose is None and not promised and _is_one_pod(demand):
        node = best_node(Ask(view, demand.pods[0], profile), demand.constraints, demand.nodes_for(0))
        if node is not None:
            return Placement((node,))
    return place_in(demand, views_of(view, promised), profile, choose)[0]


def _is_one_pod(demand: Demand) -> bool:
    """Whether all that the demand needs is the best node for its only pod."""
    return len(demand.pods) == 1 and demand.most is None and all(n == NOWHERE for n in demand.nominated)


def views_of(view: Snapshot, promised: Promised) -> tuple[Snapshot, ...]:
    """A placement must hold in all of them."""
    return (view, with_promises(view, promised)) if promised else (view,)


def place_in(
    demand: Demand,
    views: Sequence[Snapshot],
    profile: Profile,
    choose: Choose | None,
    *,
    goes_on: bool = False,
) -> tuple[Placement | Unplaceable, Sequence[Snapshot]]:
    """The placement; and, if it ``goes_on``, the views as pods see them that are placed next."""
    choose = choose or best
    nodes: list[int] = []
    failed: list[tuple[int, Survey, Snapshot]] = []
    codes: set[Code] = set()
    surveys = _Surveys(demand)
    for i, pod in enumerate(demand.pods):
        if i < len(nodes):
            continue  # it got its node together with its equals before it
        if demand.most is not None and i - len(failed) >= demand.most:
            nodes.append(NOWHERE)
            continue
        asks = [Ask(view, pod, profile) for view in views]
        found = surveys.of(asks, demand.nodes_for(i), nodes[-1] if nodes else NOWHERE)
        codes.update(rejection.reason.code for rejection in found.rejections)
        nominated = demand.nominated[i] if demand.nominated else NOWHERE
        if not found.feasible.any():
            nodes.append(NOWHERE)
            failed.append((pod, found, views[-1]))
            if len(demand.pods) - len(failed) < demand.needed:
                first, refusals, seen = failed[0]
                return Unplaceable(first, i + 1 - len(failed), refusals, seen, frozenset(codes)), views
            if nominated != NOWHERE:  # its room is being made, and not for those after it
                views = [with_pod(view, pod, nominated) for view in views]
            continue
        equals = surveys.equals_from(i, asks[0])
        if demand.most is not None:
            equals = equals[: demand.most - (i - len(failed))]
        wanted = [demand.nominated[e] if demand.nominated else NOWHERE for e in equals]
        counts_room = resources in demand.constraints
        if there := best_in_turn(asks, found.feasible, choose, wanted, counts_room=counts_room):
            nodes += there
            views = [moved(view, np.array(demand.pods[i : len(nodes)]), np.array(there)) for view in views]
            surveys = _Surveys(demand)  # what is known of the first of them is out of date on several nodes
            continue
        is_kept = nominated != NOWHERE and found.feasible[nominated]
        nodes.append(nominated if is_kept else choose(asks[0], found.feasible))
        if goes_on or i + 1 < len(demand.pods):
            views = [with_taken(ask, nodes[-1]) for ask in asks]
    return Placement(tuple(nodes)), views


class _Surveys:
    """The surveys of the pods of a demand in turn.

    A pod that equals the one before, and only takes room from it, needs none of its own while there are nodes
    left: only where that one went can it be any different.
    """

    def __init__(self, demand: Demand) -> None:
        self._demand = demand
        self._last: tuple[Shape, Mask | None, Survey] | None = None
        self._is_first = True  # the last survey was not that of the pod before

    def of(self, asks: Sequence[Ask], allowed: Mask | None, used: int) -> Survey:
        """``allowed``: the nodes that the pod may use; ``used``: the node of the pod before."""
        found, demand = self._adjusted(asks, allowed, used), self._demand
        self._is_first = found is None
        if found is None:
            found = in_all([survey(ask, demand.constraints, allowed) for ask in asks])
        is_plain = len(demand.pods) > 1 and takes_only_room(asks[0])
        self._last = (asks[0].shape, allowed, found) if is_plain else None
        return found

    def equals_from(self, start: int, ask: Ask) -> range:
        """The pods (positions) from the one that was surveyed last on, if that says the same of all of them.

        Only of the first such pod; and only pods that take nothing but room from those after them.
        """
        if self._last is None or not self._is_first:
            return range(0)
        pods, within = self._demand.pods, self._demand.within
        for i in range(start + 1, len(pods)):
            is_apart = bool(within) and within[i] is not within[start]
            if is_apart or ask.view.pods.shape(pods[i]) != self._last[0]:
                return range(start, i)
        return range(start, len(pods))

    def _adjusted(self, asks: Sequence[Ask], allowed: Mask | None, used: int) -> Survey | None:
        if used == NOWHERE or self._last is None:
            return None
        if self._last[0] != asks[0].shape or self._last[1] is not allowed:
            return None
        feasible = self._last[2].feasible.copy()
        if resources in self._demand.constraints:
            feasible[used] &= all(has_room(ask, used) for ask in asks)
        return Survey(feasible, self._last[2].rejections) if feasible.any() else None


def with_promises(view: Snapshot, promised: Promised) -> Snapshot:
    if not promised:
        return view
    return moved(view, np.asarray(promised.pods, np.int64), np.asarray(promised.nodes, np.int64))


def in_all(surveys: Sequence[Survey]) -> Survey:
    """A node must do in every view; the reasons are those of the first in which it does not."""
    feasible, rejections = surveys[0].feasible, list(surveys[0].rejections)
    for other in surveys[1:]:
        rejections += [Rejection(r.rows & feasible, r.reason, r.curable) for r in other.rejections]
        feasible = feasible & other.feasible
    return Survey(feasible, tuple(rejections))


def pod_demand(
    view: Snapshot, pod: int, profile: Profile = DEFAULT_PROFILE, nominated: tuple[int, ...] | None = None
) -> Demand:
    """The demand of a single pod, under every constraint that its profile knows.

    ``nominated``: the node that it tries first; None: the one that the pod shows.
    """
    known = view.pods.compiled[pod].pod
    spec = known.spec
    if nominated is None:
        nominated = (view.nodes.rows.get(known.status.nominated_node_name, NOWHERE),)
    return Demand(
        pods=(pod,),
        constraints=constraints_under(profile),
        needed=1,
        priority=spec.priority or 0,
        may_preempt=spec.preemption_policy != "Never",
        nominated=nominated,
        effort=Effort(profile.planning_effort),
    )


def survey(
    ask: Ask, constraints: tuple[Constraint, ...] = CONSTRAINTS, allowed: Mask | None = None
) -> Survey:
    """Every constraint in turn; a node keeps the reasons of the first that refused it."""
    # [node] none of the constraints so far has refused it
    left = np.ones(len(ask.view.nodes), np.bool_) if allowed is None else allowed.copy()
    kept: list[Rejection] = []
    if allowed is not None:
        kept.append(
            Rejection(~allowed, Reason(Code.OUTSIDE_DOMAIN, "the domain that was asked about"), curable=False)
        )
    for constraint in constraints if left.any() else ():
        refused = [Rejection(r.rows & left, r.reason, r.curable) for r in constraint(ask)]
        if not refused:
            continue  # most have nothing to say about most pods
        kept += refused
        for rejection in refused:
            left &= ~rejection.rows
        if not left.any():
            break
    return Survey(left, tuple(kept))
