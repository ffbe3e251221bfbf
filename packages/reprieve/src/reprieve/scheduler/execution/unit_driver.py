"""How a whole unit is finished once its eviction has begun, with or without the plan that began it.

The ledger says which pods are left, see ``ledger.unit_evictions``. Here are the calls that follow: refused
deletes are sent again, pods that turn out to be members are marked and deleted, and a new leader goes on
where its predecessor died. Plans are not known here.
"""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from reprieve.model.effects import Effect, Evict, SetCondition, Target
from reprieve.model.formatting import listed
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.moment import Moment
from reprieve.model.objects import Pod, PodGroup
from reprieve.model.pods import is_static
from reprieve.scheduler.execution import eviction_counting, group_marks
from reprieve.scheduler.ledger.open_marks import OpenMark
from reprieve.scheduler.ledger.unit_evictions import DeleteState, UnitPod
from reprieve.scheduler.plans.handover import (
    closed_text,
    decision_in,
    is_marked,
    is_open,
    mark,
    shown_mark,
    shows_called_off,
    unmark,
)
from reprieve.scheduler.reporting.preemption_notes import preempted_without_plan
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import group_target, pod_target

_LONGEST_NAMES = 900  # characters, with the error: the note of an event may have 1,024 with all other words


def begin(state: State, unit: str, text: str, pods: tuple[Target, ...], now: Moment) -> None:
    """The deletes of all its pods are sent. ``text``: of their marks."""
    known = (state.world.pod((pod.namespace, pod.name)) for pod in pods)
    groups = ((pod, group_key(one.pod)) for pod, one in zip(pods, known, strict=True) if one is not None)
    state.ledger.unit_evictions.begin(
        UnitPod(pod, unit, group, text, now.elapsed) for pod, group in groups if group is not None
    )


# --- answers -------------------------------------------------------------------------------------


def on_delete_accepted(state: State, pod: Target) -> None:
    """A delete was accepted, or the pod is shown terminating."""
    one = state.ledger.unit_evictions.of(pod)
    if one is not None and (one.state is not DeleteState.SENT or one.refusals):
        state.ledger.unit_evictions.accepted(pod)
        _report_refused(state, one.group)


def on_answered(state: State, effect: Effect, now: Moment) -> None:
    """A call was answered that no plan waits for."""
    group_marks.on_answered(state, effect)
    one = state.ledger.unit_evictions.of(effect.target)
    if one is None:
        return
    if isinstance(effect, Evict):
        _announce_preempted(state, one)
    elif one.state is DeleteState.MARKING and _is_its_mark(effect, one):
        _evict(state, one, now)


def _announce_preempted(state: State, one: UnitPod) -> None:
    known = state.world.pod((one.pod.namespace, one.pod.name))
    told = preempted_without_plan(one.pod, one.mark, known.pod.spec.node_name if known is not None else "")
    if told is not None:
        state.outbox.put(told)


def on_refused(state: State, effect: Effect, error: str, now: Moment) -> None:
    group_marks.on_refused(state, effect, now)
    one = state.ledger.unit_evictions.of(effect.target)
    if one is not None and (isinstance(effect, Evict) or _is_its_mark(effect, one)):
        state.ledger.unit_evictions.refused(one.pod, error, now.elapsed)
        _report_refused(state, one.group, again=True)


def resend(state: State, effect: Effect) -> bool:
    """Whether a call whose answer was lost is sent again, though no plan waits for it."""
    one = state.ledger.unit_evictions.of(effect.target)
    if one is None:
        return group_marks.resend(state, effect)
    sent = one.state is DeleteState.SENT and isinstance(effect, Evict) and not _is_leaving(state, one.pod)
    again = sent or (one.state is DeleteState.MARKING and _is_its_mark(effect, one))
    if again:
        state.ledger.victims.stray([effect])
    return again


def _is_its_mark(effect: Effect, one: UnitPod) -> bool:
    return isinstance(effect, SetCondition) and effect == mark(one.pod, one.mark)


def _is_leaving(state: State, pod: Target) -> bool:
    known = state.world.pod((pod.namespace, pod.name))
    return known is None or known.pod.metadata.deletion_timestamp is not None


# --- what is done --------------------------------------------------------------------------------


def retry_refused(state: State, now: Moment) -> None:
    """Sends refused calls again whose time has come."""
    for one in state.ledger.unit_evictions.due(now.elapsed):
        known = state.world.pod((one.pod.namespace, one.pod.name))
        if known is not None and is_marked(known.pod):
            _evict(state, one, now)
        else:
            _mark_pod(state, one)


def _mark_pod(state: State, one: UnitPod) -> None:
    state.ledger.unit_evictions.marks(one.pod)
    call = mark(one.pod, one.mark)
    state.ledger.victims.stray([call])
    state.outbox.put(call)


def _evict(state: State, one: UnitPod, now: Moment) -> None:
    state.ledger.unit_evictions.sent(one.pod)
    state.ledger.terminating.begin(one.pod, now.elapsed)
    eviction_counting.count_sent_with_unit(state, one.pod, one.mark, now)
    call = Evict(one.pod)
    if not state.plans.expects(call):
        state.ledger.victims.stray([call])
        state.outbox.put(call)


