"""A demand that is to be decided, or that a plan is carried out for, as things stand: its case."""

from dataclasses import replace

from reprieve.model.effects import Target
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Demand, Promised
from reprieve.placement.domains import place_together
from reprieve.placement.place import Unplaceable
from reprieve.scheduler.demands import IN_PLACE, Asker, demand_of, pod_target, priority_of
from reprieve.scheduler.handover import Handover
from reprieve.scheduler.plan_records import EndReason
from reprieve.scheduler.planning import DecisionContext, rows_of, still_feasible
from reprieve.scheduler.queue import Key
from reprieve.scheduler.state import State


def case_of(state: State, who: Asker, now: float) -> DecisionContext:
    """Those for whom room is reserved come first."""
    who = replace(who, pods=tuple(sorted(who.pods, key=lambda p: pod_target(p.pod) not in state.nominated)))
    view = state.world.snapshot()
    profile = state.settings.profiles[who.pods[0].pod.spec.scheduler_name]
    in_place = state.in_place(who.key) if who.key[0] == IN_PLACE else None
    if in_place is None:
        demand = demand_of(who, view, profile, state.nominated, topology=state.settings.topology)
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
        later=_later(state, view, demand),
        restrained=state.preemption_backoff.until((pod_target(pod.pod) for pod in who.pods), now),
    )


def reason_not_to_evict(state: State, key: Key, handover: Handover, now: float) -> EndReason | None:
    """Checks a plan just before its victims are evicted: None if it still holds, and is still needed.

    Calls took their time, and much may have happened: its node may be cordoned, or another pod may have left.
    """
    who = state.asker(key)
    if not isinstance(who, Asker):
        return EndReason.PREEMPTOR_NOT_READY
    case = case_of(state, who, now)
    if not still_feasible(case, handover):
        return EndReason.NO_LONGER_FITS
    if not state.queue.has_missed(key):
        return None
    found = place_together(case.demand, case.view, case.profile, promised=case.promised)
    return None if isinstance(found, Unplaceable) else EndReason.NO_LONGER_NEEDED


def _promised(state: State, view: Snapshot, demand: Demand) -> Promised:
    """Room that others of equal or higher priority wait for."""
    pods, nodes = [], []
    for target, name in state.nominated.items():
        row, node = view.pods.rows[target.namespace, target.name], view.nodes.rows.get(name)
        if node is not None and row not in demand.pods and _priority(state, target) >= demand.priority:
            pods.append(row)
            nodes.append(node)
    return Promised(tuple(pods), tuple(nodes))


def _priority(state: State, pod: Target) -> int:
    """That of the demand that a waiting pod is part of."""
    return priority_of(state.world, state.parts[pod], state.settings.group_rules)


def _later(state: State, view: Snapshot, demand: Demand) -> frozenset[int]:
    """Equals for whom room was reserved after it was for the demand, on the same nodes."""
    own: set[str] = set()
    later = set()
    for target, name in state.nominated.items():
        row = view.pods.rows[target.namespace, target.name]
        if row in demand.pods:
            own.add(name)
        elif name in own and _priority(state, target) == demand.priority:
            later.add(row)
    return frozenset(later)


def _stuck(state: State, view: Snapshot) -> tuple[int, ...]:
    return tuple(rows_of(view, sorted(state.terminating.stuck)))


def _doomed(state: State, view: Snapshot) -> tuple[int, ...]:
    """Pods that are going to be evicted, and cannot be seen leaving yet."""
    rows = sorted(rows_of(view, state.plans.doomed()))
    return tuple(r for r in rows if view.where[r] != NOWHERE and not view.pods.terminating[r])
