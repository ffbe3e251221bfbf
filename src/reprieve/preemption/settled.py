"""The demand where it was placed, with units gone that may have to be evicted."""

from collections.abc import Iterator
from dataclasses import dataclass

from reprieve.model.columns import Ints
from reprieve.model.snapshot import Snapshot
from reprieve.model.whatif import without
from reprieve.placement.demand import Demand
from reprieve.placement.place import Placement
from reprieve.placement.profile import Profile


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    demand: Demand
    placement: Placement
    profile: Profile
    base: Snapshot  # with every pod where it runs
    gone: Ints  # pods (rows) that may have to be evicted

    @property
    def view(self) -> Snapshot:
        """Without them."""
        return without(self.base, self.gone)

    def pairs(self) -> Iterator[tuple[int, int]]:
        """The pods of the demand that have a node, and which."""
        return ((self.demand.pods[i], self.placement.nodes[i]) for i in self.placement.turns)
