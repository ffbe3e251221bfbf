"""The scheduler as a state machine: events in, effects out. It does no I/O and reads no clock.

An exception that one event or one demand causes is contained: it is set aside, and all others go on. One in
what is done for all of them (sweeps over plans, writing columns) leaves ``observe``: whatever goes on from
there could decide by wrong numbers, and a scheduler that is started anew reads the cluster afresh.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from math import inf

from reprieve.model.conditions import run_started_at
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
from reprieve.model.groups import group_key
from reprieve.model.moment import Due, Moment
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
from reprieve.model.urgency import Lane, Urgency, lane_of
from reprieve.scheduler.deciding import deciding
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demands import NotYet, Requester, WaitingResize, priority_of
from reprieve.scheduler.events import binding, enqueueing, member_growth, unknown_outcomes
from reprieve.scheduler.execution import (
    eviction_counting,
    group_marks,
    plan_driver,
    unit_driver,
)
from reprieve.scheduler.forking import forked
from reprieve.scheduler.ledger.assumed import Promise
from reprieve.scheduler.plans.plan_records import PlanRecord
from reprieve.scheduler.queue.queue import Standing
from reprieve.scheduler.reporting.decision import Decided
from reprieve.scheduler.set_aside import SchedulerFailure, contained_text, target_of
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.state import State
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

    def observe(self, events: Iterable[Event], now: Moment) -> list[Effect]:
        state = self._state
        state.plan_log.begin_step()
        state.failures.clear()
        for event in state.set_aside.due(now.elapsed) if state.set_aside else ():
            self._attempt(event, now)
        for event in events:
            if not (state.set_aside and state.set_aside.holds(event)):
                self._attempt(event, now)
        enqueueing.update_deep_groups(state, now)
        self._enqueue_groups(now)
        binding.follow_up_overdue(state, now)
        plan_driver.give_up_stuck_victims(state, now)
        unknown_outcomes.follow_up_delayed(state, now)
        if len(state.ledger.unit_evictions):
            unit_driver.release_refused(state.units, state.outbox, state.reporter, state.queue)
            unit_driver.retry_refused(state.units, state.outbox, state.evictions, now)
        if len(state.ledger.open_marks):
            group_marks.close_marks(state.units, state.outbox, now)
        plan_driver.sweep(state, now)
        enqueueing.update_held_units(state, now)
        enqueueing.report_late_gangs(state, now)
        self._enqueue_groups(now)
        enqueueing.report_groups(state, now)
        if state.queue or state.world.unwritten() >= _MOST_UNWRITTEN:
            state.world.write_columns()  # now, so that no decision pays for what was observed before it
        state.columns.write(state.world)
        if not state.queue:
            state.refusals.clear()  # no demand is left for which they could matter
        for effect in state.outbox.take():
            plan_driver.put_unless_vain(state, effect, now)
        return state.outbox.take()

    def _attempt(self, event: Event, now: Moment) -> None:
        """Effects that came before an exception count: what they follow from has happened."""
        self._current = event
        try:
            self._observe(event, now)
        except Exception as error:
            self._set_aside(event, error, now)
        else:
            if self._state.set_aside:
                self._state.set_aside.release(event)
        finally:
            self._current = None

    def _enqueue_groups(self, now: Moment) -> None:
        """An exception in the demand of one group is contained: it is set aside like a failed decision."""
        state = self._state
        for key in state.group_news.demands():
            self._current = key
            try:
                enqueueing.enqueue_group(state, key, now)
            except Exception as error:
                state.queue.add(key, 0, now.elapsed)
                self._fail(key, error, now)
        self._current = None

    def _set_aside(self, event: Event, error: Exception, now: Moment) -> None:
        state, target = self._state, target_of(event)
        aside = state.set_aside.set_aside(event, now.elapsed)
        if target is None or aside is None:
            raise error
        state.failures.append(SchedulerFailure(target, error, aside.until))
        state.reporter.warn(target, contained_text(error))

    def _observe(self, event: Event, now: Moment) -> None:
        state = self._state
        match event:
            case Seen(thing):
                if state.tombstones.hold(thing.metadata) or type(thing) in state.settings.unseen:
                    return
                replaced = state.world.replaced_by(thing)
                if replaced is not None:
                    # A namesake has taken its place, and its Gone was never seen. Much is kept by UID: all of
                    # it is dropped here, before anything new is noted under the name.
                    self._on_gone(replaced, now)
                self._on_seen(event, now)
                state.checkpoint_reports.on_seen(thing, now.wall)
                state.victim_reports.on_seen(thing, state.world, synced=state.synced)
            case Gone(target, version):
                state.tombstones.bury(target.uid, version)
                self._on_gone(target, now)
            case Unread(target, problem):
                enqueueing.on_unread(state, target, str(problem), now)
            case Synced():
                first, state.synced = not state.synced, True
                if first:
                    eviction_counting.on_synced(state.evictions, state.world, now)
                    unit_driver.resume(state.units, state.outbox, state.evictions, now)
                state.victim_reports.on_synced(state.world)
                enqueueing.on_synced(state, now)
            case EvictionsRead():
                eviction_counting.on_evictions_read(state.evictions, event, now)
            case Unknown(effect, _):
                unknown_outcomes.on_answer_lost(state, effect, now)
            case Done(effect) | Failed(effect):
                state.resend_backoff.end(effect)
                self._on_answered(event, now)
            case PlanImproved():
                key = state.improvements.on_answered(event)
                if key is not None:
                    state.queue.again(key, now.elapsed)

    def _on_answered(self, event: Done | Failed, now: Moment) -> None:
        match event:
            case Done(effect):
                self._on_done(effect, now)
            case Failed(SetCondition() | Evict() as effect, missing=True):
                # The object is gone, so what was to be done to it is done; its Gone may still be on its way.
                plan_driver.on_acknowledged(self._state, effect, now)
            case Failed(effect, error):
                self._on_failed(effect, error, now)

    def _on_seen(self, event: Seen, now: Moment) -> None:
        state = self._state
        match event:
            case Seen(Pod() as pod, unserved):
                enqueueing.on_pod_seen(state, pod, unserved, now)
            case Seen(PodGroup() as group):
                key = (group.metadata.namespace, group.metadata.name)
                before = state.world.groups.group(key)
                state.group_news.change([key])
                plan_driver.note_mark(state.ledger.victims, group)
                if before is None or run_started_at(before) != run_started_at(group):
                    enqueueing.on_clock_began(state.queue, state.world, run_started_at(group))
                state.queue.wake_all(state.world.see(group), now.elapsed)
                if before is None or before.spec != group.spec:
                    enqueueing.on_group_changed(state, *key, now)
            case Seen(CompositePodGroup() as tree):
                key = (tree.metadata.namespace, tree.metadata.name)
                known = state.world.groups.composite(key)
                state.queue.wake_all(state.world.see(tree), now.elapsed)
                if known is None or known.spec != tree.spec:
                    enqueueing.on_tree_changed(state, *key, now)
            case Seen(PriorityClass() as priority_class):
                plan_driver.on_class_seen(state, priority_class, now)
            case Seen(Namespace() as namespace):
                name = namespace.metadata.name
                ended = state.world.is_ending(name)
                state.queue.wake_all(state.world.see(namespace), now.elapsed)
                if state.world.is_ending(name) != ended:
                    enqueueing.on_namespace_changed(state, name, now)
            case Seen(Node() as node):
                known_node = state.world.node(node.metadata.name)
                state.queue.wake_all(state.world.see(node), now.elapsed, nodes=(node.metadata.name,))
                enqueueing.on_node_changed(state, node.metadata.name, known_node, now)
            case Seen(thing):
                state.queue.wake_all(state.world.see(thing), now.elapsed)
                if isinstance(thing, PersistentVolumeClaim | PersistentVolume):
                    binding.on_volumes_seen(state, now)

    def fork(self) -> "Scheduler":
        """Another scheduler that remembers the same, and goes on by itself."""
        self._state.world.withdraw()
        return forked(self)

    def next_time(self) -> Due:
        """When something is to be done even if nothing happens; in the past: at once."""
        return Due(elapsed=-inf) if self._is_cut_short else self._state.next_time()

    def urgency(self, effect: Effect) -> Urgency:
        """How urgent an effect of the last step is: by the demand that it is for."""
        state, lane, target = self._state, lane_of(effect), effect.target
        if lane is Lane.REPORT:
            pod = state.world.pod((target.namespace, target.name)) if target.kind == "Pod" else None
            group = group_key(pod.pod) if pod is not None else None
            name = group[1] if group is not None else target.name if target.kind == "PodGroup" else ""
            return Urgency(lane, group=name, rewords=state.reporter.is_reworded(target))
        pods = [target]
        if isinstance(effect, BindVolume | SelectNode):
            pods = [assumed.pod for assumed in state.ledger.assumed.preparing(effect)]
        priorities = [plan.priority for _, plan in state.plans.concerned(target)] or [
            priority_of(state.world, key, state.settings.group_rules)
            for pod in pods
            if (key := state.ledger.parts.get(pod)) is not None
        ]
        return Urgency(lane, max(priorities, default=0))

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

    def _on_gone(self, target: Target, now: Moment) -> None:
        state = self._state
        key = (target.namespace, target.name)
        known = state.world.pod(key) if target.kind == "Pod" else None
        where = target.name if target.kind == "Node" else state.world.node_of(key) if known else ""
        state.reporter.forget(target)
        state.checkpoint_reports.on_gone(target)
        changes = state.world.lose(target)
        held = state.plans.waiting_for(target) if changes else ()
        state.queue.wake_all(changes, now.elapsed, held, {where})
        state.victim_reports.on_gone(target, state.world)
        if known is not None and pod_target(known.pod) == target:
            enqueueing.note_member(state, known.pod)
            member_growth.note_resize(state, known, None)
            enqueueing.end_waiting(state, target, now)
            plan_driver.on_gone(state, target, now)
            enqueueing.on_member_settled(state, known.pod, now)
        match target.kind:
            case "Node":
                binding.give_up_on_lost_nodes(state, now)
                plan_driver.on_node_lost(state, target.name, now)
                enqueueing.on_node_changed(state, target.name, None, now)
            case "Namespace":
                enqueueing.on_namespace_changed(state, target.name, now)
            case "PersistentVolumeClaim":
                binding.on_volumes_seen(state, now)
            case "PodGroup":
                state.group_runs.forget(target)
                state.gang_growth.forget_gang(key)
                state.reporter.refused.end(key)
                plan_driver.on_gone(state, target, now)
                enqueueing.on_group_changed(state, target.namespace, target.name, now)
            case "CompositePodGroup":
                enqueueing.on_tree_changed(state, target.namespace, target.name, now)

    def decide(self, now: Moment) -> Decided | None:
        """Decides about the next demand of the queue.

        None if there is none to be decided now, or if ``next_time`` says to come back at once.
        """
        state = self._state
        self._is_cut_short = False
        state.plan_log.begin_step()
        state.failures.clear()
        if not state.synced:
            return None
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
                found = member_growth.beside_others(state.gang_growth, found)
            if isinstance(found, Requester) and passed < _MOST_PASSED and self._passes_over(found, now):
                passed += 1
                continue
            decided = self._decide(found, now) if isinstance(found, Requester) else None
            self._current = None
            if decided is not None:
                if decided.decision.growth is not None:
                    state.plan_log.on_decided(decided.decision.demand, decided.decision.growth, now)
                self._enqueue_groups(now)
                return replace(decided, effects=tuple(state.outbox.take()))
            if isinstance(found, SchedulerFailure):
                continue
            # It changed after it was enqueued: it needs nothing any more, or cannot be decided yet.
            state.queue.remove(key) if found is None else state.queue.gate(key)
        return None

    def _next(self, now: Moment) -> DemandKey | None:
        """Members of a gang that grow are decided in one go, which only more important demands interrupt."""
        growth, queue = self._state.gang_growth, self._state.queue
        while (member := growth.next_member()) is not None:
            if queue.is_outranked(member, now):
                break
            growth.pass_member()
            if queue.take(member):
                return member
        return queue.pop(now)

    def _gathers(self, resize: WaitingResize, now: Moment) -> bool:
        try:
            return member_growth.gather_or_wait(self._state, resize, now)
        except Exception:
            # Its own decision meets it as well, and contains it; what fails for another member is met when
            # that member is decided.
            return False

    def _requester(self, key: DemandKey, now: Moment) -> Requester | NotYet | SchedulerFailure | None:
        state = self._state
        try:
            return state.demands.requester(key)
        except Exception as error:
            return self._fail(key, error, now)

    def _fail(self, key: DemandKey, error: Exception, now: Moment) -> SchedulerFailure:
        failure = SchedulerFailure(_target(key), error, self._state.queue.set_aside(key, now.elapsed))
        self._state.failures.append(failure)
        return failure

    def _passes_over(self, requester: Requester, now: Moment) -> bool:
        """Whether a demand is refused as before, and there is nothing to report."""
        try:
            passes = deciding.is_refused_as_before(self._state, requester, now)
        except Exception:  # the decision meets it as well, and contains it
            return False
        self._state.world.version += passes
        return passes

    def _decide(self, requester: Requester, now: Moment) -> Decided:
        state = self._state
        state.world.version += 1
        try:
            return deciding.decide(state, requester, now)
        except Exception as error:
            state.outbox.take()  # nothing of what was begun is carried out
            return deciding.on_failure(state, requester, error, now)

    def _on_done(self, effect: Effect, now: Moment) -> None:
        state = self._state
        match effect:
            case Bind(pod, node):
                note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
                state.outbox.put(Announce(pod, Tone.NORMAL, "Scheduled", "Binding", note))
                binding.on_bound(state, pod, now)
            case BindVolume():
                binding.on_volume_bound(state.ledger.assumed, state.outbox, effect)
                binding.on_volumes_seen(state, now)
            case SelectNode():
                binding.on_volumes_seen(state, now)
            case Nominate() | SetCondition() | Evict():
                state.reporter.on_reported(effect)
                plan_driver.on_acknowledged(state, effect, now)
            case Announce():
                pass

    def _on_failed(self, effect: Effect, error: str, now: Moment) -> None:
        state = self._state
        match effect:
            case Bind(pod):
                assumed = state.ledger.assumed.of(pod)
                if assumed is not None and assumed.state is Promise.UNKNOWN:
                    # A lost answer may hide that an earlier attempt bound the pod: then this failure is a
                    # conflict with ourselves. The promise stays until the cluster shows which it is.
                    text = f"an answer was lost, and binding to {effect.node} fails since: {error}"
                    state.reporter.warn(pod, text)
                    unknown_outcomes.follow_up(state, effect, now)
                else:
                    binding.on_bind_failed(state, effect, error, now)
            case SelectNode() | BindVolume():
                text = f"{effect.target} could not be prepared: {error}"
                for preparing in state.ledger.assumed.preparing(effect):
                    binding.give_up(state, preparing.pod, text, now)
            case Nominate() | SetCondition() | Evict():
                state.reporter.on_unreported(effect, now.elapsed)
                plan_driver.on_failed(state, effect, error, now)
            case Announce():
                pass


def _target(key: DemandKey) -> Target:
    return Target(key.object_kind, key.namespace, key.name, "")
