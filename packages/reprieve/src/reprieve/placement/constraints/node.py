"""Constraints on the node itself: cordons, taints, node selectors and affinity, declared features."""

from collections.abc import Iterator

import numpy as np

from reprieve.model.selectors import ANYWHERE, UNSCHEDULABLE_TAINT, first_untolerated, tolerated
from reprieve.model.shape import Shape
from reprieve.placement.demand import Ask
from reprieve.placement.rejection_codes import Code, Reason, Rejection


def unschedulable(ask: Ask) -> Iterator[Rejection]:
    cordoned = ask.view.nodes.unschedulable
    if cordoned.any() and not tolerated(UNSCHEDULABLE_TAINT, ask.shape.tolerations):
        yield Rejection(cordoned, Reason(Code.NODE_UNSCHEDULABLE), curable=False)


def is_schedulable(ask: Ask, shape: Shape, node: int) -> bool:
    """Whether ``unschedulable`` lets one node (row) pass."""
    cordoned = ask.view.nodes.objects[node].spec.unschedulable
    return not cordoned or tolerated(UNSCHEDULABLE_TAINT, shape.tolerations)


def taints(ask: Ask) -> Iterator[Rejection]:
    """The first taint that is not tolerated is the reason, in the order of kubectl describe."""
    # Few nodes differ in their taints: each list of taints is looked at once, and found again by its code.
    column = ask.view.nodes.taints
    offending = [first_untolerated(taints, ask.shape.tolerations) for taints in column.things]
    for taint in dict.fromkeys(offending):
        if taint is not None:
            by_code = np.fromiter((o == taint for o in offending), np.bool_, len(offending))
            rows = column.lookup(by_code)
            yield Rejection(rows, Reason(Code.UNTOLERATED_TAINT, str(taint)), curable=False)


def has_tolerated_taints(ask: Ask, shape: Shape, node: int) -> bool:
    """Whether ``taints`` lets one node (row) pass."""
    taints = ask.view.nodes.objects[node].spec.taints
    return not taints or first_untolerated(taints, shape.tolerations) is None


def affinity(ask: Ask) -> Iterator[Rejection]:
    nodes = ask.view.nodes
    for query in (ask.profile.added_node_affinity, ask.shape.nodes):
        if query != ANYWHERE:
            yield Rejection(~nodes.matching(query), Reason(Code.NODE_AFFINITY), curable=False)


def is_selected(ask: Ask, shape: Shape, node: int) -> bool:
    """Whether ``affinity`` lets one node (row) pass."""
    for query in (ask.profile.added_node_affinity, shape.nodes):
        if query.selector or query.terms is not None:
            metadata = ask.view.nodes.objects[node].metadata
            if not query.matches(metadata.labels, metadata.name):
                return False
    return True


def features(ask: Ask) -> Iterator[Rejection]:
    needed = ask.shape.features
    if needed:
        lacking = ~ask.view.nodes.features.where(needed.issubset)
        detail = ", ".join(sorted(needed))
        yield Rejection(lacking, Reason(Code.NODE_FEATURE, detail), curable=False)


def has_features(ask: Ask, shape: Shape, node: int) -> bool:
    """Whether ``features`` lets one node (row) pass."""
    return not shape.features or shape.features.issubset(
        ask.view.nodes.objects[node].status.declared_features
    )
