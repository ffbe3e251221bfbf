"""How a whole unit is finished once its eviction has begun, with or without the plan that began it.

The ledger says which pods are left, see ``ledger.unit_evictions``. Here are the calls that follow: refused
deletes are sent again, pods that turn out to be members are marked and deleted, and a new leader goes on
where its predecessor died.
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
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.execution import eviction_counting, group_marks
from reprieve.scheduler.ledger import Ledger
from reprieve.scheduler.ledger.open_marks import OpenMark
from reprieve.scheduler.ledger.unit_evictions import DeleteState, UnitPod
from reprieve.scheduler.mirror.group_mirror import GroupMirror
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.outbox import Outbox
from reprieve.scheduler.plans.handover import (
    closed_text,
    decision_in,
    is_marked,
    is_open,
    mark,
    shown_mark,
    shows_called_off,
    unit_being_evicted,
    unmark,
)
from reprieve.scheduler.plans.recent_evictions import RecentEvictions
from reprieve.scheduler.plans.whole_units import WholeUnits
from reprieve.scheduler.queue.queue import Queue
from reprieve.scheduler.reporting.preemption_notes import preempted_without_plan
from reprieve.scheduler.reporting.status_reporter import StatusReporter
from reprieve.scheduler.targets import group_target, pod_target

_LONGEST_NAMES = 900  # characters, with the error: the note of an event may have 1,024 with all other words


def begin(  # noqa: PLR0913, PLR0917  each is needed
    units: WholeUnits, unit: str, text: str, pods: tuple[Target, ...], demand: DemandKey, now: Moment
) -> None:
    """The deletes of all its pods are sent. ``text``: of their marks."""
    known = (units.world.pod((pod.namespace, pod.name)) for pod in pods)
    groups = ((pod, group_key(one.pod)) for pod, one in zip(pods, known, strict=True) if one is not None)
    units.ledger.unit_evictions.begin(
        (UnitPod(pod, unit, group, text, now.elapsed) for pod, group in groups if group is not None),
        demand,
    )


# --- answers -------------------------------------------------------------------------------------


def on_delete_accepted(units: WholeUnits, reporter: StatusReporter, pod: Target) -> None:
    """A delete was accepted, or the pod is shown terminating."""
    one = units.ledger.unit_evictions.of(pod)
    if one is not None:
        units.ledger.unit_evictions.on_effect(pod)
    if one is not None and (one.state is not DeleteState.SENT or one.refusals):
        units.ledger.unit_evictions.on_accepted(pod)
        _report_refused(units, reporter, one.group)


def on_answered(
    units: WholeUnits, outbox: Outbox, evictions: RecentEvictions, effect: Effect, now: Moment
) -> None:
    """A call was answered that no plan waits for."""
    group_marks.on_answered(units.ledger.open_marks, effect)
    one = units.ledger.unit_evictions.of(effect.target)
    if one is None:
        return
    if isinstance(effect, Evict):
        _announce_preempted(units.world, outbox, one)
    elif one.state is DeleteState.MARKING and _is_its_mark(effect, one):
        _evict(units, outbox, evictions, one, now)


def _announce_preempted(world: World, outbox: Outbox, one: UnitPod) -> None:
    known = world.pod((one.pod.namespace, one.pod.name))
    told = preempted_without_plan(one.pod, one.mark, known.pod.spec.node_name if known is not None else "")
    if told is not None:
        outbox.put(told)


def on_refused(units: WholeUnits, reporter: StatusReporter, effect: Effect, error: str, now: Moment) -> None:
    group_marks.on_refused(units.ledger.open_marks, effect, now)
    one = units.ledger.unit_evictions.of(effect.target)
    if one is not None and (isinstance(effect, Evict) or _is_its_mark(effect, one)):
        units.ledger.unit_evictions.on_refused(one.pod, error, now.elapsed)
        _report_refused(units, reporter, one.group, again=True)


def on_answer_lost(units: WholeUnits, effect: Effect) -> None:
    """A delete may have been accepted."""
    if isinstance(effect, Evict) and effect.target in units.ledger.unit_evictions:
        units.ledger.unit_evictions.on_effect(effect.target)


def resend(units: WholeUnits, effect: Effect) -> bool:
    """Whether a call whose answer was lost is sent again, though no plan waits for it."""
    one = units.ledger.unit_evictions.of(effect.target)
    if one is None:
        return group_marks.resend_mark(units, effect)
    is_sent = one.state is DeleteState.SENT and isinstance(effect, Evict)
    sent = is_sent and not _is_leaving(units.world, one.pod)
    again = sent or (one.state is DeleteState.MARKING and _is_its_mark(effect, one))
    if again:
        units.ledger.victims.stray([effect])
    return again


def _is_its_mark(effect: Effect, one: UnitPod) -> bool:
    return isinstance(effect, SetCondition) and effect == mark(one.pod, one.mark)


def _is_leaving(world: World, pod: Target) -> bool:
    known = world.pod((pod.namespace, pod.name))
    return known is None or known.pod.metadata.deletion_timestamp is not None


# --- what is done --------------------------------------------------------------------------------


def release_refused(units: WholeUnits, outbox: Outbox, reporter: StatusReporter, queue: Queue) -> None:
    """Units all of whose deletes were refused stay, once nobody waits for their room: the right to delete may
    come back later, and pods would be evicted for nobody."""
    for unit, demands in units.ledger.unit_evictions.refused_whole():
        if any(queue.standing(demand) is not None for demand in demands):
            continue
        pods = units.ledger.unit_evictions.release(unit)
        marked = [one.group for one in units.ledger.open_marks if one.unit == unit]
        for group in marked:
            units.ledger.open_marks.end(group)
        needed = units.plans.needed()
        targets = [target for target in (*(one.pod for one in pods), *marked) if target not in needed]
        outbox.put(*map(unmark, targets))
        for key in sorted({one.group for one in pods}):
            _report_refused(units, reporter, key)


def retry_refused(units: WholeUnits, outbox: Outbox, evictions: RecentEvictions, now: Moment) -> None:
    """Sends refused calls again whose time has come."""
    for one in units.ledger.unit_evictions.due(now.elapsed):
        known = units.world.pod((one.pod.namespace, one.pod.name))
        if known is not None and is_marked(known.pod):
            _evict(units, outbox, evictions, one, now)
        else:
            _mark_pod(units.ledger, outbox, one)


def _mark_pod(ledger: Ledger, outbox: Outbox, one: UnitPod) -> None:
    ledger.unit_evictions.on_marking(one.pod)
    call = mark(one.pod, one.mark)
    ledger.victims.stray([call])
    outbox.put(call)


def _evict(units: WholeUnits, outbox: Outbox, evictions: RecentEvictions, one: UnitPod, now: Moment) -> None:
    units.ledger.unit_evictions.on_sent(one.pod)
    units.ledger.terminating.begin(one.pod, now.elapsed)
    eviction_counting.count_sent_with_unit(evictions, units.world, one.pod, one.mark, now)
    call = Evict(one.pod)
    if not units.plans.expects(call):
        units.ledger.victims.stray([call])
        outbox.put(call)


def on_placed(units: WholeUnits, outbox: Outbox, pod: Pod, now: Moment) -> None:
    """A pod is shown with a node for the first time: is it part of a unit that is being evicted?

    A pod that this scheduler has placed got its node when the unit held it no longer.
    """
    begun, target = units.ledger.unit_evictions, pod_target(pod)
    if not len(begun) or target in begun or not _may_go(units.world, pod):
        return
    unit, group = units.unit_of(group_key(pod)), group_key(pod)
    is_too_late = units.is_over if target in units.ledger.assumed else partial(units.is_past, now=now.elapsed)
    if unit is None or group is None or not begun.admits(unit, is_too_late):
        return
    first = next(begun.left(unit))
    one = UnitPod(target, unit, group, first.mark, first.begun)
    begun.join(one)
    _mark_pod(units.ledger, outbox, one)


def _may_go(world: World, pod: Pod) -> bool:
    meta = pod.metadata
    there = world.has_node(pod.spec.node_name)
    return there and meta.deletion_timestamp is None and not is_static(meta)


def on_gone(units: WholeUnits, outbox: Outbox, reporter: StatusReporter, pod: Target) -> None:
    """A pod is gone, or has no node after all; or a group is gone."""
    units.ledger.open_marks.end(pod)
    one = units.ledger.unit_evictions.on_gone(pod)
    if one is None:
        return
    if units.ledger.victims.is_stray(Evict(pod)):
        _announce_preempted(units.world, outbox, one)
    _report_refused(units, reporter, one.group)


def _report_refused(
    units: WholeUnits, reporter: StatusReporter, key: GroupKey, *, again: bool = False
) -> None:
    """Names the pods on their group that the API server does not let go."""
    group, unit = units.world.groups.group(key), units.unit_of(key)
    if group is None or unit is None:
        return
    left = [one for one in units.ledger.unit_evictions.left(unit) if one.group == key]
    refused = sorted((one for one in left if one.is_refused_for_good), key=lambda one: one.pod)
    text = ""
    if refused:
        names = listed([one.pod.name for one in refused], _named_at_most(refused))
        text = f"the eviction of {names} is refused, and tried again: {refused[0].error}"
    elif again:
        return  # refused, if not for good: what the group says of earlier refusals is not withdrawn
    reporter.report_incomplete_preemption(group, text, again=again)


def _named_at_most(refused: Sequence[UnitPod]) -> int:
    """How many of them: as many as fit beside the error into the note of an event."""
    ends = accumulate(len(one.pod.name) + len(", ") for one in refused)
    return max(1, sum(end <= _LONGEST_NAMES - len(refused[0].error) for end in ends))


# --- after a restart -----------------------------------------------------------------------------


def resume(units: WholeUnits, outbox: Outbox, evictions: RecentEvictions, now: Moment) -> None:
    """Finishes units that a predecessor began to evict.

    It may have begun if a group has an open mark: groups are marked after their pods, and before the first
    delete. Then no pod of the unit has been bound since, so that all pods with a node go, marked or not. If
    the mark is closed, pods may have started again: those go that have the mark of the group, or that have a
    mark and are terminating, since two plans may have shared the unit.
    """
    for unit, keys in _marked_units(units).items():
        groups = [group for key in keys if (group := units.world.groups.group(key)) is not None]
        members = [(pod, key) for key in keys for pod in _placed(units.world, key)]
        opened = [group for group in groups if is_open(group)]
        if any(_was_called_off(group, members) for group in opened):
            outbox.put(*(unmark(group_target(group)) for group in opened))
        elif opened:
            text = closed_text(opened[0])
            for group in opened:
                units.ledger.open_marks.open(OpenMark(group_target(group), unit, text))
            _take_over(units, outbox, evictions, _as_parts(unit, text, members, now), now)
        elif all(_is_committed(units.world.groups, pod, key) for pod, key in members):
            marks = {key: shown_mark(group) for key, group in zip(keys, groups, strict=True)}
            going = [key for pod, key in members if _was_going(pod, marks[key])]
            marked = [(pod, key) for pod, key in members if shown_mark(pod)]
            if going:
                _take_over(units, outbox, evictions, _as_parts(unit, marks[going[0]], marked, now), now)


def _marked_units(units: WholeUnits) -> dict[str, list[GroupKey]]:
    """The units of groups that have a mark, each with all of its groups.

    An open mark says which unit its group is evicted with, whatever groups have come or gone since.
    """
    tree = units.world.groups.tree()
    found: dict[str, list[GroupKey]] = {}
    for key, group in sorted(tree.pod_groups.items()):
        if (unit := unit_being_evicted(group) or units.unit_of(key)) is not None:
            found.setdefault(unit, []).append(key)
    return {
        unit: keys for unit, keys in found.items() if any(shown_mark(tree.pod_groups[key]) for key in keys)
    }


def _was_called_off(group: PodGroup, members: list[tuple[Pod, GroupKey]]) -> bool:
    """Pods are unmarked only if no pod of their unit was deleted; the group's own mark may be left."""
    decision = decision_in(shown_mark(group))
    return any(shows_called_off(pod, decision) for pod, _ in members)


