"""How often did each change happen? Whatever notes the counts can tell later what happened since.

So a change is counted once, and not noted on each of many demands that may ask.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from reprieve.scheduler.queueing_hints import Change

Moment = Mapping[Change, int]  # the counts at one time


class ChangeCounts:
    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: Counter[Change] = Counter()

    def count(self, change: Change) -> None:
        self._counts[change] += 1

    def moment(self) -> Moment:
        return self._counts.copy()

    def since(self, moment: Moment, changes: Iterable[Change]) -> Iterable[tuple[Change, int]]:
        """How often each of these changes happened since that moment."""
        return ((change, self._counts[change] - moment.get(change, 0)) for change in changes)
