"""Which evictions would break a disruption budget.

A budget allows so many more disruptions. ``Joint`` charges it with all units that would be evicted together,
and refunds those that are reprieved; ``InOrder`` charges it with all candidates in order of importance, as
kube-scheduler does.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from reprieve.model.budgets import Budget
from reprieve.model.columns import Ints, Mask
from reprieve.model.selectors import EVERYTHING
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.preemption.units import Unit, Units


@dataclass(frozen=True, slots=True, eq=False)
class Stock:
    """One budget, and the pods that it selects and has not been charged with yet."""

    budget: Budget
    pods: Mask

    def shares(self, units: Units) -> Ints:
        """[unit] how many of its pods the budget would be charged with."""
        paid = units.of_pod[self.pods & (units.of_pod != NOWHERE)]
        return np.bincount(paid, minlength=len(units.priority))


def stocks(view: Snapshot) -> tuple[Stock, ...]:
    """The budgets that select any pod. A pod that the status counts as disrupted is not charged again."""
    found = []
    for budget in view.budgets:
        pods = view.pods.matching(budget.selector, frozenset({budget.namespace}))
        if budget.disrupted:
            pods = pods & ~_disrupted(view, budget)
        if pods.any():
            found.append(Stock(budget, pods))
    return tuple(found)


def stocks_as_upstream(view: Snapshot) -> tuple[Stock, ...]:
    """As kube-scheduler reads them: an empty selector selects no pod, and no selector one without labels."""
    return as_upstream(stocks(view), view)


def as_upstream(found: tuple[Stock, ...], view: Snapshot) -> tuple[Stock, ...]:
    """The same tuple if kube-scheduler reads them no differently."""
    labelled = view.pods.labels.where(lambda labels: bool(labels[1]))
    named = tuple(stock for stock in found if stock.budget.selector != EVERYTHING)
    if labelled.all():
        return found if len(named) == len(found) else named
    return tuple(Stock(stock.budget, stock.pods & labelled) for stock in named)


def _disrupted(view: Snapshot, budget: Budget) -> Mask:
    mask = np.zeros(len(view.pods), np.bool_)
    keys = ((budget.namespace, name) for name in budget.disrupted)
    mask[[view.pods.rows[key] for key in keys if key in view.pods.rows]] = True
    return mask


def paid_for(view: Snapshot, going: Sequence[int]) -> Snapshot:
    """The budgets charged with pods (rows) that are being evicted already, and with each only once."""
    return replace(view, budgets=tuple(_paying(b, view, going) for b in view.budgets)) if going else view


def _paying(budget: Budget, view: Snapshot, going: Sequence[int]) -> Budget:
    guarded = view.pods.matching(budget.selector, frozenset({budget.namespace}))
    names = {view.pods.compiled[row].pod.metadata.name for row in going if guarded[row]} - budget.disrupted
    return replace(budget, allowed=budget.allowed - len(names), disrupted=budget.disrupted | names)


def unaffordable(stocks: Iterable[Stock], units: Units) -> Mask:
    """[unit] whether its eviction alone would break a budget."""
    mask = np.zeros(len(units.priority), np.bool_)
    for stock in stocks:
        mask |= stock.shares(units) > max(0, stock.budget.allowed)
    return mask


Charged = Mapping[int, int]  # budgets, by place among the stocks, and with how many pods each is charged


@dataclass(frozen=True, slots=True, eq=False)
class Accounts:
    """Which budgets a pod is charged to. Most pods have one or none, however many budgets there are."""

    stocks: tuple[Stock, ...]
    pods: Ints  # rows in order, one for each budget that the pod is charged to
    paying: Ints  # and which budget that is, by place among the stocks
    listed: list[int]  # the same as a list, which is faster to read pod by pod
    starts: list[int]  # [pod] where its part of that list begins; and the end of the last
    allowed: list[int]  # [stock] how many more disruptions each of them allows
    _shares: dict[tuple[int, ...], Charged] = field(default_factory=dict)  # of units with several pods

    def of(self, pod: int) -> list[int]:
        """The budgets that a pod is charged to."""
        return self.listed[self.starts[pod] : self.starts[pod + 1]] if self.stocks else []

    def share(self, unit: Unit) -> Charged:
        """How many pods of a unit each budget is charged with. Searches ask for it again and again."""
        if len(unit.pods) == 1:
            return dict.fromkeys(self.of(unit.pods[0]), 1)
        share = self._shares.get(unit.pods)
        if share is None:
            share = self._shares[unit.pods] = Counter(i for pod in unit.pods for i in self.of(pod))
        return share

    def charged(self, units: Iterable[Unit]) -> dict[int, int]:
        """How many pods each budget is charged with, of those that are charged with any."""
        charged: dict[int, int] = {}
        for unit in units if self.stocks else ():
            for i, pods in self.share(unit).items():
                charged[i] = charged.get(i, 0) + pods
        return charged

    @property
    def width(self) -> int:
        return len(self.stocks)

    def allowances(self) -> Ints:
        return np.array(self.allowed, np.int64)


def accounts(stocks: tuple[Stock, ...]) -> Accounts:
    rows = [np.flatnonzero(stock.pods) for stock in stocks]
    pods = np.concatenate([np.zeros(0, np.int64), *rows])
    paying = np.repeat(np.arange(len(stocks)), [len(found) for found in rows])
    order = np.argsort(pods, kind="stable")
    pods, paying = pods[order], paying[order]
    size = len(stocks[0].pods) if stocks else 0
    starts = np.searchsorted(pods, np.arange(size + 1))
    allowed = [max(0, stock.budget.allowed) for stock in stocks]
    return Accounts(stocks, pods, paying, paying.tolist(), starts.tolist(), allowed)


class Counting(Protocol):
    """Counts what the eviction of some units costs budgets, while units are reprieved one by one."""

    def breaks(self, unit: Unit) -> bool: ...

    def first_chance(self, units: Sequence[Unit]) -> Sequence[Unit]:
        """In which order units that break budgets are reprieved."""

    def spare(self, unit: Unit) -> None: ...

    def broken(self, victims: Iterable[Unit]) -> int:
        """By how many pods the budgets are exceeded if these units are evicted."""


class Joint:
    """A unit breaks a budget if all units that are not reprieved yet together exceed it.

    Units are looked at by the ten thousand, again and again, so this is written for speed.
    """

    def __init__(self, accounts: Accounts, going: Iterable[Unit]) -> None:
        self._accounts = accounts
        self._going = accounts.charged(going)

    def breaks(self, unit: Unit) -> bool:
        if not self._going:
            return False
        going, allowed = self._going, self._accounts.allowed
        share = self._accounts.share(unit)
        return bool(share) and any(going.get(i, 0) > allowed[i] for i in share)

    def first_chance(self, units: Sequence[Unit]) -> Sequence[Unit]:
        """First the unit that alone exceeds budgets the most, then the more important one."""
        return sorted(units, key=lambda unit: -self._excess(self._accounts.share(unit)))

    def spare(self, unit: Unit) -> None:
        for i, pods in self._accounts.share(unit).items():
            self._going[i] = self._going.get(i, 0) - pods

    def broken(self, victims: Iterable[Unit]) -> int:
        return self._excess(self._accounts.charged(victims))

    def _excess(self, charged: Charged) -> int:
        allowed = self._accounts.allowed
        return sum(going - allowed[i] for i, going in charged.items() if going > allowed[i])


class InOrder:
    """Budgets are charged with all candidates in order of importance, and nothing is refunded.

    As in kube-scheduler, a pod is charged to its budgets up to the first that is exhausted.
    """

    def __init__(self, accounts: Accounts, going: Iterable[Unit], view: Snapshot) -> None:
        self._view = view
        self._accounts = accounts
        self._left = [stock.budget.allowed for stock in accounts.stocks]
        paid = (unit for unit in going if accounts.share(unit))
        self._weights = {unit.name: self._weigh(unit) for unit in paid}

    def _weigh(self, unit: Unit) -> int:
        """Overlapping budgets are charged differently in another order, so it must not be that of rows."""
        pods = unit.pods if len(unit.pods) == 1 else sorted(unit.pods, key=self._name)
        return sum(map(self._spend, pods))

    def _name(self, pod: int) -> str:
        return self._view.pods.compiled[pod].pod.metadata.name

    def _spend(self, pod: int) -> bool:
        """Whether the pod breaks a budget."""
        for i in self._accounts.of(pod):
            self._left[i] -= 1
            if self._left[i] < 0:
                return True
        return False

    def breaks(self, unit: Unit) -> bool:
        return self._weights.get(unit.name, 0) > 0

    def first_chance(self, units: Sequence[Unit]) -> Sequence[Unit]:
        return units

    def spare(self, unit: Unit) -> None:
        pass

    def broken(self, victims: Iterable[Unit]) -> int:
        return sum(self._weights.get(unit.name, 0) for unit in victims)
