"""What does the scheduler decide in a cluster in memory, in which every effect succeeds?

The scheduler of production observes and decides; here its effects are answered at once, as a cluster would.
Victims terminate, and are gone when their grace periods end: time passes until then, and the scheduler does
what it would do meanwhile. Controllers may act there too: they see how pods stand, and create and delete
some. Nothing is read or written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import inf
from typing import Protocol

import msgspec

from reprieve.cluster.api.codec import Decoded
from reprieve.model.effects import Bind, Effect, Evict, SetCondition, Target
from reprieve.model.events import Done, Event, EvictionsRead, Gone, Seen, Synced
from reprieve.model.objects import KubernetesObject, Pod, PodDisruptionBudget, ref_of, runs
from reprieve.model.resources import Problems
from reprieve.model.selectors import Selector, compile_selector
from reprieve.model.workloads import PastEviction
from reprieve.preemption.eligibility import grace_of
from reprieve.runtime.in_memory_loop import WITHOUT_PAUSE, InMemoryLoop
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decided
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.targets import pod_target

_READY_AFTER = 1.0  # seconds from its binding until a pod is assumed to be ready
_LONGEST_BACKOFF = 10.0  # seconds until a demand that a change has woken is decided


PodName = tuple[str, str]  # namespace and name


@dataclass(frozen=True, slots=True)
class StandingPod:
    """How a pod stands for its controller. ``ready_since``: infinity for one that is not, the future for one
    that will be."""

    pod: Pod
    ready_since: float
    is_leaving: bool
    is_victim: bool

    @property
    def node(self) -> str:
        return self.pod.spec.node_name


Step = Decoded[KubernetesObject] | PodName  # an object that is created, or a pod that is deleted


class Controllers(Protocol):
    """What acts in the cluster besides the scheduler: a step follows from how pods stand."""

    def steps(self, standing: Mapping[PodName, StandingPod], now: float) -> Iterator[Step]: ...

    def on_gone(self, pod: Target) -> None: ...

    def next_time(self, standing: Mapping[PodName, StandingPod], now: float) -> float:
        """When they act again if nothing else happens."""


@dataclass(frozen=True, slots=True, eq=False)
class Rehearsed:
    """``evicted``: all victims. ``messages``: the last PodScheduled condition of each pod that waits.

    ``bound_at``: when each pod was bound that had to wait for victims to be gone.
    ``standing``: with controllers, how pods stand in the end.
    """

    decided: tuple[Decided, ...]
    evicted: Mapping[Target, Pod]
    messages: Mapping[Target, str]
    failures: tuple[str, ...]
    bound_at: Mapping[Target, float]
    standing: Mapping[PodName, StandingPod] = field(default_factory=dict)
    ended: float = 0.0


def rehearse(
    settings: Settings,
    seen: Sequence[Decoded[KubernetesObject]],
    now: float,
    evicted: tuple[PastEviction, ...] = (),
    controllers: Controllers | None = None,
) -> Rehearsed:
    """``evicted``: what events say of earlier evictions."""
    return _begun(settings, now, evicted).rehearsed(seen, controllers)


@dataclass(slots=True)
class Rehearsals:
    """Rehearsals in clusters that have most objects in common: the scheduler observes those once."""

    common: Sequence[Decoded[KubernetesObject]]
    _ids: frozenset[int] = field(init=False)
    _known: "tuple[object, _Stage] | None" = None  # where the common objects are seen, and for which question

    def __post_init__(self) -> None:
        self._ids = frozenset(map(id, self.common))

    def rehearse(
        self,
        settings: Settings,
        seen: Sequence[Decoded[KubernetesObject]],
        now: float,
        evicted: tuple[PastEviction, ...] = (),
        controllers: Controllers | None = None,
    ) -> Rehearsed:
        others = [one for one in seen if id(one) not in self._ids]
        if len(seen) - len(others) < len(self.common):
            return rehearse(settings, seen, now, evicted, controllers)
        if self._known is None or self._known[0] != (settings, now, evicted):
            stage = _begun(settings, now, evicted)
            stage.see(self.common)
            stage.loop.catch_up(now)
            self._known = (settings, now, evicted), stage
        return self._known[1].fork().rehearsed(others, controllers)


def _begun(settings: Settings, now: float, evicted: tuple[PastEviction, ...]) -> "_Stage":
    stage = _Stage(Scheduler(_at_once(settings)), now)
    stage.events.append(EvictionsRead(evicted, since=now))
    stage.loop.catch_up(now)
    return stage


def _at_once(settings: Settings) -> Settings:
    """No process stands beside, and all demands are there: nothing is waited for."""
    policies = {name: replace(policy, patience=None) for name, policy in settings.policies.items()}
    window = None if settings.resize_window is None else 0.0
    return replace(settings, policies=policies, resize_window=window)


@dataclass(slots=True)
class _Stage:
    scheduler: Scheduler
    now: float
    pods: dict[tuple[str, str], Pod] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)  # that the scheduler has not observed yet
    decided: list[Decided] = field(default_factory=list)
    evicted: dict[Target, Pod] = field(default_factory=dict)
    leaving: dict[Target, float] = field(default_factory=dict)  # when each victim, or deleted pod, is gone
    ready: dict[PodName, float] = field(default_factory=dict)  # since when the pods that were bound here
    # Each budget, whose pods it selects, and how many it allows: below zero where too many are gone already.
    budgets: dict[PodName, "_Budget"] = field(default_factory=dict)
    becoming: dict[PodName, Pod] = field(default_factory=dict)  # bound here, and not ready yet
    until: float = -inf  # when all is decided that follows from a victim that is gone
    messages: dict[Target, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    bound_at: dict[Target, float] = field(default_factory=dict)
    loop: InMemoryLoop = field(init=False)

    def __post_init__(self) -> None:
        # Decisions take less time than calls: the next is made while the calls of the last are in flight.
        self.loop = InMemoryLoop(self.scheduler, self, WITHOUT_PAUSE)

    def fork(self) -> "_Stage":
        """Before anything is decided, what is remembered beside the scheduler are its pods and failures."""
        known = dict(self.pods), dict(self.budgets), [*self.failures]
        return _Stage(self.scheduler.fork(), self.now, known[0], budgets=known[1], failures=known[2])

    def see(self, things: Sequence[Decoded[KubernetesObject]], *more: Event) -> None:
        for one in things:
            match one.object:
                case Pod() as pod:
                    self.pods[_name(pod)] = pod
                case PodDisruptionBudget(metadata=meta) as budget:
                    selector = compile_selector(budget.spec.selector, "", Problems(ref_of(budget)))
                    allowed = budget.status.disruptions_allowed
                    self.budgets[meta.namespace, meta.name] = _Budget(budget, selector, allowed)
        self.events += [*(Seen(one.object, one.unserved) for one in things), *more]

    def rehearsed(
        self, things: Sequence[Decoded[KubernetesObject]], controllers: Controllers | None = None
    ) -> Rehearsed:
        """These, after all that was seen before, are the cluster."""
        self.see(things, Synced())
        self.settle(controllers)
        self.bound_at.clear()  # at once
        while (moment := self.next_time(controllers)) is not None:
            self.now = moment
            for gone in [*self.gone()]:
                self.events.append(gone)
                if controllers is not None:
                    name = gone.target.namespace, gone.target.name
                    del self.pods[name]
                    self.ready.pop(name, None)
                    controllers.on_gone(gone.target)
            for name in [name for name in self.becoming if self.ready.get(name, inf) <= moment]:
                self.events += self._recounted(self.becoming.pop(name), 1)
            self.settle(controllers)
        standing = self.standing() if controllers is not None else {}
        said = self.messages, tuple(self.failures), self.bound_at
        return Rehearsed(tuple(self.decided), self.evicted, *said, standing, self.now)

    def settle(self, controllers: Controllers | None) -> None:
        """Whatever waits for room that has become free is decided before controllers have reacted to that."""
        self.loop.settle(self.now)
        while self._act(controllers):
            self.loop.settle(self.now)

    def _act(self, controllers: Controllers | None) -> bool:
        steps = [*controllers.steps(self.standing(), self.now)] if controllers is not None else []
        for step in steps:
            match step:
                case Decoded():
                    self.see([step])
                case name:
                    self._delete(self.pods[name])
        return bool(steps)

    def _delete(self, pod: Pod) -> None:
        """A pod that has not started is gone at once."""
        started = self.ready.get(_name(pod), -inf) <= self.now and bool(pod.spec.node_name)
        self.leaving[pod_target(pod)] = self.now + (max(1, grace_of(pod)) if started else 0.0)
        self.events.append(Seen(self._changed(_terminating(pod, self.now))))
        self.events += self._recounted_without(pod)

    def _recounted_without(self, pod: Pod) -> Iterator[Event]:
        is_ready = pod.spec.node_name and _ready_since(pod) <= self.now
        if self.becoming.pop(_name(pod), None) is None and is_ready:
            yield from self._recounted(pod, -1)

    def _recounted(self, pod: Pod, ready: int) -> Iterator[Event]:
        """What budgets allow, as their controller counts it when a pod becomes ready, or begins to leave."""
        for name, known in self.budgets.items():
            if name[0] == pod.metadata.namespace and known.selector.matches(pod.metadata.labels):
                self.budgets[name] = replace(known, allowed=known.allowed + ready)
                yield Seen(self.budgets[name].shown)

    def standing(self) -> dict[PodName, StandingPod]:
        victims = {(target.namespace, target.name) for target in self.evicted}
        return {
            name: StandingPod(
                pod,
                self.ready.get(name, _ready_since(pod)),
                pod.metadata.deletion_timestamp is not None,
                name in victims,
            )
            for name, pod in self.pods.items()
            if runs(pod)
        }

    def next_time(self, controllers: Controllers | None) -> float | None:
        """When the next victim is gone, the scheduler wants to decide again because of one, or a controller
        acts again."""
        wanted = self.scheduler.next_time().on_one_clock
        moments = [*self.leaving.values()]
        if wanted is not None and self.now < wanted <= self.until:
            moments.append(wanted)
        if controllers is not None and (at := controllers.next_time(self.standing(), self.now)) < inf:
            moments.append(at)
        return min(moments, default=None)

    def gone(self) -> Iterator[Gone]:
        for target in [target for target, at in self.leaving.items() if at <= self.now]:
            del self.leaving[target]
            self.until = self.now + _LONGEST_BACKOFF
            yield Gone(target)

    # --- for the loop ---

    def has_news(self, now: float) -> bool:
        return bool(self.events)

    def take_events(self) -> list[Event]:
        events, self.events = self.events, []
        return events

    def on_observed(self, effects: Sequence[Effect], now: float) -> None:
        self._note_failures()
        self._perform(effects)

    def on_decided(self, decided: Decided | None, now: float) -> None:
        self._note_failures()
        if decided is not None:
            self.decided.append(decided)
            self._perform(decided.effects)

    def _note_failures(self) -> None:
        self.failures += [f"{failure.target}: {failure.error}" for failure in self.scheduler.failures()]

    def _perform(self, effects: Iterable[Effect]) -> None:
        self.events += [event for effect in effects for event in self._answers(effect)]

    def _answers(self, effect: Effect) -> Iterator[Event]:
        yield Done(effect)
        match effect:
            case Bind(target, node):
                self.bound_at[target] = self.now
                pod = self._changed(_bound(self._pod(target), node))
                self.ready[_name(pod)] = self.now + _READY_AFTER
                self.becoming[_name(pod)] = pod
                yield Seen(pod)
            case Evict(target):
                pod = self._pod(target)
                self.evicted[target] = pod
                self.leaving[target] = self.now + max(1, grace_of(pod))
                yield Seen(self._changed(_terminating(pod, self.now)))
                yield from self._recounted_without(pod)
            case SetCondition(target, type="PodScheduled", message=message):
                self.messages[target] = message
            case _:
                pass

    def _pod(self, target: Target) -> Pod:
        return self.pods[target.namespace, target.name]

    def _changed(self, pod: Pod) -> Pod:
        self.pods[_name(pod)] = pod
        return pod


@dataclass(frozen=True, slots=True)
class _Budget:
    budget: PodDisruptionBudget
    selector: Selector
    allowed: int

    @property
    def shown(self) -> PodDisruptionBudget:
        status = msgspec.structs.replace(self.budget.status, disruptions_allowed=max(0, self.allowed))
        return msgspec.structs.replace(self.budget, status=status)


def _name(pod: Pod) -> tuple[str, str]:
    return pod.metadata.namespace, pod.metadata.name


def _ready_since(pod: Pod) -> float:
    """Of a pod that ran before: one whose readiness nobody reported counts as ready."""
    told = next((c for c in pod.status.conditions if c.type == "Ready"), None)
    if not pod.spec.node_name or (told is not None and told.status != "True"):
        return inf
    since = told.last_transition_time if told is not None else None
    return since.timestamp() if since is not None else 0.0


def _bound(pod: Pod, node: str) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node))


def _terminating(pod: Pod, now: float) -> Pod:
    moment = datetime.fromtimestamp(now, UTC)
    meta = msgspec.structs.replace(pod.metadata, resource_version="", deletion_timestamp=moment)
    return msgspec.structs.replace(pod, metadata=meta)
