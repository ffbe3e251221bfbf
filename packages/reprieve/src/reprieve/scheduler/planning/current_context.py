"""The context of a demand as things stand now: from all that the scheduler remembers, what matters for it."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from reprieve.model.columns import Ints, Mask
from reprieve.model.effects import Target
from reprieve.model.moment import Moment
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import NOTHING_PROMISED, Demand, Promised
from reprieve.scheduler.demand_lookup import DemandLookup
from reprieve.scheduler.demands import DecisionContext, Requester, WaitingGroup, demand_of
from reprieve.scheduler.ledger import Parts
from reprieve.scheduler.ledger.nominations import Nomination, NominationReason, Nominations
from reprieve.scheduler.ledger.terminating import TerminatingPods
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.plans.recent_evictions import RecentEvictions
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import pod_target, rows_of, target_at

_NO_ROWS: frozenset[int] = frozenset()


def context_of(state: State, requester: Requester, now: Moment) -> DecisionContext:
    own = _own(state.ledger.nominations, requester)
    if isinstance(requester, WaitingGroup):
        requester = requester.beginning_with(own)
    profile = state.settings.profiles[requester.pods[0].pod.spec.scheduler_name]
    reserved = {pod: nomination.node for pod, nomination in own.items()}
    restrained = state.preemption_backoff.until((pod_target(pod.pod) for pod in requester.pods), now.elapsed)
    demand, view = demand_of(
        requester, _with_evictions(state.world, state.evictions, now), profile, reserved, now.wall
    )
    return DecisionContext(
        requester,
        demand,
        view,
        profile,
        _promised(state, view, demand),
        in_flight=_not_leaving(view, state.columns.in_flight(state.world)),
        charged=_not_leaving(view, state.columns.charged(state.world)),
        stuck=_stuck(state.ledger.terminating, view),
        staying=tuple(rows_of(view, state.preemption_backoff.staying(now.elapsed))),
        later=_later(state, view, demand, own),
        restrained=None if restrained is None else now.wall_at(restrained),
    )


def _with_evictions(world: World, evictions: RecentEvictions, now: Moment) -> Snapshot:
    view = world.snapshot()
    evictions.forget(now.wall)
    moments = evictions.moments
    return replace(view, evictions=moments) if moments else view


def _promised(state: State, view: Snapshot, demand: Demand) -> Promised:
    """Room that is reserved for other demands of equal or higher priority."""
    room = state.columns.reserved(state.world)
    if not len(room.pods):
        return NOTHING_PROMISED
    others = _priorities(state.ledger.parts, state.demands, view, room.pods) >= demand.priority
    others &= ~np.isin(room.pods, demand.pods)
    return Promised(room.pods[others], room.nodes[others]) if others.any() else NOTHING_PROMISED


def _priorities(parts: Parts, demands: DemandLookup, view: Snapshot, pods: Ints) -> Ints:
    """The priorities of the demands that waiting pods are part of: a group's counts for all of its pods."""
    found: Ints = view.pods.priority[pods].copy()
    groups = view.pods.groups
    codes = groups.codes[pods]
    for code in np.unique(codes).tolist():
        if groups.things[code] is None:
            continue
        same = codes == code
        demand = parts[target_at(view, int(pods[same.argmax()]))]
        if demand.kind.is_of_groups:
            found[same] = demands.priority(demand)
    return found


def _own(nominations: Nominations, requester: Requester) -> dict[Target, Nomination]:
    """The nominations of a demand's own pods. The room of a first plan holds off others, and binds no one."""
    if not nominations:
        return {}
    found = (nominations.of(pod_target(pod.pod)) for pod in requester.pods)
    return {
        nomination.pod: nomination
        for nomination in found
        if nomination is not None and nomination.reason is not NominationReason.FIRST_PLAN
    }


def _later(state: State, view: Snapshot, demand: Demand, own: Mapping[Target, Nomination]) -> frozenset[int]:
    """Pods of equal priority with room on the demand's nodes that was reserved after the demand's own."""
    if not own:
        return _NO_ROWS
    first: dict[str, int] = {}
    for nomination in own.values():
        first[nomination.node] = min(nomination.since, first.get(nomination.node, nomination.since))
    others = (
        nomination.pod
        for node, since in first.items()
        for nomination in state.ledger.nominations.on(node)
        if nomination.since > since and nomination.pod not in own
    )
    equals = (pod for pod in others if state.demands.priority(state.ledger.parts[pod]) == demand.priority)
    return frozenset(view.pods.rows[pod.namespace, pod.name] for pod in equals)


def _stuck(terminating: TerminatingPods, view: Snapshot) -> tuple[int, ...]:
    stuck = terminating.stuck
    return tuple(rows_of(view, sorted(stuck))) if stuck else ()


def _not_leaving(view: Snapshot, victims: Ints) -> Ints:
    """Victims whose deletion the cluster does not show yet."""
    if not len(victims):
        return victims
    staying: Mask = (view.where[victims] != NOWHERE) & ~view.pods.terminating[victims]
    return victims[staying]
