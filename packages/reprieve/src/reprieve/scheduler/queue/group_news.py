"""What of groups was news in this step: dealt with once, when all events of the step are seen.

Many members of a group come, are bound and go together, and what follows for the group is the same for all.
"""

from collections.abc import Iterable

from reprieve.model.groups import GroupKey
from reprieve.scheduler.demand_key import DemandKey


class GroupNews:
    def __init__(self) -> None:
        self._demands: dict[DemandKey, bool] = {}  # to be enqueued anew, and whether each changed
        self._changed: set[GroupKey] = set()  # whose members changed, or what is said of the group
        self._rerun: set[GroupKey] = set()  # of which pods were bound or are being deleted since
        self._resized: set[GroupKey] = set()  # of which pods asked to grow, or ask no more
        self._held: frozenset[str] = frozenset()  # units whose waiting pods were told to wait
        self._evicted: frozenset[GroupKey] = frozenset()  # of which pods were evicted with a unit

    # --- demands ---

    def enqueue(self, demand: DemandKey, *, changed: bool) -> None:
        self._demands[demand] = changed or self._demands.get(demand, False)

    def demands(self) -> list[DemandKey]:
        return list(self._demands)

    def take_demand(self, demand: DemandKey) -> bool:
        """Whether the demand changed; it is enqueued now."""
        return self._demands.pop(demand)

    # --- what is reported of all pods of a group ---

    def change(self, groups: Iterable[GroupKey]) -> None:
        """All that follows from their pods is looked at again."""
        self._changed.update(groups)

    def rerun(self, group: GroupKey | None) -> None:
        """A run of the group may have begun or ended."""
        if group is not None:
            self._rerun.add(group)

    def resize(self, group: GroupKey) -> None:
        """How many members have what they ask for may be another number."""
        self._resized.add(group)

    def take(self) -> tuple[list[GroupKey], list[GroupKey], list[GroupKey]]:
        """Groups that changed, whose run may be another, and whose members may have grown; the last two with
        the first."""
        changed, rerun, resized = self._changed, self._rerun, self._resized
        if not (changed or rerun or resized):
            return [], [], []
        self._changed, self._rerun, self._resized = set(), set(), set()
        return sorted(changed), sorted(changed | rerun), sorted(changed | resized)

    # --- units that are being evicted ---

    @property
    def is_any_held(self) -> bool:
        return bool(self._held or self._evicted)

    def hold(
        self, units: frozenset[str], groups: frozenset[GroupKey]
    ) -> tuple[frozenset[str], frozenset[GroupKey]]:
        """These units are held now, and these groups evicted: the units of which that is new or over, and
        the groups that are evicted no more."""
        changed, ended = self._held ^ units, self._evicted - groups
        self._held, self._evicted = units, groups
        return changed, ended
