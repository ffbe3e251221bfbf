"""Which evictions would break a disruption budget.

A budget allows so many more disruptions. ``Joint`` charges it with all units that would be evicted together,
and refunds those that are reprieved; ``InOrder`` charges it with all candidates in order of importance, as
kube-scheduler does.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from reprieve.model.budgets import Budget
from reprieve.model.columns import Ints, Mask
from reprieve.model.selectors import EVERYTHING
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.preemption.units import Unit, Units

Charged = Mapping[int, int]  # place in ``Accounts.budgets``, and with how many pods that budget is charged
_NOTHING: Charged = {}


@dataclass(frozen=True, slots=True, eq=False)
class Accounts:
    """Which budgets a pod is charged to. Most pods have one or none, however many budgets there are."""

    budgets: Sequence[Budget]
    pods: Ints  # [charge] row of the pod, ascending: a pod has one charge for each budget that selects it
    account: Ints  # [charge] place of the budget in ``budgets``
    allowed: list[int]  # [budget] of how many more pods it allows the disruption
    _by_pod: dict[int, list[int]] = field(default_factory=dict)  # on first use
    _shares: dict[tuple[int, ...], Charged] = field(default_factory=dict)  # of groups, by their pods
    _shares_of_pods: dict[int, Charged] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Whether any pod is charged to any budget."""
        return len(self.pods) > 0

    def of_pods(self) -> Mapping[int, Sequence[int]]:
        """The budgets that pods are charged to. Searches ask pod by pod, for which a dict is the fastest."""
        if not self._by_pod and self:
            self._by_pod.update(self.of_each(self.pods))
        return self._by_pod

    def of_each(self, pods: Sequence[int] | Ints) -> dict[int, list[int]]:
        """The budgets that some pods (rows) are charged to; pods that are charged to none are left out."""
        found: dict[int, list[int]] = {}
        if not self:
            return found
        which = np.isin(self.pods, pods) if pods is not self.pods else slice(None)
        for pod, i in zip(self.pods[which].tolist(), self.account[which].tolist(), strict=True):
            found.setdefault(pod, []).append(i)
        return found

    def share(self, unit: Unit) -> Charged:
        """How many pods of a unit each budget is charged with. Searches ask for it again and again."""
        if len(unit.pods) == 1:
            return self._by_single_pod().get(unit.pods[0], _NOTHING)
        share = self._shares.get(unit.pods)
        if share is None:
            guarded = self.of_pods()
            share = Counter(i for pod in unit.pods for i in guarded.get(pod, ()))
            self._shares[unit.pods] = share
        return share

    def _by_single_pod(self) -> dict[int, Charged]:
        if not self._shares_of_pods and self:
            shares = ((pod, dict.fromkeys(budgets, 1)) for pod, budgets in self.of_pods().items())
            self._shares_of_pods.update(shares)
        return self._shares_of_pods

    @property
    def overlap(self) -> bool:
        """Whether a pod is charged to several budgets."""
        return bool((self.pods[1:] == self.pods[:-1]).any())

    def charged(self, units: Iterable[Unit]) -> dict[int, int]:
        """With how many pods of these units each budget is charged; those that are charged with none are left
        out."""
        charged: dict[int, int] = {}
        guarded = self.of_pods()
        for unit in units if self else ():
            if len(unit.pods) > 1 or unit.pods[0] in guarded:
                for i, pods in self.share(unit).items():
                    charged[i] = charged.get(i, 0) + pods
        return charged

    def exceeded_by(self, victims: Iterable[Unit]) -> int:
        """By how many pods the budgets are exceeded if these units are evicted."""
        return sum(max(0, pods - self.allowed[i]) for i, pods in self.charged(victims).items())

    @property
    def width(self) -> int:
        return len(self.budgets)

    def counted(self, pods: Sequence[int] | Ints) -> dict[int, int]:
        """With how many of these pods (rows) each budget is charged."""
        if not self:
            return {}
        budgets, counts = np.unique(self.account[np.isin(self.pods, pods)], return_counts=True)
        return dict(zip(budgets.tolist(), counts.tolist(), strict=True))

    def name(self, i: int) -> str:
        return f"{self.budgets[i].namespace}/{self.budgets[i].name}"

    def allowances(self) -> Ints:
        """[account] see ``Charging``."""
        return np.array(self.allowed, np.int64)

    def sizes(self) -> Ints:
        """[account] see ``Charging``."""
        return np.zeros(len(self.allowed), np.int64)


