"""What the scheduler observes: watch events of the cluster, how effects ended, and what a solver found.

``Change`` is what an event can mean to demands that wait.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

from reprieve.model.effects import Effect, Target
from reprieve.model.objects import KubernetesObject, Problem
from reprieve.model.workloads import PastEviction


class Change(Enum):
    """Something that happened to nodes, running pods or storage, as far as it could let a demand fit."""

    NODE_ADDED = auto()
    NODE_GONE = auto()
    NODE_GREW = auto()
    NODE_UNCORDONED = auto()
    NODE_TAINTS = auto()
    NODE_LABELS = auto()
    NODE_FEATURES = auto()
    POD_ARRIVED = auto()
    POD_LEAVING = auto()
    POD_LEFT = auto()
    POD_SHRANK = auto()
    POD_GREW = auto()  # which helps no demand, but takes room that one may have counted on
    POD_RELABELED = auto()
    STORAGE = auto()
    NAMESPACES = auto()
    OWNERS = auto()
    BUDGETS = auto()  # for policies that exceed no budget
    TOLERATIONS = auto()  # what priority classes say of them
    CLOCKS = auto()  # the toleration of a pod has begun to count
    EVICTIONS = auto()  # one that counted against a limit did not happen
    CONTROLLERS = auto()  # a pod that runs belongs to another workload, whose evictions count
    GROUPS = auto()  # of pods that run: other priorities, or other units of preemption


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
