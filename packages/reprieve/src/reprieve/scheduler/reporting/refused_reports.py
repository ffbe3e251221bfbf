"""Groups with a condition that could not be written, and when each group is looked at again.

What a group reports about all of its pods is written when one of them changes. If the API server refuses the
write, the next change may be days away: so the group is looked at again by itself, ever more slowly.
"""

from reprieve.model.groups import GroupKey
from reprieve.supervision.backoff import Backoff

_PAUSES = Backoff(first=1.0, longest=3600.0)


class RefusedReports:
    def __init__(self) -> None:
        self._times: dict[GroupKey, int] = {}  # how often in a row
        self._due: dict[GroupKey, float] = {}

    def refused(self, group: GroupKey, now: float) -> None:
        """A write was refused, or its answer lost."""
        times = self._times[group] = self._times.get(group, 0) + 1
        self._due[group] = now + _PAUSES.after(times)

    def end(self, group: GroupKey) -> None:
        """It was written, or the group is gone."""
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
