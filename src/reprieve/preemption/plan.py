"""What a search finds: a plan with a placement and its price, or why there is none."""

from dataclasses import dataclass
from enum import StrEnum

from reprieve.placement.place import Placement
from reprieve.preemption.units import Unit


@dataclass(frozen=True, slots=True)
class Plan:
    """Where the demand goes, who gives way for it, and how far that exceeds disruption budgets."""

    domain: str  # a node, a topology domain, or the cluster
    placement: Placement
    victims: tuple[Unit, ...]  # the most important first
    spared: tuple[Unit, ...]  # who could have been taken there and need not go
    broken: int  # pods beyond what budgets allow
    ceiling: int | None = None  # nobody above this priority had to be considered


class Why(StrEnum):
    """Why there is no plan."""

    NEVER_PREEMPTS = "NeverPreempts"
    NOBODY_ELIGIBLE = "NobodyEligible"
    NO_HELP = "NoHelp"
    BUDGETS = "Budgets"


@dataclass(frozen=True, slots=True)
class NoPlan:
    why: Why
    retry_at: float | None = None  # when eligibility changes by itself
