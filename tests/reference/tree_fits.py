"""Does a tree of groups fit, in any order and on any nodes? Tries all of them: small worlds only.

Knows the constraints and what groups say, and nothing of how a search goes about it.
"""

from collections.abc import Mapping

import numpy as np

from reprieve.model.groups import Group
from reprieve.model.objects import PodGroup
from reprieve.model.snapshot import Snapshot
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Ask
from reprieve.placement.place import survey, with_taken

Places = Mapping[int, int]  # pods and their nodes


def tree_fits(view: Snapshot, pods: tuple[int, ...]) -> bool:
    """Whether pods can be put somewhere, one after the other, such that every group has enough."""
    root = view.groups.root(view.pods.groups[pods[0]])
    assert root is not None
    return _fits(view, root, pods, {}, set())


def keeps_its_word(view: Snapshot, places: Places) -> bool:
    """Whether the tree of these pods is met, and each group with a pod has enough of them, in one domain."""
    root = view.groups.root(view.pods.groups[next(iter(places))])
    assert root is not None
    return _is_met(view, root, places) and _is_sound(view, root, places)


def _fits(
    view: Snapshot,
    root: Group,
    pods: tuple[int, ...],
    places: Places,
    failed: set[frozenset[tuple[int, int]]],
) -> bool:
    """``failed``: where it is known not to work out. Which volume a claim gets depends on the order, too."""
    if places and _is_met(view, root, places) and _is_sound(view, root, places):
        return True
    been = frozenset(places.items())
    if been in failed and not view.storage.claims:
        return False
    for pod in pods:
        ask = Ask(view, pod)
        others = tuple(other for other in pods if other != pod)
        for node in np.flatnonzero(survey(ask, CONSTRAINTS).feasible).tolist():
            if _fits(with_taken(ask, node), root, others, {**places, pod: node}, failed):
                return True
    failed.add(been)
    return False


def _is_met(view: Snapshot, group: Group, places: Places) -> bool:
    least = group.spec.gang.min_count if group.spec.gang is not None else 1
    if isinstance(group, PodGroup):
        return len(_inside(view, group, places)) >= least
    return sum(_is_met(view, child, places) for child in _children(view, group)) >= least


def _is_sound(view: Snapshot, group: Group, places: Places) -> bool:
    there = _inside(view, group, places)
    if there and not _is_met(view, group, places):
        return False
    labels = {
        view.nodes.objects[node].metadata.labels.get(group.spec.topology_key) for node in there.values()
    }
    if group.spec.topology_key and there and (len(labels) > 1 or None in labels):
        return False
    return isinstance(group, PodGroup) or all(_is_sound(view, c, places) for c in _children(view, group))


def _inside(view: Snapshot, group: Group, places: Places) -> Places:
    if isinstance(group, PodGroup):
        key = (group.metadata.namespace, group.metadata.name)
        return {pod: node for pod, node in places.items() if view.pods.groups[pod] == key}
    return {p: n for child in _children(view, group) for p, n in _inside(view, child, places).items()}


def _children(view: Snapshot, group: Group) -> list[Group]:
    groups: list[Group] = [*view.groups.pod_groups.values(), *view.groups.composites.values()]
    return [one for one in groups if one.spec.parent == group.metadata.name]
