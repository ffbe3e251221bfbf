"""Where a demand goes whose reserved room is there: not where it would go if it came now."""

from collections.abc import Sequence
from dataclasses import replace

from reprieve.model.snapshot import NOWHERE
from reprieve.placement.demand import Ask
from reprieve.placement.place import Placement, with_promises, with_taken
from reprieve.preemption.reprieve import holds
from reprieve.scheduler.demands.decision_context import DecisionContext


def placement_in_reserved_room(context: DecisionContext) -> Placement | None:
    """None if the room is not there, or if the demand need not insist on it.

    Demands of equal priority whose room was reserved later were planned beside it, so they do not count.
    """
    if len(context.demand.pods) > 1 and not context.requester.is_starting:
        return _pod_by_pod(context)
    demand, placement = context.demand, Placement(context.demand.nominated)
    if not context.later or not demand.is_met_by(placement.nodes):
        return None
    if not _keeps_domains(context, placement.nodes):
        return None
    views = (context.view, with_promises(context.view, context.promised_before))
    fits = all(holds(demand, placement, view, context.profile) for view in views)
    return placement if fits else None


def _pod_by_pod(context: DecisionContext) -> Placement | None:
    """Of pods that do not need each other, each takes its own room as soon as that is there."""
    views = [context.view, with_promises(context.view, context.promised_before)]
    nodes = [NOWHERE] * len(context.demand.pods)
    for i, (pod, node) in enumerate(zip(context.demand.pods, context.demand.nominated, strict=True)):
        alone, there = replace(context.demand, pods=(pod,), tree=None), Placement((node,))
        fits = node != NOWHERE and _keeps_domains(context, [*nodes[:i], node, *nodes[i + 1 :]])
        fits = fits and all(holds(alone, there, view, context.profile) for view in views)
        nodes[i] = node if fits else NOWHERE
        if fits:
            views = [with_taken(Ask(view, pod, context.profile), node) for view in views]
    return Placement(tuple(nodes)) if any(node != NOWHERE for node in nodes) else None


def _keeps_domains(context: DecisionContext, nodes: Sequence[int]) -> bool:
    tree = context.demand.tree
    return tree is None or tree.keeps_domains(context.view, nodes)
