"""The scheduler as a state machine: events in, effects out. It does no I/O and reads no clock.

An exception that one event or one demand causes is contained: it is set aside, and all others go on. One in
what is done for all of them (sweeps over plans, writing columns) leaves ``observe``: whatever goes on from
there could decide by wrong numbers, and a scheduler that is started anew reads the cluster afresh.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from math import inf

from reprieve.model.effects import (
    Announce,
    Bind,
    BindVolume,
    Effect,
    Evict,
    Nominate,
    SelectNode,
    SetCondition,
    Target,
    Tone,
)
from reprieve.model.events import (
    Done,
    Event,
    EvictionsRead,
    Failed,
    Gone,
    PlanImproved,
    Seen,
    Synced,
    Unknown,
    Unread,
)
from reprieve.model.objects import (
    CompositePodGroup,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    PriorityClass,
)
from reprieve.model.scheduled_times import run_started_at
from reprieve.scheduler import (
    binding,
    deciding,
    enqueueing,
    eviction_counting,
    group_marks,
    member_growth,
    plan_driver,
    resizes_granted,
    toleration_changes,
    unit_driver,
    unknown_outcomes,
    validation,
)
from reprieve.scheduler.decision import Decided
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands import NotYet, Requester, WaitingResize
from reprieve.scheduler.forking import forked
from reprieve.scheduler.ledger.assumed import Promise
from reprieve.scheduler.plan_records import PlanRecord
from reprieve.scheduler.queue import Standing
from reprieve.scheduler.set_aside import SchedulerFailure, failure_text, target_of
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.state import State
from reprieve.scheduler.status_reporter import is_of_all_pods
from reprieve.scheduler.targets import pod_target

_MOST_PASSED = 100  # demands in a row that are refused as before, so that events are not kept waiting
_MOST_PARKED = 100  # members of gangs in a row that wait for others, for the same reason
# Changes of pods and nodes while no demand waits: written together they cost a fraction, and a pod that comes
# and goes meanwhile costs nothing. So few that a step stays short.
_MOST_UNWRITTEN = 256


class Scheduler:
    def __init__(self, settings: Settings | None = None) -> None:
        self._state = State(settings or Settings())
        self._current: Event | DemandKey | None = None
        self._is_cut_short = False  # the last ``decide`` left demands that are due

    def working_on(self) -> str:
        """What the scheduler is deciding or observing at this moment; another thread may ask."""
        match self._current:
            case None:
                return ""
            case DemandKey() as key:
                return f"deciding {_target(key)}"
            case event:
                return f"observing {target_of(event) or type(event).__name__}"

    def observe(self, events: Iterable[Event], now: float) -> list[Effect]:
        state = self._state
        state.notice(now)
        state.plan_log.begin_step()
        state.failures.clear()
        effects: list[Effect] = []
        for event in state.set_aside.due(now) if state.set_aside else ():
            self._attempt(event, effects, now)
        for event in events:
            if not (state.set_aside and state.set_aside.holds(event)):
                self._attempt(event, effects, now)
        effects.extend(enqueueing.too_deep_changed(state, now))
        effects.extend(self._enqueue_groups(now))
        effects.extend(binding.overdue(state, now))
        effects.extend(plan_driver.never_left(state, now))
        effects.extend(unknown_outcomes.taken_up(state, now))
        if len(state.ledger.unit_evictions):
            effects.extend(unit_driver.tried_again(state, now))
        if len(state.ledger.open_marks):
            effects.extend(group_marks.closing(state, now))
        effects.extend(plan_driver.swept(state, now))
        effects.extend(enqueueing.holds_changed(state, now))
        effects.extend(enqueueing.late_gangs(state, now))
        effects.extend(self._enqueue_groups(now))
        effects.extend(enqueueing.groups_looked_at(state, now))
        if state.queue or state.world.unwritten() >= _MOST_UNWRITTEN:
            state.world.write_columns()  # now, so that no decision pays for what was observed before it
        state.columns.write(state.world)
        if not state.queue:
            state.refusals.clear()  # no demand is left for which they could matter
        sent = plan_driver.without_vain_evictions(state, effects, now)
        return list(eviction_counting.naming_workloads(state, sent))

    def _attempt(self, event: Event, effects: list[Effect], now: float) -> None:
        """Effects that came before an exception count: what they follow from has happened."""
        self._current = event
        try:
            effects.extend(self._observe(event, now))
        except Exception as error:
            effects.extend(self._set_aside(event, error, now))
        else:
            if self._state.set_aside:
                self._state.set_aside.release(event)
        finally:
            self._current = None

    def _enqueue_groups(self, now: float) -> list[Effect]:
        """An exception in the demand of one group is contained: it is set aside like a failed decision."""
        state, effects = self._state, list[Effect]()
        if not state.to_enqueue:
            return effects
        for key in list(state.to_enqueue):
            self._current = key
            try:
                effects.extend(enqueueing.enqueue_group(state, key, now))
            except Exception as error:
                state.queue.add(key, 0, now)
                self._fail(key, error, now)
        self._current = None
        return effects

    def _set_aside(self, event: Event, error: Exception, now: float) -> Iterable[Effect]:
        state, target = self._state, target_of(event)
        aside = state.set_aside.set_aside(event, now)
        if target is None or aside is None:
            raise error
        state.failures.append(SchedulerFailure(target, error, aside.until))
        return state.reporter.warn(target, failure_text(error))

    def _observe(self, event: Event, now: float) -> Iterable[Effect]:
        state = self._state
        match event:
            case Seen(thing):
                if state.tombstones.hold(thing.metadata) or type(thing) in state.settings.unseen:
                    return ()
                replaced = state.world.replaced_by(thing)
                return chain(
                    # A namesake has taken its place, and its Gone was never seen. Much is kept by UID: all of
                    # it is dropped here, before anything new is noted under the name.
                    [*self._gone(replaced, now)] if replaced is not None else (),
                    self._seen(event, now),
                    state.checkpoint_reports.saw(thing, now),
                    state.victim_reports.saw(thing, state.world, synced=state.synced),
                )
            case Gone(target, version):
                state.tombstones.bury(target.uid, version)
                return self._gone(target, now)
            case Unread(target, problem):
                return enqueueing.unread(state, target, str(problem), now)
            case Synced():
                first, state.synced = not state.synced, True
                if first:
                    eviction_counting.all_are_here(state, now)
                resumed = [*unit_driver.resumed(state, now)] if first else []
                ignored = state.victim_reports.all_are_here(state.world)
                return [*resumed, *ignored, *enqueueing.all_are_here(state, now)]
            case EvictionsRead():
                eviction_counting.read_back(state, event, now)
                return ()
            case Unknown(effect, _):
                return unknown_outcomes.answer_lost(state, effect, now)
            case Done(effect) | Failed(effect):
                state.resend_backoff.end(effect)
                return self._answered(event, now)
            case PlanImproved():
                key = state.improvements.answered(event)
                if key is not None:
                    state.queue.again(key)
                return ()

    def _answered(self, event: Done | Failed, now: float) -> Iterable[Effect]:
        match event:
            case Done(effect):
                return self._done(effect, now)
            case Failed(SetCondition() | Evict() as effect, missing=True):
                # The object is gone, so what was to be done to it is done; its Gone may still be on its way.
                return plan_driver.went_well(self._state, effect, now)
            case Failed(effect, error):
                return self._failed(effect, error, now)

    def _seen(self, event: Seen, now: float) -> Iterable[Effect]:
        state = self._state
        match event:
            case Seen(Pod() as pod, unserved):
                return enqueueing.saw_pod(state, pod, unserved, now)
            case Seen(PodGroup() as group):
                key = (group.metadata.namespace, group.metadata.name)
                before = state.world.groups.group(key)
                state.regrouped.add(key)
                state.saw_mark(group)
                if before is None or run_started_at(before) != run_started_at(group):
                    state.clock_began(run_started_at(group))
                state.wake(state.world.see(group), now)
                news = before is None or before.spec != group.spec
                return enqueueing.group_changed(state, *key, now) if news else ()
            case Seen(CompositePodGroup() as tree):
                key = (tree.metadata.namespace, tree.metadata.name)
                known = state.world.groups.composite(key)
                state.wake(state.world.see(tree), now)
                news = known is None or known.spec != tree.spec
                return enqueueing.tree_changed(state, *key, now) if news else ()
            case Seen(PriorityClass() as priority_class):
                return toleration_changes.saw_class(state, priority_class, now)
            case Seen(Namespace() as namespace):
                name = namespace.metadata.name
                ended = state.world.is_ending(name)
                state.wake(state.world.see(namespace), now)
                news = state.world.is_ending(name) != ended
                return enqueueing.namespace_changed(state, name, now) if news else ()
            case Seen(Node() as node):
                known_node = state.world.node(node.metadata.name)
                state.wake(state.world.see(node), now, node.metadata.name)
                return enqueueing.node_changed(state, node.metadata.name, known_node, now)
            case Seen(thing):
                state.wake(state.world.see(thing), now)
                is_storage = isinstance(thing, PersistentVolumeClaim | PersistentVolume)
                return binding.saw_volumes(state, now) if is_storage else ()

    def fork(self) -> "Scheduler":
        """Another scheduler that remembers the same, and goes on by itself."""
        self._state.world.withdraw()
        return forked(self)

    def validate(self) -> None:
        """Raises an error that names the pod and the rule if what is remembered contradicts itself."""
        validation.validate(self._state)

    def next_time(self) -> float | None:
        """When something is to be done even if nothing happens; in the past: at once."""
        return -inf if self._is_cut_short else self._state.next_time()

    def improving(self) -> frozenset[str]:
        """The requests for a better plan whose answers are still of use, by their ids."""
        return self._state.improvements.awaited()

    def records(self) -> tuple[PlanRecord, ...]:
        """What happened to plans in the last ``observe`` or ``decide``."""
        return self._state.plan_log.records

    def failures(self) -> tuple[SchedulerFailure, ...]:
        """The exceptions that were contained in the last ``observe`` or ``decide``."""
        return tuple(self._state.failures)

    def pending(self) -> Counter[Standing]:
        """How many pods wait, by their standing in the queue; a pod that is being bound does not wait."""
        state = self._state
        waiting = (key for pod, key in state.ledger.parts if pod not in state.ledger.assumed)
        return Counter(standing for key in waiting if (standing := state.queue.standing(key)) is not None)

    def known(self) -> dict[str, int]:
        """How much of the cluster is in mind."""
        return self._state.world.sizes()

    def _gone(self, target: Target, now: float) -> Iterator[Effect]:
        state = self._state
        key = (target.namespace, target.name)
        known = state.world.pod(key) if target.kind == "Pod" else None
        where = target.name if target.kind == "Node" else state.world.node_of(key) if known else ""
        state.reporter.forget(target)
        state.checkpoint_reports.gone(target)
        plan_driver.wake_others(state, state.world.lose(target), now, target, {where})
        yield from state.victim_reports.gone(target, state.world)
        if known is not None and pod_target(known.pod) == target:
            enqueueing.note_member(state, known.pod)
            resizes_granted.noted(state, known, None)
            yield from enqueueing.forget(state, target, now)
            yield from plan_driver.has_left(state, target, now)
            yield from enqueueing.regroup(state, known.pod, now)
        match target.kind:
            case "Node":
                yield from binding.left_hanging(state, now)
                yield from plan_driver.lost_room(state, target.name, now)
                yield from enqueueing.node_changed(state, target.name, None, now)
            case "Namespace":
                yield from enqueueing.namespace_changed(state, target.name, now)
            case "PersistentVolumeClaim":
                yield from binding.saw_volumes(state, now)
            case "PodGroup":
                state.group_runs.lost(target)
                state.gang_growth.lost(key)
                state.refused_reports.end(key)
                yield from plan_driver.has_left(state, target, now)
                yield from enqueueing.group_changed(state, target.namespace, target.name, now)
            case "CompositePodGroup":
                yield from enqueueing.tree_changed(state, target.namespace, target.name, now)

    def decide(self, now: float) -> Decided | None:
        """Decides about the next demand of the queue.

        None if there is none to be decided now, or if ``next_time`` says to come back at once.
        """
        state = self._state
        self._is_cut_short = False
        state.plan_log.begin_step()
        state.failures.clear()
        if not state.synced:
            return None
        state.notice(now)
        passed = parked = 0
        while (key := self._next(now)) is not None:
            self._current = key
            found = self._requester(key, now)
            if isinstance(found, WaitingResize):
                if self._gathers(found, now):
                    parked += 1
                    if parked < _MOST_PARKED:
                        continue
                    self._current, self._is_cut_short = None, True
                    return None
                found = member_growth.beside_others(state, found)
            if isinstance(found, Requester) and passed < _MOST_PASSED and self._passes_over(found, now):
                passed += 1
                continue
            decided = self._decide(found, now) if isinstance(found, Requester) else None
            self._current = None
            if decided is not None:
                if decided.decision.growth is not None:
                    state.plan_log.considered(decided.decision.demand, decided.decision.growth, now)
                more = self._enqueue_groups(now)
                return replace(decided, effects=(*decided.effects, *more)) if more else decided
            if isinstance(found, SchedulerFailure):
                continue
            # It changed after it was enqueued: it needs nothing any more, or cannot be decided yet.
            state.queue.remove(key) if found is None else state.queue.gate(key)
        return None

    def _next(self, now: float) -> DemandKey | None:
        """Members of a gang that grow are decided in one go, which only more important demands interrupt."""
        growth, queue = self._state.gang_growth, self._state.queue
        while (member := growth.next_member()) is not None:
            if queue.is_outranked(member, now):
                break
            growth.pass_member()
            if queue.take(member):
                return member
        return queue.pop(now)

    def _gathers(self, resize: WaitingResize, now: float) -> bool:
        try:
            return member_growth.gather_or_wait(self._state, resize, now)
        except Exception:
            # Its own decision meets it as well, and contains it; what fails for another member is met when
            # that member is decided.
            return False

    def _requester(self, key: DemandKey, now: float) -> Requester | NotYet | SchedulerFailure | None:
        state = self._state
        try:
            return state.requester(key)
        except Exception as error:
            return self._fail(key, error, now)

    def _fail(self, key: DemandKey, error: Exception, now: float) -> SchedulerFailure:
        failure = SchedulerFailure(_target(key), error, self._state.queue.set_aside(key, now))
        self._state.failures.append(failure)
        return failure

    def _passes_over(self, requester: Requester, now: float) -> bool:
        """Whether a demand is refused as before, and there is nothing to report."""
        try:
            passes = deciding.is_refused_as_before(self._state, requester, now)
        except Exception:  # the decision meets it as well, and contains it
            return False
        self._state.world.version += passes
        return passes

    def _decide(self, requester: Requester, now: float) -> Decided:
        state = self._state
        state.world.version += 1
        try:
            return deciding.decide(state, requester, now)
        except Exception as error:
            return deciding.failed(state, requester, error, now)

    def _done(self, effect: Effect, now: float) -> Iterable[Effect]:
        state = self._state
        match effect:
            case Bind(pod, node):
                note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
                return (
                    Announce(pod, Tone.NORMAL, "Scheduled", "Binding", note),
                    *binding.bound(state, pod, now),
                )
            case BindVolume():
                return [*binding.volume_promised(state, effect), *binding.saw_volumes(state, now)]
            case SelectNode():
                return binding.saw_volumes(state, now)
            case Nominate() | SetCondition() | Evict():
                if is_of_all_pods(effect):
                    state.refused_reports.end((effect.target.namespace, effect.target.name))
                return plan_driver.went_well(state, effect, now)
            case Announce():
                return ()

    def _failed(self, effect: Effect, error: str, now: float) -> Iterable[Effect]:
        state = self._state
        match effect:
            case Bind(pod):
                assumed = state.ledger.assumed.of(pod)
                if assumed is not None and assumed.state is Promise.UNKNOWN:
                    # A lost answer may hide that an earlier attempt bound the pod: then this failure is a
                    # conflict with ourselves. The promise stays until the cluster shows which it is.
                    text = f"an answer was lost, and binding to {effect.node} fails since: {error}"
                    return [
                        *state.reporter.warn(pod, text),
                        *unknown_outcomes.followed_up(state, effect, now),
                    ]
                return binding.bind_failed(state, effect, error, now)
            case SelectNode() | BindVolume():
                text = f"{effect.target} could not be prepared: {error}"
                return [
                    said
                    for a in state.ledger.assumed.preparing(effect)
                    for said in binding.give_up(state, a.pod, text, now)
                ]
            case Nominate() | SetCondition() | Evict():
                state.unreported(effect, now)
                return plan_driver.went_wrong(state, effect, error, now)
            case Announce():
                return ()


def _target(key: DemandKey) -> Target:
    return Target(key.object_kind, key.namespace, key.name, "")