def on_placed(state: State, pod: Pod, now: Moment) -> None:
    """A pod is shown with a node for the first time: is it part of a unit that is being evicted?

    A pod that this scheduler has placed got its node when the unit held it no longer.
    """
    units, target = state.ledger.unit_evictions, pod_target(pod)
    if not len(units) or target in units or not _may_go(state, pod):
        return
    unit, group = state.units.unit_of(group_key(pod)), group_key(pod)
    is_too_late = (
        state.units.is_over
        if target in state.ledger.assumed
        else partial(state.units.is_past, now=now.elapsed)
    )
    if unit is None or group is None or not units.admits(unit, is_too_late):
        return
    first = next(units.left(unit))
    one = UnitPod(target, unit, group, first.mark, first.begun)
    units.join(one)
    _mark_pod(state, one)


def _may_go(state: State, pod: Pod) -> bool:
    meta = pod.metadata
    there = state.world.has_node(pod.spec.node_name)
    return there and meta.deletion_timestamp is None and not is_static(meta)


def on_gone(state: State, pod: Target) -> None:
    """A pod is gone, or has no node after all; or a group is gone."""
    state.ledger.open_marks.end(pod)
    one = state.ledger.unit_evictions.gone(pod)
    if one is None:
        return
    if state.ledger.victims.is_stray(Evict(pod)):
        _announce_preempted(state, one)
    _report_refused(state, one.group)


def _report_refused(state: State, key: GroupKey, *, again: bool = False) -> None:
    """Names the pods on their group that the API server does not let go."""
    group, unit = state.world.groups.group(key), state.units.unit_of(key)
    if group is None or unit is None:
        return
    left = [one for one in state.ledger.unit_evictions.left(unit) if one.group == key]
    refused = sorted((one for one in left if one.is_refused_for_good), key=lambda one: one.pod)
    text = ""
    if refused:
        names = listed([one.pod.name for one in refused], _named_at_most(refused))
        text = f"the eviction of {names} is refused, and tried again: {refused[0].error}"
    elif again:
        return  # refused, if not for good: what the group says of earlier refusals is not withdrawn
    state.reporter.report_incomplete_preemption(group, text, again=again)


def _named_at_most(refused: Sequence[UnitPod]) -> int:
    """How many of them: as many as fit beside the error into the note of an event."""
    ends = accumulate(len(one.pod.name) + len(", ") for one in refused)
    return max(1, sum(end <= _LONGEST_NAMES - len(refused[0].error) for end in ends))


# --- after a restart -----------------------------------------------------------------------------


def resume(state: State, now: Moment) -> None:
    """Finishes units that a predecessor began to evict.

    It may have begun if a group has an open mark: groups are marked after their pods, and before the first
    delete. Then no pod of the unit has been bound since, so that all pods with a node go, marked or not. If
    the mark is closed, pods may have started again: those go that have the mark of the group, or that have a
    mark and are terminating, since two plans may have shared the unit.
    """
    for unit, keys in _marked_units(state).items():
        groups = [group for key in keys if (group := state.world.groups.group(key)) is not None]
        members = [(pod, key) for key in keys for pod in _placed(state, key)]
        opened = [group for group in groups if is_open(group)]
        if any(_was_called_off(group, members) for group in opened):
            state.outbox.put(*(unmark(group_target(group)) for group in opened))
        elif opened:
            text = closed_text(opened[0])
            for group in opened:
                state.ledger.open_marks.open(OpenMark(group_target(group), unit, text))
            _take_over(state, unit, text, members, now)
        elif all(_is_committed(state, pod, key) for pod, key in members):
            marks = {key: shown_mark(group) for key, group in zip(keys, groups, strict=True)}
            going = [key for pod, key in members if _was_going(pod, marks[key])]
            marked = [(pod, key) for pod, key in members if shown_mark(pod)]
            if going:
                _take_over(state, unit, marks[going[0]], marked, now)


def _marked_units(state: State) -> dict[str, list[GroupKey]]:
    """The units of groups that have a mark, each with all of its groups."""
    tree = state.world.groups.tree()
    units: dict[str, list[GroupKey]] = {}
    for key in sorted(tree.pod_groups):
        if (unit := state.units.unit_of(key)) is not None:
            units.setdefault(unit, []).append(key)
    return {
        unit: keys for unit, keys in units.items() if any(shown_mark(tree.pod_groups[key]) for key in keys)
    }


def _was_called_off(group: PodGroup, members: list[tuple[Pod, GroupKey]]) -> bool:
    """Pods are unmarked only if no pod of their unit was deleted; the group's own mark may be left."""
    decision = decision_in(shown_mark(group))
    return any(shows_called_off(pod, decision) for pod, _ in members)


def _was_going(pod: Pod, text: str) -> bool:
    """``text``: of the mark of its group."""
    shown = shown_mark(pod)
    return bool(shown) and bool(text) and (shown == text or pod.metadata.deletion_timestamp is not None)


def _is_committed(state: State, pod: Pod, key: GroupKey) -> bool:
    """All groups of a unit are marked before the first delete."""
    group = state.world.groups.group(key)
    return not is_marked(pod) or group is None or bool(shown_mark(group))


def _take_over(state: State, unit: str, text: str, members: list[tuple[Pod, GroupKey]], now: Moment) -> None:
    units = state.ledger.unit_evictions
    units.begin(
        UnitPod(pod_target(pod), unit, key, text, now.elapsed) for pod, key in members if shown_mark(pod)
    )
    for pod, key in members:
        one = units.of(pod_target(pod)) or UnitPod(pod_target(pod), unit, key, text, now.elapsed)
        if not shown_mark(pod) and _may_go(state, pod):
            units.join(one)
            _mark_pod(state, one)
        elif is_marked(pod):
            _evict(state, one, now)


def _placed(state: State, group: GroupKey) -> list[Pod]:
    found = map(state.world.pod, state.world.groups.members(group))
    return [one.pod for one in found if one is not None and one.pod.spec.node_name]
