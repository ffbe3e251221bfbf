"""Which node is in better company: near pods that attract the newcomer, far from those that repel it."""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.placement.demand import Ask
from reprieve.placement.scoring.scale import HIGHEST
from reprieve.placement.topology import near


def pod_affinity(ask: Ask, feasible: Mask) -> Ints | None:
    if ask.profile.ignore_preferences_of_existing_pods and not ask.shape.preferred_pods:
        return None
    pulls = [*_own_pulls(ask), *_pulls_of_others(ask)]
    return _stretched(np.sum(pulls, axis=0), feasible) if pulls else None


def _own_pulls(ask: Ask) -> Iterator[Ints]:
    for wish in ask.shape.preferred_pods:
        meant = np.flatnonzero(ask.view.pods_meant(wish.term))
        yield wish.weight * near(ask, wish.term.topology_key, meant)


def _pulls_of_others(ask: Ask) -> Iterator[Ints]:
    """What other pods prefer pulls too, and so does what they require."""
    pods, mentions = ask.view.pods, ask.view.mentions(ask.pod)
    for topology_key, weights in mentions.preferred.items():
        yield near(ask, topology_key, *pods.preferred.weighed(weights))
    for topology_key, weights in mentions.affinity.items():
        pull = ask.profile.hard_pod_affinity_weight * weights
        yield near(ask, topology_key, *pods.affinity.weighed(pull))


def _stretched(raw: Ints, feasible: Mask) -> Ints:
    """The lowest feasible score becomes 0 and the highest 100; if all are equal, none is preferred."""
    scores = np.zeros(len(raw), np.int64)
    values = raw[feasible]
    lowest, highest = values.min(), values.max()
    if highest > lowest:
        scores[feasible] = (HIGHEST * ((values - lowest) / (highest - lowest))).astype(np.int64)
    return scores
