"""The scheduler as a state machine: events in, effects out. It does no I/O and asks no clock."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from reprieve.model.effects import (
    Announce,
    Bind,
    BindVolume,
    Effect,
    SelectNode,
    SetCondition,
    Target,
    Tone,
)
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Synced, Unknown, Unread
from reprieve.model.objects import PersistentVolumeClaim, Pod
from reprieve.model.shape import CompiledPod
from reprieve.placement.demand import Ask
from reprieve.placement.place import Placement, Unplaceable, place, pod_demand
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.scheduler import volumes
from reprieve.scheduler.changes import Change, helpful
from reprieve.scheduler.decision import Decided, Decision, Finding, Outcome, decision_id, findings_of
from reprieve.scheduler.ledger import Assumed, Ledger, PodKey, Promise
from reprieve.scheduler.queue import DEFAULT_BACKOFF, Backoff, Key, Queue
from reprieve.scheduler.world import World

SCHEDULER_NAME = "reprieve"

_LONGEST_NOTE = 1024  # what a Kubernetes event may say
_RESEND_AFTER = 10.0  # seconds until a bind whose answer was lost is sent again


@dataclass(frozen=True, slots=True)
class Settings:
    """What the state machine must be told: whose pods it schedules, and how patient it is."""

    profiles: Mapping[str, Profile] = field(default_factory=lambda: {SCHEDULER_NAME: DEFAULT_PROFILE})
    backoff: Backoff = DEFAULT_BACKOFF
    volume_seconds: float = 600.0  # how long volumes may take before the pod is tried elsewhere


class Scheduler:
    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()
        self._world = World()
        self._ledger = Ledger()
        self._queue = Queue(self._settings.backoff)
        self._deadlines: list[tuple[float, PodKey]] = []
        self._said: dict[PodKey, tuple[str, str]] = {}  # uid and what was last said of it
        self._synced = False

    # --- what happens ---

    def observe(self, events: Iterable[Event], now: float) -> list[Effect]:
        effects: list[Effect] = []
        for event in events:
            effects.extend(self._observe(event, now))
        effects.extend(self._overdue(now))
        return effects

    def _observe(self, event: Event, now: float) -> Iterable[Effect]:
        match event:
            case Seen(Pod() as pod, unserved):
                return self._saw_pod(pod, unserved, now)
            case Seen(thing):
                self._wake(self._world.see(thing), now)
                return self._saw_claim(now) if isinstance(thing, PersistentVolumeClaim) else ()
            case Gone(target):
                return self._gone(target, now)
            case Unread(target, problem):
                return self._unread(target, str(problem))
            case Synced():
                self._synced = True
                return ()
            case Done(effect):
                return self._done(effect, now)
            case Failed(effect, error):
                return self._failed(effect, error, now)
            case Unknown(effect, _):
                return self._unknown(effect, now)

    def next_time(self) -> float | None:
        """When something is to be done even if nothing happens."""
        times = [t for t in (self._queue.next_time(), *(d[0] for d in self._deadlines[:1])) if t is not None]
        return min(times, default=None)

    def _wake(self, changes: Iterable[Change], now: float) -> None:
        for change in changes:
            self._queue.wake(change, now)

    # --- pods that are seen ---

    def _saw_pod(self, pod: Pod, unserved: tuple[str, ...], now: float) -> Iterable[Effect]:
        key = _key(pod)
        before = self._world.pod(key)
        if before is not None and before.pod.metadata.uid != pod.metadata.uid:
            self._forget(key)
            before = None
        self._wake(self._world.see(pod), now)
        known = self._world.pod(key)
        if known is not None and known.pod is not pod:
            return ()  # older than what we know
        if known is None or pod.spec.node_name:
            self._forget(key)  # it is finished, or has its node
            return ()
        if self._ledger.of(key, pod.metadata.uid) is not None:
            return ()
        return self._line_up(before, known, unserved, now)

    def _line_up(
        self, before: CompiledPod | None, known: CompiledPod, unserved: tuple[str, ...], now: float
    ) -> Iterable[Effect]:
        """Puts a waiting pod of ours in line, if it is new or asks differently than before."""
        pod, key = known.pod, _demand(_key(known.pod))
        if pod.spec.scheduler_name not in self._settings.profiles or pod.metadata.deletion_timestamp:
            self._queue.remove(key)
            return ()
        faults = [
            *map(str, known.problems),
            *(f"{path}: not supported by this scheduler" for path in unserved),
        ]
        if before is None or key not in self._queue or _asks(before) != _asks(known):
            gated = bool(faults or pod.spec.scheduling_gates)
            self._queue.add(key, pod.spec.priority or 0, now, gated=gated)
        return self._say(known.pod, "Unschedulable", "; ".join(faults)) if faults else ()

    def _gone(self, target: Target, now: float) -> Iterable[Effect]:
        if target.kind == "Pod":
            known = self._world.pod((target.namespace, target.name))
            if known is not None and known.pod.metadata.uid == target.uid:
                self._forget((target.namespace, target.name))
        self._wake(self._world.lose(target), now)
        if target.kind == "Node":
            return self._left_hanging(target.name, now)
        return ()

    def _forget(self, key: PodKey) -> None:
        """A pod needs nothing from us any more: it is bound, finished or gone."""
        self._queue.remove(_demand(key))
        self._said.pop(key, None)
        self._settle(key)

    def _settle(self, key: PodKey) -> Assumed | None:
        assumed = self._ledger.settle(key)
        if assumed is not None:
            self._world.release(assumed.steps)
        return assumed

    def _unread(self, target: Target, problem: str) -> Iterable[Effect]:
        """The last version that could be read goes on counting as load; nobody is placed by it."""
        if target.kind == "Pod" and self._ledger.of((target.namespace, target.name), target.uid) is None:
            self._queue.remove(_demand((target.namespace, target.name)))
        yield Announce(target, Tone.WARNING, "FailedScheduling", "Scheduling", problem[:_LONGEST_NOTE])

    # --- deciding ---

    def decide(self, now: float) -> Decided | None:
        """Decides about the next demand in line; None when nobody's turn has come."""
        if not self._synced:
            return None
        key = self._queue.pop(now)
        if key is None:
            return None
        self._world.version += 1
        pod = self._world.pod(key[1:])
        if pod is None:
            self._queue.remove(key)
            return self.decide(now)
        view = self._world.snapshot()
        ask = Ask(view, self._world.row(key[1:]), self._settings.profiles[pod.pod.spec.scheduler_name])
        match place(pod_demand(view, ask.pod, ask.profile), view, ask.profile):
            case Placement(nodes):
                return self._placed(ask, pod.pod, nodes[0], now)
            case Unplaceable() as found:
                return self._unplaced(pod.pod, found, now)

    def _placed(self, ask: Ask, pod: Pod, node: int, now: float) -> Decided:
        name = ask.view.nodes.names[node]
        steps = volumes.steps(ask, node) if ask.shape.claims else ()
        state = Promise.PREPARING if steps else Promise.SENT
        assumed = Assumed(_target(pod), name, state, steps)
        decision = self._decision(pod, Outcome.PLACED, now, nodes=(name,))
        self._ledger.promise(assumed)
        self._world.assume(_key(pod), name)
        self._world.reserve(steps)
        if not steps:
            return Decided(decision, (assumed.bind,))
        self._remind(now + self._settings.volume_seconds, _key(pod))
        return Decided(decision, steps)

    def _unplaced(self, pod: Pod, found: Unplaceable, now: float) -> Decided:
        findings = findings_of(found.survey)
        decision = self._decision(pod, Outcome.UNSCHEDULABLE, now, findings=findings)
        codes = {rejection.reason.code for rejection in found.survey.rejections}
        self._queue.wait(_demand(_key(pod)), helpful(codes), now)
        return Decided(decision, tuple(self._say(pod, "Unschedulable", decision.text)))

    def _decision(
        self,
        pod: Pod,
        outcome: Outcome,
        now: float,
        nodes: tuple[str, ...] = (),
        findings: tuple[Finding, ...] = (),
    ) -> Decision:
        return Decision(
            id=decision_id(pod.metadata.uid, self._world.version),
            demand=_target(pod),
            priority=pod.spec.priority or 0,
            at=now,
            outcome=outcome,
            nodes=nodes,
            considered=self._world.node_count(),
            findings=findings,
        )

    def _say(self, pod: Pod, reason: str, text: str) -> Iterator[Effect]:
        """Tells people why a pod waits, when there is something new to tell."""
        key, text = _key(pod), text[:_LONGEST_NOTE]
        if self._said.get(key) == (pod.metadata.uid, text):
            return
        self._said[key] = (pod.metadata.uid, text)
        yield SetCondition(_target(pod), "PodScheduled", "False", reason, text)
        yield Announce(_target(pod), Tone.WARNING, "FailedScheduling", "Scheduling", text)

    # --- how effects ended ---

    def _done(self, effect: Effect, now: float) -> Iterable[Effect]:
        match effect:
            case Bind(pod, node):
                # The pod stays assumed until it is seen there; nobody has to be told before that but people.
                self._queue.remove(_demand((pod.namespace, pod.name)))
                note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
                return (Announce(pod, Tone.NORMAL, "Scheduled", "Binding", note),)
            case SelectNode() | BindVolume():
                return self._saw_claim(now)
            case SetCondition() | Announce():
                return ()

    def _failed(self, effect: Effect, error: str, now: float) -> Iterable[Effect]:
        match effect:
            case Bind(pod):
                return self._give_up((pod.namespace, pod.name), pod.uid, f"binding failed: {error}", now)
            case SelectNode() | BindVolume():
                text = f"{effect.target} could not be prepared: {error}"
                return [
                    said
                    for a in self._preparing(effect)
                    for said in self._give_up((a.pod.namespace, a.pod.name), a.pod.uid, text, now)
                ]
            case SetCondition(target):
                self._said.pop((target.namespace, target.name), None)
                return ()
            case Announce():
                return ()

    def _unknown(self, effect: Effect, now: float) -> Iterable[Effect]:
        """It may have happened, so the promise stands; the cluster will show, or we ask again."""
        match effect:
            case Bind(pod):
                key = (pod.namespace, pod.name)
                if (assumed := self._ledger.of(key, pod.uid)) is not None:
                    self._ledger.promise(replace(assumed, state=Promise.UNKNOWN))
                    self._remind(now + _RESEND_AFTER, key)
            case SelectNode() | BindVolume():
                for assumed in self._preparing(effect):
                    self._remind(now + _RESEND_AFTER, (assumed.pod.namespace, assumed.pod.name))
            case SetCondition(target):
                self._said.pop((target.namespace, target.name), None)
            case Announce():
                pass
        return ()

    def _give_up(self, key: PodKey, uid: str, text: str, now: float) -> Iterator[Effect]:
        """A promise cannot be kept: the room is free again, and the pod is back in line."""
        if self._ledger.of(key, uid) is None:
            return
        self._settle(key)
        self._wake(self._world.withdraw(key), now)
        known = self._world.pod(key)
        if known is not None:
            self._queue.retry(_demand(key), now)
            yield from self._say(known.pod, "SchedulerError", text)

    def _left_hanging(self, node: str, now: float) -> Iterator[Effect]:
        """Volumes are being prepared for a node that is no more."""
        for assumed in [a for a in self._ledger if a.node == node and a.state is Promise.PREPARING]:
            key = (assumed.pod.namespace, assumed.pod.name)
            yield from self._give_up(key, assumed.pod.uid, f"node {node} is gone", now)

    # --- volumes ---

    def _preparing(self, step: BindVolume | SelectNode) -> list[Assumed]:
        return [a for a in self._ledger if a.state is Promise.PREPARING and step in a.steps]

    def _saw_claim(self, now: float) -> Iterator[Effect]:
        """Sends the pods whose volumes are ready, and takes back those whose volumes will not come."""
        for assumed in [a for a in self._ledger if a.state is Promise.PREPARING]:
            key = (assumed.pod.namespace, assumed.pod.name)
            known = self._world.pod(key)
            claims = {
                t.target: self._world.claim(t.target) for t in assumed.steps if isinstance(t, SelectNode)
            }
            shown = assumed.shown | volumes.shown(assumed.steps, claims)
            if known is not None and volumes.are_bound(self._world.snapshot().storage, known.shape):
                self._ledger.promise(replace(assumed, state=Promise.SENT))
                yield assumed.bind
            elif volumes.were_taken_back(shown, claims):
                text = f"no volume can be made for node {assumed.node}"
                yield from self._give_up(key, assumed.pod.uid, text, now)
            else:
                self._ledger.promise(replace(assumed, shown=shown))

    # --- time ---

    def _remind(self, at: float, key: PodKey) -> None:
        heappush(self._deadlines, (at, key))

    def _overdue(self, now: float) -> Iterator[Effect]:
        while self._deadlines and self._deadlines[0][0] <= now:
            _, key = heappop(self._deadlines)
            known = self._world.pod(key)
            assumed = self._ledger.of(key, known.pod.metadata.uid) if known is not None else None
            if assumed is not None and assumed.state is Promise.UNKNOWN:
                self._ledger.promise(replace(assumed, state=Promise.SENT))
                yield assumed.bind
            elif assumed is not None and assumed.state is Promise.PREPARING:
                text = f"volumes were not ready within {self._settings.volume_seconds:g} s"
                yield from self._give_up(key, assumed.pod.uid, text, now)


def _key(pod: Pod) -> PodKey:
    return pod.metadata.namespace, pod.metadata.name


def _demand(pod: PodKey) -> Key:
    return "Pod", *pod


def _target(pod: Pod) -> Target:
    return Target("Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _asks(compiled: CompiledPod) -> tuple[object, ...]:
    """What of a waiting pod, if it changes, deserves another look."""
    spec = compiled.pod.spec
    return compiled.shape, spec.priority, spec.scheduling_gates, spec.scheduler_name, compiled.problems
