"""Preferred pod affinity and anti-affinity, of the incoming pod and of the pods that run."""

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
    for preferred in ask.shape.preferred_pods:
        pods = np.flatnonzero(ask.view.pods_matching(preferred.term))
        yield preferred.weight * near(ask, preferred.term.topology_key, pods)


def _pulls_of_others(ask: Ask) -> Iterator[Ints]:
    """Preferred terms of other pods count, and their required affinity, too, by hardPodAffinityWeight."""
    pods, terms = ask.view.pods, ask.view.terms_matching(ask.pod)
    for topology_key, weights in terms.preferred.items():
        yield near(ask, topology_key, *pods.preferred.weighed(weights))
    for topology_key, weights in terms.affinity.items():
        pull = ask.profile.hard_pod_affinity_weight * weights
        yield near(ask, topology_key, *pods.affinity.weighed(pull))


def _stretched(raw: Ints, feasible: Mask) -> Ints:
    """Scales the lowest feasible score to 0 and the highest to 100; if all are equal, to 0."""
    scores = np.zeros(len(raw), np.int64)
    values = raw[feasible]
    lowest, highest = values.min(), values.max()
    if highest > lowest:
        scores[feasible] = (HIGHEST * ((values - lowest) / (highest - lowest))).astype(np.int64)
    return scores
