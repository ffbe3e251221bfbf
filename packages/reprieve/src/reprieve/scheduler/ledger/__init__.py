"""What the scheduler promised, or asked for, and the cluster does not show yet: one book, one owner.

Each fact is stored in one part: which demand each pod is part of, assumed pods with their volume steps,
nominations, terminating pods, calls in flight of plans that were called off, marks, whole units whose
eviction has begun and the marks on their groups that are still open, and what budgets have not counted. The
`Ledger` is the only way to them.

Knowledge goes in one direction. The world reads the ledger to publish snapshots with all promises applied,
plans read it to tell which call an answer is for, and whatever decides, binds and queues reads and writes
it; the ledger knows none of them. What must hold between its parts, and between them and the rest, is
checked by the tests after every step.
"""

from collections.abc import Iterator
from operator import attrgetter

from reprieve.model.effects import Target
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.ledger.assumed import AssumedPods
from reprieve.scheduler.ledger.budget_lag import BudgetLag
from reprieve.scheduler.ledger.index import Index
from reprieve.scheduler.ledger.nominations import Nomination, Nominations
from reprieve.scheduler.ledger.open_marks import OpenMarks
from reprieve.scheduler.ledger.terminating import TerminatingPods
from reprieve.scheduler.ledger.unit_evictions import UnitEvictions
from reprieve.scheduler.ledger.victims import VictimLedger

_LEFTOVERS_STAY = 30.0  # seconds


class Sweep:
    """When marks and nominations that no plan needs are cleared: not at once, since a new plan may need them.
    Only those that are over are, each once.

    A scheduler that takes over from one that died finds marks and nominations before it has made its own
    plans. So leftovers stay for half a minute; what cannot be cleared then is tried again half a minute
    later.
    """

    def __init__(self) -> None:
        self._at: float | None = None
        self._over: frozenset[Target] = frozenset()

    def newly_over(self, marks: frozenset[Target]) -> frozenset[Target]:
        """Of the marks that no plan can need any more, those that were not at the last look."""
        new, self._over = marks - self._over, marks
        return new

    def is_due(self, now: float, *, leftovers: bool) -> bool:
        """Whether leftovers, if there are any, are cleared now."""
        due = self._at is not None and now >= self._at
        if not leftovers or due:
            self._at = None
        if leftovers and self._at is None:
            self._at = now + _LEFTOVERS_STAY
        return leftovers and due

    def next_time(self) -> float | None:
        return self._at


class Parts:
    """Which pods the scheduler has to serve, and which demand each of them is part of.

    A pod is served from its first sight until it is seen bound, is gone, or names another scheduler. It may
    move to another demand in between: the label that links it to a group can be changed.
    """

    def __init__(self) -> None:
        self._demands: dict[Target, DemandKey] = {}
        self._pods: Index[DemandKey, Target] = Index()

    def __len__(self) -> int:
        return len(self._demands)

    def __contains__(self, pod: Target) -> bool:
        return pod in self._demands

    def __getitem__(self, pod: Target) -> DemandKey:
        return self._demands[pod]

    def __iter__(self) -> Iterator[tuple[Target, DemandKey]]:
        yield from self._demands.items()

    def get(self, pod: Target) -> DemandKey | None:
        return self._demands.get(pod)

    def demands(self) -> list[DemandKey]:
        """All demands, in the order in which their first pods came."""
        return list(dict.fromkeys(self._demands.values()))

    def has(self, demand: DemandKey) -> bool:
        """Whether any pod is part of this demand."""
        return demand in self._pods

    def pods(self, demand: DemandKey) -> frozenset[Target]:
        return self._pods.under(demand)

    def join(self, pod: Target, demand: DemandKey) -> None:
        """The pod is part of this demand, and of no other any more."""
        before = self._demands.get(pod)
        if before == demand:
            return
        if before is not None:
            self._pods.remove(before, pod)
        self._demands[pod] = demand
        self._pods.add(demand, pod)

    def leave(self, pod: Target) -> None:
        """The scheduler has nothing more to do for the pod."""
        self._pods.remove(self._demands.pop(pod), pod)


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
