"""How often did each change happen? Whatever notes the counts can tell later what happened since.

So a change is counted once, and not noted on each of many demands that may ask.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from reprieve.model.events import Change
from reprieve.scheduler.demands.queueing_hints import TAKES_ROOM

CountsThen = Mapping[Change, int]  # the counts at one time


@dataclass(frozen=True, slots=True)
class Happened:
    """The same summed up: changes that only take room, clocks that began to count, and all others."""

    taking: int = 0
    clocks: int = 0
    others: int = 0

    def may_help(self, before: "Happened", helps: Collection[Change]) -> bool:
        """Whether a change since may help a demand that waits for these changes.

        More strictly than for waking: it must be certain that a demand would be refused again.
        """
        if self.others != before.others:
            return True
        if self.clocks != before.clocks and Change.CLOCKS in helps:
            return True
        return self.taking != before.taking and not TAKES_ROOM.isdisjoint(helps)


class ChangeCounts:
    __slots__ = ("_counts", "happened")

    def __init__(self) -> None:
        self._counts: Counter[Change] = Counter()
        self.happened = Happened()

    def count(self, change: Change) -> None:
        self._counts[change] += 1
        taking, clocks, others = self.happened.taking, self.happened.clocks, self.happened.others
        if change in TAKES_ROOM:
            self.happened = Happened(taking + 1, clocks, others)
        elif change is Change.CLOCKS:
            self.happened = Happened(taking, clocks + 1, others)
        else:
            self.happened = Happened(taking, clocks, others + 1)

    def moment(self) -> CountsThen:
        return self._counts.copy()

    def since(self, moment: CountsThen, changes: Iterable[Change]) -> Iterable[tuple[Change, int]]:
        """How often each of these changes happened since that moment."""
        return ((change, self._counts[change] - moment.get(change, 0)) for change in changes)
