"""What the queue learns when pods, groups and nodes come, change and go: which demands there are.

Sights may be outdated or repeated. The world says which of them count; here the ledger drops what it kept for
a pod as soon as that pod is bound, finished or gone.
"""

from collections.abc import Iterable
from math import inf

from reprieve.model.conditions import scheduled_at
from reprieve.model.effects import Target
from reprieve.model.events import Change
from reprieve.model.groups import GroupKey, group_key, key_of
from reprieve.model.moment import Moment
from reprieve.model.objects import Node, Pod
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demand_lookup import DemandLookup
from reprieve.scheduler.demands import NotYet, Requester, report_waiting
from reprieve.scheduler.demands.awaited_members import has_started
from reprieve.scheduler.demands.group_rules import lost_parent
from reprieve.scheduler.events import member_growth
from reprieve.scheduler.execution import plan_driver, unit_driver
from reprieve.scheduler.execution.nomination_withdrawal import move_nomination, unreserve
from reprieve.scheduler.execution.plan_driver import call_off, on_gone, on_terminating, plan_anew
from reprieve.scheduler.ledger import Ledger, Parts
from reprieve.scheduler.ledger.assumed import Assumed
from reprieve.scheduler.ledger.nominations import NominationReason
from reprieve.scheduler.mirror.group_mirror import GroupRuns
from reprieve.scheduler.mirror.pod_rows import pod_key
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.plans.handover import Handover, reported_again
from reprieve.scheduler.plans.open_plans import Plans
from reprieve.scheduler.plans.plan_log import PlanLog
from reprieve.scheduler.plans.plan_records import EndReason, GrowthEnd
from reprieve.scheduler.plans.toleration_rules import first_end
from reprieve.scheduler.queue.queue import Queue, Standing
from reprieve.scheduler.reporting.decision import Growth
from reprieve.scheduler.reporting.status_reporter import Notice, StatusReporter, is_improving
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import pod_target


def on_pod_seen(state: State, pod: Pod, unserved: tuple[str, ...], now: Moment) -> None:
    target, key = pod_target(pod), pod_key(pod)
    before = state.world.pod(key)
    was_on = state.world.node_of(key) if before is not None else ""
    changes = state.world.see(pod)
    if before is not None and Change.CLOCKS in changes:
        on_clock_began(state.queue, state.world, scheduled_at(pod))
    if changes and state.queue:
        # Demands that wait for this pod to go are not woken before the last pod that they wait for is gone.
        held, nodes = state.plans.waiting_for(target), {was_on, state.world.node_of(key)}
        state.queue.wake_all(changes, now.elapsed, held, nodes)
    known = state.world.pod(key)
    if known is not None and known is before:
        return  # an outdated sight, as a relist may bring it
    if before is None or known is None:
        note_member(state, pod)
    elif _runs(before.pod) != _runs(pod):
        state.group_news.rerun(group_key(pod))
    member_growth.note_resize(state, before, known)
    if known is None:  # it is finished
        if before is not None:
            end_waiting(state, target, now)
            on_gone(state, target, now)
        state.tombstones.bury(pod.metadata.uid, pod.metadata.resource_version)
        return
    plan_driver.note_mark(state.ledger.victims, pod)
    if pod.metadata.deletion_timestamp is not None:
        on_terminating(state, pod, now, is_new=before is None)
    if pod.spec.node_name:
        if state.synced and (before is None or not before.pod.spec.node_name):
            unit_driver.on_placed(state.units, state.outbox, pod, now)
        _on_placed(state, before, known, now)
        on_member_settled(state, pod, now, changed=before is None)
    elif target not in state.ledger.assumed:
        _on_waiting(state, before, known, unserved, now)


def on_clock_began(queue: Queue, world: World, since: float) -> None:
    """The time of pods that tolerate preemption counts from then on: no toleration can end before this."""
    earliest = first_end(world.groups.classes.values(), since)
    if earliest < inf:
        queue.hasten(Change.CLOCKS, earliest)


def _on_placed(state: State, before: CompiledPod | None, known: CompiledPod, now: Moment) -> None:
    """The pod is bound, and its promise is kept: it is no demand any more, unless it waits for a resize.

    The sight may come before the answer to the bind, and after a restart without any: both end here.
    """
    target, key = pod_target(known.pod), DemandKey.of_resize(known.pod)
    resizes = state.demands.resizes_of(known.pod) if state.demands.is_ours(known.pod) else None
    waits = resizes is not None and resizes.is_waiting(known.pod)
    if not waits or state.ledger.parts.get(target) != key:
        end_waiting(state, target, now)
    if not waits:
        return
    node = state.world.node(known.pod.spec.node_name)
    changed = before is None or _resize_of(before) != _resize_of(known)
    changed |= state.ledger.parts.get(target) != key
    if before is not None and node is not None:
        changed |= state.demands.forbidden(key, before.pod, node) != state.demands.forbidden(
            key, known.pod, node
        )
    state.ledger.parts.join(target, key)
    state.demands.faults.pop(target, None)
    if changed:
        _call_off_if_outdated(state, key, now)
    enqueue(state, key, now, changed=changed)


