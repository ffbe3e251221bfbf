"""Preferred pod affinity and anti-affinity, of the incoming pod and of the pods that run."""

from collections.abc import Iterator
from itertools import chain

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.placement.demand import Ask
from reprieve.placement.scoring.scale import HIGHEST
from reprieve.placement.topology import near


def pod_affinity(ask: Ask, feasible: Mask) -> Ints | None:
    if ask.profile.ignore_preferences_of_existing_pods and not ask.shape.preferred_pods:
        return None
    total: Ints | None = None
    for pull in chain(_own_pulls(ask), _pulls_of_others(ask)):
        total = pull if total is None else total + pull
    return _stretched(total, feasible) if total is not None else None


def _own_pulls(ask: Ask) -> Iterator[Ints]:
    for preferred in ask.shape.preferred_pods:
        pods = np.flatnonzero(ask.view.pods_matching(preferred.term))
        yield preferred.weight * near(ask, preferred.term.topology_key, pods)


def _pulls_of_others(ask: Ask) -> Iterator[Ints]:
    """Preferred terms of other pods count, and their required affinity, too, by hardPodAffinityWeight."""
    pods, terms = ask.view.pods, ask.view.terms_matching(ask.pod)
    for topology_key, carriers, weights in pods.carriers(terms.preferred, pods.preferred):
        yield near(ask, topology_key, carriers, weights)
    hard = ask.profile.hard_pod_affinity_weight
    for topology_key, carriers, weights in pods.carriers(terms.affinity, pods.affinity):
        yield near(ask, topology_key, carriers, hard * weights)


def _stretched(raw: Ints, feasible: Mask) -> Ints:
    """Scales the lowest feasible score to 0 and the highest to 100; if all are equal, to 0."""
    scores = np.zeros(len(raw), np.int64)
    values = raw[feasible]
    lowest, highest = values.min(), values.max()
    if highest > lowest:
        scores[feasible] = (HIGHEST * ((values - lowest) / (highest - lowest))).astype(np.int64)
    return scores
