"""The functions that fill the seams of the search, in one frozen record."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Protocol

from reprieve.model.columns import Mask
from reprieve.model.objects import Node, Pod
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Ask, Demand
from reprieve.placement.place import best
from reprieve.preemption.budgets import Stock, stocks, stocks_as_upstream
from reprieve.preemption.eligibility import RULES, Rule
from reprieve.preemption.ranking import RANKING, Criterion
from reprieve.preemption.units import Units, pods_and_groups


class InPlace(Protocol):
    """How a pod asks for more where it runs."""

    def asks(self, pod: Pod) -> bool: ...

    def is_hopeless(self, pod: Pod) -> bool:
        """Whether its node can never grant what it asks for."""

    def forbidden(self, pod: Pod, node: Node) -> str:
        """Why nobody may be evicted for it, whoever there is; empty if somebody may."""

    def asked(self, view: Snapshot, row: int, now: float) -> tuple[Demand, Snapshot]:
        """The demand of a pod, and the cluster as it counts for that: without the pod itself."""


class Search(StrEnum):
    PRIORITY_CEILING = "PriorityCeiling"
    UPSTREAM = "Upstream"


class BudgetCounting(StrEnum):
    JOINT = "Joint"
    UPSTREAM = "Upstream"


@dataclass(frozen=True, slots=True)
class Policy:
    units: Callable[[Snapshot], Units] = pods_and_groups
    rules: tuple[Rule, ...] = RULES
    search: Search = Search.PRIORITY_CEILING
    stocks: Callable[[Snapshot], tuple[Stock, ...]] = stocks
    budgets: BudgetCounting = BudgetCounting.JOINT
    breaks_no_budget: bool = False
    ranking: tuple[Criterion, ...] = RANKING
    choose: Callable[[Ask, Mask], int] = best
    in_place: InPlace | None = None  # None: pods that run ask for nothing


REPRIEVE = Policy()
UPSTREAM = Policy(
    units=partial(pods_and_groups, members_rank_as_groups=True),
    search=Search.UPSTREAM,
    stocks=stocks_as_upstream,
    budgets=BudgetCounting.UPSTREAM,
)