def _call_off_if_outdated(state: State, key: DemandKey, now: Moment) -> None:
    """Nothing more is evicted for a demand that has changed, or to which preemption is forbidden now."""
    plan, found = state.plans.of(key), state.demands.requester(key)
    is_forbidden = isinstance(found, Requester) and bool(found.forbidden)
    if plan is not None and (plan.evicts_later or is_forbidden):
        reason = EndReason.PREEMPTION_FORBIDDEN if is_forbidden else EndReason.PREEMPTOR_CHANGED
        plan_anew(state, key, reason, now)


def on_node_changed(state: State, name: str, before: Node | None, now: Moment) -> None:
    """A node may forbid preemption for resizes, and allow it again; or be gone, and come back."""
    node = state.world.node(name)
    for key in state.queue.at(name):
        known, changed = state.world.pod(key.object), False
        if known is not None and before is not None and node is not None:
            changed = state.demands.forbidden(key, known.pod, before) != state.demands.forbidden(
                key, known.pod, node
            )
        if changed:
            _call_off_if_outdated(state, key, now)
        enqueue(state, key, now, changed=changed)


def _on_waiting(
    state: State, before: CompiledPod | None, known: CompiledPod, unserved: tuple[str, ...], now: Moment
) -> None:
    """Enqueues the demand of a waiting pod, if the pod is new or needs something else than before."""
    pod, target = known.pod, pod_target(known.pod)
    if not state.demands.is_ours(pod):
        end_waiting(state, target, now)
        return
    faults = [
        *map(str, known.problems),
        *(f"{path}: not supported by this scheduler" for path in unserved),
    ]
    left, key = state.ledger.parts.get(target), state.demands.demand_of(pod)
    changed = before is None or left is None or _needs_of(before) != _needs_of(known)
    changed |= bool(faults) != (target in state.demands.faults)
    state.ledger.parts.join(target, key)
    if left not in (None, key):
        move_nomination(state.ledger.nominations, state.queue, target, left, now)
        enqueue(state, left, now, changed=True)
    state.demands.faults.pop(target, None)
    if faults:
        state.demands.faults[target] = "; ".join(faults)
        state.reporter.report_waiting_pod(target, "Unschedulable", Notice(state.demands.faults[target]))
    if before is None and pod.status.nominated_node_name:
        state.ledger.nominations.nominate(target, pod.status.nominated_node_name, NominationReason.SHOWN)
    if changed or state.queue.standing(key) in (None, Standing.GATED, Standing.DECIDING):
        enqueue(state, key, now, changed=changed)


def enqueue(state: State, key: DemandKey, now: Moment, *, changed: bool) -> None:
    """Enqueues a demand, or removes it if it needs nothing any more.

    Many members of a group come, are bound and go together, and the demand of a group is made from all of
    them: it is looked at once, when all events of the step are seen. An eviction that an earlier event of
    the step leads to does not depend on it: the last look before the first delete reads the demand itself.
    """
    if key.kind.is_of_groups:
        state.group_news.enqueue(key, changed=changed)
    else:
        _enqueue_now(state, key, now, changed=changed)


def enqueue_group(state: State, key: DemandKey, now: Moment) -> None:
    """The rest of a step, for one group of which it had news."""
    _enqueue_now(state, key, now, changed=state.group_news.take_demand(key))


