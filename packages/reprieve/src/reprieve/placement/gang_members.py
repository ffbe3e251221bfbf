"""The members of a gang: which of them are equal, and what ties one to another."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto

from reprieve.model.shape import Shape
from reprieve.model.snapshot import Snapshot
from reprieve.placement.constraints.spread import spread_rules_of
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.profile import Profile
from reprieve.placement.rejection_codes import Code


class Ties(Enum):
    ROOM = auto()  # members only take room from each other
    PRESENCE = auto()  # a member can also exclude another from nodes, whichever is placed first
    ORDER = auto()  # a member can admit another to nodes: it matters which is placed first


@dataclass(frozen=True, slots=True)
class Members:
    by_shape: tuple[tuple[int, ...], ...]  # positions in the demand; the search never tells equal ones apart
    ties: Ties
    codes: frozenset[Code]  # for what members can keep each other from nodes

    @property
    def fixed_order_is_exact(self) -> bool:
        """Whether placing one after the other finds a node for as many as possible.

        So it is for equal members that only take room: a node takes as many of them as it can, wherever the
        others are.
        """
        return len(self.by_shape) == 1 and self.ties is Ties.ROOM


def members_of(demand: Demand, view: Snapshot, profile: Profile) -> Members:
    by_shape = equal_members(demand, view, range(len(demand.pods)))
    asks = [Ask(view, demand.pods[positions[0]], profile) for positions in by_shape]
    found = [tie for ask in asks for tie in _ties(ask)]
    return Members(
        by_shape=by_shape,
        ties=max((ties for ties, _ in found), key=lambda ties: ties.value, default=Ties.ROOM),
        codes=_ROOM.union(*(codes for _, codes in found)),
    )


def equal_members(demand: Demand, view: Snapshot, order: Iterable[int]) -> tuple[tuple[int, ...], ...]:
    """Members of one shape that may use the same nodes, in this order."""
    found: dict[tuple[Shape, bytes], list[int]] = {}
    for member in order:
        nodes = demand.within[member].tobytes() if demand.within else b""
        found.setdefault((view.pods.shape(demand.pods[member]), nodes), []).append(member)
    return tuple(map(tuple, found.values()))


_ROOM = frozenset({Code.INSUFFICIENT_RESOURCE, Code.TOO_MANY_PODS})
_APART = frozenset({Code.POD_ANTI_AFFINITY, Code.EXISTING_ANTI_AFFINITY})
_VOLUMES = frozenset({Code.DISK_CONFLICT, Code.CLAIM_IN_USE, Code.VOLUME_LIMIT})
# Refusals that the placement of another member can lift.
LIFTED = frozenset({Code.POD_AFFINITY, Code.SPREAD_SKEW, Code.NO_VOLUME_TO_BIND, Code.STORAGE_CAPACITY})
_BOUND = frozenset({Code.NO_VOLUME_TO_BIND, Code.STORAGE_CAPACITY, Code.VOLUME_NODE_AFFINITY})


def _ties(ask: Ask) -> Iterator[tuple[Ties, frozenset[Code]]]:
    shape = ask.shape
    if shape.ports:
        yield Ties.PRESENCE, frozenset({Code.HOST_PORT})
    if shape.anti_affinity:
        yield Ties.PRESENCE, _APART
    if shape.claims or shape.disks or shape.inline_volumes:
        yield Ties.PRESENCE, _VOLUMES
    if shape.affinity:
        yield Ties.ORDER, frozenset({Code.POD_AFFINITY})
    if spread_rules_of(ask, required=True):
        yield Ties.ORDER, frozenset({Code.SPREAD_SKEW})
    if has_unbound_claims(ask.view, shape):
        yield Ties.ORDER, _BOUND  # the first to be placed decides which volume a claim gets


def takes_only_room(ask: Ask) -> bool:
    """Whether the pod can keep equal ones from nodes by nothing but the room that it takes."""
    return next(_ties(ask), None) is None


def has_unbound_claims(view: Snapshot, shape: Shape) -> bool:
    claims = (view.storage.claims.get((shape.namespace, name)) for name in shape.claims)
    return any(claim is not None and not claim.bound for claim in claims)
