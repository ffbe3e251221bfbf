"""What do units and plans cost? Worked out when it is first asked for: of many units, few are.

``Evictable`` has all that a search works on: the units that may be preempted, their prices, and what they are
charged to.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from reprieve.model.columns import Floats, Ints, Mask
from reprieve.preemption.budgets import Accounts, UnitShares, shares_of
from reprieve.preemption.criteria import CASCADE, LOST_WORK, MOST, Cost, Criterion
from reprieve.preemption.eligibility import grace_of
from reprieve.preemption.gangs import GangSlack, GroupNeeds
from reprieve.preemption.least_disturbance.cascade import NOWHERE_TO_GO, Cascades
from reprieve.preemption.least_disturbance.lost_work import lost_work
from reprieve.preemption.policy import Question
from reprieve.preemption.units import Unit, UnitKind, Units, numbers_of


class Prices:
    """The costs of units and plans by the criteria of a question, as far as they were asked for."""

    def __init__(  # noqa: PLR0913  made in one place
        self,
        question: Question,
        units: Units,
        needs: GroupNeeds,
        now: float,
        *,
        allowed: Mask,
        others: GangSlack | None = None,
    ) -> None:
        """``allowed``: the units that may be evicted. ``others``: gangs that the demand should spare."""
        self.units, self.needs, self.others, self.order = units, needs, others, question.criteria
        self._question, self._now, self._allowed = question, now, allowed
        self._columns: dict[str, tuple[Ints, Mask]] = {}  # [unit] costs, and whether they are worked out
        self._cascades = Cascades(question, units)

    def of(self, victims: Sequence[Unit], beyond_budgets: int, known: Sequence[float] = ()) -> Cost:
        """``known``: by the first criteria."""
        together = _Together(victims, beyond_budgets, self)
        return Cost(self.order, lambda criterion: criterion.of(together, together.numbers, self), known)

    # --- what units cost alone: numbers may have any shape, as [unit] or [slot, node], and costs have the
    # same ---

    def alone(self, criterion: Criterion, numbers: Ints) -> Ints | Floats:
        assert criterion.of_units is not None
        return criterion.of_units(self, numbers)

    def alone_at_least(self, criterion: Criterion, numbers: Ints) -> Ints | Floats:
        """What units cost alone, or less where that would take long to work out."""
        if criterion.least_alone is not None:
            return np.broadcast_to(np.int64(criterion.least_alone(self)), numbers.shape)
        return self.alone(criterion, numbers)

    def quick(self, order: Sequence[Criterion]) -> int:
        """By how many criteria, the first ones, what is quick to have is what units cost."""
        is_dear = (one.least_alone is not None and one not in self._same_for_all for one in order)
        return next((place for place, dear in enumerate(is_dear) if dear), len(order))

    @cached_property
    def _same_for_all(self) -> tuple[Criterion, ...]:
        """Where no replacement would find room, and no workload says when it was saved."""
        view = self.units.view
        is_published = bool(view.groups.pod_groups) or view.pods.publishing.any()
        nowhere = (CASCADE,) if self.least_cascade == NOWHERE_TO_GO else ()
        return nowhere if is_published else (*nowhere, LOST_WORK)

    def least_alone(self, criterion: Criterion) -> float:
        """No unit that may be evicted costs less alone; quick to have."""
        if criterion.least_alone is not None:
            return criterion.least_alone(self)
        found: float = self.alone(criterion, self._evictable).min(initial=MOST).item()
        return found

    @cached_property
    def _evictable(self) -> Ints:
        """The numbers of the units that may be evicted."""
        return np.flatnonzero(self._allowed)

    def ended(self, numbers: Ints) -> Ints:
        """1 for units that are workloads: groups that are evicted whole, pods that no controller replaces.

        A pod of a gang is no workload by itself.
        """
        bare = self._bare
        if not len(self.units.group_names):
            return bare[numbers].astype(np.int64)
        is_pod = numbers < len(bare)
        of_pod = bare[np.where(is_pod, numbers, 0)] if len(bare) else is_pod
        found: Ints = np.where(is_pod, of_pod, self.units.kind[numbers] != UnitKind.POD).astype(np.int64)
        return found

    @cached_property
    def _bare(self) -> Mask:
        """[pod] whether it is a workload that ends with it."""
        view = self.units.view
        if not view.groups.pod_groups or not self.units.minds_gangs:
            return view.pods.bare
        in_gang = view.groups.columns(view.pods.groups.things).in_gang
        return view.pods.bare & ~view.pods.groups.lookup(in_gang)

    def cascade(self, numbers: Ints) -> Ints:
        """The classes by ``Cascades``: where the pods of these units would go."""
        if self.least_cascade == NOWHERE_TO_GO:
            return np.full(numbers.shape, NOWHERE_TO_GO)
        return self._worked_out("cascade", numbers, lambda new: self._cascades.of(new)[new])

    @cached_property
    def least_cascade(self) -> int:
        """No unit that may be evicted has a lower cascade."""
        return self._cascades.at_least(self._allowed)

    def lost_work(self, numbers: Ints) -> Ints:
        """Seconds of a node whose work would be lost, see ``least_disturbance.lost_work``."""
        cap = self._question.policy.lost_work_cap

        def lost(new: Ints) -> Ints:
            return lost_work(self.units, self.units.mask(new), self._now, cap)[new]

        return self._worked_out("lost work", numbers, lost)

    def grace(self, numbers: Ints) -> Floats:
        """How many seconds the slowest pod of each may take to terminate."""

        def longest(new: Ints) -> Ints:
            compiled = self.units.view.pods.compiled
            graces = (max(grace_of(compiled[pod].pod) for pod in unit.pods) for unit in self.units.made(new))
            return np.fromiter(graces, np.int64, len(new))

        return self._worked_out("grace", numbers, longest).astype(np.float64)

    def _worked_out(self, name: str, numbers: Ints, work: Callable[[Ints], Ints]) -> Ints:
        """The costs of these units from a column that is filled on demand. ``work`` gets distinct numbers."""
        if name not in self._columns:
            size = len(self.units.priority)
            self._columns[name] = np.zeros(size, np.int64), np.zeros(size, np.bool_)
        values, known = self._columns[name]
        missing = numbers[~known[numbers]]
        if missing.size:
            new = np.unique(missing)
            values[new], known[new] = work(new), True
        found: Ints = values[numbers]
        return found


class _Together:
    """The victims of a plan, as criteria read them."""

    def __init__(self, victims: Sequence[Unit], beyond_budgets: int, prices: Prices) -> None:
        self.units, self.beyond_budgets, self._prices = victims, beyond_budgets, prices

    @cached_property
    def numbers(self) -> Ints:
        return numbers_of(self.units)

    @cached_property
    def _lost(self) -> dict[int, int]:
        return self._prices.needs.lost(self.units)

    @cached_property
    def _broken(self) -> Sequence[int]:
        return self._prices.needs.broken(self._lost)

    @property
    def idle(self) -> int:
        return self._prices.needs.idle(self._broken, self._lost)

    @property
    def groups_broken(self) -> int:
        return self._prices.needs.ended(self._broken)

    @property
    def other_gangs_broken(self) -> int:
        others = self._prices.others
        return others.broken(self.units) if others is not None else 0


@dataclass(frozen=True, slots=True, eq=False)
class UpstreamOrder:
    """How kube-scheduler orders units by importance, and how it reads the budgets that select them."""

    units: Units
    accounts: Accounts


@dataclass(frozen=True, eq=False)
class Evictable:
    """The units that may be preempted, and the budgets that select their pods."""

    units: Units
    allowed: Mask  # [unit] whether it may be preempted
    accounts: Accounts
    matter: Mask  # [pod] it may matter to the demand beyond the room and the ports that it uses
    prices: Prices
    upstream: UpstreamOrder | None = None  # None where kube-scheduler would do the same
    gangs: GangSlack | None = None  # that should keep the pods they need; None: none of them counts

    @cached_property
    def shares(self) -> UnitShares:
        """With how many pods of each unit budgets are charged."""
        return shares_of(self.units, self.accounts)