def _enqueue_now(state: State, key: DemandKey, now: Moment, *, changed: bool) -> None:
    """A group may be left with pods that another scheduler serves: those are no demand of this one."""
    found = state.demands.requester(key) if state.ledger.parts.has(key) else None
    if not isinstance(found, Requester) and state.synced:
        _report_improving_ended(state, key, found, now)
        call_off(state, key, reason_not_to_wait(state.demands, state.world, key, found), now)
    if not isinstance(found, NotYet) or not found.arriving:
        state.late_gangs.end(key)
    match found:
        case None:
            state.queue.remove(key)
            on_demand_settled(state.ledger.parts, state.plan_log, key, now)
        case NotYet(text, pods, arriving, flaw):
            state.queue.add(key, 0, now.elapsed, gated=True, only_node=state.demands.only_node(key))
            state.queue.gate(key)  # also while its other pods are being bound
            if arriving:
                state.late_gangs.begin(key, now.elapsed)
            if text and state.synced and (not arriving or state.late_gangs.is_late(key)):
                ours = [pod for pod in pods if state.demands.is_ours(pod.pod)]
                report_waiting(state.reporter, key, ours, Notice(text))
                for group in state.demands.pod_groups_of(key):
                    if flaw:
                        state.reporter.report_flawed_group(group, flaw, text)
                    else:
                        state.reporter.report_waiting_group(group, Notice(text))
        case requester:
            standing = state.queue.standing(key)
            if standing is Standing.DECIDING:
                state.queue.again(
                    key, now.elapsed
                )  # the other pods have their nodes, and one more joins them
            elif changed or standing in (None, Standing.GATED):
                state.queue.add(key, requester.priority, now.elapsed, only_node=state.demands.only_node(key))


def _report_improving_ended(state: State, key: DemandKey, found: NotYet | None, now: Moment) -> None:
    """Its group may say that the plan is improved, and no decision follows that would say something else.

    It may have said so for a predecessor.
    """
    improving = state.improvements.of(key)
    is_told = improving is not None and improving.is_long(now.elapsed)
    for group in state.demands.pod_groups_of(key):
        if not (is_told or is_improving(group)):
            continue
        if found is None:
            state.reporter.report_waiting_group(
                group, Notice("no pod of the group waits for a node"), "NoPodWaits"
            )
        else:
            state.reporter.report_waiting_group(group, Notice(found.text))


def update_held_units(state: State, now: Moment) -> None:
    """Pods of units that are being evicted wait from now on, or not any more."""
    if not (state.group_news.is_any_held or state.units.is_any_evicted()):
        return
    held = state.units.held()
    changed, ended = state.group_news.hold(held, state.units.groups_being_evicted())
    if not changed and not ended:
        return
    waiting = [(key, state.demands.units_of(key)) for key in state.queue if key.kind.is_of_groups]
    for key, units in waiting:
        # Once it is over, a group may be part of another unit than the one that it was evicted with.
        has_ended = (
            any(key_of(group) in ended for group in state.demands.pod_groups_of(key)) if ended else False
        )
        if has_ended or not units.isdisjoint(changed):
            enqueue(state, key, now, changed=units.isdisjoint(held))


def report_late_gangs(state: State, now: Moment) -> None:
    """Reports on gangs whose missing pods were not created in time."""
    for key in state.late_gangs.overdue(now.elapsed):
        enqueue(state, key, now, changed=False)


def on_group_changed(state: State, namespace: str, name: str, now: Moment) -> None:
    _on_groups_changed(state, [(namespace, name)], now)


def _on_groups_changed(state: State, groups: Iterable[GroupKey], now: Moment) -> None:
    """Their pods may be part of another demand now: in another tree, or in none.

    What is said of pods that run may be what others of their tree wait for.
    """
    demands: dict[DemandKey, bool] = {}  # whether pods were moved from it or to it
    for group in groups:
        members = [*filter(None, map(state.world.pod, state.world.groups.members(group)))]
        if not members:
            continue
        key = state.demands.demand_of(
            members[0].pod
        )  # the same for all of them, unless each is its own demand
        if not key.kind.is_of_groups:
            continue
        for known in members:
            target = pod_target(known.pod)
            left = state.ledger.parts.get(target)
            if left is not None and not left.kind.is_of_groups:
                continue
            demands.setdefault(key, False)
            if left is not None and left != key:
                demands.update({left: True, key: True})
                state.ledger.parts.join(target, key)
                move_nomination(state.ledger.nominations, state.queue, target, left, now)
    for key, is_moved in sorted(demands.items()):
        if key in state.queue:
            _call_off_if_outdated(state, key, now)
        if is_moved or key in state.queue:
            enqueue(state, key, now, changed=True)


def on_namespace_changed(state: State, namespace: str, now: Moment) -> None:
    """The namespace is being deleted now, or another of the same name has come that is not."""
    for key in [key for key in state.ledger.parts.demands() if key.namespace == namespace]:
        enqueue(state, key, now, changed=True)


def on_tree_changed(state: State, namespace: str, name: str, now: Moment) -> None:
    """What a composite group says counts for all groups inside."""
    inside = state.world.groups.beneath((namespace, name))
    state.group_news.change(inside)
    _on_groups_changed(state, inside, now)


