"""The scheduler as a state machine: events in, effects out. It does no I/O and asks no clock."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

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
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Synced, Unknown, Unread
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.objects import PersistentVolume, PersistentVolumeClaim, Pod, PodGroup
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.demand import Ask, Demand, Promised
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement, Unplaceable
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.reasons import Code
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import REPRIEVE, Policy
from reprieve.preemption.units import Kind
from reprieve.scheduler import volumes
from reprieve.scheduler.changes import Change, helpful
from reprieve.scheduler.decision import Decided, Decision, Outcome, Preemption, decision_id, findings_of
from reprieve.scheduler.demands import (
    GROUP,
    Asker,
    NotYet,
    asker,
    demand_of,
    divergence,
    is_complete,
    key_of,
    priority_of,
)
from reprieve.scheduler.explaining import (
    eviction_of,
    failure_text,
    homes_of,
    miss_of,
    preemption_of,
    target_at,
)
from reprieve.scheduler.handover import (
    Handover,
    Stage,
    Step,
    abandoned,
    acknowledged,
    opened,
    unmark,
    vanished,
)
from reprieve.scheduler.ledger import Assumed, Ledger, Promise, VolumeStep
from reprieve.scheduler.plans import Plans
from reprieve.scheduler.pod_rows import PodKey
from reprieve.scheduler.preempting import Case, RoomFor, Weighed, awaited, plans_for, rows_of, still_feasible
from reprieve.scheduler.queue import DEFAULT_BACKOFF, Backoff, Key, Queue, Standing
from reprieve.scheduler.telling import Telling, group_target
from reprieve.scheduler.world import World

SCHEDULER_NAME = "reprieve"

_RESEND_AFTER = 10.0  # seconds until a bind whose answer was lost is sent again


@dataclass(frozen=True, slots=True)
class Settings:
    """What the state machine must be told: whose pods it schedules, and how patient it is."""

    profiles: Mapping[str, Profile] = field(default_factory=lambda: {SCHEDULER_NAME: DEFAULT_PROFILE})
    backoff: Backoff = DEFAULT_BACKOFF
    volume_seconds: float = 600.0  # how long volumes may take before the pod is tried elsewhere
    # Who gives way to whose pods; a scheduler without an entry evicts nobody.
    policies: Mapping[str, Policy] = field(default_factory=lambda: {SCHEDULER_NAME: REPRIEVE})
    groups: bool = True  # pods of a group ask together
    whole_gangs: bool = False  # room is made for all pods of a gang, not just for as many as it needs
    gangs_preempt: bool = True  # a gang makes room for itself as one; otherwise each pod of it does
    divergence_allowed: bool = False  # pods of a group may have other priorities than it
    topology: bool = True  # groups keep to a topology domain if they say so
    unseen: frozenset[type] = frozenset()  # kinds of objects that are not looked at

    @property
    def room_for(self) -> RoomFor:
        if not self.gangs_preempt:
            return RoomFor.ONE
        return RoomFor.ALL if self.whole_gangs else RoomFor.NEEDED


class Scheduler:
    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._world = World()
        self._ledger = Ledger()
        self._queue = Queue(self._settings.backoff)
        self._plans = Plans()
        self._nominated: dict[Target, str] = {}  # pods that wait for a node, and which
        self._parts: dict[Target, Key] = {}  # pods in line, and the demand they are part of
        self._faults: dict[Target, str] = {}  # pods whose spec we cannot honour
        self._telling = Telling()
        self._regrouped: set[GroupKey] = set()  # groups whose priorities are to be compared
        self._synced = False

    # --- what happens ---

    def observe(self, events: Iterable[Event], now: float) -> list[Effect]:
        effects: list[Effect] = []
        for event in events:
            effects.extend(self._observe(event, now))
        effects.extend(self._overdue(now))
        effects.extend(self._plans.sweep(now))
        effects.extend(self._priorities_compared())
        return effects

    def _observe(self, event: Event, now: float) -> Iterable[Effect]:
        match event:
            case Seen(thing) if type(thing) in self._settings.unseen:
                return ()
            case Seen(Pod() as pod, unserved):
                return self._saw_pod(pod, unserved, now)
            case Seen(PodGroup() as group):
                key = (group.metadata.namespace, group.metadata.name)
                before = self._world.group(key)
                self._regrouped.add(key)
                self._wake(self._world.see(group), now)
                news = before is None or before.spec != group.spec
                return self._group_changed(*key, now) if news else ()
            case Seen(thing):
                self._wake(self._world.see(thing), now)
                is_storage = isinstance(thing, PersistentVolumeClaim | PersistentVolume)
                return self._saw_volumes(now) if is_storage else ()
            case Gone(target):
                return self._gone(target, now)
            case Unread(target, problem):
                return self._unread(target, str(problem), now)
            case Synced():
                self._synced = True
                return self._all_are_here(now)
            case Done(effect):
                return self._done(effect, now)
            case Failed(effect, error):
                return self._failed(effect, error, now)
            case Unknown(effect, _):
                return self._unknown(effect, now)

    def next_time(self) -> float | None:
        """When something is to be done even if nothing happens."""
        times = (self._queue.next_time(), self._ledger.next_time(), self._plans.next_time())
        return min((time for time in times if time is not None), default=None)

    def _all_are_here(self, now: float) -> Iterator[Effect]:
        """Before that nobody could know who was missing."""
        for key in dict.fromkeys(self._parts.values()):
            yield from self._stand_in_line(key, now, changed=False)

    def _wake(self, changes: Iterable[Change], now: float) -> None:
        for change in changes:
            self._queue.wake(change, now)

    # --- pods that are seen ---

    def _saw_pod(self, pod: Pod, unserved: tuple[str, ...], now: float) -> Iterable[Effect]:
        before = self._world.pod(_key(pod))
        self._wake_others(self._world.see(pod), now, _target(pod))
        known = self._world.pod(_key(pod))
        if known is not None and known is before:
            return ()  # older than what we know
        if before is None or known is None:
            self._note_member(pod)
        effects: list[Effect] = []
        if before is not None and (known is None or _target(known.pod) != _target(before.pod)):
            # It is finished, or a namesake has taken its place.
            effects.extend(self._forget(_target(before.pod), now))
            effects.extend(self._vanished(_target(before.pod), now))
            before = None
        if known is None:
            return effects
        self._plans.saw(pod)
        if pod.spec.node_name:
            effects.extend(self._forget(_target(pod), now))
            return [*effects, *self._regroup(pod, now, changed=before is None)]
        if self._ledger.of(_target(pod)) is not None:
            return effects
        return [*effects, *self._line_up(before, known, unserved, now)]

    def _line_up(
        self, before: CompiledPod | None, known: CompiledPod, unserved: tuple[str, ...], now: float
    ) -> Iterator[Effect]:
        """Puts the demand of a waiting pod in line, if the pod is new or asks differently than before."""
        pod, target = known.pod, _target(known.pod)
        if not self._is_ours(pod):
            yield from self._forget(target, now)
            return
        faults = [
            *map(str, known.problems),
            *(f"{path}: not supported by this scheduler" for path in unserved),
        ]
        changed = before is None or target not in self._parts or _asks(before) != _asks(known)
        changed |= bool(faults) != (target in self._faults)
        left, self._parts[target] = self._parts.get(target), key_of(pod, groups=self._settings.groups)
        if left not in (None, self._parts[target]):
            yield from self._stand_in_line(left, now, changed=True)
        self._faults.pop(target, None)
        if faults:
            self._faults[target] = "; ".join(faults)
            yield from self._telling.waits(target, "Unschedulable", self._faults[target])
        if before is None and pod.status.nominated_node_name:
            self._nominated[target] = pod.status.nominated_node_name  # as an earlier run of ours left it
        if changed or self._queue.standing(self._parts[target]) in (None, Standing.GATED, Standing.DECIDING):
            yield from self._stand_in_line(self._parts[target], now, changed=changed)

    def _stand_in_line(self, key: Key, now: float, *, changed: bool) -> Iterator[Effect]:
        found = self._asker(key)
        if not isinstance(found, Asker) and self._synced:
            yield from self._call_off(key, now)
        match found:
            case None:
                self._queue.remove(key)
            case NotYet(text, pods):
                self._queue.add(key, 0, now, gated=True)
                if text and self._synced:
                    ours = [pod for pod in pods if self._is_ours(pod.pod)]
                    yield from self._say(ours, self._world.group(key[1:]), text)
            case Asker(priority=priority):
                standing = self._queue.standing(key)
                if standing is Standing.DECIDING:
                    self._queue.again(key)  # the others have their nodes, and somebody joins them
                elif changed or standing in (None, Standing.GATED):
                    self._queue.add(key, priority, now)

    def _asker(self, key: Key) -> Asker | NotYet | None:
        found = asker(self._world, key, divergence_allowed=self._settings.divergence_allowed)
        if not isinstance(found, Asker):
            return found
        faulty = [pod for pod in found.pods if _target(pod.pod) in self._faults]
        if not faulty:
            return found
        text = f"PodGroup {key[1]}/{key[2]} waits for pod {faulty[0].pod.metadata.name}, which is faulty"
        return NotYet(text, tuple(pod for pod in found.pods if pod not in faulty))

    def _group_changed(self, namespace: str, name: str, now: float) -> Iterable[Effect]:
        key = (GROUP, namespace, name)
        return self._stand_in_line(key, now, changed=True) if key in self._queue else ()

    def _regroup(self, pod: Pod, now: float, *, changed: bool = False) -> Iterator[Effect]:
        """What became of a pod that does not wait may matter to others of its group who do."""
        key = key_of(pod, groups=self._settings.groups)
        if key[0] != GROUP:
            return
        if key in self._queue:
            yield from self._stand_in_line(key, now, changed=changed)
        group = self._world.group(key[1:]) if self._synced else None
        if group is not None and not self._telling.is_scheduled(group) and is_complete(self._world, group):
            yield from self._telling.group_scheduled(group)

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self._settings.profiles and not pod.metadata.deletion_timestamp

    def _gone(self, target: Target, now: float) -> Iterator[Effect]:
        known = self._world.pod((target.namespace, target.name)) if target.kind == "Pod" else None
        self._telling.forget(target)
        self._wake_others(self._world.lose(target), now, target)
        if known is not None and _target(known.pod) == target:
            self._note_member(known.pod)
            yield from self._forget(target, now)
            yield from self._vanished(target, now)
            yield from self._regroup(known.pod, now)
        match target.kind:
            case "Node":
                yield from self._left_hanging(now)
                yield from self._lost_room(target.name, now)
            case "PersistentVolumeClaim":
                yield from self._saw_volumes(now)
            case "PodGroup":
                yield from self._vanished(target, now)
                yield from self._group_changed(target.namespace, target.name, now)

    def _forget(self, pod: Target, now: float) -> Iterator[Effect]:
        """A pod needs nothing from us any more: it is bound, finished or gone."""
        self._telling.forget(pod)
        self._faults.pop(pod, None)
        surprising = self._settle(pod, now) is None
        key = self._parts.get(pod)
        if key is None:
            return
        self._unreserve([pod], key, now)
        del self._parts[pod]
        plan = self._plans.of(key)
        if plan is not None and pod in dict(plan.places):
            yield from self._plan_anew(key, now)
        yield from self._stand_in_line(key, now, changed=surprising)

    def _settle(self, pod: Target, now: float) -> Assumed | None:
        assumed = self._ledger.settle(pod)
        if assumed is not None and assumed.steps:
            shared = {step for other in self._ledger for step in other.steps}
            self._wake(self._world.release(s for s in assumed.steps if s not in shared), now)
        return assumed

    def _unread(self, target: Target, problem: str, now: float) -> Iterable[Effect]:
        """The last version that could be read goes on counting as load; nobody is placed by it."""
        if target in self._parts and self._ledger.of(target) is None:
            self._faults[target] = problem
            yield from self._stand_in_line(self._parts[target], now, changed=False)
        yield from self._telling.warn(target, problem)

    # --- deciding ---

    def decide(self, now: float) -> Decided | None:
        """Decides about the next demand in line; None when nobody's turn has come."""
        if not self._synced:
            return None
        while (key := self._queue.pop(now)) is not None:
            found = self._asker(key)
            if isinstance(found, Asker):
                self._world.version += 1
                return self._decide(found, now)
            # It changed after it got in line, in a way that does not matter any more.
            self._queue.remove(key) if found is None else self._queue.gate(key)
        return None

    def _decide(self, who: Asker, now: float) -> Decided:
        case = self._case(who)
        found = place_together(case.demand, case.view, case.profile, promised=case.promised)
        if isinstance(found, Placement):
            decided = self._placed(case, found.nodes, now)
        else:
            decided = self._unplaced(case, found, now)
        taken = self._crowd_out(who, set(decided.decision.nodes), now)
        return replace(decided, effects=(*decided.effects, *taken))

    def _case(self, who: Asker) -> Case:
        """Those for whom room is reserved come first."""
        who = replace(who, pods=tuple(sorted(who.pods, key=lambda p: _target(p.pod) not in self._nominated)))
        view = self._world.snapshot()
        profile = self._settings.profiles[who.pods[0].pod.spec.scheduler_name]
        demand = demand_of(who, view, profile, self._nominated, topology=self._settings.topology)
        return Case(who, demand, view, profile, self._promised(view, demand), self._doomed(view))

    def _crowd_out(self, who: Asker, nodes: Collection[str], now: float) -> Iterator[Effect]:
        """Who waits for room that somebody more important has taken plans anew, if it no longer suffices."""
        for key, handover in self._plans:
            if key == who.key or not any(node in nodes for _, node in handover.places):
                continue
            other = self._asker(key)
            if not isinstance(other, Asker) or other.priority >= who.priority:
                continue
            if not still_feasible(self._case(other), handover):
                yield from self._plan_anew(key, now)

    def _promised(self, view: Snapshot, demand: Demand) -> Promised:
        """Room that others of equal or higher priority wait for."""
        pods, nodes = [], []
        for target, name in self._nominated.items():
            row, node = view.pods.rows[target.namespace, target.name], view.nodes.rows.get(name)
            outranks = priority_of(self._world, self._parts[target]) >= demand.priority
            if node is not None and row not in demand.pods and outranks:
                pods.append(row)
                nodes.append(node)
        return Promised(tuple(pods), tuple(nodes))

    def _doomed(self, view: Snapshot) -> tuple[int, ...]:
        """Pods that are going to be evicted, and cannot be seen leaving yet."""
        rows = rows_of(view, self._plans.doomed())
        return tuple(r for r in rows if view.where[r] != NOWHERE and not view.pods.terminating[r])

    def _placed(self, case: Case, nodes: tuple[int, ...], now: float) -> Decided:
        names = case.view.nodes.names
        effects: list[Effect] = []
        placed = [
            (p, row, n) for p, row, n in zip(case.who.pods, case.demand.pods, nodes, strict=True) if n >= 0
        ]
        for compiled, row, node in placed:
            effects.extend(self._assume(case, compiled.pod, row, node, now))
        places = tuple((_target(compiled.pod), names[node]) for compiled, _, node in placed)
        decision = replace(self._decision(case.who, Outcome.PLACED, now), places=places)
        if not self._makes_room_for_another(case.who.key):
            effects.extend(self._call_off(case.who.key, now))
        if len(placed) < len(case.who.pods):
            self._queue.again(case.who.key)
        return Decided(decision, tuple(effects))

    def _makes_room_for_another(self, key: Key) -> bool:
        """Whether a plan is for one pod alone, which still waits while others of its group have a node."""
        handover = self._plans.of(key)
        if handover is None or not handover.is_open or len(handover.places) > 1:
            return False
        return handover.places[0][0] in self._nominated

    def _assume(self, case: Case, pod: Pod, row: int, node: int, now: float) -> tuple[Effect, ...]:
        name = case.view.nodes.names[node]
        ask = Ask(case.view, row, case.profile)
        steps = volumes.steps(ask, node) if ask.shape.claims else ()
        assumed = Assumed(_target(pod), name, Promise.SENT)
        if steps:
            due = now + self._settings.volume_seconds
            assumed = replace(assumed, state=Promise.PREPARING, steps=steps, due=due)
        if self._nominated.get(assumed.pod) == name:
            del self._nominated[assumed.pod]
        self._unreserve([assumed.pod], case.who.key, now)
        self._ledger.promise(assumed)
        self._wake(self._world.assume(_key(pod), name), now)
        self._world.reserve(steps)
        return volumes.first(steps) or (assumed.bind,)

    def _unplaced(self, case: Case, found: Unplaceable, now: float) -> Decided:
        policy = self._settings.policies.get(case.who.pods[0].pod.spec.scheduler_name)
        helps = helpful(rejection.reason.code for rejection in found.survey.rejections)
        if policy is not None and policy.breaks_no_budget:
            helps |= {Change.BUDGETS}
        self._queue.wait(case.who.key, helps, now)
        effects: list[Effect] = []
        handover = self._plans.of(case.who.key)
        if handover is not None and handover.is_open and still_feasible(case, handover):
            waits = self._decision(case.who, Outcome.WAITING, now)
            return Decided(replace(waits, places=handover.places, preemption=handover.price), ())
        effects.extend(self._call_off(case.who.key, now))
        weighed = plans_for(case, found, policy, now, self._settings.room_for)
        if weighed.plans:
            return self._make_room(case, found, weighed, effects, now)
        decision = self._refused(case, found, weighed, now)
        effects.extend(self._say_all(case.who, decision.text))
        return Decided(decision, tuple(effects))

    def _refused(self, case: Case, found: Unplaceable, weighed: Weighed, now: float) -> Decision:
        return replace(
            self._decision(case.who, Outcome.UNSCHEDULABLE, now),
            findings=findings_of(found.survey),
            miss=miss_of(found, case.demand, case.profile),
            eviction=eviction_of(weighed.refusal, weighed.question, now) if weighed.refusal else None,
            retry_at=weighed.refusal.retry_at if weighed.refusal else None,
        )

    def _make_room(
        self, case: Case, found: Unplaceable, weighed: Weighed, effects: list[Effect], now: float
    ) -> Decided:
        """Room is reserved from now on; the rest follows step by step."""
        plan, view = weighed.plans[0], case.view
        places = tuple(
            (target_at(view, row), view.nodes.names[node]) for row, node in (*weighed.kept, *plan.places)
        )
        going = [target_at(view, row) for unit in plan.victims for row in unit.pods]
        before = [target_at(view, int(row)) for row in awaited(case, plan, weighed.kept)]
        anyway = [pod for pod in before if pod not in going]
        price = Preemption(leaving=len(anyway))
        if weighed.question is not None:
            price = preemption_of(weighed.plans, weighed.question, len(anyway))
        decision = replace(
            self._decision(case.who, Outcome.PREEMPTS, now),
            places=places,
            findings=findings_of(found.survey),
            preemption=price,
        )
        handover = Handover(
            id=decision.id,
            preemptor=decision.demand,
            places=places,
            victims=tuple(pod for pod in going if not self._is_preparing(pod)),
            leaving=tuple(anyway),
            elsewhere=frozenset(going).difference(before),
            homes=homes_of(plan, view),
            price=price,
            marks=tuple(self._groups_of(plan)),
        )
        for pod in filter(self._is_preparing, going):
            effects.extend(self._give_up(pod, f"it gives way to others (decision {decision.id})", now))
        self._nominated.update(places)
        handover, first = opened(handover)
        self._plans.keep(case.who.key, handover)
        self._queue.hold(case.who.key)
        effects.extend(first)
        effects.extend(self._say_all(case.who, decision.text))
        return Decided(decision, tuple(effects))

    def _decision(self, who: Asker, outcome: Outcome, now: float) -> Decision:
        target = self._target_of(who)
        return Decision(
            id=decision_id(target.uid, self._world.version),
            demand=target,
            priority=who.priority,
            at=now,
            outcome=outcome,
            considered=self._world.node_count(),
            pods=len(who.pods),
        )

    def _target_of(self, who: Asker) -> Target:
        if who.group is None:
            return _target(who.pods[0].pod)
        return group_target(who.group)

    def _groups_of(self, plan: Plan) -> Iterator[Target]:
        """Whole groups that go."""
        for unit in plan.victims:
            _, namespace, name = unit.name.split("/")
            group = self._world.group((namespace, name))
            if unit.kind is Kind.POD_GROUP and group is not None:
                yield group_target(group)

    # --- handovers ---

    def _step(self, key: Key, before: Handover, step: Step, now: float) -> tuple[Effect, ...]:
        """A plan goes on; the preemptor is looked at again when calls are over, and when all are gone."""
        handover, effects = step
        self._plans.keep(key, handover)
        if handover.stage is Stage.READY:
            self._queue.again(key)
        elif handover.stage is Stage.DRAINING and before.is_settling:
            self._queue.let_wait(key, now)
        return effects

    def _lost_room(self, node: str, now: float) -> Iterator[Effect]:
        """Nobody waits for a node that is no more."""
        for key in dict.fromkeys(self._parts[pod] for pod, name in self._nominated.items() if name == node):
            yield from self._plan_anew(key, now)

    def _vanished(self, target: Target, now: float) -> Iterator[Effect]:
        self._plans.lost(target)
        for key, handover in self._plans.concerned(target):
            yield from self._step(key, handover, vanished(handover, target), now)

    def _plan_anew(self, key: Key, now: float) -> Iterator[Effect]:
        yield from self._call_off(key, now)
        self._queue.again(key)

    def _call_off(self, key: Key, now: float) -> tuple[Effect, ...]:
        """The preemptor has its place, is gone, or must plan anew: what is not yet done is not done."""
        waiting = [pod for pod in self._nominated if self._parts[pod] == key]
        self._unreserve(waiting, key, now)
        withdrawn = tuple(Nominate(pod, "") for pod in waiting)
        handover = self._plans.drop(key)
        if handover is None:
            return withdrawn
        return (*withdrawn, *abandoned(handover, self._plans.needed())[1])

    def _unreserve(self, pods: Iterable[Target], key: Key, now: float) -> None:
        """Room that nobody waits for any more: to others it is as if somebody had left."""
        if [pod for pod in pods if self._nominated.pop(pod, None) is not None]:
            self._queue.wake(Change.POD_LEFT, now, {key})

    def _wake_others(self, changes: Iterable[Change], now: float, pod: Target) -> None:
        """Of those who wait for this very pod to go, nobody is woken before the last of them is gone."""
        held = self._plans.waiting_for(pod)
        for change in changes:
            self._queue.wake(change, now, held)

    def _say_all(self, who: Asker, text: str) -> Iterator[Effect]:
        yield from self._say(who.pods, who.group, text)

    def _say(self, pods: Iterable[CompiledPod], group: PodGroup | None, text: str) -> Iterator[Effect]:
        for pod in pods:
            yield from self._telling.waits(_target(pod.pod), "Unschedulable", text)
        if group is not None:
            yield from self._telling.group_waits(group, text)

    def _note_member(self, pod: Pod) -> None:
        """A pod joins a group, or leaves it."""
        group = group_key(pod) if pod.spec.scheduler_name in self._settings.profiles else None
        if group is not None:
            self._regrouped.add(group)

    def _priorities_compared(self) -> Iterator[Effect]:
        """Tells when pods of a group have other priorities than it, and when they do not any more."""
        if not self._synced:
            return
        groups, self._regrouped = sorted(self._regrouped), set()
        for group in filter(None, map(self._world.group, groups)):
            yield from self._telling.divergence(group, divergence(self._world, group))

    # --- how effects ended ---

    def _done(self, effect: Effect, now: float) -> Iterable[Effect]:
        match effect:
            case Bind(pod, node):
                note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
                return (Announce(pod, Tone.NORMAL, "Scheduled", "Binding", note), *self._bound(pod, now))
            case BindVolume():
                return [*self._volume_promised(effect), *self._saw_volumes(now)]
            case SelectNode():
                return self._saw_volumes(now)
            case Nominate() | SetCondition() | Evict():
                return self._acknowledged(effect, now)
            case Announce():
                return ()

    def _acknowledged(self, effect: Effect, now: float) -> tuple[Effect, ...]:
        key = self._plans.answered(effect)
        handover = self._plans.of(key) if key is not None else None
        if key is None or handover is None:
            return ()
        return self._step(key, handover, acknowledged(handover, effect), now)

    def _bound(self, pod: Target, now: float) -> Iterator[Effect]:
        """The pod stays assumed until it is seen there; its demand may be complete by now."""
        key = self._parts.get(pod)
        if key is None or self._ledger.of(pod) is None:
            return
        yield from self._stand_in_line(key, now, changed=False)
        known = self._world.pod((pod.namespace, pod.name))
        if known is not None:
            yield from self._regroup(known.pod, now)

    def _failed(self, effect: Effect, error: str, now: float) -> Iterable[Effect]:
        match effect:
            case Bind(pod):
                assumed = self._ledger.of(pod)
                if assumed is not None and assumed.state is Promise.UNKNOWN:
                    return self._unknown(effect, now)  # an earlier attempt may have happened
                return self._bind_failed(effect, error, now)
            case SelectNode() | BindVolume():
                text = f"{effect.target} could not be prepared: {error}"
                return [said for a in self._preparing(effect) for said in self._give_up(a.pod, text, now)]
            case Nominate() | SetCondition() | Evict():
                self._telling.forget(effect.target)
                return self._handover_failed(effect, error, now)
            case Announce():
                return ()

    def _bind_failed(self, bind: Bind, error: str, now: float) -> Iterator[Effect]:
        """Others of a gang may have been bound, so the room is kept for those who were not."""
        yield from self._give_up(bind.target, f"binding failed: {error}", now)
        key = self._parts.get(bind.target)
        group = self._world.group(key[1:]) if key is not None and key[0] == GROUP else None
        if group is not None and group.spec.gang is not None and self._world.has_node(bind.node):
            self._nominated[bind.target] = bind.node
            yield Nominate(bind.target, bind.node)

    def _handover_failed(self, effect: Effect, error: str, now: float) -> Iterator[Effect]:
        """Nothing further is evicted; the demand is in line again, and told why."""
        key = self._plans.answered(effect)
        if key is not None:
            found = self._asker(key)
            yield from self._plan_anew(key, now)
            self._queue.retry(key, now)
            if isinstance(found, Asker):
                yield from self._say_all(found, failure_text(effect.target, error, found.key[1]))
        if isinstance(effect, Evict) and effect.target in self._plans.unused_marks():
            yield unmark(effect.target)

    def _unknown(self, effect: Effect, now: float) -> Iterable[Effect]:
        """It may have happened, so the promise stands; the cluster will show, or we ask again."""
        match effect:
            case Bind(pod):
                if (assumed := self._ledger.of(pod)) is not None:
                    due = now + _RESEND_AFTER
                    self._ledger.promise(replace(assumed, state=Promise.UNKNOWN, due=due))
                return ()
            case SelectNode() | BindVolume():
                return (effect,) if self._preparing(effect) else ()
            case Nominate() | SetCondition() | Evict():
                self._telling.forget(effect.target)
                return (effect,) if self._plans.must_know(effect) else ()
            case Announce():
                return ()

    def _give_up(self, pod: Target, text: str, now: float) -> Iterator[Effect]:
        """A promise cannot be kept: the room is free again, and the pod is back in line."""
        if self._settle(pod, now) is None:
            return
        self._wake(self._world.withdraw((pod.namespace, pod.name)), now)
        known, key = self._world.pod((pod.namespace, pod.name)), self._parts.get(pod)
        if known is None or key is None or not self._is_ours(known.pod):
            yield from self._forget(pod, now)
            return
        yield from self._stand_in_line(key, now, changed=False)
        self._queue.retry(key, now)
        yield from self._telling.waits(pod, "SchedulerError", text)
        yield from self._not_in_the_way(pod, now)

    def _not_in_the_way(self, pod: Target, now: float) -> Iterator[Effect]:
        """A pod that came back is not evicted any more for the room that it was to have."""
        if any(handover.is_settling and pod in handover.victims for _, handover in self._plans):
            yield from self._vanished(pod, now)
            yield unmark(pod)

    def _is_preparing(self, pod: Target) -> bool:
        assumed = self._ledger.of(pod)
        return assumed is not None and assumed.state is Promise.PREPARING

    def _send(self, assumed: Assumed) -> Bind:
        self._ledger.promise(replace(assumed, state=Promise.SENT, due=None))
        return assumed.bind

    # --- volumes ---

    def _preparing(self, step: VolumeStep | None = None) -> list[Assumed]:
        """Those whose volumes are not ready, because of this step."""
        waiting = [a for a in self._ledger if a.state is Promise.PREPARING]
        return waiting if step is None else [a for a in waiting if step in a.steps]

    def _left_hanging(self, now: float) -> Iterator[Effect]:
        """Volumes are being prepared for nodes that are no more."""
        for assumed in self._preparing():
            if not self._world.has_node(assumed.node):
                yield from self._give_up(assumed.pod, f"node {assumed.node} is gone", now)

    def _volume_promised(self, step: BindVolume) -> Iterator[Effect]:
        for assumed in self._preparing(step):
            acknowledged = assumed.acknowledged | {step}
            self._ledger.promise(replace(assumed, acknowledged=acknowledged))
            yield from volumes.following(assumed.steps, acknowledged)

    def _saw_volumes(self, now: float) -> Iterator[Effect]:
        """Sends the pods whose volumes are ready, and takes back those whose volumes will not come."""
        for assumed in self._preparing():
            claims = {step: self._world.claim(volumes.claim_of(step)) for step in assumed.steps}
            shown = assumed.shown | volumes.shown(claims)
            if volumes.are_bound(claims):
                yield from self._send_if_within_reach(assumed, now)
            elif (step := volumes.hopeless(claims, shown)) is not None:
                text = f"{volumes.claim_of(step)} got no volume for node {assumed.node}"
                yield from self._give_up(assumed.pod, text, now)
            else:
                self._ledger.promise(replace(assumed, shown=shown))

    def _send_if_within_reach(self, assumed: Assumed, now: float) -> Iterator[Effect]:
        """Claims may have got other volumes than we chose. A volume may be shown after its claim."""
        view = self._world.snapshot()
        ask = Ask(view, self._world.row((assumed.pod.namespace, assumed.pod.name)))
        refusals = volumes.refusals(ask, view.nodes.rows[assumed.node])
        if not refusals:
            yield self._send(assumed)
        elif any(reason.code is not Code.VOLUME_NOT_FOUND for reason in refusals):
            text = "; ".join(f"node {assumed.node} {reason.text}" for reason in refusals)
            yield from self._give_up(assumed.pod, text, now)

    # --- time ---

    def _overdue(self, now: float) -> Iterator[Effect]:
        for assumed in self._ledger.overdue(now):
            if assumed.state is Promise.UNKNOWN:
                self._ledger.promise(replace(assumed, due=None))
                yield assumed.bind
            else:
                text = f"volumes were not ready within {self._settings.volume_seconds:g} s"
                yield from self._give_up(assumed.pod, text, now)


def _key(pod: Pod) -> PodKey:
    return pod.metadata.namespace, pod.metadata.name


def _target(pod: Pod) -> Target:
    return Target("Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _asks(compiled: CompiledPod) -> tuple[object, ...]:
    """What of a waiting pod, if it changes, deserves another look."""
    spec = compiled.pod.spec
    return compiled.shape, spec.priority, spec.scheduling_gates, spec.scheduler_name, compiled.problems
