"""What the scheduler promised, or asked for, and the cluster does not show yet: one book, one owner.

Each fact is stored in one part: assumed pods with their volume steps, nominations, terminating pods, calls in
flight of plans that were called off, marks, whole units whose eviction has begun and the marks on their
groups that are still open, and what budgets have not counted. The `Ledger` is the only way to them.

Knowledge goes in one direction. The world reads the ledger to publish snapshots with all promises applied,
plans read it to tell which call an answer is for, and whatever decides, binds and queues reads and writes
it; the ledger knows none of them. What must hold between its parts, and between them and the rest, is
checked by `reprieve.scheduler.validation`.
"""

from operator import attrgetter

from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.ledger.assumed import AssumedPods
from reprieve.scheduler.ledger.budget_lag import BudgetLag
from reprieve.scheduler.ledger.nominations import Nomination, Nominations
from reprieve.scheduler.ledger.open_marks import OpenMarks
from reprieve.scheduler.ledger.parts import Parts
from reprieve.scheduler.ledger.sweep import Sweep
from reprieve.scheduler.ledger.terminating import TerminatingPods
from reprieve.scheduler.ledger.unit_evictions import UnitEvictions
from reprieve.scheduler.ledger.victims import VictimLedger


class Ledger:
    def __init__(self, stuck_victim_seconds: float) -> None:
        self.parts = Parts()
        self.assumed = AssumedPods()
        self.nominations = Nominations()
        self.terminating = TerminatingPods(stuck_victim_seconds)
        self.victims = VictimLedger()
        self.unit_evictions = UnitEvictions()
        self.open_marks = OpenMarks()
        self.budget_lag = BudgetLag()
        self.sweep = Sweep()

    def nominated(self, demand: DemandKey) -> list[Nomination]:
        """The nominations of a demand's pods, the earliest first."""
        found = map(self.nominations.of, self.parts.pods(demand))
        return sorted(filter(None, found), key=attrgetter("since"))

    @property
    def edition(self) -> int:
        """Another number if room was reserved or given up, or if other pods are evicted, since."""
        evicted = self.victims.chosen.edition + self.victims.marks.edition + self.unit_evictions.pods.edition
        return evicted + self.nominations.edition + self.terminating.edition

    def timed(self) -> tuple[AssumedPods | TerminatingPods | UnitEvictions | OpenMarks | Sweep, ...]:
        """The parts in which something is due after a while."""
        return self.assumed, self.terminating, self.unit_evictions, self.open_marks, self.sweep
