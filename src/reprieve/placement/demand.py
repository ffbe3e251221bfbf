"""What needs room, and the question that is put to a constraint or a preference about one pod of it.

A ``Demand`` says what must be placed together; an ``Ask`` is one pod, in one view of the cluster, under one
profile.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from reprieve.model.columns import Ints, Mask
from reprieve.model.shape import Shape
from reprieve.model.snapshot import Snapshot
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
    spares_gangs: bool = False  # of plans, those that leave no gang with too few pods come first
    until: float | None = None  # room that comes later is of no use
    effort: Effort = NO_EFFORT  # what searches for it may spend; nothing: the order of its pods is fixed