def update_deep_groups(state: State, now: Moment) -> None:
    """Groups too deep for a tree may have changed: the outermost group says what they are as victims.

    Once when all events of the step are seen, since a chain of groups may be long. Before all objects were
    seen, no demand waits for it.
    """
    if not state.synced:
        return
    inside, changes = state.world.too_deep_changed()
    state.queue.wake_all(changes, now.elapsed)
    state.group_news.change(inside)
    _on_groups_changed(state, inside, now)


def on_member_settled(state: State, pod: Pod, now: Moment, *, changed: bool = False) -> None:
    """What became of a pod that does not wait may matter to pods of its group that do."""
    if group_key(pod) is None:
        return
    key = state.demands.demand_of(pod)
    if not key.kind.is_of_groups:
        return
    if key in state.queue:
        enqueue(state, key, now, changed=changed)
    of_pod = group_key(pod)
    group = state.world.groups.group(of_pod) if state.synced and of_pod is not None else None
    if group is not None and not state.reporter.is_scheduled(group) and has_started(state.world, group):
        state.reporter.report_scheduled_group(group)


def on_synced(state: State, now: Moment) -> None:
    """Only now is it known which objects are missing."""
    leaving = (state.world.pod((pod.namespace, pod.name)) for pod in state.ledger.terminating.under_way)
    state.outbox.put(
        *(event for known in leaving if known is not None and (event := reported_again(known.pod)))
    )
    for key in state.ledger.parts.demands():
        enqueue(state, key, now, changed=False)
    for name, group in state.world.groups.tree().pod_groups.items():
        if is_improving(group) and not state.world.groups.size(name):  # its pods were withdrawn meanwhile
            enqueue(state, DemandKey.of_group(name), now, changed=False)


def settle_promise(ledger: Ledger, world: World, queue: Queue, pod: Target, now: Moment) -> Assumed | None:
    """Ends a promise. Volumes count as they are shown again, unless another promise shares the step."""
    assumed = ledger.assumed.settle(pod)
    if assumed is not None and not all(map(ledger.assumed.needs, assumed.steps)):
        queue.wake_all(world.volume_steps_changed(), now.elapsed)
    return assumed


def end_waiting(state: State, pod: Target, now: Moment) -> None:
    """A pod is no part of a demand any more: it is bound, finished or gone.

    Everything that the ledger keeps for it ends here, whether its answers have arrived or not.
    """
    state.reporter.forget(pod)
    state.preemption_backoff.forget(pod)
    state.demands.faults.pop(pod, None)
    surprising = settle_promise(state.ledger, state.world, state.queue, pod, now) is None
    key = state.ledger.parts.get(pod)
    if key is None:
        return
    state.gang_growth.forget(key)
    unreserve(state.ledger.nominations, state.queue, [pod], key, now)
    state.ledger.parts.leave(pod)
    plan = state.plans.of(key)
    if plan is not None and pod in dict(plan.places):
        plan_anew(state, key, reason_settled(state, key, pod, plan), now)
    on_pod_settled(state, key, pod, now)
    enqueue(state, key, now, changed=surprising)


def on_unread(state: State, target: Target, problem: str, now: Moment) -> None:
    """The last version that could be read goes on counting as load; no pod is placed by it."""
    if target in state.ledger.parts and target not in state.ledger.assumed:
        state.demands.faults[target] = problem
        enqueue(state, state.ledger.parts[target], now, changed=False)
    state.reporter.warn(target, problem)


def note_member(state: State, pod: Pod) -> None:
    """A pod joins a group, or leaves it."""
    group = group_key(pod) if pod.spec.scheduler_name in state.settings.profiles else None
    if group is not None:
        state.group_news.change([group])


def report_groups(state: State, now: Moment) -> None:
    """What of groups follows from all of their pods: whether priorities agree, and since when they run."""
    if not state.synced:
        return
    state.group_news.change(state.reporter.refused.due(now.elapsed))
    changed, rerun, resized = state.group_news.take()
    member_growth.wake_members(state, rerun, now)
    for key in resized if state.gang_growth.is_on else ():
        member_growth.report_granted(state.demands, state.world, state.reporter, key)
    for group in filter(None, map(state.world.groups.group, changed)):
        text = state.settings.group_rules.divergence(state.world, group)
        if text is not None:
            state.reporter.report_divergence(group, text)
        state.reporter.report_lost_parent(group, lost_parent(state.world, group))
    for key in rerun:
        if state.settings.tolerations.is_timed(state.world.groups.tree(), key):
            _report_run(state.world, state.group_runs, state.reporter, key, now)