def accounts(view: Snapshot) -> Accounts:
    """A pod that the status of a budget counts as disrupted is not charged to it again."""
    pods, account = view.pods.guarded(view.budgets)
    disrupted = [(row, i) for i, budget in enumerate(view.budgets) for row in _disrupted(view, budget)]
    if disrupted:
        width = len(view.budgets)
        paid = [row * width + i for row, i in disrupted]  # pairs of pod and budget, as one number each
        due = ~np.isin(pods * width + account, paid)  # [charge]
        pods, account = pods[due], account[due]
    return Accounts(view.budgets, pods, account, [max(0, budget.allowed) for budget in view.budgets])


def _disrupted(view: Snapshot, budget: Budget) -> Iterator[int]:
    keys = ((budget.namespace, name) for name in budget.disrupted)
    return (view.pods.rows[key] for key in keys if key in view.pods.rows)


def accounts_as_upstream(view: Snapshot) -> Accounts:
    """The budgets that pods are charged to as kube-scheduler reads them."""
    return as_upstream(accounts(view), view)


def as_upstream(found: Accounts, view: Snapshot) -> Accounts:
    """What kube-scheduler reads: an empty selector selects no pod, and no selector one without labels.

    ``found`` itself is returned where that makes no difference.
    """
    if not found:
        return found
    labelled = view.pods.labels.where(lambda labels: bool(labels[1]))
    named = np.array([budget.selector != EVERYTHING for budget in found.budgets], np.bool_)
    kept = labelled[found.pods] & named[found.account]
    if kept.all():
        return found
    return Accounts(found.budgets, found.pods[kept], found.account[kept], found.allowed)


def paid_for(view: Snapshot, going: Sequence[int]) -> Snapshot:
    """The snapshot with budgets charged with pods (rows) that are being evicted already, with each only
    once."""
    if not going or not view.budgets:
        return view
    pods, account = view.pods.guarded(view.budgets)
    which = np.isin(pods, going)
    names: dict[int, set[str]] = {}
    for row, i in zip(pods[which].tolist(), account[which].tolist(), strict=True):
        names.setdefault(i, set()).add(view.pods.compiled[row].pod.metadata.name)
    budgets = [*view.budgets]
    for i, more in names.items():
        budget, new = budgets[i], more - budgets[i].disrupted
        budgets[i] = replace(budget, allowed=budget.allowed - len(new), disrupted=budget.disrupted | new)
    return replace(view, budgets=tuple(budgets))


class Charging(Protocol):
    """What evictions are charged to: budgets, or gangs that can lose so many pods."""

    @property
    def width(self) -> int:
        """How many there are."""

    @property
    def pods(self) -> Ints:
        """[charge] row of the pod, ascending."""

    @property
    def account(self) -> Ints:
        """[charge] which of them it is to."""

    def allowances(self) -> Ints:
        """[account] how many more pods can go."""

    def sizes(self) -> Ints:
        """[account] how many pods run of a gang; zero for a budget."""


@dataclass(frozen=True, slots=True, eq=False)
class UnitShares:
    """How many pods of each unit budgets, or gangs, are charged with.

    Units are evicted whole, so what counts against a budget is not a pod but the share that a unit has in it.
    """

    accounts: Charging
    unit: Ints  # [share] number of the unit, ascending: one share for each account that it is charged to
    account: Ints  # [share] which of the accounts
    pods: Ints  # [share] how many pods of the unit the account is charged with
    units: int  # how many units there are, with shares and without

    def __bool__(self) -> bool:
        return len(self.unit) > 0

    def unaffordable(self) -> Mask:
        """[unit] whether its eviction alone would break a budget."""
        mask = np.zeros(self.units, np.bool_)
        if self:
            mask[self.unit[self.pods > self.accounts.allowances()[self.account]]] = True
        return mask

    def exceeding(self, going: Mask) -> "UnitShares":
        """The shares of these units ([unit]) in the accounts that all of them together exceed."""
        if not self:
            return self
        kept, allowed = going[self.unit], self.accounts.allowances()
        charged = np.bincount(self.account[kept], self.pods[kept], len(allowed))
        kept &= (charged > allowed)[self.account]
        return replace(self, unit=self.unit[kept], account=self.account[kept], pods=self.pods[kept])


