"""The functions that fill the seams of the search, in one frozen record."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from reprieve.model.columns import Mask
from reprieve.model.objects import Node, Pod
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.place import best
from reprieve.preemption.budgets import Accounts, accounts
from reprieve.preemption.eligibility import TIMELESS, Rule
from reprieve.preemption.eviction_limit import EvictionLimit
from reprieve.preemption.least_disturbance.costs import DEFAULT_ORDER, Disturbance
from reprieve.preemption.least_disturbance.deferral import Deferral
from reprieve.preemption.least_disturbance.improve import Improve, improved
from reprieve.preemption.preemption_priority import PermittedClasses
from reprieve.preemption.ranking import RANKING, Criterion
from reprieve.preemption.tolerating import tolerating
from reprieve.preemption.units import GroupUnits, Units, pods_and_groups
from reprieve.preemption.within_limit import WithinLimit

RULES: tuple[Rule, ...] = (*TIMELESS, tolerating)


class Resizes(Protocol):
    """How the resize of a running pod becomes a demand."""

    def is_waiting(self, pod: Pod) -> bool: ...

    def is_hopeless(self, pod: Pod) -> bool:
        """Whether its node can never grant what it asks for."""

    def forbidden(self, pod: Pod, node: Node) -> str:
        """Why no pod may be evicted for it; empty if pods may."""

    def demand(self, view: Snapshot, row: int, now: float) -> tuple[Demand, Snapshot]:
        """The demand of a pod, and the cluster as that demand sees it: without the pod itself."""


class SearchMode(StrEnum):
    PRIORITY_CEILING = "PriorityCeiling"
    UPSTREAM = "Upstream"
    LEAST_DISTURBANCE = "LeastDisturbance"


class BudgetCounting(StrEnum):
    JOINT = "Joint"
    UPSTREAM = "Upstream"


def at_once(_: Units) -> Improve:
    """Plans are improved while they are made: the search ends when the solver does."""
    return improved


@dataclass(frozen=True, slots=True)
class Policy:
    units: Callable[[Snapshot], Units] = pods_and_groups
    rules: tuple[Rule, ...] = RULES
    search: SearchMode = SearchMode.PRIORITY_CEILING
    accounts: Callable[[Snapshot], Accounts] = accounts
    budgets: BudgetCounting = BudgetCounting.JOINT
    breaks_no_budget: bool = False
    ranking: tuple[Criterion, ...] = RANKING
    disturbance: tuple[Disturbance, ...] = DEFAULT_ORDER  # by which LEAST_DISTURBANCE compares plans
    disturbs_least_for_pods: bool = False  # LEAST_DISTURBANCE serves single pods, too
    placements_tried: int = 2  # of a group, by PRIORITY_CEILING
    measures_disturbance: bool = False  # of plans that other searches make, too
    lost_work_cap: float = 3600.0  # seconds of work that count at most for a pod
    improving: Callable[[Units], Improve] = at_once  # how LEAST_DISTURBANCE goes on from its first plan
    deferral: Deferral | None = None  # what is known of plans that are improved between two decisions
    # How many seconds a plan may be improved beside the decision, before it is carried out. None: it is
    # improved while it is made.
    patience: float | None = None
    choose: Callable[[Ask, Mask], int] = best
    resizes: Resizes | None = None  # None: no resize is a demand

    @property
    def counts_lost_work(self) -> bool:
        return self.search is SearchMode.LEAST_DISTURBANCE and Disturbance.LOST_WORK in self.disturbance

    @property
    def eviction_limit(self) -> EvictionLimit | None:
        """How often a workload may be evicted before the rules protect it; None: as often as it happens."""
        return next((rule.limit for rule in self.rules if isinstance(rule, WithinLimit)), None)

    @property
    def permitted_classes(self) -> PermittedClasses | None:
        """The classes that groups may name for their role as victims; None: no annotation is looked at."""
        units = self.units if isinstance(self.units, GroupUnits) else None
        if units is None or (units.as_upstream and not units.permitted.namespaces):
            return None
        return units.permitted

    @property
    def orders_members(self) -> bool:
        """Whether annotations say which pods of a group go first."""
        return isinstance(self.units, GroupUnits) and not self.units.as_upstream


REPRIEVE = Policy()