def _report_run(world: World, runs: GroupRuns, reporter: StatusReporter, key: GroupKey, now: Moment) -> None:
    group = world.groups.group(key)
    if group is not None and group.metadata.deletion_timestamp is None:
        members = map(world.pod, world.groups.members(key))
        running = [pod.pod for pod in members if pod is not None and _runs(pod.pod)]
        reporter.report_run(group, runs.start_of(group, running, now.wall))


def _runs(pod: Pod) -> bool:
    return bool(pod.spec.node_name) and pod.metadata.deletion_timestamp is None


def _needs_of(compiled: CompiledPod) -> tuple[object, ...]:
    """What of a waiting pod, if it changes, deserves another decision."""
    spec = compiled.pod.spec
    return compiled.shape, spec.priority, spec.scheduling_gates, spec.scheduler_name, compiled.problems


def _resize_of(compiled: CompiledPod) -> tuple[object, ...]:
    """What of a pod that runs and waits for a resize, if it changes, deserves another decision."""
    pod = compiled.pod
    return compiled.weight, pod.metadata.annotations, pod.spec.priority, compiled.problems


# --- what became of a demand that needs nothing more ---------------------------------------------


def reason_not_to_wait(
    demands: DemandLookup, world: World, key: DemandKey, found: NotYet | None
) -> EndReason:
    """Why a plan ends for a demand that cannot be decided, or is not there any more."""
    if found is None:
        return EndReason.PREEMPTOR_GONE
    if key.kind is DemandKind.RESIZE and not world.has_node(demands.only_node(key)):
        return EndReason.NODE_GONE
    return EndReason.PREEMPTOR_NOT_READY


def reason_settled(state: State, key: DemandKey, pod: Target, plan: Handover) -> EndReason:
    """Why a plan ends when a pod that it places needs nothing more.

    A pod that the scheduler places itself is no part of a plan any more when it is bound.
    """
    if key.kind is not DemandKind.RESIZE:
        return EndReason.PREEMPTOR_GONE
    if _growth_end(state.demands, state.world, state.plan_log, key, pod) is not GrowthEnd.GRANTED:
        return EndReason.PREEMPTOR_GONE
    return EndReason.NO_LONGER_NEEDED if plan.evicts_later else EndReason.ROOM_USED


def on_pod_settled(state: State, key: DemandKey, pod: Target, now: Moment) -> None:
    """A pod of a demand is bound, has grown, or is gone."""
    known = _shown(state.world, pod)
    node = known.pod.spec.node_name if known is not None else ""
    if key.kind is DemandKind.RESIZE:
        end = _growth_end(state.demands, state.world, state.plan_log, key, pod)
        node = node if end is GrowthEnd.GRANTED else ""
        state.plan_log.on_growth_ended(pod, end, now)
    if not state.plan_log.remembers(key):
        return
    if node:
        state.plan_log.on_bound(
            key, pod, node, now, has_its_nodes=not _waits_for_nodes(state.ledger, state.plans, key)
        )
    on_demand_settled(state.ledger.parts, state.plan_log, key, now)


def on_demand_settled(parts: Parts, plan_log: PlanLog, key: DemandKey, now: Moment) -> None:
    """If no pod is left that waits or is to be bound, no evicted pod can be of use any more."""
    if plan_log.remembers(key) and not parts.has(key):
        plan_log.on_lost(key, now)


def _waits_for_nodes(ledger: Ledger, plans: Plans, key: DemandKey) -> bool:
    """Whether a plan for the demand is open, or one of its pods is nominated or assumed."""
    return plans.of(key) is not None or any(
        pod in ledger.nominations or pod in ledger.assumed for pod in ledger.parts.pods(key)
    )


def _growth_end(
    demands: DemandLookup, world: World, plan_log: PlanLog, key: DemandKey, pod: Target
) -> GrowthEnd:
    known, wanted = _shown(world, pod), plan_log.wanted(pod)
    if known is None or known.pod.metadata.deletion_timestamp is not None:
        return GrowthEnd.GONE
    resizes = demands.resizes(key)
    if resizes is not None and resizes.is_hopeless(known.pod):
        return GrowthEnd.INFEASIBLE
    return GrowthEnd.GRANTED if wanted is not None and _has(known, wanted) else GrowthEnd.WITHDRAWN


def _has(known: CompiledPod, wanted: Growth) -> bool:
    return all(known.weight.held.get(name, 0) >= one.wants for name, one in wanted.resources.items())


def _shown(world: World, pod: Target) -> CompiledPod | None:
    known = world.pod((pod.namespace, pod.name))
    return known if known is not None and pod_target(known.pod) == pod else None
