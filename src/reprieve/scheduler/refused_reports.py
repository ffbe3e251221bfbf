"""Groups with a condition that could not be written, and when each group is looked at again.

What a group reports about all of its pods is written when one of them changes. If the API server refuses the
write, the next change may be days away: so the group is looked at again by itself, ever more slowly.
"""

from reprieve.model.groups import GroupKey

_FIRST, _LONGEST = 1.0, 3600.0  # seconds
_ENOUGH_DOUBLINGS = 16


class RefusedReports:
    def __init__(self) -> None:
        self._times: dict[GroupKey, int] = {}  # how often in a row
        self._due: dict[GroupKey, float] = {}

    def refused(self, group: GroupKey, now: float) -> None:
        """A write was refused, or its answer lost."""
        times = self._times.get(group, 0)
        self._times[group] = times + 1
        self._due[group] = now + min(_FIRST * 2.0 ** min(times, _ENOUGH_DOUBLINGS), _LONGEST)

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

    def shift(self, seconds: float) -> None:
        """The clock was put back."""
        self._due = {group: at + seconds for group, at in self._due.items()}
