"""Which gangs would have fewer pods left than they need, and how many pods can each of them lose?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.preemption.units import Unit

_UNLIMITED = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class GangSlack:
    """Gangs that have as many pods as they need, by numbers. The last number stands for none."""

    of_pod: Ints  # [pod]
    surplus: Ints  # [gang] how many of its pods can go before too few are left

    def __len__(self) -> int:
        return len(self.surplus) - 1

    def starved(self, victims: Iterable[Unit]) -> int:
        """How many gangs have too few pods left without these units."""
        rows = [pod for unit in victims for pod in unit.pods]
        return int((self._leaving(rows) > self.surplus).sum()) if rows else 0

    def _leaving(self, rows: Sequence[int]) -> Ints:
        return np.bincount(self.of_pod[rows], minlength=len(self.surplus))

    def tally(self, units: Iterable[Unit]) -> "GangTally":
        """If all of these units went."""
        return GangTally(self, self._leaving([pod for unit in units for pod in unit.pods]))

    # --- as accounts that evictions are charged to ---

    @property
    def width(self) -> int:
        return len(self)

    @property
    def pods(self) -> Ints:
        return np.flatnonzero(self.of_pod != len(self))

    @property
    def paying(self) -> Ints:
        return self.of_pod[self.pods]

    def allowances(self) -> Ints:
        return self.surplus[:-1]


class GangTally:
    """How many pods leave each gang, while units are put back."""

    def __init__(self, gangs: GangSlack, leaving: Ints) -> None:
        self._gangs, self._leaving = gangs, leaving

    def needs(self, unit: Unit) -> bool:
        """Whether one of its gangs has too few pods, unless this unit or others come back."""
        of_unit = self._gangs.of_pod[list(unit.pods)]
        return bool((self._leaving[of_unit] > self._gangs.surplus[of_unit]).any())

    def stays(self, unit: Unit) -> None:
        np.subtract.at(self._leaving, self._gangs.of_pod[list(unit.pods)], 1)


@dataclass(frozen=True, slots=True, eq=False)
class CompleteGangs:
    """Gangs that have as many pods as they need, by numbers."""

    of_pod: Ints  # [pod] its gang, or NOWHERE
    running: tuple[int, ...]  # [gang] how many of its pods have a node
    surplus: tuple[int, ...]  # [gang] how many of these it does not need


def complete_gangs(view: Snapshot, pods: Mask) -> CompleteGangs:
    """Of the gangs of these pods, those that are complete; ``of_pod`` names all of their pods."""
    groups = view.pods.groups
    counts = np.bincount(groups.codes[view.where != NOWHERE], minlength=len(groups.things))
    number_of, running, surplus = np.full(len(groups.things), NOWHERE), list[int](), list[int]()
    for code in np.unique(groups.codes[pods]).tolist():
        key, count = groups.things[code], int(counts[code])
        group = view.groups.pod_groups.get(key) if key is not None else None
        if group is not None and group.spec.gang is not None and count >= group.spec.gang.min_count:
            number_of[code] = len(running)
            running.append(count)
            surplus.append(count - group.spec.gang.min_count)
    return CompleteGangs(number_of[groups.codes], tuple(running), tuple(surplus))


def gang_slack(view: Snapshot, pods: Mask) -> GangSlack:
    """Of the gangs of these pods."""
    gangs = complete_gangs(view, pods)
    counted = pods & (gangs.of_pod != NOWHERE)
    none = len(gangs.running)
    return GangSlack(np.where(counted, gangs.of_pod, none), np.array([*gangs.surplus, _UNLIMITED], np.int64))
