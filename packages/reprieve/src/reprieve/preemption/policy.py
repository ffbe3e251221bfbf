"""What a search is asked, and the functions that fill its seams, in frozen records."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Protocol

from reprieve.model.columns import Mask
from reprieve.model.objects import Node, Pod
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.place import Placement, Survey
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.rating import best
from reprieve.preemption.budgets import Accounts, accounts
from reprieve.preemption.criteria import DISTURBANCE, Criterion, sparing_other_gangs
from reprieve.preemption.eligibility import TIMELESS, Rule, Verdict, eligible
from reprieve.preemption.eviction_limit import EvictionLimit, WithinLimit
from reprieve.preemption.least_disturbance.deferral import Deferral
from reprieve.preemption.least_disturbance.improve import Improve, improved
from reprieve.preemption.preemption_priority import PermittedClasses
from reprieve.preemption.toleration import tolerating
from reprieve.preemption.units import GroupUnits, Units, pods_and_groups

RULES: tuple[Rule, ...] = (*TIMELESS, tolerating)

if TYPE_CHECKING:
    from reprieve.preemption.domain_plan import Planning
    from reprieve.preemption.node_pruning import NodeSearch
    from reprieve.preemption.plan import Plan


class Resizes(Protocol):
    """How the resize of a running pod becomes a demand."""

    def is_waiting(self, pod: Pod) -> bool: ...

    def is_hopeless(self, pod: Pod) -> bool:
        """Whether its node can never grant what it asks for."""

    def forbidden(self, pod: Pod, node: Node) -> str:
        """Why no pod may be evicted for it; empty if pods may."""

    def demand(
        self, view: Snapshot, row: int, now: float, profile: Profile = DEFAULT_PROFILE
    ) -> tuple[Demand, Snapshot]:
        """The demand of a pod, and the cluster as that demand sees it: without the pod itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """How plans are found, as far as searches differ. No code asks which of them is configured."""

    name: str
    plan: "Callable[[Planning, Placement], Plan]"  # in a domain; where the demand goes without all units
    has_ceiling: bool = True  # it looks for the lowest priority up to which units suffice
    tries_again: bool = True  # units that could not be put back, once others are back
    tries_as_upstream: bool = True  # kube-scheduler's order of reprieves, too
    minds_gangs: bool = True  # it looks for units that leave no gang with too few pods
    compares_nodes: bool = True  # for a group of one, too, beside the plan in its domain
    # Plans for one pod that are better than those found, by what is known of all nodes.
    refined: "Callable[[NodeSearch, list[Plan]], list[Plan]] | None" = None
    may_be_improved: bool = False  # its plan for several pods, by a solver beside the decision


class BudgetCounting(StrEnum):
    JOINT = "Joint"
    UPSTREAM = "Upstream"


def at_once(_: Units) -> Improve:
    """Plans are improved while they are made: the search ends when the solver does."""
    return improved


@dataclass(frozen=True, slots=True)
class Policy:
    search: Search
    units: Callable[[Snapshot], Units] = pods_and_groups
    rules: tuple[Rule, ...] = RULES
    accounts: Callable[[Snapshot], Accounts] = accounts
    budgets: BudgetCounting = BudgetCounting.JOINT
    breaks_no_budget: bool = False
    disturbance: tuple[Criterion, ...] = DISTURBANCE  # by which plans are compared
    placements_tried: int = 2  # of a group, below its ceiling
    measured: tuple[Criterion, ...] = ()  # by which the best plan is told to cost; empty: by the same
    lost_work_cap: float = 3600.0  # seconds of work that count at most for a pod
    improving: Callable[[Units], Improve] = at_once  # how a search goes on from its first plan
    deferral: Deferral | None = None  # what is known of plans that are improved between two decisions
    # How many seconds a plan may be improved beside the decision, before it is carried out. None: it is
    # improved while it is made.
    patience: float | None = None
    choose: Callable[[Ask, Mask], int] = best
    resizes: Resizes | None = None  # None: no resize is a demand

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


@dataclass(frozen=True, slots=True)
class Shortcuts:
    """The sizes up to which the search takes no shortcut. A shortcut saves time and changes no answer."""

    # Of more candidate nodes, the search makes plans only for those that may win; in a cluster of more, a
    # plan that needs no victim in flight is not searched again.
    nodes: int = 0
    victims: int = 64  # of more nodes, it works out the victims only where the plan may win
    units: int = 100  # of more units, it reprieves at once those that the placement puts at no risk


@dataclass(frozen=True, eq=False)
class Question:
    """Which units should be evicted for this demand, in this cluster, by this policy?

    ``found`` says why the demand does not fit as things are.
    """

    demand: Demand
    view: Snapshot
    found: Survey
    policy: Policy
    profile: Profile = DEFAULT_PROFILE
    most: int = 20  # how many of the best plans are wanted: as many as a decision reports
    shortcuts: Shortcuts = Shortcuts()

    @cached_property
    def units(self) -> Units:
        return self.policy.units(self.view)

    @cached_property
    def accounts(self) -> Accounts:
        return self.policy.accounts(self.view)

    @cached_property
    def eligible(self) -> Callable[[float], Verdict]:
        """Which units may be preempted for it, as a function of the time."""
        return cache(partial(eligible, self.units, self.demand, self.policy.rules))

    @property
    def is_for_group(self) -> bool:
        group = self.view.pods.groups[self.demand.pods[0]]
        return not self.demand.alone and self.view.groups.root(group) is not None

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """What plans are compared by, in order."""
        order = self.policy.disturbance
        return sparing_other_gangs(order) if self.demand.spares_gangs else order
