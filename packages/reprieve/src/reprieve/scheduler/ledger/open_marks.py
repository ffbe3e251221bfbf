"""Marks of groups which say that the eviction of the whole group may have begun, and has not ended.

While such a mark is open, pods of the group without a node are not bound. So a new leader that finds it open
knows that every pod of the group with a node is part of the run that is evicted, marked or not. The mark is
closed by one more write when no pod of the unit is waited for any longer, and only then the group starts
again.

A write that is refused is tried again, ever more slowly. ``PATIENCE_SECONDS`` after the first attempt the
mark is given up, so that no pod waits for ever.

Which pods are left is in ``unit_evictions``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from reprieve.model.effects import Target
from reprieve.model.groups import GroupKey
from reprieve.scheduler.ledger.index import Index
from reprieve.supervision.backoff import Backoff

PATIENCE_SECONDS = 60.0
_PAUSES = Backoff(first=1.0, longest=PATIENCE_SECONDS)  # until a refused write is tried again


@dataclass(frozen=True, slots=True)
class OpenMark:
    group: Target
    unit: str  # the name of the group that is evicted whole, with its kind
    text: str  # of the mark when it is closed
    since: float | None = None  # of the first attempt to close it
    again: float | None = None  # when the next attempt is made; None: one is in flight, or none was made
    refusals: int = 0

    @property
    def is_in_flight(self) -> bool:
        return self.since is not None and self.again is None


class OpenMarks:
    def __init__(self) -> None:
        self._marks: dict[Target, OpenMark] = {}
        self._groups: Index[GroupKey, Target] = Index()

    def __len__(self) -> int:
        return len(self._marks)

    def __iter__(self) -> Iterator[OpenMark]:
        yield from self._marks.values()

    def of(self, group: Target) -> OpenMark | None:
        return self._marks.get(group)

    def groups(self) -> frozenset[GroupKey]:
        return frozenset(self._groups)

    def unit_of(self, group: GroupKey) -> str | None:
        """The unit that the mark of this group is about; None if it has none that is open."""
        marked = self._groups.any_under(group)
        return self._marks[marked].unit if marked is not None else None

    def units(self) -> frozenset[str]:
        return frozenset(one.unit for one in self._marks.values())

    def open(self, one: OpenMark) -> None:
        """The eviction of its unit begins, be it once more: earlier attempts to close it do not count."""
        self._marks[one.group] = one
        self._groups.add(_key(one.group), one.group)

    def to_close(self, now: float) -> list[OpenMark]:
        """Marks that are not being closed, or whose next attempt is due."""
        waiting = (one for one in self._marks.values() if not one.is_in_flight)
        return [one for one in waiting if one.again is None or one.again <= now]

    def on_close_sent(self, group: Target, now: float) -> None:
        """The write that closes the mark is sent."""
        known = self._marks[group]
        self._marks[group] = replace(known, since=now if known.since is None else known.since, again=None)

    def on_refused(self, group: Target, now: float) -> None:
        known = self._marks[group]
        since, refusals = now if known.since is None else known.since, known.refusals + 1
        again = now + _PAUSES.after(refusals)
        self._marks[group] = replace(known, since=since, again=again, refusals=refusals)

    def hold_back(self, group: Target) -> None:
        """The mark may not be closed now: pods are waited for again, or another plan is about to evict."""
        if self._marks[group].since is not None:
            self._marks[group] = replace(self._marks[group], since=None, again=None, refusals=0)

    def end(self, group: Target) -> None:
        """The mark is closed, or the group is gone."""
        if self._marks.pop(group, None) is not None:
            self._groups.remove(_key(group), group)

    def give_up(self, now: float) -> None:
        """Forgets marks that could not be closed in time."""
        for one in list(self._marks.values()):
            if one.since is not None and now >= one.since + PATIENCE_SECONDS:
                self.end(one.group)

    def next_time(self) -> float | None:
        times = (at for one in self._marks.values() for at in _times(one))
        return min(times, default=None)


def _key(group: Target) -> GroupKey:
    return group.namespace, group.name


def _times(one: OpenMark) -> Iterator[float]:
    if one.since is not None:
        yield one.since + PATIENCE_SECONDS
    if one.again is not None:
        yield one.again
