"""What a search is asked, and what it works on."""

from dataclasses import dataclass

from reprieve.model.columns import Mask
from reprieve.model.snapshot import Snapshot
from reprieve.placement.demand import Demand
from reprieve.placement.place import Survey
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.preemption.budgets import Accounts
from reprieve.preemption.policy import REPRIEVE, Policy
from reprieve.preemption.units import Units


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Who could give way to this demand, in this cluster, by this policy?

    ``found`` says why it does not fit as things are.
    """

    demand: Demand
    view: Snapshot
    found: Survey
    profile: Profile = DEFAULT_PROFILE
    policy: Policy = REPRIEVE
    most: int = 20  # of the best plans are wanted: as many as a decision reports


@dataclass(frozen=True, slots=True, eq=False)
class Rival:
    """How kube-scheduler ranks units, and which budgets it thinks speak of them."""

    units: Units
    accounts: Accounts


@dataclass(frozen=True, slots=True, eq=False)
class Takeable:
    """Who may be taken, and the budgets that speak of them."""

    units: Units
    allowed: Mask  # [unit]
    accounts: Accounts
    matter: Mask  # [pod] who may matter to the demand beyond the room and the ports he leaves
    rival: Rival | None = None  # None where it would do the same
