"""What the scheduler observes: watch events of the cluster, and how effects ended."""

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
class EvictionsRead:
    """What events in the cluster say of evictions by earlier runs; comes before the first object.

    ``since``: from when on all of them should be known. ``lost``: what may be missing, as a sentence.
    """

    evictions: tuple[PastEviction, ...]
    since: float
    lost: str = ""


Event = EvictionsRead | Seen | Unread | Gone | Synced | Done | Failed | Unknown
