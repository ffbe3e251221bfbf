"""Which of the affinity terms that pods carry mean a given pod: the terms, asked from the other side.

It looks at distinct terms only, and knows neither who carries them nor where.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Ints, sealed
from reprieve.model.shape import PodTerm


@dataclass(frozen=True, slots=True, eq=False)
class MatchingTerms:
    """The terms that mean a certain pod: by topology key, the weight of every term (by code).

    A term that does not mean the pod weighs nothing; a required one that does weighs one.
    """

    affinity: Mapping[str, Ints]
    anti_affinity: Mapping[str, Ints]
    preferred: Mapping[str, Ints]


def weights_by_topology(
    terms: Iterable[tuple[int, PodTerm]], means: Callable[[PodTerm], bool]
) -> dict[str, Ints]:
    """For each topology key, the weight of every term: zero if it has another key or means somebody else."""
    weights = [(term.topology_key, weight if means(term) else 0) for weight, term in terms]
    keys = dict.fromkeys(key for key, weight in weights if weight)
    return {key: sealed(np.array([w if k == key else 0 for k, w in weights], np.int64)) for key in keys}


def keys_looked_at(terms: Iterable[PodTerm]) -> frozenset[str]:
    """The keys of the labels that decide whether one of the terms means a pod."""
    return frozenset(requirement.key for term in terms for requirement in term.selector.requirements)
