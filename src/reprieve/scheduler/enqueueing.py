"""Which demands are in the queue: what follows when pods come, change and go.

Sights may be outdated, repeated, or of a namesake. The world says which of them count; here the ledger drops
what it kept for a pod as soon as that pod is bound, finished, gone or replaced, before anything new is noted
under its name.
"""

from collections.abc import Iterable, Iterator

from reprieve.model.clocks import scheduled_at
from reprieve.model.effects import Effect, Target
from reprieve.model.groups import group_key
from reprieve.model.objects import Node, Pod
from reprieve.model.shape import CompiledPod
from reprieve.scheduler.changes import Change
from reprieve.scheduler.demands import (
    GROUP,
    Asker,
    NotYet,
    divergence,
    in_place_key,
    is_complete,
    key_of,
    pod_key,
    pod_target,
)
from reprieve.scheduler.handover import told_again
from reprieve.scheduler.ledger.nominations import Reason
from reprieve.scheduler.plan_driver import call_off, has_left, is_leaving, plan_anew, wake_others
from reprieve.scheduler.queue import Key, Standing
from reprieve.scheduler.state import State


def saw_pod(state: State, pod: Pod, unserved: tuple[str, ...], now: float) -> Iterable[Effect]:
    before, was_on = state.world.pod(pod_key(pod)), state.world.node_of(pod_key(pod))
    changes = state.world.see(pod)
    if Change.CLOCKS in changes:
        state.clock_began(scheduled_at(pod))
    wake_others(state, changes, now, pod_target(pod), {was_on, state.world.node_of(pod_key(pod))})
    known = state.world.pod(pod_key(pod))
    if known is not None and known is before:
        return ()  # an outdated sight, as a relist may bring it
    if before is None or known is None:
        note_member(state, pod)
    effects: list[Effect] = []
    if before is not None and (known is None or pod_target(known.pod) != pod_target(before.pod)):
        # It is finished, or a namesake has taken its place and its Gone was never seen. What the ledger keeps
        # is kept by UID: the namesake starts with nothing.
        effects.extend(forget(state, pod_target(before.pod), now))
        effects.extend(has_left(state, pod_target(before.pod), now))
        before = None
    if known is None:
        state.tombstones.bury(pod.metadata.uid, pod.metadata.resource_version)
        return effects
    state.saw_mark(pod)
    if pod.metadata.deletion_timestamp is not None:
        is_leaving(state, pod, now, is_new=before is None)
    if pod.spec.node_name:
        effects.extend(_has_its_node(state, before, known, now))
        return [*effects, *regroup(state, pod, now, changed=before is None)]
    if pod_target(pod) in state.ledger.assumed:
        return effects
    return [*effects, *_line_up(state, before, known, unserved, now)]


def _has_its_node(
    state: State, before: CompiledPod | None, known: CompiledPod, now: float
) -> Iterator[Effect]:
    """It is bound, and its promise is kept; it may ask for more where it runs.

    The sight may come before the answer to the bind, and after a restart without any: both end here.
    """
    target, key = pod_target(known.pod), in_place_key(known.pod)
    in_place = state.in_place(key) if state.is_ours(known.pod) else None
    asks = in_place is not None and in_place.asks(known.pod)
    if not asks or state.ledger.parts.get(target) != key:
        yield from forget(state, target, now)
    if not asks:
        return
    node = state.world.node(known.pod.spec.node_name)
    changed = before is None or _asks_in_place(before) != _asks_in_place(known)
    changed |= state.ledger.parts.get(target) != key
    if before is not None and node is not None:
        changed |= state.forbidden(key, before.pod, node) != state.forbidden(key, known.pod, node)
    state.ledger.parts.join(target, key)
    state.faults.pop(target, None)
    if changed:
        yield from _reconsidered(state, key, now)
    yield from stand_in_line(state, key, now, changed=changed)