def _was_going(pod: Pod, text: str) -> bool:
    """``text``: of the mark of its group."""
    shown = shown_mark(pod)
    return bool(shown) and bool(text) and (shown == text or pod.metadata.deletion_timestamp is not None)


def _is_committed(groups: GroupMirror, pod: Pod, key: GroupKey) -> bool:
    """All groups of a unit are marked before the first delete."""
    group = groups.group(key)
    return not is_marked(pod) or group is None or bool(shown_mark(group))


def _as_parts(
    unit: str, text: str, members: list[tuple[Pod, GroupKey]], now: Moment
) -> list[tuple[Pod, UnitPod]]:
    return [(pod, UnitPod(pod_target(pod), unit, key, text, now.elapsed)) for pod, key in members]


def _take_over(
    units: WholeUnits,
    outbox: Outbox,
    evictions: RecentEvictions,
    members: list[tuple[Pod, UnitPod]],
    now: Moment,
) -> None:
    begun = units.ledger.unit_evictions
    begun.begin(one for pod, one in members if shown_mark(pod))
    for pod, new in members:
        one = begun.of(new.pod) or new
        if not shown_mark(pod) and _may_go(units.world, pod):
            begun.join(one)
            _mark_pod(units.ledger, outbox, one)
        elif is_marked(pod):
            _evict(units, outbox, evictions, one, now)


def _placed(world: World, group: GroupKey) -> list[Pod]:
    found = map(world.pod, world.groups.members(group))
    return [one.pod for one in found if one is not None and one.pod.spec.node_name]
