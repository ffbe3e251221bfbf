"""Which evictions are counted, from when on, and what is said of them and of chains of them?

An eviction counts when its delete is sent, so that the last look of the next plan finds it, and not any more
if the API server refuses it. Plans call this module; the rule of the eviction limit is in ``preemption``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from reprieve.model.changes import Change
from reprieve.model.effects import Announce, Effect, Target, Tone
from reprieve.model.events import EvictionsRead
from reprieve.model.objects import Pod
from reprieve.model.workloads import workload_of
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands import Requester
from reprieve.scheduler.eviction_notes import (
    PREEMPTED,
    SentEviction,
    eviction_of,
    marked_evictions,
    with_workload,
)
from reprieve.scheduler.handover import Handover, decision_in
from reprieve.scheduler.state import State
from reprieve.scheduler.targets import pod_target


def sent(state: State, pods: Sequence[Target], handover: Handover, now: float) -> None:
    """The deletes of these victims are sent."""
    if not pods or not state.evictions.are_kept:
        return
    state.evictions.forget(now)
    whole = {victim for victim, _ in handover.groups}
    for pod in pods:
        _count(state, pod, handover.id, now, whole=pod in whole)


def sent_with_unit(state: State, pod: Target, mark: str, now: float) -> None:
    """The delete of a pod of a whole unit is sent, without a plan. ``mark``: the text of its mark."""
    if state.evictions.are_kept:
        _count(state, pod, decision_in(mark), now, whole=True)


def _count(state: State, pod: Target, decision: str, now: float, *, whole: bool) -> None:
    known = state.world.pod((pod.namespace, pod.name))
    if known is not None:
        delete = SentEviction(known.pod, decision, now, whole)
        state.evictions.count(eviction_of(delete, state.world.groups.tree(), state.world.owners()), pod)


def not_evicted(state: State, pod: Target, now: float) -> None:
    """Its delete was refused, or not sent after all: a limit may end earlier than expected."""
    if state.evictions.take_back(pod):
        state.wake((Change.EVICTIONS,), now)


def read_back(state: State, read: EvictionsRead, now: float) -> None:
    """What events say of evictions by earlier runs."""
    for eviction in sorted(read.evictions, key=lambda one: one.at):
        state.evictions.count(eviction)
    state.evictions.forget(now)


def all_are_here(state: State, now: float) -> None:
    """What marks say of them. Only now all controllers and groups are known."""
    if state.evictions.are_kept:
        groups, owners = state.world.groups.tree(), state.world.owners()
        for eviction, pod in marked_evictions(state.world.pods(), groups, owners, now):
            state.evictions.count(eviction, pod_target(pod) if pod is not None else None)


def chain_continued(state: State, key: DemandKey, handover: Handover, now: float) -> Iterator[Effect]:
    """The deletes of a plan are about to be sent: says how deep the chain is that it continues, if it does.

    A pod that runs and wants to grow replaces none, and a pod without a controller is replaced by none.
    """
    found = state.requester(key)
    depth = 1
    if isinstance(found, Requester) and key.kind is not DemandKind.RESIZE:
        created = (pod.pod.metadata.creation_timestamp for pod in found.pods)
        moments = [moment.timestamp() for moment in created if moment is not None]
        depth = state.chains.depth_for(_workload(state, found.pods[0].pod), moments, now)
    pods = (state.world.pod((pod.namespace, pod.name)) for pod in handover.victims)
    workloads = dict.fromkeys(_workload(state, pod.pod) for pod in pods if pod is not None)
    state.chains.note((name for name in workloads if not name.startswith("Pod/")), depth, now)
    if depth > 1:
        state.plan_log.chained(key, depth, now)
        note = (
            f"evicts pods though it replaces a pod that was evicted itself: depth {depth} in a chain of "
            f"evictions (decision {handover.id})"
        )
        yield Announce(handover.preemptor, Tone.NORMAL, "EvictionChain", "Preempting", note)


def _workload(state: State, pod: Pod) -> str:
    return workload_of(pod, state.world.groups.tree(), state.world.owners())


def naming_workloads(state: State, effects: Iterable[Effect]) -> Iterator[Effect]:
    """Events of victims say what their eviction was counted as, for the next leader to read."""
    if not state.evictions.are_kept:
        yield from effects
        return
    for effect in effects:
        if isinstance(effect, Announce) and effect.reason == PREEMPTED and effect.target.kind == "Pod":
            counted = state.evictions.counted_as(effect.target)
            yield effect if counted is None else replace(effect, note=with_workload(effect.note, counted))
        else:
            yield effect
