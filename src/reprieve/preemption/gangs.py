"""Which gangs would have fewer pods left than they need."""

from collections.abc import Iterable, Iterator

import numpy as np

from reprieve.model.groups import GroupKey
from reprieve.model.snapshot import NOWHERE, Snapshot


def starved(view: Snapshot, going: Iterable[int]) -> Iterator[GroupKey]:
    """Gangs that have as many pods as they need, and no longer have when these pods (rows) are gone."""
    groups, rows = view.pods.groups, list(going)
    for code in np.unique(groups.codes[rows]).tolist():
        key = groups.things[code]
        group = view.groups.pod_groups.get(key) if key is not None else None
        if key is None or group is None or group.spec.gang is None:
            continue
        members = groups.codes == code
        running = int((members & (view.where != NOWHERE)).sum())
        if running >= group.spec.gang.min_count > running - int(members[rows].sum()):
            yield key
