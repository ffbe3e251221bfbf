"""Which gangs would have fewer pods left than they need."""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from reprieve.model.groups import GroupKey
from reprieve.model.snapshot import NOWHERE, Snapshot


def starved(view: Snapshot, going: Iterable[int]) -> Iterator[GroupKey]:
    """Gangs that have as many pods as they need, and no longer have when these pods (rows) are gone."""
    rows = list(going)
    leaving = Counter(view.pods.groups[row] for row in rows)
    return (gang for gang, spare in spare_pods(view, rows).items() if leaving[gang] > spare)


def spare_pods(view: Snapshot, rows: Iterable[int]) -> dict[GroupKey, int]:
    """The gangs of these pods that have as many pods as they need, and how many more each has."""
    groups, found = view.pods.groups, dict[GroupKey, int]()
    for code in np.unique(groups.codes[list(rows)]).tolist():
        key = groups.things[code]
        group = view.groups.pod_groups.get(key) if key is not None else None
        if key is None or group is None or group.spec.gang is None:
            continue
        running = int(((groups.codes == code) & (view.where != NOWHERE)).sum())
        if running >= group.spec.gang.min_count:
            found[key] = running - group.spec.gang.min_count
    return found