def _reconsidered(state: State, key: Key, now: float) -> Iterator[Effect]:
    """The demand asks for something else than its plan is for, or must not: no pod is evicted for that."""
    plan, found = state.plans.of(key), state.asker(key)
    is_forbidden = isinstance(found, Asker) and bool(found.forbidden)
    if plan is not None and (plan.evicts_later or is_forbidden):
        yield from plan_anew(state, key, now)


def node_changed(state: State, name: str, before: Node | None, now: float) -> Iterator[Effect]:
    """A node may forbid what pods on it ask for, and allow it again; or be gone, and come back."""
    node = state.world.node(name)
    for key in state.queue.at(name):
        known, changed = state.world.pod(key[1:]), False
        if known is not None and before is not None and node is not None:
            changed = state.forbidden(key, known.pod, before) != state.forbidden(key, known.pod, node)
        if changed:
            yield from _reconsidered(state, key, now)
        yield from stand_in_line(state, key, now, changed=changed)


def _line_up(
    state: State, before: CompiledPod | None, known: CompiledPod, unserved: tuple[str, ...], now: float
) -> Iterator[Effect]:
    """Queues the demand of a waiting pod, if the pod is new or asks differently than before."""
    pod, target = known.pod, pod_target(known.pod)
    if not state.is_ours(pod):
        yield from forget(state, target, now)
        return
    faults = [
        *map(str, known.problems),
        *(f"{path}: not supported by this scheduler" for path in unserved),
    ]
    left, key = state.ledger.parts.get(target), key_of(pod, groups=state.settings.groups)
    changed = before is None or left is None or _asks(before) != _asks(known)
    changed |= bool(faults) != (target in state.faults)
    state.ledger.parts.join(target, key)
    if left not in (None, key):
        state.ledger.nominations.move(target)
        yield from stand_in_line(state, left, now, changed=True)
    state.faults.pop(target, None)
    if faults:
        state.faults[target] = "; ".join(faults)
        yield from state.reporter.waits(target, "Unschedulable", state.faults[target])
    if before is None and pod.status.nominated_node_name:
        state.ledger.nominations.nominate(target, pod.status.nominated_node_name, Reason.SHOWN)
    if changed or state.queue.standing(key) in (None, Standing.GATED, Standing.DECIDING):
        yield from stand_in_line(state, key, now, changed=changed)


def stand_in_line(state: State, key: Key, now: float, *, changed: bool) -> Iterator[Effect]:
    found = state.asker(key)
    if not isinstance(found, Asker) and state.synced:
        yield from call_off(state, key, now)
    if not isinstance(found, NotYet) or not found.arriving:
        state.incomplete_gangs.end(key)
    match found:
        case None:
            state.queue.remove(key)
        case NotYet(text, pods, arriving):
            state.queue.add(key, 0, now, gated=True, home=state.home(key))
            if arriving:
                state.incomplete_gangs.begin(key, now)
            if text and state.synced and (not arriving or state.incomplete_gangs.is_late(key)):
                ours = [pod for pod in pods if state.is_ours(pod.pod)]
                group = state.world.groups.group(key[1:]) if key[0] == GROUP else None
                yield from state.say(ours, group, text)
        case Asker(priority=priority):
            standing = state.queue.standing(key)
            if standing is Standing.DECIDING:
                state.queue.again(key)  # the others have their nodes, and one more pod joins them
            elif changed or standing in (None, Standing.GATED):
                state.queue.add(key, priority, now, home=state.home(key))


def late_gangs(state: State, now: float) -> Iterator[Effect]:
    """Reports gangs whose pods have not all come in time."""
    for key in state.incomplete_gangs.overdue(now):
        yield from stand_in_line(state, key, now, changed=False)


def group_changed(state: State, namespace: str, name: str, now: float) -> Iterator[Effect]:
    key = (GROUP, namespace, name)
    if key in state.queue:
        yield from _reconsidered(state, key, now)
        yield from stand_in_line(state, key, now, changed=True)


