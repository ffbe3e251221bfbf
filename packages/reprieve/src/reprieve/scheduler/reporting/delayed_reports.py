"""What is reported on groups after a while: that a gang waits too long, and what could not be written."""

from reprieve.model.groups import GroupKey
from reprieve.scheduler.demand_key import DemandKey
from reprieve.supervision.backoff import Backoff

_PATIENCE = 5.0  # seconds from the first pod on


class LateGangReports:
    """Gangs whose pods are still being created, and which of them have waited for the others too long.

    Pods of a gang are created one after the other, and mostly all of them are: to report on each that some
    are missing would cost two requests a pod, and be wrong a moment later.
    """

    def __init__(self) -> None:
        self._due: dict[DemandKey, float] = {}  # the earliest first: all wait equally long
        self._late: set[DemandKey] = set()

    def begin(self, gang: DemandKey, now: float) -> None:
        if gang not in self._late:
            self._due.setdefault(gang, now + _PATIENCE)

    def end(self, gang: DemandKey) -> None:
        """Its pods exist, or it waits for something else."""
        self._due.pop(gang, None)
        self._late.discard(gang)

    def is_late(self, gang: DemandKey) -> bool:
        return gang in self._late

    def overdue(self, now: float) -> list[DemandKey]:
        """Gangs whose time has come, each once."""
        found = [gang for gang, due in self._due.items() if due <= now]
        for gang in found:
            del self._due[gang]
        self._late.update(found)
        return found

    def next_time(self) -> float | None:
        return next(iter(self._due.values()), None)


_PAUSES = Backoff(first=1.0, longest=3600.0)


class RefusedReports:
    """Groups with a condition that could not be written, and when each group is looked at again.

    What a group reports about all of its pods is written when one of them changes. If the API server refuses
    the write, the next change may be days away: so the group is looked at again by itself, ever more slowly.
    """

    def __init__(self) -> None:
        self._times: dict[GroupKey, int] = {}  # how often in a row
        self._due: dict[GroupKey, float] = {}

    def begin(self, group: GroupKey, now: float) -> None:
        """A write was refused, or its answer lost."""
        times = self._times[group] = self._times.get(group, 0) + 1
        self._due[group] = now + _PAUSES.after(times)

    def end(self, group: GroupKey) -> None:
        """The condition was written, or the group is gone."""
        self._times.pop(group, None)
        self._due.pop(group, None)

    def due(self, now: float) -> list[GroupKey]:
        """Groups whose time has come, each once."""
        if not self._due:
            return []
        found = sorted(group for group, at in self._due.items() if at <= now)
        for group in found:
            del self._due[group]
        return found

    def next_time(self) -> float | None:
        return min(self._due.values(), default=None)
