"""What the scheduler observes: watch events of the cluster, how effects ended, and what a solver found."""

from dataclasses import dataclass, field

from reprieve.model.effects import Effect, Target
from reprieve.model.objects import KubernetesObject, Problem
from reprieve.model.workloads import PastEviction


@dataclass(frozen=True, slots=True)
class Seen:
    """The present state of a new or changed object. ``unserved``: fields that Reprieve does not support."""

    object: KubernetesObject
    unserved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unread:
    """An object that could not be decoded; its previous state is outdated."""

    target: Target
    problem: Problem


@dataclass(frozen=True, slots=True)
class Gone:
    """An object that was deleted. ``version``: events of it up to this resource version are outdated."""

    target: Target
    version: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Synced:
    """Every object that existed when the watch started has been seen."""


@dataclass(frozen=True, slots=True)
class Done:
    effect: Effect


@dataclass(frozen=True, slots=True)
class Failed:
    """The effect did not happen and will not be retried."""

    effect: Effect
    error: str
    missing: bool = False  # the target no longer exists


@dataclass(frozen=True, slots=True)
class Unknown:
    """The answer was lost: the effect may have happened."""

    effect: Effect
    error: str


@dataclass(frozen=True, slots=True)
class Improvement:
    """What a solver found for one task, by name: rows may mean something else when it is read."""

    model: str  # the fingerprint of the model that was solved
    units: tuple[str, ...] | None = None  # that are evicted; None: it found no plan
    seats: tuple[tuple[str, int, int], ...] = ()  # nodes, shapes of members, and how many of these go there
    bound: tuple[float | None, ...] = ()  # by criterion, as far as it is known; None: no bound
    proved: bool = False
    infeasible: bool = False
    effort: int = 0  # work units that were spent
    fell_short: bool = False


@dataclass(frozen=True, slots=True)
class PlanImproved:
    """What was found when a plan was to be improved. Without ``found``, no solver ended in time.

    ``id``: of the decision that asked.
    """

    demand: Target
    id: str
    found: tuple[Improvement, ...] = ()


@dataclass(frozen=True, slots=True)
class EvictionsRead:
    """What events in the cluster say of evictions by earlier runs; comes before the first object.

    ``since``: from when on all of them should be known. ``lost``: what may be missing, as a sentence.
    """

    evictions: tuple[PastEviction, ...]
    since: float
    lost: str = ""


Event = EvictionsRead | Seen | Unread | Gone | Synced | Done | Failed | Unknown | PlanImproved
