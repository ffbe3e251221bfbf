"""Constraints on the node itself: cordons, taints, node selectors and affinity, declared features."""

from collections.abc import Iterator

import numpy as np

from reprieve.model.selectors import ANYWHERE, UNSCHEDULABLE_TAINT, first_untolerated, tolerated
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def unschedulable(ask: Ask) -> Iterator[Rejection]:
    cordoned = ask.view.nodes.unschedulable
    if cordoned.any() and not tolerated(UNSCHEDULABLE_TAINT, ask.shape.tolerations):
        yield Rejection(cordoned, Reason(Code.NODE_UNSCHEDULABLE), curable=False)


def taints(ask: Ask) -> Iterator[Rejection]:
    """The first taint that is not tolerated is the reason, in the order of kubectl describe."""
    column = ask.view.nodes.taints
    offending = [first_untolerated(taints, ask.shape.tolerations) for taints in column.things]
    for taint in dict.fromkeys(offending):
        if taint is not None:
            by_code = np.fromiter((o == taint for o in offending), np.bool_, len(offending))
            rows = column.lookup(by_code)
            yield Rejection(rows, Reason(Code.UNTOLERATED_TAINT, str(taint)), curable=False)


def affinity(ask: Ask) -> Iterator[Rejection]:
    nodes = ask.view.nodes
    for query in (ask.profile.added_node_affinity, ask.shape.nodes):
        if query != ANYWHERE:
            yield Rejection(~nodes.matching(query), Reason(Code.NODE_AFFINITY), curable=False)


def features(ask: Ask) -> Iterator[Rejection]:
    needed = ask.shape.features
    if needed:
        lacking = ~ask.view.nodes.features.where(needed.issubset)
        detail = ", ".join(sorted(needed))
        yield Rejection(lacking, Reason(Code.NODE_FEATURE, detail), curable=False)
