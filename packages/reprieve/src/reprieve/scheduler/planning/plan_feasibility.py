"""Whether a plan holds: one that was just found, one that is being carried out, one whose room is there.

Also which pods must be gone before the demand can be where its plan puts it.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.effects import Target
from reprieve.model.snapshot import NOWHERE, on_nodes
from reprieve.model.whatif import without
from reprieve.placement.demand import Ask
from reprieve.placement.place import Placement, with_promises, with_taken
from reprieve.preemption.budgets import paid_for
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Policy
from reprieve.preemption.reprieve import holds, pods_that_matter
from reprieve.scheduler.demands import DecisionContext
from reprieve.scheduler.plans.handover import Handover
from reprieve.scheduler.targets import rows_of, target_at


def holds_without_promised(context: DecisionContext, plan: Plan) -> bool:
    """A plan must hold also if pods with reserved room never come to their nodes."""
    if not context.promised:
        return True
    demand, waiting = replace(context.demand, pods=plan.pods), np.asarray(context.promised.pods, np.int64)
    if not pods_that_matter(demand, context.view, context.profile)[waiting].any():
        return True
    view = without(context.view, _going(context, plan))
    return holds(demand, plan.placement, view, context.profile)


def awaited(context: DecisionContext, plan: Plan) -> Ints:
    """Pods that must be gone before the demand can be where the plan puts it.

    Those on the nodes that it uses; all that go, if constraints look beyond these nodes.
    """
    going = _going(context, plan)
    near = going[on_nodes(context.view, [node for _, node in plan.places], going)]
    if len(near) == len(going):
        return going
    view = without(with_promises(context.view, context.promised), near)
    demand = replace(context.demand, pods=plan.pods)
    return near if holds(demand, plan.placement, view, context.profile) else going


def _going(context: DecisionContext, plan: Plan) -> Ints:
    """The victims of the plan, and pods that leave anyway."""
    victims = {row for unit in plan.victims for row in unit.pods}
    return np.array(sorted(victims.union(context.leaving.tolist())), np.int64)


def excess_of(
    context: DecisionContext, policy: Policy, victims: Collection[Target], paid: Collection[Target]
) -> dict[str, int]:
    """The budgets that are exceeded if these pods are evicted, and by how many pods.

    ``paid``: pods that were on their way when the plan was made. Those that were chosen since were weighed
    with this plan in mind: they are not held against it.
    """
    if not context.view.budgets:
        return {}
    view = without(context.view, context.leaving)
    going = np.unique(np.array(rows_of(view, victims), np.int64))
    known = np.unique(np.array(rows_of(view, paid), np.int64))
    counted = known[np.isin(known, going) | np.isin(known, context.charged)]
    accounts = policy.accounts(paid_for(view, counted.tolist()))
    charged = accounts.counted(going).items()
    return {accounts.name(i): n - accounts.allowed[i] for i, n in charged if n > accounts.allowed[i]}


def still_feasible(context: DecisionContext, handover: Handover, joined: Collection[Target] = ()) -> bool:
    """Whether the pods could be on the nodes they wait for once all pods that have to go are gone.

    ``joined``: pods that have to go as well.
    """
    view = with_promises(context.view, context.promised_before)
    going = rows_of(view, (victim for victim in handover.victims if victim not in handover.gone))
    going += rows_of(view, joined)
    view = without(view, np.union1d(context.leaving, np.array(going, np.int64)))
    position = {target_at(view, row): i for i, row in enumerate(context.demand.pods)}
    if any(pod not in position or name not in view.nodes.rows for pod, name in handover.places):
        return False  # it was made for a pod that does not wait any more, or for a node that is gone
    nodes = [NOWHERE] * len(context.demand.pods)
    for pod, name in handover.places:
        nodes[position[pod]] = view.nodes.rows[name]
    if not context.demand.is_met_by(nodes):
        return False  # more pods are needed than when it was made
    tree = context.demand.tree
    if tree is not None and not tree.keeps_domains(view, nodes):
        return False  # a label has changed, or pods of it have started elsewhere
    placement = Placement(tuple(nodes), tuple(position[pod] for pod, _ in handover.places))
    return holds(context.demand, placement, view, context.profile)


# --- the room that is reserved is there ----------------------------------------------------------


def placement_in_reserved_room(context: DecisionContext) -> Placement | None:
    """Where a demand goes whose reserved room is there: not where it would go if it came now.

    None if the room is not there, or if the demand need not insist on it.

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
    """Pods that do not need each other: each takes its own room as soon as that is there."""
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
