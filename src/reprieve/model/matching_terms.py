"""The affinity terms of other pods that select a given pod.

Looks at distinct terms only; which pods have a term, and where they run, is not known here.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from reprieve.model.columns import Ints, Relation, sealed
from reprieve.model.shape import PodTerm

T = TypeVar("T", bound=Hashable)
Carriers = tuple[str, Ints, Ints]  # a topology key, the pods that carry such a term, and their weights


@dataclass(frozen=True, slots=True, eq=False)
class SelectingTerms:
    """The terms of one relation that select a certain pod, by code, with their weights and topologies.

    Only those are listed: there may be thousands of terms, each with a topology of its own.
    """

    codes: Ints  # ascending
    weights: Ints  # [as codes]; a required term has weight 1
    topologies: Ints  # [as codes] a position in topology_keys
    topology_keys: tuple[str, ...]

    def carriers(self, carried: Relation[T]) -> Iterator[Carriers]:
        if not len(self.codes):
            return
        places = np.full(len(carried.things), -1, np.int64)
        places[self.codes] = np.arange(len(self.codes))
        found = places[carried.codes]
        pairs = np.flatnonzero(found >= 0)
        found = found[pairs]
        order = np.argsort(self.topologies[found], kind="stable")
        pairs, found = pairs[order], found[order]
        ends = np.searchsorted(self.topologies[found], np.arange(1, len(self.topology_keys) + 1))
        start = 0
        for key, end in zip(self.topology_keys, ends.tolist(), strict=True):
            yield key, carried.rows[pairs[start:end]], self.weights[found[start:end]]
            start = end


@dataclass(frozen=True, slots=True, eq=False)
class MatchingTerms:
    """The terms that select a certain pod."""

    affinity: SelectingTerms
    anti_affinity: SelectingTerms
    preferred: SelectingTerms


def selecting(terms: Iterable[tuple[int, PodTerm]], selects: Callable[[PodTerm], bool]) -> SelectingTerms:
    keys: dict[str, int] = {}
    found = [
        (code, weight, keys.setdefault(term.topology_key, len(keys)))
        for code, (weight, term) in enumerate(terms)
        if weight and selects(term)
    ]
    codes, weights, topologies = np.array(found, np.int64).reshape(-1, 3).T
    return SelectingTerms(sealed(codes), sealed(weights), sealed(topologies), tuple(keys))


def keys_looked_at(terms: Iterable[PodTerm]) -> frozenset[str]:
    """The label keys that decide whether any of the terms selects a pod."""
    return frozenset(requirement.key for term in terms for requirement in term.selector.requirements)
