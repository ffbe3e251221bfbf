"""What a search works on: the units that may be preempted, what they cost, and what they are charged to."""

from dataclasses import dataclass

from reprieve.model.columns import Mask
from reprieve.preemption.budgets import Accounts
from reprieve.preemption.gangs import GangSlack
from reprieve.preemption.prices import Prices
from reprieve.preemption.units import Units


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
    prices: Prices
    rival: Rival | None = None  # None where kube-scheduler would do the same
    gangs: GangSlack | None = None  # that should keep the pods they need; None: none of them counts
