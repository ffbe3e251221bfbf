"""The scheduler as a state machine: events in, effects out. It does no I/O and asks no clock."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

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
from reprieve.model.objects import PersistentVolume, PersistentVolumeClaim, Pod
from reprieve.model.shape import CompiledPod
from reprieve.placement.demand import Ask
from reprieve.placement.place import Placement, Unplaceable, place, pod_demand
from reprieve.placement.profile import DEFAULT_PROFILE, Profile
from reprieve.placement.reasons import Code
from reprieve.scheduler import volumes
from reprieve.scheduler.changes import Change, helpful
from reprieve.scheduler.decision import Decided, Decision, Finding, Outcome, decision_id, findings_of
from reprieve.scheduler.ledger import Assumed, Ledger, Promise, VolumeStep
from reprieve.scheduler.pod_rows import PodKey
from reprieve.scheduler.queue import DEFAULT_BACKOFF, Backoff, Key, Queue, Standing
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
        self._said: dict[Target, str] = {}  # what people were last told
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
                is_storage = isinstance(thing, PersistentVolumeClaim | PersistentVolume)
                return self._saw_volumes(now) if is_storage else ()
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
        times = (self._queue.next_time(), self._ledger.next_time())
        return min((time for time in times if time is not None), default=None)

    def _wake(self, changes: Iterable[Change], now: float) -> None:
        for change in changes:
            self._queue.wake(change, now)

    # --- pods that are seen ---

    def _saw_pod(self, pod: Pod, unserved: tuple[str, ...], now: float) -> Iterable[Effect]:
        before = self._world.pod(_key(pod))
        self._wake(self._world.see(pod), now)
        known = self._world.pod(_key(pod))
        if known is not None and known is before:
            return ()  # older than what we know
        if before is not None and (known is None or _target(known.pod) != _target(before.pod)):
            self._forget(_target(before.pod), now)  # it is finished, or a namesake has taken its place
            before = None
        if known is None:
            return ()
        if pod.spec.node_name:
            self._forget(_target(pod), now)
            return ()
        if self._ledger.of(_target(pod)) is not None:
            return ()
        return self._line_up(before, known, unserved, now)

    def _line_up(
        self, before: CompiledPod | None, known: CompiledPod, unserved: tuple[str, ...], now: float
    ) -> Iterable[Effect]:
        """Puts a waiting pod of ours in line, if it is new or asks differently than before."""
        pod, key = known.pod, _demand(_target(known.pod))
        if not self._is_ours(pod):
            self._queue.remove(key)
            return ()
        faults = [
            *map(str, known.problems),
            *(f"{path}: not supported by this scheduler" for path in unserved),
        ]
        gated = bool(faults or pod.spec.scheduling_gates)
        standing = self._queue.standing(key)
        as_before = standing is not None and gated == (standing is Standing.GATED)
        if before is None or not as_before or _asks(before) != _asks(known):
            self._queue.add(key, pod.spec.priority or 0, now, gated=gated)
        return self._say(pod, "Unschedulable", "; ".join(faults)) if faults else ()

    def _is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self._settings.profiles and not pod.metadata.deletion_timestamp

    def _gone(self, target: Target, now: float) -> Iterable[Effect]:
        known = self._world.pod((target.namespace, target.name)) if target.kind == "Pod" else None
        if known is not None and _target(known.pod) == target:
            self._forget(target, now)
        self._said.pop(target, None)
        self._wake(self._world.lose(target), now)
        match target.kind:
            case "Node":
                return self._left_hanging(now)
            case "PersistentVolumeClaim":
                return self._saw_volumes(now)
        return ()

    def _forget(self, pod: Target, now: float) -> None:
        """A pod needs nothing from us any more: it is bound, finished or gone."""
        self._queue.remove(_demand(pod))
        self._said.pop(pod, None)
        self._settle(pod, now)

    def _settle(self, pod: Target, now: float) -> Assumed | None:
        assumed = self._ledger.settle(pod)
        if assumed is not None and assumed.steps:
            shared = {step for other in self._ledger for step in other.steps}
            self._wake(self._world.release(s for s in assumed.steps if s not in shared), now)
        return assumed

    def _unread(self, target: Target, problem: str) -> Iterable[Effect]:
        """The last version that could be read goes on counting as load; nobody is placed by it."""
        if target.kind == "Pod" and self._ledger.of(target) is None:
            self._queue.remove(_demand(target))
        if self._is_news(target, problem):
            yield _warning(target, problem)

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
        decision = self._decision(pod, Outcome.PLACED, now, nodes=(name,))
        assumed = Assumed(_target(pod), name, Promise.SENT)
        if steps:
            due = now + self._settings.volume_seconds
            assumed = replace(assumed, state=Promise.PREPARING, steps=steps, due=due)
        self._ledger.promise(assumed)
        self._wake(self._world.assume(_key(pod), name), now)
        self._world.reserve(steps)
        return Decided(decision, steps or (assumed.bind,))

    def _unplaced(self, pod: Pod, found: Unplaceable, now: float) -> Decided:
        findings = findings_of(found.survey)
        decision = self._decision(pod, Outcome.UNSCHEDULABLE, now, findings=findings)
        codes = {rejection.reason.code for rejection in found.survey.rejections}
        self._queue.wait(_demand(_target(pod)), helpful(codes), now)
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
        target = _target(pod)
        if self._is_news(target, text):
            yield SetCondition(target, "PodScheduled", "False", reason, text[:_LONGEST_NOTE])
            yield _warning(target, text)

    def _is_news(self, target: Target, text: str) -> bool:
        told, self._said[target] = self._said.get(target), text
        return told != text

    # --- how effects ended ---

    def _done(self, effect: Effect, now: float) -> Iterable[Effect]:
        match effect:
            case Bind(pod, node):
                # The pod stays assumed until it is seen there; nobody has to be told before that but people.
                if self._ledger.of(pod) is not None:
                    self._queue.remove(_demand(pod))
                note = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
                return (Announce(pod, Tone.NORMAL, "Scheduled", "Binding", note),)
            case SelectNode() | BindVolume():
                return self._saw_volumes(now)
            case SetCondition() | Announce():
                return ()

    def _failed(self, effect: Effect, error: str, now: float) -> Iterable[Effect]:
        match effect:
            case Bind(pod):
                return self._give_up(pod, f"binding failed: {error}", now)
            case SelectNode() | BindVolume():
                text = f"{effect.target} could not be prepared: {error}"
                return [said for a in self._preparing(effect) for said in self._give_up(a.pod, text, now)]
            case SetCondition(target):
                self._said.pop(target, None)
                return ()
            case Announce():
                return ()

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
            case SetCondition(target):
                self._said.pop(target, None)
                return ()
            case Announce():
                return ()

    def _give_up(self, pod: Target, text: str, now: float) -> Iterator[Effect]:
        """A promise cannot be kept: the room is free again, and the pod is back in line."""
        if self._settle(pod, now) is None:
            return
        self._wake(self._world.withdraw((pod.namespace, pod.name)), now)
        known = self._world.pod((pod.namespace, pod.name))
        if known is None or not self._is_ours(known.pod):
            self._queue.remove(_demand(pod))
            return
        self._queue.retry(_demand(pod), now)
        yield from self._say(known.pod, "SchedulerError", text)

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
                yield self._send(assumed)
            else:
                text = f"volumes were not ready within {self._settings.volume_seconds:g} s"
                yield from self._give_up(assumed.pod, text, now)


def _key(pod: Pod) -> PodKey:
    return pod.metadata.namespace, pod.metadata.name


def _demand(pod: Target) -> Key:
    return pod.kind, pod.namespace, pod.name


def _target(pod: Pod) -> Target:
    return Target("Pod", pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)


def _warning(target: Target, text: str) -> Announce:
    return Announce(target, Tone.WARNING, "FailedScheduling", "Scheduling", text[:_LONGEST_NOTE])


def _asks(compiled: CompiledPod) -> tuple[object, ...]:
    """What of a waiting pod, if it changes, deserves another look."""
    spec = compiled.pod.spec
    return compiled.shape, spec.priority, spec.scheduling_gates, spec.scheduler_name, compiled.problems
