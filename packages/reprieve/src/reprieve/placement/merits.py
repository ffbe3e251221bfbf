"""Which node is the best for one pod, by what is cached for pods like it.

Most constraints and preferences look at a node alone: at what it is, and at how full. All that they say of a
node is one number, its merit, which is cached from one decision to the next and computed anew only for nodes
that changed. Constraints and preferences that compare nodes, or look at other pods, are asked every time.

A pod that fits nowhere is told why by ``place``, which asks every constraint.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import TypeVar

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.score_cache import Rows
from reprieve.model.selectors import NodeQuery
from reprieve.model.shape import Shape
from reprieve.model.snapshot import CachedScores
from reprieve.placement.constraints import node, resources, volumes
from reprieve.placement.demand import Ask, Constraint, Scorer
from reprieve.placement.profile import HOSTNAME, Preference, Profile
from reprieve.placement.resource_scores import (
    OwnScorer,
    allocation_by_row,
    allocation_on,
    balance_by_row,
    balance_on,
)
from reprieve.placement.scoring import SCORERS

T = TypeVar("T")
Check = Callable[[Ask, Shape, int], bool]
ScorerOfOne = Callable[[Ask, Shape, int], int | None]

_REFUSED = -1  # the merit of a node that will not do; all others are higher
_FEW = 8  # nodes that are looked at one by one: columns of that length cost more

# What each constraint that looks at a node alone says of one node (row).
_CHECKS: Mapping[Constraint, Check] = {
    node.unschedulable: node.is_schedulable,
    node.taints: node.has_tolerated_taints,
    node.affinity: node.is_selected,
    resources.resources: resources.has_room_for,
    node.features: node.has_features,
}
# They say nothing about a pod without volumes.
_OF_VOLUMES = frozenset({volumes.claims, volumes.exclusive, volumes.limits, volumes.binding, volumes.zones})
_OWN_SCORERS: Mapping[Preference, OwnScorer] = {
    Preference.RESOURCES: allocation_by_row,
    Preference.BALANCE: balance_by_row,
}
_SCORERS_OF_ONE: Mapping[Preference, ScorerOfOne] = {
    Preference.RESOURCES: allocation_on,
    Preference.BALANCE: balance_on,
}


@dataclass(frozen=True, slots=True, eq=False)
class _Rules:
    """The constraints and the preferences of a profile: those that look at a node alone, and the others."""

    own: tuple[Constraint, ...]
    checks: tuple[Check, ...]  # the same, of one node
    others: tuple[Constraint, ...]
    others_without_volumes: tuple[Constraint, ...]
    own_scorers: tuple[tuple[OwnScorer, int], ...]
    scorers_of_one: tuple[tuple[ScorerOfOne, int], ...]  # the same, of one node
    other_scorers: tuple[tuple[Scorer, int], ...]


@lru_cache(maxsize=64)
def _rules(constraints: tuple[Constraint, ...], profile: Profile) -> _Rules:
    own = tuple(constraint for constraint in constraints if constraint in _CHECKS)
    others = tuple(constraint for constraint in constraints if constraint not in _CHECKS)
    comparing = {which: scorer for which, scorer in SCORERS.items() if which not in _OWN_SCORERS}
    return _Rules(
        own=own,
        checks=tuple(_CHECKS[constraint] for constraint in own),
        others=others,
        others_without_volumes=tuple(other for other in others if other not in _OF_VOLUMES),
        own_scorers=_weighed(profile, _OWN_SCORERS),
        scorers_of_one=_weighed(profile, _SCORERS_OF_ONE),
        other_scorers=_weighed(profile, comparing),
    )


def _weighed(profile: Profile, scorers: Mapping[Preference, T]) -> tuple[tuple[T, int], ...]:
    return tuple((scorers[which], weight) for which, weight in profile.weights if which in scorers)


def best_node(ask: Ask, constraints: tuple[Constraint, ...], allowed: Mask | None) -> int | None:
    """The node that ``survey`` and ``best`` would find; None if there is none, or if it is not cached."""
    cached = ask.view.cached_scores
    if not isinstance(cached, CachedScores) or not cached.size:
        return None
    shape, rules = ask.shape, _rules(constraints, ask.profile)
    if (shape.nodes.selector or shape.nodes.terms) and _names_nodes(shape.nodes):
        return None
    merits = cached.get(_key(rules, shape), partial(_merits, ask, rules))
    # merits [node] are read-only, and shared with the cache: they are replaced, never changed.
    if allowed is not None:
        merits = np.where(allowed, merits, _REFUSED)
    if merits[found := int(merits.argmax())] == _REFUSED:
        return None
    has_volumes = shape.claims or shape.disks or shape.inline_volumes
    others = rules.others if has_volumes else rules.others_without_volumes
    # The best by the node alone is the answer unless something else speaks against it.
    refused = [rejection.rows for constraint in others for rejection in constraint(ask)]
    for rows in refused:
        merits = np.where(rows, _REFUSED, merits)
    if refused and merits[found := int(merits.argmax())] == _REFUSED:
        return None
    feasible = merits != _REFUSED
    scores = ((scorer(ask, feasible), weight) for scorer, weight in rules.other_scorers)
    added = [score * weight for score, weight in scores if score is not None]
    if not added:
        return found
    for more in added:  # ratings are counted in steps of as many merits as there are nodes: see ``_merits``
        merits = merits + len(merits) * more
    return int(np.where(feasible, merits, _REFUSED).argmax())


def _names_nodes(query: NodeQuery) -> bool:
    """Pods of a DaemonSet do, each its own node: what is cached for one is of no use to any other."""
    terms = query.terms or ()
    labels = chain(query.selector, *(term.labels for term in terms))
    return any(term.names for term in terms) or any(one.key == HOSTNAME for one in labels)


def _key(rules: _Rules, shape: Shape) -> Hashable:
    """Everything but the node that its merit depends on."""
    nodes = shape.nodes
    weight = shape.requests, shape.nonzero_cpu, shape.nonzero_memory
    return rules, weight, nodes.selector, nodes.terms, shape.tolerations, shape.features


def _merits(ask: Ask, rules: _Rules, rows: Rows) -> Ints:
    """[row of rows] the rating by the node alone and its name, as one number: the largest is the best node.

    The rating comes first; among equals, the first by name has the highest merit.
    """
    if not isinstance(rows, slice) and len(rows) <= _FEW:
        few = _merits_of_few(ask, rules, rows.tolist())
        if few is not None:
            return few
    nodes = ask.view.nodes
    size, left = len(nodes), np.ones(len(nodes), np.bool_)
    for rejection in (rejection for constraint in rules.own for rejection in constraint(ask)):
        left &= ~rejection.rows
    rank = nodes.rank[rows]
    ratings = np.zeros(len(rank), np.int64)
    for scorer, weight in rules.own_scorers:
        scores = scorer(ask, rows)
        if scores is not None:
            ratings += scores * weight
    return np.where(left[rows], ratings * size + (size - 1 - rank), _REFUSED)


def _merits_of_few(ask: Ask, rules: _Rules, rows: list[int]) -> Ints | None:
    """``_merits`` of nodes one by one; None if that is not possible."""
    shape, last, rank = ask.shape, len(ask.view.nodes) - 1, ask.view.nodes.rank
    merits = []
    for row in rows:
        if not all(check(ask, shape, row) for check in rules.checks):
            merits.append(_REFUSED)
            continue
        rating = 0
        for scorer, weight in rules.scorers_of_one:
            score = scorer(ask, shape, row)
            if score is None:
                return None
            rating += score * weight
        merits.append(rating * (last + 1) + last - rank.item(row))
    return np.array(merits, np.int64)
