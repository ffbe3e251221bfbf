"""The last look at a plan, just before its first delete: does it hold, and which pods go with it by now?

The calls before took their time. The node of the plan may be cordoned, other pods may have left, a budget may
have shrunk, victims may tolerate preemption by now, and pods may have joined groups that are evicted whole.
Nothing has been deleted yet, so a plan that does not hold is made anew. What follows is done elsewhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.effects import Target
from reprieve.model.moment import Moment
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.model.whatif import without
from reprieve.placement.domains import place_together
from reprieve.placement.place import Unplaceable
from reprieve.preemption.eligibility import eligible
from reprieve.preemption.policy import Policy
from reprieve.preemption.units import Units
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands import DecisionContext, NotYet
from reprieve.scheduler.ledger import Ledger
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.planning.current_context import context_of
from reprieve.scheduler.planning.plan_feasibility import excess_of, still_feasible
from reprieve.scheduler.planning.victims_in_flight import sparing
from reprieve.scheduler.plans.handover import NO_TARGETS, Handover, tree_in
from reprieve.scheduler.plans.plan_records import EndReason
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import group_target, rows_of, target_at


@dataclass(frozen=True, slots=True)
class LastLook:
    reason: EndReason | None = None  # why the plan is not carried out; None if it is
    units: Mapping[str, tuple[Target, ...]] = field(
        default_factory=dict
    )  # those that go whole, all their pods
    joined: Mapping[Target, str] = field(default_factory=dict)  # pods that go as well, with their nodes
    groups: tuple[tuple[Target, Target], ...] = ()  # pods that go with a whole group, and their PodGroups
    trees: Mapping[Target, str] = field(default_factory=dict)  # those PodGroups that go with a tree: its name

    def is_new_to(self, handover: Handover) -> bool:
        """Whether pods or groups have to be marked before the plan may evict."""
        groups, before = {group for _, group in self.groups}, dict(handover.trees)
        is_another_tree = any(before.get(group) != self.trees.get(group) for group in groups)
        return bool(self.joined) or is_another_tree or not groups <= set(handover.marks)


def last_look(state: State, key: DemandKey, handover: Handover, now: Moment) -> LastLook:
    requester = state.demands.requester(key)
    if requester is None or isinstance(requester, NotYet):
        return LastLook(EndReason.PREEMPTOR_NOT_READY)
    policy = state.settings.policies.get(requester.pods[0].pod.spec.scheduler_name)
    if policy is None:
        return LastLook(EndReason.PREEMPTION_FORBIDDEN)
    context = context_of(state, requester, now)
    if context.demand.degraded is not None:
        return LastLook(EndReason.PREEMPTION_FORBIDDEN)
    view, policy = without(context.view, context.leaving), sparing(policy, context.stuck, ())
    units = policy.units(view)
    numbers = _units_of(units, handover)
    look = _wholes(state.ledger, state.world, units, numbers, handover)
    if not still_feasible(context, handover, look.joined):
        return LastLook(EndReason.NO_LONGER_FITS)
    if (handover.leaving or handover.gone) and still_feasible(context, replace(handover, victims=NO_TARGETS)):
        return LastLook(EndReason.NO_LONGER_NEEDED)  # pods that leave anyway make the room
    if not eligible(units, context.demand, policy.rules, now.wall).allowed[numbers].all():
        return LastLook(EndReason.VICTIMS_CHANGED)
    if _exceeds_more(context, policy, handover, look):
        return LastLook(EndReason.VICTIMS_CHANGED)
    if not state.queue.has_missed(key) and not handover.gone:
        return look
    found = place_together(context.demand, context.view, context.profile, promised=context.promised)
    return look if isinstance(found, Unplaceable) else LastLook(EndReason.NO_LONGER_NEEDED)


def _units_of(units: Units, handover: Handover) -> Ints:
    """The units of the victims that are still there."""
    rows = rows_of(units.view, (victim for victim in handover.victims if victim not in handover.gone))
    numbers = np.unique(units.of_pod[np.array(rows, np.int64)])
    found: Ints = numbers[numbers != NOWHERE]
    return found


def _wholes(ledger: Ledger, world: World, units: Units, numbers: Ints, handover: Handover) -> LastLook:
    """The whole units as they are now. A pod that only prepares its volumes has not joined yet."""
    view, known = units.view, set(handover.victims) - handover.gone
    names: dict[str, tuple[Target, ...]] = {}
    joined: dict[Target, str] = {}
    groups: list[tuple[Target, Target]] = []
    trees: dict[Target, str] = {}
    for number in numbers[numbers >= len(view.pods)].tolist():
        pods = {target_at(view, row): row for row in units.pods_of([number]).tolist()}
        pods = {pod: row for pod, row in pods.items() if pod in known or not ledger.assumed.is_preparing(pod)}
        name = units.group_names[number - len(view.pods)]
        names[name] = tuple(pods)
        joined.update(
            (pod, view.nodes.names[view.where[row]]) for pod, row in pods.items() if pod not in known
        )
        found = [(pod, group) for pod, row in pods.items() if (group := _group_at(world, view, row))]
        groups.extend(found)
        if (tree := tree_in(name)) is not None:
            trees.update((group, tree) for _, group in found)
    return LastLook(units=names, joined=joined, groups=tuple(groups), trees=trees)


def _group_at(world: World, view: Snapshot, row: int) -> Target | None:
    key = view.pods.groups[row]
    group = world.groups.group(key) if key is not None else None
    return group_target(group) if group is not None else None


def _exceeds_more(context: DecisionContext, policy: Policy, handover: Handover, look: LastLook) -> bool:
    """Whether the plan would exceed a budget by more than was known when it was made."""
    victims = [victim for victim in handover.victims if victim not in handover.gone]
    excess, known = excess_of(context, policy, [*victims, *look.joined], handover.paid), dict(handover.excess)
    return any(number > known.get(budget, 0) for budget, number in excess.items())
