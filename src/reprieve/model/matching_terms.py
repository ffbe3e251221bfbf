"""The affinity terms of other pods that select a given pod.

Looks at distinct terms only; which pods have a term, and where they run, is not known here.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Ints, sealed
from reprieve.model.shape import PodTerm


@dataclass(frozen=True, slots=True, eq=False)
class MatchingTerms:
    """The terms that select a certain pod: by topology key, the weight of every term (by code).

    A term that does not select the pod has weight 0; a required term that does has weight 1.
    """

    affinity: Mapping[str, Ints]
    anti_affinity: Mapping[str, Ints]
    preferred: Mapping[str, Ints]


def weights_by_topology(
    terms: Iterable[tuple[int, PodTerm]], selects: Callable[[PodTerm], bool]
) -> dict[str, Ints]:
    """For each topology key, the weight of every term: 0 if it has another key or does not select the pod."""
    weights = [(term.topology_key, weight if selects(term) else 0) for weight, term in terms]
    keys = dict.fromkeys(key for key, weight in weights if weight)
    return {key: sealed(np.array([w if k == key else 0 for k, w in weights], np.int64)) for key in keys}


def keys_looked_at(terms: Iterable[PodTerm]) -> frozenset[str]:
    """The label keys that decide whether any of the terms selects a pod."""
    return frozenset(requirement.key for term in terms for requirement in term.selector.requirements)
