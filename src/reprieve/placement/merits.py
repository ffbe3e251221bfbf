"""Which node is the best for one pod, by what is cached for pods like it.

Most constraints and preferences look at a node alone: at what it is, and at how full. All that they say of a
node is one number, its merit, which is cached from one decision to the next and computed anew only for nodes
that changed. Constraints and preferences that compare nodes, or look at other pods, are asked every time.

Why a node is refused is not known here: for a pod that fits nowhere, ``place`` asks every constraint.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache, partial
from typing import TypeVar

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.score_cache import Rows
from reprieve.model.shape import Shape
from reprieve.model.snapshot import CachedScores
from reprieve.placement.constraints import node, resources
from reprieve.placement.demand import Ask, Constraint
from reprieve.placement.profile import Preference, Profile
from reprieve.placement.scoring import SCORERS, one_node
from reprieve.placement.scoring.resources import OwnScorer, allocation_by_row, balance_by_row

T = TypeVar("T")

_REFUSED = -1  # the merit of a node that will not do; all others are higher
_FEW = 8  # nodes that are looked at one by one: columns of that length cost more

# What each constraint that looks at a node alone says of one node (row).
_ONE_BY_ONE: Mapping[Constraint, Callable[[Ask, Shape, int], bool]] = {
    node.unschedulable: node.is_schedulable,
    node.taints: node.has_tolerated_taints,
    node.affinity: node.is_selected,
    resources.resources: resources.has_room_for,
    node.features: node.has_features,
}
_OWN_SCORERS: Mapping[Preference, OwnScorer] = {
    Preference.RESOURCES: allocation_by_row,
    Preference.BALANCE: balance_by_row,
}
_SCORERS_OF_ONE: Mapping[Preference, Callable[[Ask, Shape, int], int | None]] = {
    Preference.RESOURCES: one_node.allocation,
    Preference.BALANCE: one_node.balance,
}


def best_node(ask: Ask, constraints: tuple[Constraint, ...], allowed: Mask | None) -> int | None:
    """The node that ``survey`` and ``best`` would find; None if there is none, or if nothing is cached."""
    if not isinstance(ask.view.cached_scores, CachedScores) or not len(ask.view.nodes):
        return None
    own, others = _divided(constraints)
    merits = ask.view.scores_by_row(_key(ask, own), partial(_merits, ask, own))
    if allowed is not None:
        merits = np.where(allowed, merits, _REFUSED)
    if merits[found := int(merits.argmax())] == _REFUSED:
        return None
    refused = [rejection.rows for constraint in others for rejection in constraint(ask)]
    for rows in refused:
        merits = np.where(rows, _REFUSED, merits)
    if refused and merits[found := int(merits.argmax())] == _REFUSED:
        return None
    feasible = merits != _REFUSED
    more = [scores * weight for scores, weight in _compared(ask, feasible)]
    if not more:
        return found
    added: Ints = sum(more[1:], start=more[0])
    return int(np.where(feasible, merits + len(merits) * added, _REFUSED).argmax())


@cache
def _divided(
    constraints: tuple[Constraint, ...],
) -> tuple[tuple[Constraint, ...], tuple[Constraint, ...]]:
    """Those that look at a node alone, and the others."""
    own = tuple(constraint for constraint in constraints if constraint in _ONE_BY_ONE)
    return own, tuple(constraint for constraint in constraints if constraint not in _ONE_BY_ONE)


def _key(ask: Ask, own: tuple[Constraint, ...]) -> Hashable:
    """Everything but the node that its merit depends on."""
    shape, profile = ask.shape, ask.profile
    return (
        own,
        shape.requests,
        shape.nonzero_cpu,
        shape.nonzero_memory,
        shape.nodes,
        shape.tolerations,
        shape.features,
        profile.weights,
        profile.strategy,
        profile.strategy_resources,
        profile.strategy_shape,
        profile.balanced_resources,
        profile.ignored_resources,
        profile.ignored_resource_groups,
        profile.added_node_affinity,
    )


def _merits(ask: Ask, own: tuple[Constraint, ...], rows: Rows) -> Ints:
    """The rating by the node alone; among equals, the first by name has the highest merit."""
    if not isinstance(rows, slice) and len(rows) <= _FEW:
        few = _merits_of_few(ask, own, rows)
        if few is not None:
            return few
    nodes = ask.view.nodes
    size, left = len(nodes), np.ones(len(nodes), np.bool_)
    for rejection in (rejection for constraint in own for rejection in constraint(ask)):
        left &= ~rejection.rows
    rank = nodes.rank[rows]
    ratings = np.zeros(len(rank), np.int64)
    for scorer, weight in _weighed(ask.profile, _OWN_SCORERS):
        scores = scorer(ask, rows)
        if scores is not None:
            ratings += scores * weight
    return np.where(left[rows], ratings * size + (size - 1 - rank), _REFUSED)


def _merits_of_few(ask: Ask, own: tuple[Constraint, ...], rows: Ints) -> Ints | None:
    """The same, of nodes one by one; None if that is not possible."""
    shape, size, rank = ask.shape, len(ask.view.nodes), ask.view.nodes.rank
    checks = [_ONE_BY_ONE[constraint] for constraint in own]
    scorers = [*_weighed(ask.profile, _SCORERS_OF_ONE)]
    merits = np.full(len(rows), _REFUSED, np.int64)
    for i, row in enumerate(rows.tolist()):
        if not all(check(ask, shape, row) for check in checks):
            continue
        rating = 0
        for scorer, weight in scorers:
            score = scorer(ask, shape, row)
            if score is None:
                return None
            rating += score * weight
        merits[i] = rating * size + (size - 1 - rank.item(row))
    return merits


def _weighed(profile: Profile, scorers: Mapping[Preference, T]) -> Iterator[tuple[T, int]]:
    for preference, weight in profile.weights:
        if preference in scorers:
            yield scorers[preference], weight


def _compared(ask: Ask, feasible: Mask) -> Iterator[tuple[Ints, int]]:
    """The scores that depend on more than the node alone, and their weights."""
    for preference, weight in ask.profile.weights:
        if preference not in _OWN_SCORERS:
            scores = SCORERS[preference](ask, feasible)
            if scores is not None:
                yield scores, weight
