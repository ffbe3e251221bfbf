"""What a search is asked, and what it works on."""

from collections.abc import Callable
from dataclasses import dataclass

from reprieve.model.columns import Ints, Mask
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Demand
from reprieve.placement.place import Survey
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.preemption.budgets import Accounts
from reprieve.preemption.gangs import GangSlack
from reprieve.preemption.least_disturbance.criteria import DISTURBANCE
from reprieve.preemption.policy import REPRIEVE, Policy, SearchMode
from reprieve.preemption.ranking import Criterion
from reprieve.preemption.units import Units


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
    profile: Profile = DEFAULT_PROFILE
    policy: Policy = REPRIEVE
    most: int = 20  # how many of the best plans are wanted: as many as a decision reports
    shortcuts: Shortcuts = Shortcuts()

    @property
    def is_for_group(self) -> bool:
        group = self.view.pods.groups[self.demand.pods[0]]
        return not self.demand.alone and self.view.groups.root(group) is not None

    @property
    def disturbs_least(self) -> bool:
        """Whether the search for the least disturbance applies. A resize has its node already."""
        if self.policy.search is not SearchMode.LEAST_DISTURBANCE:
            return False
        return self.is_for_group or (self.policy.disturbs_least_for_pods and not self.demand.alone)

    @property
    def ranking(self) -> tuple[Criterion, ...]:
        """By which plans are compared in the end."""
        if not self.disturbs_least:
            return self.policy.ranking
        return tuple(DISTURBANCE[criterion] for criterion in self.policy.disturbance)


@dataclass(frozen=True, slots=True, eq=False)
class Rival:
    """How kube-scheduler orders units by importance, and how it reads the budgets that select them."""

    units: Units
    accounts: Accounts


@dataclass(frozen=True, slots=True, eq=False)
class Takeable:
    """The units that may be preempted, and the budgets that select their pods."""

    units: Units
    allowed: Mask  # [unit]
    accounts: Accounts
    matter: Mask  # [pod] it may matter to the demand beyond the room and the ports that it uses
    rival: Rival | None = None  # None where kube-scheduler would do the same
    # [unit] of some units, see ``least_disturbance.lost_work``; None: it does not count
    lost_work: Callable[[Mask], Ints] | None = None
    gangs: GangSlack | None = None  # that should keep the pods they need; None: none of them counts
