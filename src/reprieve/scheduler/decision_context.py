"""A demand that is to be decided, or that a plan is carried out for, as things stand: its case."""

from collections.abc import Mapping
from dataclasses import replace

from reprieve.model.effects import Target
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Demand, Promised
from reprieve.placement.domains import place_together
from reprieve.placement.place import Unplaceable
from reprieve.scheduler.demands import IN_PLACE, Asker, demand_of, pod_target, priority_of
from reprieve.scheduler.handover import Handover
from reprieve.scheduler.ledger.nominations import Nomination
from reprieve.scheduler.planning import DecisionContext, rows_of, still_feasible
from reprieve.scheduler.queue import Key
from reprieve.scheduler.state import State


def case_of(state: State, who: Asker, now: float) -> DecisionContext:
    """Pods for which room is reserved come first."""
    nominations = (state.ledger.nominations.of(pod_target(pod.pod)) for pod in who.pods)
    own = {found.pod: found for found in nominations if found is not None}
    who = replace(who, pods=tuple(sorted(who.pods, key=lambda p: pod_target(p.pod) not in own)))
    view = state.world.snapshot()
    profile = state.settings.profiles[who.pods[0].pod.spec.scheduler_name]
    in_place = state.in_place(who.key) if who.key[0] == IN_PLACE else None
    if in_place is None:
        reserved = {pod: nomination.node for pod, nomination in own.items()}
        demand = demand_of(who, view, profile, reserved, topology=state.settings.topology)
    else:
        demand, view = in_place.asked(view, state.world.row(who.key[1:]), now)
        demand = replace(demand, priority=who.priority, may_preempt=who.may_preempt)
    return DecisionContext(
        who,
        demand,
        view,
        profile,
        _promised(state, view, demand),
        doomed=_doomed(state, view),
        stuck=_stuck(state, view),
        staying=tuple(rows_of(view, state.preemption_backoff.staying(now))),
        later=_later(state, view, demand, own),
        restrained=state.preemption_backoff.until((pod_target(pod.pod) for pod in who.pods), now),
    )


def is_worth_evicting_for(state: State, key: Key, handover: Handover, now: float) -> bool:
    """Whether a plan still holds just before its victims are evicted, and is still needed.

    Its calls took their time, and much may have happened: its node may be cordoned, or a pod may have left.
    """
    who = state.asker(key)
    if not isinstance(who, Asker):
        return False
    case = case_of(state, who, now)
    if not still_feasible(case, handover):
        return False
    return not state.queue.has_missed(key) or isinstance(
        place_together(case.demand, case.view, case.profile, promised=case.promised), Unplaceable
    )


def _promised(state: State, view: Snapshot, demand: Demand) -> Promised:
    """Room that is reserved for pods of equal or higher priority."""
    pods, nodes = [], []
    for nomination in state.ledger.nominations:
        target = nomination.pod
        row, node = view.pods.rows[target.namespace, target.name], view.nodes.rows.get(nomination.node)
        if node is not None and row not in demand.pods and _priority(state, target) >= demand.priority:
            pods.append(row)
            nodes.append(node)
    return Promised(tuple(pods), tuple(nodes))


def _priority(state: State, pod: Target) -> int:
    """That of the demand that a waiting pod is part of."""
    return priority_of(state.world, state.ledger.parts[pod], state.settings.group_rules)


def _later(state: State, view: Snapshot, demand: Demand, own: Mapping[Target, Nomination]) -> frozenset[int]:
    """Equals for which room was reserved on the demand's nodes after it was for the demand."""
    first: dict[str, int] = {}
    for nomination in own.values():
        first[nomination.node] = min(nomination.since, first.get(nomination.node, nomination.since))
    others = (
        nomination.pod
        for node, since in first.items()
        for nomination in state.ledger.nominations.on(node)
        if nomination.since > since and nomination.pod not in own
    )
    equals = (pod for pod in others if _priority(state, pod) == demand.priority)
    return frozenset(view.pods.rows[pod.namespace, pod.name] for pod in equals)


def _stuck(state: State, view: Snapshot) -> tuple[int, ...]:
    return tuple(rows_of(view, sorted(state.ledger.terminating.stuck)))


def _doomed(state: State, view: Snapshot) -> tuple[int, ...]:
    """Pods that are about to be evicted, and whose deletion the cluster does not show yet."""
    rows = sorted(rows_of(view, state.plans.doomed()))
    return tuple(r for r in rows if view.where[r] != NOWHERE and not view.pods.terminating[r])