def namespace_changed(state: State, namespace: str, now: float) -> Iterator[Effect]:
    """It is being deleted now, or a namesake has come that is not."""
    for key in [key for key in state.ledger.parts.demands() if key[1] == namespace]:
        yield from stand_in_line(state, key, now, changed=True)


def tree_changed(state: State, namespace: str, name: str, now: float) -> Iterator[Effect]:
    """What a composite group says counts for all groups inside."""
    for inside in state.world.groups.tree().beneath((namespace, name)):
        state.regrouped.add(inside)
        yield from group_changed(state, *inside, now)


def regroup(state: State, pod: Pod, now: float, *, changed: bool = False) -> Iterator[Effect]:
    """What became of a pod that does not wait may matter to other pods of its group that do."""
    key = key_of(pod, groups=state.settings.groups)
    if key[0] != GROUP:
        return
    if key in state.queue:
        yield from stand_in_line(state, key, now, changed=changed)
    group = state.world.groups.group(key[1:]) if state.synced else None
    if group is not None and not state.reporter.is_scheduled(group) and is_complete(state.world, group):
        yield from state.reporter.group_scheduled(group)


def all_are_here(state: State, now: float) -> Iterator[Effect]:
    """All objects were listed: only now is it known which are missing."""
    leaving = (state.world.pod((pod.namespace, pod.name)) for pod in state.ledger.terminating.under_way)
    yield from (told for known in leaving if known is not None and (told := told_again(known.pod)))
    for key in state.ledger.parts.demands():
        yield from stand_in_line(state, key, now, changed=False)


def forget(state: State, pod: Target, now: float) -> Iterator[Effect]:
    """The scheduler has nothing more to do for a pod: it is bound, finished or gone.

    Everything that the ledger keeps for it ends here, whether its answers have arrived or not.
    """
    state.reporter.forget(pod)
    state.preemption_backoff.forget(pod)
    state.faults.pop(pod, None)
    surprising = state.settle(pod, now) is None
    key = state.ledger.parts.get(pod)
    if key is None:
        return
    state.unreserve([pod], key, now)
    state.ledger.parts.leave(pod)
    plan = state.plans.of(key)
    if plan is not None and pod in dict(plan.places):
        yield from plan_anew(state, key, now)
    yield from stand_in_line(state, key, now, changed=surprising)


def unread(state: State, target: Target, problem: str, now: float) -> Iterable[Effect]:
    """The last version that could be read goes on counting as load; the pod is not placed by it."""
    if target in state.ledger.parts and target not in state.ledger.assumed:
        state.faults[target] = problem
        yield from stand_in_line(state, state.ledger.parts[target], now, changed=False)
    yield from state.reporter.warn(target, problem)


def note_member(state: State, pod: Pod) -> None:
    """A pod joins a group, or leaves it."""
    group = group_key(pod) if pod.spec.scheduler_name in state.settings.profiles else None
    if group is not None:
        state.regrouped.add(group)


def priorities_compared(state: State) -> Iterator[Effect]:
    """Tells when pods of a group have other priorities than it, and when they do not any more."""
    if not state.synced:
        return
    groups, state.regrouped = sorted(state.regrouped), set()
    if not state.settings.group_rules.priorities:
        return
    for group in filter(None, map(state.world.groups.group, groups)):
        yield from state.reporter.divergence(group, divergence(state.world, group))


def _asks(compiled: CompiledPod) -> tuple[object, ...]:
    """What of a waiting pod, if it changes, deserves another look."""
    spec = compiled.pod.spec
    return compiled.shape, spec.priority, spec.scheduling_gates, spec.scheduler_name, compiled.problems


def _asks_in_place(compiled: CompiledPod) -> tuple[object, ...]:
    """The same of a pod that runs and wants more."""
    pod = compiled.pod
    return compiled.weight, pod.metadata.annotations, pod.spec.priority, compiled.problems
