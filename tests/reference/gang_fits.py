"""Does a gang fit, in any order and on any nodes? Tries all of them, without any shortcut: small worlds only.

Knows the constraints, and nothing of how a search goes about it.
"""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Mask
from reprieve.model.snapshot import Snapshot
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey, with_taken


def gang_fits(view: Snapshot, pods: tuple[int, ...], needed: int, topology_key: str = "") -> bool:
    """Whether enough of the pods can be put somewhere one after the other, each where it may be then."""
    return any(_fits(view, pods, needed, nodes, set()) for nodes in _domains(view, topology_key))


def _domains(view: Snapshot, topology_key: str) -> Iterator[Mask]:
    if not topology_key:
        yield np.ones(len(view.nodes), np.bool_)
        return
    values = [node.metadata.labels.get(topology_key) for node in view.nodes.objects]
    for value in sorted({value for value in values if value is not None}):
        yield np.array([one == value for one in values], np.bool_)


def _fits(
    view: Snapshot, pods: tuple[int, ...], needed: int, nodes: Mask, failed: set[frozenset[tuple[int, int]]]
) -> bool:
    """``failed``: where it is known not to work out. Which volume a claim gets depends on the order, too."""
    if not needed:
        return True
    been = frozenset((int(pod), int(view.where[pod])) for pod in np.flatnonzero(view.where >= 0))
    if been in failed and not view.storage.claims:
        return False
    for pod in pods:
        ask = Ask(view, pod)
        others = tuple(other for other in pods if other != pod)
        for node in np.flatnonzero(survey(ask, CONSTRAINTS, nodes).feasible).tolist():
            if _fits(with_taken(ask, node), others, needed - 1, nodes, failed):
                return True
    failed.add(been)
    return False
