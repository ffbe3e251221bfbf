"""Which evictions are counted, from when on, and what is said of them?

An eviction counts when its delete is sent, so that the last look of the next plan finds it, and not any more
if the API server refuses it. Plans call this module; the rule of the eviction limit is in ``preemption``.
"""

from collections.abc import Sequence
from dataclasses import replace

from reprieve.model.effects import Announce, Effect, Target
from reprieve.model.events import Change, EvictionsRead
from reprieve.model.moment import Moment
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.plans.eviction_notes import (
    PREEMPTED,
    SentEviction,
    eviction_of,
    marked_evictions,
    with_workload,
)
from reprieve.scheduler.plans.handover import Handover, decision_in
from reprieve.scheduler.plans.recent_evictions import RecentEvictions
from reprieve.scheduler.queue.queue import Queue
from reprieve.scheduler.targets import pod_target


def count_sent(
    evictions: RecentEvictions, world: World, pods: Sequence[Target], handover: Handover, now: Moment
) -> None:
    """The deletes of these victims are sent."""
    if not pods or not evictions.are_kept:
        return
    evictions.forget(now.wall)
    whole = {victim for victim, _ in handover.groups}
    for pod in pods:
        if (known := world.pod((pod.namespace, pod.name))) is not None:
            _count(evictions, world, pod, SentEviction(known.pod, handover.id, now.wall, pod in whole))


def count_sent_with_unit(
    evictions: RecentEvictions, world: World, pod: Target, mark: str, now: Moment
) -> None:
    """The delete of a pod of a whole unit is sent, without a plan. ``mark``: the text of its mark."""
    known = world.pod((pod.namespace, pod.name))
    if evictions.are_kept and known is not None:
        _count(evictions, world, pod, SentEviction(known.pod, decision_in(mark), now.wall, whole=True))


def _count(evictions: RecentEvictions, world: World, pod: Target, delete: SentEviction) -> None:
    evictions.count(eviction_of(delete, world.groups.tree(), world.owners()), pod)


def on_not_evicted(evictions: RecentEvictions, queue: Queue, pod: Target, now: Moment) -> None:
    """Its delete was refused, or not sent after all: a limit may end earlier than expected."""
    if evictions.take_back(pod):
        queue.wake_all((Change.EVICTIONS,), now.elapsed)


def on_evictions_read(evictions: RecentEvictions, read: EvictionsRead, now: Moment) -> None:
    """What events say of evictions by earlier runs."""
    for eviction in sorted(read.evictions, key=lambda one: one.at):
        evictions.count(eviction)
    evictions.forget(now.wall)


def on_synced(evictions: RecentEvictions, world: World, now: Moment) -> None:
    """What marks say of them. Only now all controllers and groups are known."""
    if evictions.are_kept:
        groups, owners = world.groups.tree(), world.owners()
        for eviction, pod in marked_evictions(world.pods(), groups, owners, now.wall):
            evictions.count(eviction, pod_target(pod) if pod is not None else None)


def naming_workload(evictions: RecentEvictions, effect: Effect) -> Effect:
    """The event of a victim says what its eviction was counted as, for the next leader to read."""
    if not isinstance(effect, Announce) or effect.reason != PREEMPTED or effect.target.kind != "Pod":
        return effect
    counted = evictions.counted_as(effect.target) if evictions.are_kept else None
    return effect if counted is None else replace(effect, note=with_workload(effect.note, counted))
