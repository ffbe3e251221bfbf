"""Gangs whose pods are still being created, and which of them have waited for the others too long.

Pods of a gang are created one after the other, and mostly all of them are: to report on each that some are
missing would cost two requests a pod, and be wrong a moment later.
"""

from reprieve.scheduler.demand_key import DemandKey

_PATIENCE = 5.0  # seconds from the first pod on


class LateGangReports:
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
