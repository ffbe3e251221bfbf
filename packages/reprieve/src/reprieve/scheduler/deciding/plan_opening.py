"""A plan is opened: its room is reserved, the first step of its handover follows, and its pods are told.

Which plan it is was decided before; how it goes on is in ``plan_driver``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.formatting import counted
from reprieve.model.moment import Moment
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import Snapshot
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Policy
from reprieve.preemption.units import UnitKind
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands import (
    DecisionContext,
    Requester,
    WaitingGroup,
    WaitingPod,
    WaitingResize,
    report_waiting,
    report_waiting_groups,
)
from reprieve.scheduler.events.binding import give_up
from reprieve.scheduler.execution.plan_driver import plan_anew
from reprieve.scheduler.ledger import Parts
from reprieve.scheduler.ledger.nominations import NominationReason
from reprieve.scheduler.mirror.group_mirror import GroupMirror
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.planning.plan_feasibility import awaited, excess_of
from reprieve.scheduler.plans.handover import GroupsOfPods, Handover, NodesOfPods, Targets, opened, tree_in
from reprieve.scheduler.plans.plan_records import EndReason
from reprieve.scheduler.plans.toleration_rules import TolerationRules
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.reporting.explanation import victim_nodes
from reprieve.scheduler.reporting.status_reporter import Notice, StatusReporter
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import group_target, pod_target, target_at


@dataclass(frozen=True, slots=True)
class PlannedEvictions:
    units: tuple[tuple[Target, ...], ...]  # the victims
    anyway: tuple[Target, ...]  # pods that leave the nodes of the plan without it
    elsewhere: frozenset[Target]  # victims that the demand need not wait for

    @property
    def victims(self) -> tuple[Target, ...]:
        return tuple(pod for unit in self.units for pod in unit)


def planned_evictions(context: DecisionContext, plan: Plan) -> PlannedEvictions:
    view = context.view
    units = tuple(tuple(target_at(view, row) for row in unit.pods) for unit in plan.victims)
    before = [target_at(view, int(row)) for row in awaited(context, plan)]
    victims = frozenset(pod for unit in units for pod in unit)
    anyway = tuple(pod for pod in before if pod not in victims)
    return PlannedEvictions(units, anyway, victims.difference(before))


def open_plan(  # noqa: PLR0913, PLR0917  all that a plan is opened with
    state: State,
    context: DecisionContext,
    plan: Plan,
    decision: Decision,
    going: PlannedEvictions,
    now: Moment,
) -> None:
    """Room is reserved from now on; the rest follows step by step."""
    requester, victims = context.requester, going.victims
    planned = replace(
        _handover(state, context, plan, decision, victims),
        leaving=Targets(going.anyway),
        elsewhere=going.elsewhere,
    )
    _warn_of_orphans(state.settings.tolerations, state.outbox, plan, context.view)
    _disturb(state, decision.id, victims, now)
    if planned.nominates:
        for pod, node in planned.places:
            state.ledger.nominations.nominate(pod, node, NominationReason.PLAN)
    handover, first = opened(planned)
    state.plans.keep(requester.key, handover)
    state.plan_log.on_opened(
        requester.key, handover, going.units, _placed_pods(state.ledger.parts, requester), now
    )
    if handover.is_settling:  # not if nothing is to be nominated, marked or evicted
        state.queue.hold(requester.key)
    state.outbox.put(*first)
    _report_plan(state.reporter, requester, handover, decision)


def _warn_of_orphans(tolerations: TolerationRules, outbox: Outbox, plan: Plan, view: Snapshot) -> None:
    """Victims that nothing could protect, since their class is gone."""
    for row, name in tolerations.unprotected(view, plan):
        note = f"its priority class {name} is gone, and with it what the class said of tolerations"
        outbox.put(Announce(target_at(view, row), Tone.WARNING, "PriorityClassGone", "Preempting", note))


def _placed_pods(parts: Parts, requester: Requester) -> frozenset[Target]:
    """Pods of a demand that have a node, and are not seen there yet."""
    waiting = {pod_target(pod.pod) for pod in requester.pods}
    return parts.pods(requester.key) - waiting


def _handover(
    state: State, context: DecisionContext, plan: Plan, decision: Decision, going: Sequence[Target]
) -> Handover:
    """The plan as it is carried out, with what it costs budgets as known now."""
    requester, view = context.requester, context.view
    victims = tuple(pod for pod in going if not state.ledger.assumed.is_preparing(pod))
    policy = state.settings.policies.get(requester.pods[0].pod.spec.scheduler_name)
    paid = _charged_to_budgets(context, policy) if policy is not None else frozenset()
    excess = excess_of(context, policy, victims, paid) if policy is not None and victims else {}
    return Handover(
        id=decision.id,
        preemptor=decision.demand,
        places=decision.places,
        victims=Targets(victims),
        victim_nodes=NodesOfPods(victim_nodes(plan, view)),
        price=decision.preemption,
        groups=GroupsOfPods(_groups_of(state.world.groups, plan, view)),
        trees=tuple(dict(_trees_of(state.world.groups, plan, view)).items()),
        priority=decision.priority,
        excess=tuple(sorted(excess.items())),
        paid=paid,
        nominates=requester.nominates,
        apart=len(decision.places) > 1 and not requester.is_starting,
    )


def _charged_to_budgets(context: DecisionContext, policy: Policy) -> frozenset[Target]:
    """Only pods under a budget: every open plan keeps its own, and there may be many of both."""
    if not len(context.charged) or not context.view.budgets:
        return frozenset()
    guarded = np.intersect1d(policy.accounts(context.view).pods, context.charged)
    return frozenset(target_at(context.view, row) for row in guarded.tolist())


def _disturb(state: State, decision: str, victims: Sequence[Target], now: Moment) -> None:
    """Victims that have not started are given up, and no plan goes on for the resize of a victim."""
    for pod in filter(state.ledger.assumed.is_preparing, victims):
        why = f"it is preempted before it started (decision {decision})"
        give_up(state, pod, why, now, has_room=False)
    for key in [DemandKey(DemandKind.RESIZE, pod.namespace, pod.name) for pod in victims]:
        if state.plans.of(key) is not None:
            plan_anew(state, key, EndReason.PREEMPTOR_IS_VICTIM, now)


def _report_plan(
    reporter: StatusReporter, requester: Requester, handover: Handover, decision: Decision
) -> None:
    """One event for each pod: that of a preemptor comes with the evictions, and no other before."""
    match requester:
        case WaitingResize() if handover.victims:
            reporter.forget(handover.preemptor)
        case WaitingResize():
            reporter.report_resize_step(handover.preemptor, "MakesRoomInPlace", decision.text)
        case WaitingPod() | WaitingGroup():
            silent = handover.preemptor if handover.victims else None
            nodes, others = dict(handover.places), []
            for pod in requester.pods:
                if (node := nodes.get(pod_target(pod.pod))) is None:
                    others.append(pod)
                    continue
                notice = Notice(decision.text_on(node))
                report_waiting(reporter, requester.key, [pod], notice, silent)
            if isinstance(requester, WaitingGroup):
                report_waiting_groups(reporter, requester, Notice(decision.text))
            _report_waiting_others(reporter, requester.key, others, handover)


def _report_waiting_others(
    reporter: StatusReporter, key: DemandKey, others: Sequence[CompiledPod], handover: Handover
) -> None:
    """Pods of a group for which no room is made yet wait for none."""
    pods = counted(len(handover.places), "other pod")
    text = f"waits while room is made for {pods} of {handover.preemptor} (decision {handover.id})"
    report_waiting(reporter, key, others, Notice(text))


def _groups_of(groups: GroupMirror, plan: Plan, view: Snapshot) -> Iterator[tuple[Target, Target]]:
    """Victims that are preempted with a whole group, and their PodGroups."""
    wholes = (unit for unit in plan.victims if unit.kind is not UnitKind.POD)
    for row in (row for unit in wholes for row in unit.pods):
        key = view.pods.groups[row]
        if key is not None and (group := groups.group(key)) is not None:
            yield target_at(view, row), group_target(group)


def _trees_of(groups: GroupMirror, plan: Plan, view: Snapshot) -> Iterator[tuple[Target, str]]:
    """PodGroups that are preempted with the tree around them, and the kind and name of that."""
    for unit in plan.victims:
        if (tree := tree_in(unit.name)) is None:
            continue
        keys = sorted({key for row in unit.pods if (key := view.pods.groups[row]) is not None})
        for group in filter(None, map(groups.group, keys)):
            yield group_target(group), tree
