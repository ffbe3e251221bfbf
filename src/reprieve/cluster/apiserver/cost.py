"""How much work may one request cause? A budget of counted steps.

Steps and not seconds: the same request gets the same answer on every machine, however busy it is. This module
must not know what the steps are.
"""

from dataclasses import dataclass


class CostError(Exception):
    """A budget is spent; the text says which one."""


@dataclass(slots=True)
class CostBudget:
    """``what``: what costs too much when the budget is spent, as the subject of a sentence."""

    limit: int
    what: str
    spent: int = 0

    def spend(self, steps: int = 1) -> None:
        self.spent += steps
        if self.spent > self.limit:
            raise CostError(f"{self.what} exceeds the cost budget of {self.limit} steps")
