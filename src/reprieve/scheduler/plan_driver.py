"""How open plans go on when their calls are answered, when pods leave, and when they are called off.

A call may be answered after its plan was called off, its victim may vanish before the answer, and one pod
may be the victim of two plans. So each answer is first matched with the plan that waits for it, or with none.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from reprieve.model.changes import Change
from reprieve.model.effects import Announce, Effect, Evict, Nominate, SetCondition, Target, Tone
from reprieve.model.objects import Pod
from reprieve.scheduler import eviction_counting, group_marks, unit_driver
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands import Requester
from reprieve.scheduler.explanation import failure_text
from reprieve.scheduler.handover import (
    Handover,
    Stage,
    Step,
    abandoned,
    acknowledged,
    closed_text,
    decision_in,
    joined,
    leaves_by_itself,
    mark,
    mark_text_of,
    outlived,
    shown_mark,
    unmark,
    vanished,
)
from reprieve.scheduler.last_look import last_look
from reprieve.scheduler.ledger.nominations import NominationReason
from reprieve.scheduler.nomination_withdrawal import (
    lingering_nominations,
    not_cleared,
    withdraw_nominations,
)
from reprieve.scheduler.plan_records import EndReason
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


def _step(state: State, key: DemandKey, before: Handover, step: Step, now: float) -> tuple[Effect, ...]:
    """A plan goes on; its demand is decided again when the calls are over, and when all victims are gone."""
    handover, effects = step
    if before.evicts_later and any(isinstance(effect, Evict) for effect in effects):
        look = last_look(state, key, handover, now)
        if look.reason is not None:
            return tuple(plan_anew(state, key, look.reason, now))
        if look.is_new_to(handover):
            handover, effects = joined(handover, look.joined, look.groups)
        else:
            effects = (*effects, *eviction_counting.chain_continued(state, key, handover, now))
            state.plan_log.grew(key, look.units.values(), dict(handover.victim_nodes))
            for unit, pods in look.units.items():
                unit_driver.begin(state, unit, mark_text_of(handover, pods[0].namespace), pods, now)
            group_marks.opened(state, _texts(handover, {group for _, group in look.groups}))
    state.plans.keep(key, handover)
    state.plan_log.went_on(key, handover, now)
    deletes = [effect.target for effect in effects if isinstance(effect, Evict)]
    for pod in deletes:
        state.ledger.terminating.begin(pod, now)
        state.plan_log.evicts(key, pod)
    eviction_counting.sent(state, deletes, handover, now)
    if handover.stage is Stage.READY:
        state.queue.again(key)
    elif handover.stage is Stage.DRAINING and before.is_settling:
        state.queue.let_wait(key, now)
    return effects


def went_well(state: State, effect: Effect, now: float) -> tuple[Effect, ...]:
    key = state.plans.answered(effect)
    handover = state.plans.of(key) if key is not None else None
    accepted = tuple(unit_driver.accepted(state, effect.target)) if isinstance(effect, Evict) else ()
    if key is None or handover is None:
        return (*accepted, *unit_driver.answered(state, effect, now))
    return (*accepted, *_step(state, key, handover, acknowledged(handover, effect), now))


def went_wrong(state: State, effect: Effect, error: str, now: float) -> Iterator[Effect]:
    """The plan is called off; the demand is queued again, and its pods are told why.

    A whole unit of which pods are evicted already is finished all the same. The mark of a pod that stays is
    cleared at once: that it was set is acknowledged, but perhaps not shown yet.
    """
    key = state.plans.answered(effect)
    if isinstance(effect, Evict):
        stays(state, effect.target)
        state.preemption_backoff.refused(effect.target, now)
        state.plan_log.refused(effect.target, key, state.plans.waiting_for_answer(effect))
        eviction_counting.not_evicted(state, effect.target, now)
    yield from unit_driver.refused(state, effect, error, now)
    if key is not None:
        yield from _failed(state, key, _Failure(_REASONS[type(effect)], effect.target, error), now)
        state.queue.retry(key, now)
    if isinstance(effect, Evict) and not _keeps_its_mark(state, effect.target):
        yield unmark(effect.target)
    not_cleared(state, effect)


def _failed(state: State, key: DemandKey, failure: _Failure, now: float) -> Iterator[Effect]:
    found = state.requester(key)
    yield from plan_anew(state, key, failure.reason, now)
    if isinstance(found, Requester):
        yield from state.report(found, failure_text(failure.target, failure.error, key.namespace))


def stays(state: State, pod: Target) -> None:
    """An eviction failed, or is not sent. The pod may leave all the same, for whatever other reason.

    Two plans may evict one pod: then the answer to one call says nothing of the other, which is in flight.
    """
    known = state.world.pod((pod.namespace, pod.name))
    is_shown_leaving = known is not None and known.pod.metadata.deletion_timestamp is not None
    if not is_shown_leaving and not state.plans.expects(Evict(pod)):
        state.ledger.terminating.end(pod)


def is_leaving(state: State, pod: Pod, now: float, *, is_new: bool) -> Iterator[Effect]:
    """A pod is being deleted, for whatever reason: it need not be evicted, and must be gone in time."""
    target, grace = pod_target(pod), pod.metadata.deletion_grace_period_seconds or 0
    goes = pod.metadata.deletion_timestamp if is_new else None  # it says when its grace is over
    state.ledger.terminating.begin(target, now, grace, goes.timestamp() - grace if goes is not None else None)
    for key, handover in state.plans.concerned(target):
        state.plans.keep(key, leaves_by_itself(handover, target))
    yield from unit_driver.accepted(state, target)


def never_left(state: State, now: float) -> Iterator[Effect]:
    """The room of pods that should be gone by now is not counted on any longer."""
    for pod in state.ledger.terminating.overdue(now):
        waiting = [key for key, plan in state.plans.concerned(pod) if plan.needs_gone(pod)]
        error = f"it has not left within {state.ledger.terminating.patience:g} s"
        if waiting:
            note = f"{error} of being asked to; its room is not counted on any more"
            yield Announce(pod, Tone.WARNING, "PreemptionStuck", "Preempting", note)
        for key in waiting:
            yield from _failed(state, key, _Failure(EndReason.VICTIM_STUCK, pod, error), now)


def swept(state: State, now: float) -> Iterator[Effect]:
    """Clears what is left from an earlier run, or could not be cleared at its time."""
    marks = _unused_marks(state)
    lingering = lingering_nominations(state)
    if state.ledger.sweep.is_due(now, leftovers=bool(marks or lingering)):
        yield from (_cleared(state, mark) for mark in sorted(marks))
        yield from (Nominate(pod, "") for pod in sorted(lingering))


def _unused_marks(state: State) -> set[Target]:
    """A group that went keeps its mark, until it runs again; a unit that is being evicted keeps all.

    Before all objects are known, a mark says nothing: a unit may have to be finished.
    """
    if not state.synced or not state.plans.unused_marks():
        return set()
    unused = {mark for mark in state.plans.unused_marks() if not _is_of_unit(state, mark)}
    return {m for m in unused if m.kind == "Pod" or state.runs_on(m) or group_marks.is_shown_open(state, m)}


def _cleared(state: State, target: Target) -> Effect:
    key = (target.namespace, target.name)
    if target.kind == "Pod":
        known = state.world.pod(key)
        return unmark(target, decision_in(shown_mark(known.pod)) if known is not None else "")
    group = state.world.groups.group(key)
    return outlived(target) if group is None or state.runs_on(target) else mark(target, closed_text(group))


def _keeps_its_mark(state: State, target: Target) -> bool:
    """Whether an open plan needs it gone, or the eviction of its unit has begun."""
    return target in state.plans.needed() or _is_of_unit(state, target)


def _is_of_unit(state: State, target: Target) -> bool:
    """Whether it is a pod or a group of a unit whose eviction has begun, and is not over."""
    units, key = state.ledger.unit_evictions, (target.namespace, target.name)
    if target in units or state.ledger.open_marks.of(target) is not None:
        return True
    if target.kind == "Pod" or not units.has_group(key):
        return False
    group = state.world.groups.group(key)
    return group is not None and group_target(group) == target


def _texts(handover: Handover, groups: Iterable[Target]) -> dict[Target, str]:
    return {group: mark_text_of(handover, group.namespace) for group in groups}


def has_left(state: State, target: Target, now: float) -> Iterator[Effect]:
    state.ledger.victims.lost(target)
    yield from gives_no_room(state, target, now)


def gives_no_room(state: State, target: Target, now: float) -> Iterator[Effect]:
    """A victim is gone, or lost the place that it was promised: plans go on without it."""
    state.preemption_backoff.lost(target)
    state.ledger.terminating.end(target)
    yield from unit_driver.gone(state, target)
    for key, handover in state.plans.concerned(target):
        yield from _step(state, key, handover, vanished(handover, target), now)


def lost_room(state: State, node: str, now: float) -> Iterator[Effect]:
    """A node is gone: demands that wait for room on it plan anew."""
    there = state.ledger.nominations.on(node)
    first = [one.pod for one in there if one.reason is NominationReason.FIRST_PLAN]
    for pod in first:  # it is planned anew when its plan is improved, or its patience ends
        state.ledger.nominations.withdraw(pod)
    for key in dict.fromkeys(state.ledger.parts[one.pod] for one in there if one.pod not in first):
        yield from plan_anew(state, key, EndReason.NODE_GONE, now)


def plan_anew(state: State, key: DemandKey, reason: EndReason, now: float) -> Iterator[Effect]:
    yield from call_off(state, key, reason, now)
    state.queue.again(key)


def call_off(state: State, key: DemandKey, reason: EndReason, now: float) -> tuple[Effect, ...]:
    """The demand has its place, is gone, or must plan anew: what was not sent yet is not sent.

    A whole unit whose first delete was sent is finished without the plan, and keeps its marks.
    Nor is it waited for an improvement of its first plan any more.
    Its nominations end with the plan, here and at once. Clearing what the pods show is a call, and may fail.
    """
    state.improvements.end(key)
    if not state.ledger.nominations and state.plans.of(key) is None:
        return ()
    withdrawn = withdraw_nominations(state, key, now)
    handover = state.plans.drop(key)
    if handover is None:
        return withdrawn
    state.plan_log.ended(key, reason, now)
    kept = {mark for mark in (*handover.victims, *handover.marks) if _keeps_its_mark(state, mark)}
    if handover.stage is Stage.COMMITTING:  # its mark has taken the place of that of the unit
        units = [group for group in handover.marks if _is_of_unit(state, group)]
        group_marks.opened(state, _texts(handover, units))
    return (*withdrawn, *abandoned(handover, kept)[1])


def without_vain_evictions(state: State, effects: Iterable[Effect], now: float) -> Iterator[Effect]:
    """Drops evictions whose plan was called off, or whose victim left, within the same batch of events.

    Not those of whole units: the mark on the group is acknowledged, and a new leader would go on, too.
    """
    for effect in effects:
        if not isinstance(effect, Evict) or effect.target in state.ledger.unit_evictions:
            yield effect
        elif state.plans.take_back(effect):
            stays(state, effect.target)
            _unsent(state, effect.target, now)
            yield unmark(effect.target)
        elif state.plans.expects(effect):
            yield effect
        else:
            _unsent(state, effect.target, now)


def _unsent(state: State, pod: Target, now: float) -> None:
    state.plan_log.unsent(pod)
    eviction_counting.not_evicted(state, pod, now)


def wake_others(
    state: State, changes: Collection[Change], now: float, pod: Target, nodes: Collection[str]
) -> None:
    """Demands that wait for this pod to go are not woken before the last pod that they wait for is gone."""
    held = state.plans.waiting_for(pod) if changes else ()
    for change in changes:
        state.queue.wake(change, now, held, nodes)
