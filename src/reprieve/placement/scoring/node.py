"""Which node is liked better for what it is: its taints, its labels, the images it has."""

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.objects import Taint
from reprieve.model.selectors import tolerated
from reprieve.placement.demand import Ask
from reprieve.placement.scoring.scale import HIGHEST, to_highest

_MEBIBYTE = 1 << 20
_SMALL_IMAGES = 23 * _MEBIBYTE  # not worth following
_LARGE_IMAGE = 1000 * _MEBIBYTE  # nothing more to gain beyond, per image


def taints(ask: Ask, feasible: Mask) -> Ints | None:
    """The fewer taints that would rather not have the pod, the better."""
    column = ask.view.nodes.taints
    counts = np.fromiter((_reluctant(t, ask) for t in column.things), np.int64, len(column.things))
    if not counts.any():
        return None
    return to_highest(counts[column.codes], feasible, reverse=True)


def _reluctant(taints: tuple[Taint, ...], ask: Ask) -> int:
    soft = (t for t in taints if t.effect == "PreferNoSchedule")
    return sum(not tolerated(t, ask.shape.tolerations) for t in soft)


def affinity(ask: Ask, feasible: Mask) -> Ints | None:
    wishes = ask.profile.added_preferred_nodes + ask.shape.preferred_nodes
    if not wishes:
        return None
    total = np.zeros(len(ask.view.nodes), np.int64)
    for wish in wishes:
        total += wish.weight * ask.view.nodes.matching(wish.term)
    return to_highest(total, feasible)


def images(ask: Ask, _: Mask) -> Ints | None:
    """Nodes that hold the images already, by size; images that few nodes have count less.

    Otherwise all pods of one image would crowd on the first node that pulled it.
    """
    nodes = ask.view.nodes
    held = [sizes for name in ask.shape.images if (sizes := nodes.image_sizes(name)) is not None]
    if not held:
        return None
    total = np.zeros(len(nodes), np.int64)
    for sizes in held:
        share = int(np.count_nonzero(sizes)) / len(nodes)
        total += (sizes * share).astype(np.int64)
    most = _LARGE_IMAGE * len(ask.shape.images)
    bounded = np.clip(total, _SMALL_IMAGES, most)
    return HIGHEST * (bounded - _SMALL_IMAGES) // (most - _SMALL_IMAGES)
