"""Which evictions would break a disruption budget.

A budget allows so many more disruptions. ``Joint`` charges it with all units that would be evicted together,
and refunds those that are reprieved; ``InOrder`` charges it with all candidates in order of importance, as
kube-scheduler does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from reprieve.model.budgets import Budget
from reprieve.model.columns import Ints, Mask
from reprieve.model.selectors import EVERYTHING
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.preemption.units import Unit, Units

Charged = Mapping[int, int]  # budgets, by place among the accounts, and with how many pods each is charged
_NOTHING: Charged = {}


@dataclass(frozen=True, slots=True, eq=False)
class Accounts:
    """Which budgets a pod is charged to. Most pods have one or none, however many budgets there are."""

    budgets: Sequence[Budget]
    pods: Ints  # rows in order, one for each budget that the pod is charged to
    paying: Ints  # and which budget that is, by place
    allowed: list[int]  # [budget] how many more disruptions each of them allows
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
        """The same for some pods at once; those that are charged to none are left out."""
        found: dict[int, list[int]] = {}
        if not self:
            return found
        which = np.isin(self.pods, pods) if pods is not self.pods else slice(None)
        for pod, i in zip(self.pods[which].tolist(), self.paying[which].tolist(), strict=True):
            found.setdefault(pod, []).append(i)
        return found

    def share(self, unit: Unit) -> Charged:
        """How many pods of a unit each budget is charged with. Searches ask for it again and again."""
        if len(unit.pods) == 1:
            return self._by_single_pod().get(unit.pods[0], _NOTHING)
        share = self._shares.get(unit.pods)
        if share is None:
            share = self._shares[unit.pods] = self._share_of(unit.pods)
        return share

    def _share_of(self, pods: Iterable[int]) -> dict[int, int]:
        counted: dict[int, int] = {}
        guarded = self.of_pods()
        for pod in pods:
            for i in guarded.get(pod, ()):
                counted[i] = counted.get(i, 0) + 1
        return counted

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
        """How many pods each budget is charged with, of those that are charged with any."""
        charged: dict[int, int] = {}
        guarded = self.of_pods()
        for unit in units if self else ():
            if len(unit.pods) > 1 or unit.pods[0] in guarded:
                for i, pods in self.share(unit).items():
                    charged[i] = charged.get(i, 0) + pods
        return charged

    @property
    def width(self) -> int:
        return len(self.budgets)

    def counted(self, pods: Sequence[int] | Ints) -> dict[int, int]:
        """The same for pods (rows)."""
        if not self:
            return {}
        budgets, counts = np.unique(self.paying[np.isin(self.pods, pods)], return_counts=True)
        return dict(zip(budgets.tolist(), counts.tolist(), strict=True))

    def name(self, i: int) -> str:
        return f"{self.budgets[i].namespace}/{self.budgets[i].name}"

    def allowances(self) -> Ints:
        return np.array(self.allowed, np.int64)

    def sizes(self) -> Ints:
        return np.zeros(len(self.allowed), np.int64)


def accounts(view: Snapshot) -> Accounts:
    """A pod that the status of a budget counts as disrupted is not charged to it again."""
    pods, paying = view.pods.guarded(view.budgets)
    disrupted = [(row, i) for i, budget in enumerate(view.budgets) for row in _disrupted(view, budget)]
    if disrupted:
        width = len(view.budgets)
        paid = [row * width + i for row, i in disrupted]
        due = ~np.isin(pods * width + paying, paid)
        pods, paying = pods[due], paying[due]
    return Accounts(view.budgets, pods, paying, [max(0, budget.allowed) for budget in view.budgets])


def _disrupted(view: Snapshot, budget: Budget) -> Iterator[int]:
    keys = ((budget.namespace, name) for name in budget.disrupted)
    return (view.pods.rows[key] for key in keys if key in view.pods.rows)


def accounts_as_upstream(view: Snapshot) -> Accounts:
    """As kube-scheduler reads them: an empty selector selects no pod, and no selector one without labels."""
    return as_upstream(accounts(view), view)


def as_upstream(found: Accounts, view: Snapshot) -> Accounts:
    """The same accounts if kube-scheduler reads them no differently."""
    if not found:
        return found
    labelled = view.pods.labels.where(lambda labels: bool(labels[1]))
    named = np.array([budget.selector != EVERYTHING for budget in found.budgets], np.bool_)
    kept = labelled[found.pods] & named[found.paying]
    if kept.all():
        return found
    return Accounts(found.budgets, found.pods[kept], found.paying[kept], found.allowed)


def paid_for(view: Snapshot, going: Sequence[int]) -> Snapshot:
    """The budgets charged with pods (rows) that are being evicted already, and with each only once."""
    if not going or not view.budgets:
        return view
    pods, paying = view.pods.guarded(view.budgets)
    which = np.isin(pods, going)
    names: dict[int, set[str]] = {}
    for row, i in zip(pods[which].tolist(), paying[which].tolist(), strict=True):
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
        """Rows in order, one for each that the pod is charged to."""

    @property
    def paying(self) -> Ints:
        """And which that is."""

    def allowances(self) -> Ints: ...

    def sizes(self) -> Ints:
        """How many pods run of each gang; zero for budgets."""


@dataclass(frozen=True, slots=True, eq=False)
class UnitShares:
    """With how many pods of which units budgets, or gangs, are charged, unit by unit."""

    accounts: Charging
    unit: Ints  # in order, one for each account that the unit is charged to
    paying: Ints
    pods: Ints
    units: int  # how many there are

    def __bool__(self) -> bool:
        return len(self.unit) > 0

    def unaffordable(self) -> Mask:
        """[unit] whether its eviction alone would break a budget."""
        mask = np.zeros(self.units, np.bool_)
        if self:
            mask[self.unit[self.pods > self.accounts.allowances()[self.paying]]] = True
        return mask


def shares_of(units: Units, accounts: Charging) -> UnitShares:
    unit, width = units.of_pod[accounts.pods], accounts.width
    running = unit != NOWHERE
    unit, paying = unit[running], accounts.paying[running]
    if not units.group_names:  # every unit is a pod, and these are in order
        return UnitShares(accounts, unit, paying, np.ones(len(unit), np.int64), len(units.priority))
    share, pods = np.unique(unit * width + paying, return_counts=True)
    return UnitShares(accounts, share // max(width, 1), share % max(width, 1), pods, len(units.priority))


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

    It is asked about no others. Units are looked at by the ten thousand, again and again, so this is written
    for speed.
    """

    def __init__(self, accounts: Accounts, going: Iterable[Unit]) -> None:
        self._accounts = accounts
        self._shares = {unit.name: accounts.share(unit) for unit in going} if accounts else {}
        self._going: dict[int, int] = {}  # of few units, or none, only few of the budgets
        for share in self._shares.values():
            for i, pods in share.items():
                self._going[i] = self._going.get(i, 0) + pods

    def breaks(self, unit: Unit) -> bool:
        going, allowed = self._going, self._accounts.allowed
        for i in self._shares.get(unit.name, _NOTHING):  # noqa: SIM110  half the time of any(...)
            if going[i] > allowed[i]:
                return True
        return False

    def first_chance(self, units: Sequence[Unit]) -> Sequence[Unit]:
        """First the unit that alone exceeds budgets the most, then the more important one."""
        return sorted(units, key=lambda unit: -self._excess(self._shares[unit.name]))

    def spare(self, unit: Unit) -> None:
        for i, pods in self._shares.get(unit.name, _NOTHING).items():
            self._going[i] -= pods

    def broken(self, victims: Iterable[Unit]) -> int:
        return self._excess(self._accounts.charged(victims))

    def _excess(self, charged: Charged) -> int:
        allowed, excess = self._accounts.allowed, 0
        for i, going in charged.items():
            if going > allowed[i]:
                excess += going - allowed[i]
        return excess


class InOrder:
    """Budgets are charged with all candidates in order of importance, and nothing is refunded.

    As in kube-scheduler, a pod is charged to its budgets up to the first that is exhausted.
    """

    def __init__(self, accounts: Accounts, going: Iterable[Unit], view: Snapshot) -> None:
        self._view = view
        self._accounts = accounts
        self._left = [budget.allowed for budget in accounts.budgets]
        self._guarded = accounts.of_pods()
        self._overlap = accounts.overlap
        paid = (unit for unit in going if accounts.share(unit))
        self._weights = {unit.name: self._weigh(unit) for unit in paid}

    def _weigh(self, unit: Unit) -> int:
        """Overlapping budgets are charged differently in another order, so it must not be that of rows."""
        pods = sorted(unit.pods, key=self._name) if self._overlap and len(unit.pods) > 1 else unit.pods
        return sum(self._spend(self._guarded[pod]) for pod in pods if pod in self._guarded)

    def _name(self, pod: int) -> str:
        return self._view.pods.compiled[pod].pod.metadata.name

    def _spend(self, budgets: Iterable[int]) -> bool:
        """Whether a pod that is charged to these breaks one of them."""
        for i in budgets:
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
