"""Scores of the node itself: PreferNoSchedule taints, preferred node affinity, images."""

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.objects import Taint, Toleration
from reprieve.model.selectors import tolerated
from reprieve.placement.demand import Ask
from reprieve.placement.scoring.scale import HIGHEST, to_highest

_MEBIBYTE = 1 << 20
_SMALL_IMAGES = 23 * _MEBIBYTE  # in total; below that the score is 0
_LARGE_IMAGE = 1000 * _MEBIBYTE  # per image; above that the score does not grow


def taints(ask: Ask, feasible: Mask) -> Ints | None:
    """The fewer PreferNoSchedule taints that the pod does not tolerate, the better."""
    column = ask.view.nodes.taints
    tolerations = ask.shape.tolerations
    counts = [_untolerated(taints, tolerations) for taints in column.things]
    if not any(counts):
        return None
    return to_highest(np.array(counts, np.int64)[column.codes], feasible, reverse=True)


def _untolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> int:
    soft = [taint for taint in taints if taint.effect == "PreferNoSchedule"]
    return sum([not tolerated(taint, tolerations) for taint in soft])


def affinity(ask: Ask, feasible: Mask) -> Ints | None:
    preferred = ask.profile.added_preferred_nodes + ask.shape.preferred_nodes
    if not preferred:
        return None
    total = np.zeros(len(ask.view.nodes), np.int64)
    for weighted in preferred:
        total += weighted.weight * ask.view.nodes.matching(weighted.term)
    return to_highest(total, feasible)


def images(ask: Ask, _: Mask) -> Ints | None:
    """The total size of the pod's images on each node; images that few nodes have count less.

    Otherwise all pods of one image would go to the first node that pulled it.
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
