"""The functions that fill the seams of the search, in one frozen record."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from reprieve.model.columns import Mask
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Ask
from reprieve.placement.place import best
from reprieve.preemption.budgets import Stock, stocks, stocks_as_upstream
from reprieve.preemption.eligibility import RULES, Rule
from reprieve.preemption.ranking import RANKING, Criterion
from reprieve.preemption.units import Units, pods_and_groups


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


REPRIEVE = Policy()
UPSTREAM = Policy(
    units=partial(pods_and_groups, members_rank_as_groups=True),
    search=Search.UPSTREAM,
    stocks=stocks_as_upstream,
    budgets=BudgetCounting.UPSTREAM,
)
