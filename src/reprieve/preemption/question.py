"""What a search is asked, and what it works on."""

from dataclasses import dataclass

from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Demand
from reprieve.placement.place import Survey
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.preemption.criteria import Criterion, sparing_other_gangs
from reprieve.preemption.policy import Policy


@dataclass(frozen=True, slots=True)
class Shortcuts:
    """Up to which size the search takes no shortcut. A shortcut saves time and changes no answer."""

    # Of more candidate nodes, the search makes plans only for those that may win; in a cluster of more, a
    # plan that needs no victim in flight is not searched again.
    nodes: int = 20
    victims: int = 512  # of more nodes, it works out the victims only where the plan may win
    units: int = 100  # of more units, it reprieves at once those that the placement puts at no risk


@dataclass(frozen=True, slots=True, eq=False)
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

    @property
    def is_for_group(self) -> bool:
        group = self.view.pods.groups[self.demand.pods[0]]
        return not self.demand.alone and self.view.groups.root(group) is not None

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """By which plans are compared."""
        order = self.policy.disturbance
        return sparing_other_gangs(order) if self.demand.spares_gangs else order
