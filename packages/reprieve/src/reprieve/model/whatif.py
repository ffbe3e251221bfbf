"""What-ifs: a snapshot with some pods gone, or on other nodes.

A what-if is a snapshot like any other. It shares every column that it does not change with its base, and the
base never changes: nothing has to be undone.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from reprieve.model.columns import Ints, sealed
from reprieve.model.score_cache import WhatIfScores
from reprieve.model.snapshot import NOWHERE, Snapshot, sums_by_node


def without(view: Snapshot, pods: Sequence[int] | Ints, *, rated: bool = True) -> Snapshot:
    """The cluster without these pods (rows); pods without a node make no difference.

    ``rated``: nodes are also compared there by how full they are, and not only asked whether there is room.
    """
    if not len(pods):
        return view
    rows = np.asarray(pods, np.int64)
    where = view.where.copy()
    before, where[rows] = where[rows], NOWHERE
    size, nonzero = len(view.nodes), view.nonzero
    if rated:
        nonzero = sealed(nonzero - sums_by_node(view.pods.nonzero[:, rows], before, size))
    return replace(
        view,
        where=sealed(where),
        requested=sealed(view.requested - sums_by_node(view.pods.requests[:, rows], before, size)),
        nonzero=nonzero,
        cached_scores=WhatIfScores(),
    )


def with_pod(view: Snapshot, pod: int, node: int) -> Snapshot:
    """The cluster with this pod (row) on this node (row). A fast path: gangs call it once per pod."""
    where = view.where.copy()
    before, where[pod] = int(where[pod]), node
    return replace(
        view,
        where=sealed(where),
        requested=_carried(view.requested, view.pods.requests[:, pod], before, node),
        nonzero=_carried(view.nonzero, view.pods.nonzero[:, pod], before, node),
        cached_scores=_rescored(view, [row for row in (before, node) if row != NOWHERE]),
    )


def with_equals_everywhere(view: Snapshot, pod: int, count: int) -> Snapshot:
    """As if so many equals of this pod (row) ran on every node. ``where`` has none of them."""
    if not count:
        return view
    return replace(
        view,
        requested=sealed(view.requested + count * view.pods.requests[:, [pod]]),
        nonzero=sealed(view.nonzero + count * view.pods.nonzero[:, [pod]]),
        cached_scores=None,
    )


def _rescored(view: Snapshot, rows: Sequence[int]) -> WhatIfScores:
    """The scores of the view, if it has any, but for these nodes."""
    return WhatIfScores(view.cached_scores.known if view.cached_scores is not None else None, rows)


def _carried(totals: Ints, amounts: Ints, before: int, after: int) -> Ints:
    """[resource, node] totals with one pod's amounts ([resource]) on another node."""
    totals = totals.copy()
    if before != NOWHERE:
        totals[:, before] -= amounts
    if after != NOWHERE:
        totals[:, after] += amounts
    return sealed(totals)


def moved(view: Snapshot, pods: Ints, nodes: Ints) -> Snapshot:
    """The cluster with each of the pods on its new node, or NOWHERE. Pods must be distinct."""
    if not len(pods):
        return view
    where = view.where.copy()
    before = where[pods]
    where[pods] = nodes
    requests, nonzero = view.pods.requests[:, pods], view.pods.nonzero[:, pods]
    return replace(
        view,
        where=sealed(where),
        requested=_shifted(view.requested, requests, before, nodes),
        nonzero=_shifted(view.nonzero, nonzero, before, nodes),
        cached_scores=WhatIfScores(),
    )


def _shifted(totals: Ints, amounts: Ints, before: Ints, after: Ints) -> Ints:
    """[resource, node] totals with the amounts of pods ([resource, pod]) on other nodes ([pod])."""
    size = totals.shape[1]
    return sealed(totals + sums_by_node(amounts, after, size) - sums_by_node(amounts, before, size))