def shares_of(units: Units, accounts: Charging) -> UnitShares:
    """The shares of units: the charges of its pods to one account, added up."""
    unit, width = units.of_pod[accounts.pods], max(accounts.width, 1)  # [charge]
    running = unit != NOWHERE
    unit, account = unit[running], accounts.account[running]
    if not units.group_names:  # every unit is a pod: charges are shares, and in order
        return UnitShares(accounts, unit, account, np.ones(len(unit), np.int64), len(units.priority))
    # Unit and account as one number: charges with the same number are one share, and sort by unit.
    share, pods = np.unique(unit * width + account, return_counts=True)
    return UnitShares(accounts, share // width, share % width, pods, len(units.priority))


class Counting(Protocol):
    """Counts what the eviction of some units costs budgets, while units are reprieved one by one.

    Units are named by their numbers.
    """

    def breaks(self, unit: int) -> bool: ...

    def first_chance(self, units: Sequence[int]) -> Sequence[int]:
        """The order in which units that break budgets are reprieved."""

    def refund(self, unit: int) -> None:
        """The unit is reprieved."""

    def broken(self, victims: Iterable[Unit]) -> int:
        """By how many pods the budgets are exceeded if these units are evicted."""


class Joint:
    """A unit breaks a budget if all units that are not reprieved yet together exceed it.

    Units are looked at by the thousand, again and again, so this is written for speed.
    """

    def __init__(self, accounts: Accounts, going: UnitShares) -> None:
        """``going``: the shares of all units that are evicted at first, in budgets that these exceed."""
        self._accounts = accounts
        self._over: list[int] = []  # [budget] by how many pods it is exceeded now
        self._shares: dict[int, list[tuple[int, int]]] = {}
        self._alone: dict[int, int] = {}  # by how many pods a unit exceeds budgets if it alone goes
        if not going:
            return
        allowed = accounts.allowances()
        self._over = (
            np.bincount(going.account, going.pods, len(allowed)).astype(np.int64) - allowed
        ).tolist()
        alone = np.maximum(going.pods - allowed[going.account], 0)
        columns = going.unit.tolist(), going.account.tolist(), going.pods.tolist(), alone.tolist()
        for unit, i, pods, excess in zip(*columns, strict=True):
            self._shares.setdefault(unit, []).append((i, pods))
            if excess:
                self._alone[unit] = self._alone.get(unit, 0) + excess

    def breaks(self, unit: int) -> bool:
        over = self._over
        for i, _ in self._shares.get(unit, ()):  # noqa: SIM110  half the time of any(...)
            if over[i] > 0:
                return True
        return False

    def first_chance(self, units: Sequence[int]) -> Sequence[int]:
        """First the unit that alone exceeds budgets the most, then the more important one."""
        alone = self._alone
        return sorted(units, key=lambda unit: -alone.get(unit, 0)) if alone else units

    def refund(self, unit: int) -> None:
        for i, pods in self._shares.get(unit, ()):
            self._over[i] -= pods

    def broken(self, victims: Iterable[Unit]) -> int:
        return self._accounts.exceeded_by(victims)


class InOrder:
    """Budgets are charged with all candidates in order of importance, and nothing is refunded.

    As in kube-scheduler, a pod is charged to its budgets up to the first that is exhausted.
    """

    def __init__(self, accounts: Accounts, going: Iterable[int], units: Units) -> None:
        self._left = [budget.allowed for budget in accounts.budgets]  # [budget] may be below zero
        guarded = accounts.of_pods()
        rows = np.fromiter(guarded, np.int64, len(guarded))
        pods: dict[int, list[int]] = {}  # by unit: those that are charged to a budget
        for pod, unit in zip(rows.tolist(), units.of_pod[rows].tolist(), strict=True):
            pods.setdefault(unit, []).append(pod)
        if accounts.overlap:
            # The order of a unit's pods matters, and must not be that of rows.
            compiled = units.view.pods.compiled
            for rows_of in pods.values():
                rows_of.sort(key=lambda pod: compiled[pod].pod.metadata.name)
        self._broken = {  # by unit: how many of its pods break a budget
            unit: sum(self._spend(guarded[pod]) for pod in pods[unit]) for unit in going if unit in pods
        }

    def _spend(self, budgets: Iterable[int]) -> bool:
        """Whether a pod that is charged to these breaks one of them."""
        for i in budgets:
            self._left[i] -= 1
            if self._left[i] < 0:
                return True
        return False

    def breaks(self, unit: int) -> bool:
        return self._broken.get(unit, 0) > 0

    def first_chance(self, units: Sequence[int]) -> Sequence[int]:
        return units

    def refund(self, unit: int) -> None:
        pass

    def broken(self, victims: Iterable[Unit]) -> int:
        return sum(self._broken.get(unit.number, 0) for unit in victims)
