"""What can happen: what the cluster shows, and how effects ended."""

from dataclasses import dataclass, field

from reprieve.model.effects import Effect, Target
from reprieve.model.objects import KubernetesObject, Problem


@dataclass(frozen=True, slots=True)
class Seen:
    """An object as it is now, new or changed. ``unserved`` are fields we cannot honour."""

    object: KubernetesObject
    unserved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unread:
    """An object that could not be decoded; what was known of it before no longer holds."""

    target: Target
    problem: Problem


@dataclass(frozen=True, slots=True)
class Gone:
    """An object that no longer exists. ``version``: up to which whatever is shown of it is old news."""

    target: Target
    version: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Synced:
    """Everything that existed when watching began has been seen."""


@dataclass(frozen=True, slots=True)
class Done:
    effect: Effect


@dataclass(frozen=True, slots=True)
class Failed:
    """It did not happen and will not."""

    effect: Effect
    error: str
    missing: bool = False  # because what it was meant for is not there any more


@dataclass(frozen=True, slots=True)
class Unknown:
    """The answer was lost: it may have happened."""

    effect: Effect
    error: str


Event = Seen | Unread | Gone | Synced | Done | Failed | Unknown
