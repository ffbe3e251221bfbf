"""Which of the affinity terms that pods carry mean a given pod: the terms, asked from the other side.

It looks at distinct terms only, and knows neither who carries them nor where.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.shape import PodTerm, Shape


@dataclass(frozen=True, slots=True, eq=False)
class Mentions:
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
    return {key: np.array([w if k == key else 0 for k, w in weights], np.int64) for key in keys}


def keys_looked_at(shapes: Iterable[Shape]) -> frozenset[str]:
    """The keys of the labels that decide whether a term of one of the shapes means a pod."""
    return frozenset(r.key for shape in shapes for term in _terms(shape) for r in term.selector.requirements)


def _terms(shape: Shape) -> Iterator[PodTerm]:
    yield from shape.affinity
    yield from shape.anti_affinity
    yield from (wish.term for wish in shape.preferred_pods)
