"""How open plans go on when their calls are answered, when pods leave, and when they are called off.

A call may be answered after its plan was called off, its victim may vanish before the answer, and one pod
may be the victim of two plans. So each answer is first matched with the plan that waits for it, or with none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reprieve.model.effects import Announce, Effect, Evict, Nominate, SetCondition, Target, Tone
from reprieve.model.moment import Moment
from reprieve.model.objects import Pod, PodGroup, PriorityClass
from reprieve.preemption.eligibility import grace_of
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands import Requester, report_demand
from reprieve.scheduler.demands.awaited_members import has_started
from reprieve.scheduler.execution import eviction_counting, group_marks, unit_driver
from reprieve.scheduler.execution.last_look import last_look
from reprieve.scheduler.execution.nomination_withdrawal import (
    on_not_cleared,
    prune_lingering,
    withdraw_nominations,
)
from reprieve.scheduler.ledger import Ledger
from reprieve.scheduler.ledger.nominations import NominationReason
from reprieve.scheduler.ledger.victims import VictimLedger
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.plans.handover import (
    Handover,
    Stage,
    Step,
    abandoned,
    acknowledged,
    closed_text,
    decision_in,
    is_marked,
    joined,
    leaves_by_itself,
    mark,
    mark_text_of,
    outlived,
    shown_mark,
    unmark,
    vanished,
)
from reprieve.scheduler.plans.plan_log import PlanLog
from reprieve.scheduler.plans.plan_records import EndReason
from reprieve.scheduler.plans.recent_evictions import RecentEvictions
from reprieve.scheduler.plans.whole_units import WholeUnits
from reprieve.scheduler.queue.queue import Queue
from reprieve.scheduler.reporting.explanation import failure_text
from reprieve.scheduler.reporting.status_reporter import Notice
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import group_target, pod_target

_REASONS: Mapping[type[Effect], EndReason] = {
    Nominate: EndReason.NOMINATION_FAILED,
    SetCondition: EndReason.MARK_FAILED,
    Evict: EndReason.EVICTION_FAILED,
}


@dataclass(frozen=True, slots=True)
class _Failure:
    reason: EndReason
    target: Target  # the pod or the group that a call was meant for, or the victim that does not leave
    error: str


def _advance(state: State, key: DemandKey, before: Handover, step: Step, now: Moment) -> None:
    """A plan goes on; its demand is decided again when the calls are over, and when all victims are gone."""
    handover, effects = step
    if before.evicts_later and any(isinstance(effect, Evict) for effect in effects):
        look = last_look(state, key, handover, now)
        if look.reason is not None:
            plan_anew(state, key, look.reason, now)
            return
        if look.is_new_to(handover):
            handover, effects = joined(handover, look.joined, look.groups, look.trees)
        else:
            state.plan_log.on_units_changed(key, look.units.values(), dict(handover.victim_nodes))
            for unit, pods in look.units.items():
                text = mark_text_of(handover, pods[0].namespace)
                unit_driver.begin(state.units, unit, text, pods, key, now)
            group_marks.open_marks(state.units, _texts(handover, {group for _, group in look.groups}))
    state.plans.keep(key, handover)
    state.plan_log.on_advanced(key, handover, now)
    deletes = [effect.target for effect in effects if isinstance(effect, Evict)]
    for pod in deletes:
        state.ledger.terminating.begin(pod, now.elapsed)
        state.plan_log.on_eviction_sent(key, pod)
    eviction_counting.count_sent(state.evictions, state.world, deletes, handover, now)
    if handover.stage is Stage.READY:
        state.queue.again(key, now.elapsed)
    elif handover.stage is Stage.DRAINING and before.is_settling:
        state.queue.let_wait(key, now.elapsed)
    state.outbox.put(*effects)


def on_acknowledged(state: State, effect: Effect, now: Moment) -> None:
    key = state.plans.on_answered(effect)
    handover = state.plans.of(key) if key is not None else None
    if isinstance(effect, Evict):
        unit_driver.on_delete_accepted(state.units, state.reporter, effect.target)
    if key is None or handover is None:
        unit_driver.on_answered(state.units, state.outbox, state.evictions, effect, now)
    else:
        _advance(state, key, handover, acknowledged(handover, effect), now)


def on_failed(state: State, effect: Effect, error: str, now: Moment) -> None:
    """The plan is called off; the demand is queued again, and its pods are told why.

    A whole unit of which pods are evicted already is finished all the same. The mark of a pod that stays is
    cleared at once: that it was set is acknowledged, but perhaps not shown yet.
    """
    key = state.plans.on_answered(effect)
    if isinstance(effect, Evict):
        count_as_staying(state.units, effect.target)
        state.preemption_backoff.on_refused(effect.target, now.elapsed)
        state.plan_log.on_refused(effect.target, key, state.plans.waiting_for_answer(effect))
        eviction_counting.on_not_evicted(state.evictions, state.queue, effect.target, now)
    unit_driver.on_refused(state.units, state.reporter, effect, error, now)
    if key is not None:
        _call_off_failed(state, key, _Failure(_REASONS[type(effect)], effect.target, error), now)
        state.queue.retry(key, now.elapsed)
    if isinstance(effect, Evict) and not _keeps_its_mark(state.units, effect.target):
        state.outbox.put(unmark(effect.target))
    on_not_cleared(state.ledger.nominations, effect)


def _call_off_failed(state: State, key: DemandKey, failure: _Failure, now: Moment) -> None:
    found = state.demands.requester(key)
    plan_anew(state, key, failure.reason, now)
    if isinstance(found, Requester):
        text = failure_text(failure.target, failure.error, key.namespace)
        report_demand(state.reporter, found, Notice(text))


def count_as_staying(units: WholeUnits, pod: Target) -> None:
    """An eviction failed, or is not sent. The pod may leave all the same, for whatever other reason.

    Two plans may evict one pod: then the answer to one call says nothing of the other, which is in flight.
    """
    known = units.world.pod((pod.namespace, pod.name))
    is_shown_leaving = known is not None and known.pod.metadata.deletion_timestamp is not None
    if not is_shown_leaving and not units.plans.expects(Evict(pod)):
        units.ledger.terminating.end(pod)


def note_mark(victims: VictimLedger, thing: Pod | PodGroup) -> None:
    """The object shows a mark, or shows none any more."""
    target = pod_target(thing) if isinstance(thing, Pod) else group_target(thing)
    victims.on_seen(target, marked=is_marked(thing))


def on_terminating(state: State, pod: Pod, now: Moment, *, is_new: bool) -> None:
    """A pod is being deleted, for whatever reason: it need not be evicted, and must be gone in time."""
    target, grace = pod_target(pod), pod.metadata.deletion_grace_period_seconds or 0
    goes = pod.metadata.deletion_timestamp if is_new else None  # it says when its grace is over
    asked = now.elapsed_at(goes.timestamp() - grace) if goes is not None else None
    state.ledger.terminating.begin(target, now.elapsed, asked)
    for key, handover in state.plans.concerned(target):
        state.plans.keep(key, leaves_by_itself(handover, target))
    unit_driver.on_delete_accepted(state.units, state.reporter, target)


def give_up_stuck_victims(state: State, now: Moment) -> None:
    """The room of pods that should be gone by now is not counted on any longer."""
    for pod in state.ledger.terminating.overdue(now.elapsed):
        waiting = [key for key, plan in state.plans.concerned(pod) if plan.needs_gone(pod)]
        error = f"it has not left within {state.ledger.terminating.patience:g} s"
        if waiting:
            note = f"{error} of being asked to; its room is not counted on any more"
            state.outbox.put(Announce(pod, Tone.WARNING, "PreemptionStuck", "Preempting", note))
        for key in waiting:
            _call_off_failed(state, key, _Failure(EndReason.VICTIM_STUCK, pod, error), now)


def sweep(state: State, now: Moment) -> None:
    """Clears what is left from an earlier run, or could not be cleared at its time."""
    marks = _unused_marks(state.units) if state.synced else set()
    over = frozenset(mark for mark in marks if mark.kind != "Pod" and _runs_again(state.units, mark))
    state.outbox.put(*map(outlived, sorted(state.ledger.sweep.newly_over(over))))
    lingering = prune_lingering(state.ledger, state.world)
    if state.ledger.sweep.is_due(now.elapsed, leftovers=bool(marks or lingering)):
        state.outbox.put(*(_clearing(state.ledger, state.world, mark) for mark in sorted(marks)))
        state.outbox.put(*(Nominate(pod, "") for pod in sorted(lingering)))


def _unused_marks(units: WholeUnits) -> set[Target]:
    """A group that went keeps its mark, until it runs again; a unit that is being evicted keeps all.

    Before all objects are known, a mark says nothing: a unit may have to be finished.
    """
    if not units.plans.unused_marks():
        return set()
    unused = {mark for mark in units.plans.unused_marks() if not _is_of_unit(units, mark)}
    return {mark for mark in unused if mark.kind == "Pod" or _may_be_cleared(units, mark)}


def _may_be_cleared(units: WholeUnits, group: Target) -> bool:
    return _runs_on(units.ledger, units.world, group) or group_marks.is_shown_open(units.world.groups, group)


def _runs_again(units: WholeUnits, group: Target) -> bool:
    """Whether the eviction of a group is over, and as many of its pods as it needs have their node since."""
    known = units.world.groups.group((group.namespace, group.name))
    if known is None or group_marks.is_shown_open(units.world.groups, group):
        return False
    return has_started(units.world, known) and _runs_on(units.ledger, units.world, group)


def _runs_on(ledger: Ledger, world: World, group: Target) -> bool:
    """Whether pods of a group have their node, and none of them is leaving."""
    pods = map(world.pod, world.groups.members((group.namespace, group.name)))
    placed = [pod.pod for pod in pods if pod is not None and pod.pod.spec.node_name]
    return bool(placed) and not any(
        pod.metadata.deletion_timestamp or pod_target(pod) in ledger.terminating for pod in placed
    )


def _clearing(ledger: Ledger, world: World, target: Target) -> Effect:
    key = (target.namespace, target.name)
    if target.kind == "Pod":
        known = world.pod(key)
        return unmark(target, decision_in(shown_mark(known.pod)) if known is not None else "")
    group = world.groups.group(key)
    if group is None or _runs_on(ledger, world, target):
        return outlived(target)
    return mark(target, closed_text(group))


def _keeps_its_mark(units: WholeUnits, target: Target) -> bool:
    """Whether an open plan needs it gone, or the eviction of its unit has begun."""
    return target in units.plans.needed() or _is_of_unit(units, target)


def _is_of_unit(units: WholeUnits, target: Target) -> bool:
    """Whether it is a pod or a group of a unit whose eviction has begun, and is not over."""
    begun, key = units.ledger.unit_evictions, (target.namespace, target.name)
    if target in begun or units.ledger.open_marks.of(target) is not None:
        return True
    if target.kind == "Pod" or not begun.has_group(key):
        return False
    group = units.world.groups.group(key)
    return group is not None and group_target(group) == target


def _texts(handover: Handover, groups: Iterable[Target]) -> dict[Target, str]:
    return {group: mark_text_of(handover, group.namespace) for group in groups}


def on_gone(state: State, target: Target, now: Moment) -> None:
    state.ledger.victims.on_gone(target)
    advance_without(state, target, now)


def advance_without(state: State, target: Target, now: Moment) -> None:
    """A victim is gone, or lost the place that it was promised: plans go on without it."""
    state.preemption_backoff.on_gone(target)
    state.ledger.terminating.end(target)
    unit_driver.on_gone(state.units, state.outbox, state.reporter, target)
    for key, handover in state.plans.concerned(target):
        _advance(state, key, handover, vanished(handover, target), now)


def on_node_lost(state: State, node: str, now: Moment) -> None:
    """A node is gone: demands that wait for room on it plan anew."""
    there = state.ledger.nominations.on(node)
    first = [one.pod for one in there if one.reason is NominationReason.FIRST_PLAN]
    for pod in first:  # it is planned anew when its plan is improved, or its patience ends
        state.ledger.nominations.withdraw(pod)
    for key in dict.fromkeys(state.ledger.parts[one.pod] for one in there if one.pod not in first):
        plan_anew(state, key, EndReason.NODE_GONE, now)


def plan_anew(state: State, key: DemandKey, reason: EndReason, now: Moment) -> None:
    call_off(state, key, reason, now)
    state.queue.again(key, now.elapsed)


def call_off(state: State, key: DemandKey, reason: EndReason, now: Moment) -> None:
    """The demand has its place, is gone, or must plan anew: what was not sent yet is not sent.

    A whole unit whose first delete was sent is finished without the plan, and keeps its marks.
    Nor is it waited for an improvement of its first plan any more.
    Its nominations end with the plan, here and at once. Clearing what the pods show is a call, and may fail.
    """
    state.improvements.end(key)
    if not state.ledger.nominations and state.plans.of(key) is None:
        return
    withdraw_nominations(state.ledger, state.queue, state.outbox, key, now)
    handover = state.plans.drop(key)
    if handover is None:
        return
    state.plan_log.on_ended(key, reason, now)
    kept = {mark for mark in (*handover.victims, *handover.marks) if _keeps_its_mark(state.units, mark)}
    if handover.stage is Stage.COMMITTING:  # its mark has taken the place of that of the unit
        units = [group for group in handover.marks if _is_of_unit(state.units, group)]
        group_marks.open_marks(state.units, _texts(handover, units))
    state.outbox.put(*abandoned(handover, kept).effects)


def on_class_seen(state: State, priority_class: PriorityClass, now: Moment) -> None:
    """What a class says of tolerations may be new: plans that are in doubt by that are made anew.

    The change itself wakes the demands that wait for it.
    """
    changes = state.world.see(priority_class)
    state.queue.wake_all(changes, now.elapsed)
    if changes:
        meta, rules = priority_class.metadata, state.settings.tolerations
        faults = "; ".join(map(str, rules.faults(priority_class)))
        state.reporter.report_faulty_class(Target("PriorityClass", "", meta.name, meta.uid), faults)
        for key, handover in state.plans:
            if rules.in_doubt(handover):
                plan_anew(state, key, EndReason.TOLERATIONS_CHANGED, now)


def put_unless_vain(state: State, effect: Effect, now: Moment) -> None:
    """Drops an eviction whose plan was called off, or whose victim left, within the same batch of events.

    Not those of whole units: the mark on the group is acknowledged, and a new leader would go on, too.
    """
    if not isinstance(effect, Evict):
        state.outbox.put(eviction_counting.naming_workload(state.evictions, effect))
    elif effect.target in state.ledger.unit_evictions:
        state.outbox.put(_in_time(state, effect))
    elif state.plans.take_back(effect):
        count_as_staying(state.units, effect.target)
        _on_unsent(state.plan_log, state.evictions, state.queue, effect.target, now)
        state.outbox.put(unmark(effect.target))
    elif state.plans.expects(effect):
        state.outbox.put(_in_time(state, effect))
    else:
        _on_unsent(state.plan_log, state.evictions, state.queue, effect.target, now)


def _in_time(state: State, effect: Evict) -> Evict:
    """With a shorter grace period than the pod's own if that is longer than an administrator allows."""
    longest, known = (
        state.settings.longest_grace,
        state.world.pod((effect.target.namespace, effect.target.name)),
    )
    if longest is None or known is None or grace_of(known.pod) <= longest:
        return effect
    return Evict(effect.target, longest)


def _on_unsent(plan_log: PlanLog, evictions: RecentEvictions, queue: Queue, pod: Target, now: Moment) -> None:
    plan_log.on_unsent(pod)
    eviction_counting.on_not_evicted(evictions, queue, pod, now)
