"""Which evictions are counted, from when on, and what is said of them?

An eviction counts when its delete is sent, so that the last look of the next plan finds it, and not any more
if the API server refuses it. Plans call this module; the rule of the eviction limit is in ``preemption``.
"""

from collections.abc import Sequence
from dataclasses import replace

from reprieve.model.effects import Announce, Effect, Target
from reprieve.model.events import Change, EvictionsRead
from reprieve.model.moment import Moment
from reprieve.scheduler.plans.eviction_notes import (
    PREEMPTED,
    SentEviction,
    eviction_of,
    marked_evictions,
    with_workload,
)
from reprieve.scheduler.plans.handover import Handover, decision_in
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import pod_target


def count_sent(state: State, pods: Sequence[Target], handover: Handover, now: Moment) -> None:
    """The deletes of these victims are sent."""
    if not pods or not state.evictions.are_kept:
        return
    state.evictions.forget(now.wall)
    whole = {victim for victim, _ in handover.groups}
    for pod in pods:
        _count(state, pod, handover.id, now, whole=pod in whole)


def count_sent_with_unit(state: State, pod: Target, mark: str, now: Moment) -> None:
    """The delete of a pod of a whole unit is sent, without a plan. ``mark``: the text of its mark."""
    if state.evictions.are_kept:
        _count(state, pod, decision_in(mark), now, whole=True)


def _count(state: State, pod: Target, decision: str, now: Moment, *, whole: bool) -> None:
    known = state.world.pod((pod.namespace, pod.name))
    if known is not None:
        delete = SentEviction(known.pod, decision, now.wall, whole)
        state.evictions.count(eviction_of(delete, state.world.groups.tree(), state.world.owners()), pod)


def on_not_evicted(state: State, pod: Target, now: Moment) -> None:
    """Its delete was refused, or not sent after all: a limit may end earlier than expected."""
    if state.evictions.take_back(pod):
        state.queue.wake_all((Change.EVICTIONS,), now.elapsed)


def on_evictions_read(state: State, read: EvictionsRead, now: Moment) -> None:
    """What events say of evictions by earlier runs."""
    for eviction in sorted(read.evictions, key=lambda one: one.at):
        state.evictions.count(eviction)
    state.evictions.forget(now.wall)


def on_synced(state: State, now: Moment) -> None:
    """What marks say of them. Only now all controllers and groups are known."""
    if state.evictions.are_kept:
        groups, owners = state.world.groups.tree(), state.world.owners()
        for eviction, pod in marked_evictions(state.world.pods(), groups, owners, now.wall):
            state.evictions.count(eviction, pod_target(pod) if pod is not None else None)


def naming_workload(state: State, effect: Effect) -> Effect:
    """The event of a victim says what its eviction was counted as, for the next leader to read."""
    if not isinstance(effect, Announce) or effect.reason != PREEMPTED or effect.target.kind != "Pod":
        return effect
    counted = state.evictions.counted_as(effect.target) if state.evictions.are_kept else None
    return effect if counted is None else replace(effect, note=with_workload(effect.note, counted))
