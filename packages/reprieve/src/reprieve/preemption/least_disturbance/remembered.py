"""What a decision found that asked for a better plan, by name, so that the next one need not search again.

The next decision checks the first plan and the answers of the solver in the cluster as it is then. Snapshots
change with every event, so nothing here refers to rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reprieve.preemption.plan import Quality

PodKey = tuple[str, str]  # namespace and name


@dataclass(frozen=True, slots=True)
class Remembered:
    """The plan in one domain."""

    victims: tuple[str, ...]  # units
    places: tuple[tuple[PodKey, str], ...]  # members and nodes, in an order that can be used
    quality: Quality
    solved: float  # the priority up to which units were in the room that the solver was handed
    target: int  # how many members must get room
    spent: int  # effort, before the room was searched
    left: Mapping[str, Sequence[int]]  # by node, what was left of each resource that members request

    @property
    def cost(self) -> tuple[float, ...]:
        return tuple(value for _, value in self.quality.cost)

    @property
    def ceiling_cost(self) -> tuple[float, ...]:
        return tuple(value for _, value in self.quality.ceiling_cost)
