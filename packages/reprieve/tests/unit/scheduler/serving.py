"""A stage with an API server: it keeps the objects, and carries out what is wanted when it is told to."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from tests.unit.scheduler.making import later, target
from tests.unit.scheduler.stage import Stage

from reprieve.model.effects import Bind, Effect, Evict, Nominate, SetCondition, Target
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Synced, Unknown
from reprieve.model.objects import Condition, KubernetesObject, Pod, PodGroup
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.handover import Handover
from reprieve.scheduler.plans.handover import Stage as Step
from reprieve.scheduler.settings import Settings

TIME = datetime(2026, 1, 1, tzinfo=UTC)

STEPS: list[type[Effect]] = [Nominate, SetCondition, Evict]  # of a plan, in order
SETTLING = [Step.NOMINATED, Step.MARKING, Step.EVICTING]  # while they are under way
OPEN = [*SETTLING, Step.DRAINING]


@dataclass(slots=True)
class Served:
    stage: Stage
    objects: dict[Target, KubernetesObject] = field(default_factory=dict)

    # --- what happens in the cluster ---

    def show(self, *things: KubernetesObject) -> "Served":
        self.objects.update((target(thing), thing) for thing in things)
        self.stage.see(*things)
        return self

    def gone(self, *names: str, kind: str = "Pod") -> "Served":
        """Objects vanish, for whatever reason."""
        for name in names:
            self._remove(self.named(name, kind))
        return self

    def drained(self) -> "Served":
        """All pods that are being deleted are gone."""
        return self.gone(*(pod.metadata.name for pod in self.pods() if pod.metadata.deletion_timestamp))

    def deleted(self, name: str) -> "Served":
        """A client deletes a pod, which takes its time."""
        pod = self.pod(name)
        return self.show(later(pod, deletion_timestamp=TIME))

    def pods(self) -> list[Pod]:
        return [thing for thing in self.objects.values() if isinstance(thing, Pod)]

    def pod(self, name: str) -> Pod:
        found = self.objects[self.named(name)]
        assert isinstance(found, Pod)
        return found

    def places(self) -> dict[str, str]:
        return {pod.metadata.name: pod.spec.node_name for pod in self.pods() if pod.spec.node_name}

    def conditions(self, name: str, kind: str = "Pod") -> dict[str, str]:
        """Types and values of the conditions of an object."""
        thing = self.objects[self.named(name, kind)]
        assert isinstance(thing, Pod | PodGroup)
        return {condition.type: condition.status for condition in thing.status.conditions}

    # --- what the scheduler wants ---

    def wanted(self, kind: type[Effect]) -> list[str]:
        """The targets of wanted effects of a kind."""
        return [effect.target.name for effect in self.stage.wanted if isinstance(effect, kind)]

    def does(self, *kinds: type[Effect]) -> "Served":
        """Carries out what is wanted of these kinds, or all that is wanted, and shows what came of it."""
        for effect in self.take(*kinds):
            needs_it = isinstance(effect, Bind | Nominate | SetCondition)
            if needs_it and effect.target not in self.objects:
                self.stage.happens(Failed(effect, "not found", missing=True))
            else:
                self.stage.happens(Done(effect), *self.applied(effect))
        return self

    def fails(self, kind: type[Effect], *names: str) -> "Served":
        """Wanted effects of a kind are refused for good, on these targets or on all."""
        events = [Failed(effect, "refused") for effect in self.take(kind, names=names)]
        self.stage.happens(*events)
        return self

    def loses(self, kind: type[Effect], *, done: bool) -> "Served":
        """No answer comes to what is wanted; it may be done all the same."""
        for effect in self.take(kind):
            shown = self.applied(effect) if done else []
            self.stage.happens(Unknown(effect, "no answer"), *shown)
        return self

    def take(self, *kinds: type[Effect], names: Iterable[str] = ()) -> list[Effect]:
        """What is wanted of these kinds, on these; it stays undone."""
        chosen, named = kinds or (object,), set(names)
        taken = [
            e
            for e in self.stage.wanted
            if isinstance(e, chosen) and e.target.name in (named or {e.target.name})
        ]
        self.stage.wanted = [effect for effect in self.stage.wanted if effect not in taken]
        return taken

    def comes_true(self) -> "Served":
        """All wanted effects are done, and all that follow; terminating pods disappear."""
        while self.stage.wanted or any(pod.metadata.deletion_timestamp for pod in self.pods()):
            self.does().drained()
        return self

    def plan(self) -> Handover:
        """The only plan that is being carried out."""
        ((_, handover),) = self.stage.scheduler._state.plans
        return handover

    def plan_of(self, name: str) -> Handover:
        """The plan that is carried out for a demand of this name."""
        (handover,) = (plan for key, plan in self.stage.scheduler._state.plans if key.name == name)
        return handover

    def places_wanted(self) -> dict[str, str]:
        """Pods that are to be bound, and where."""
        return {effect.target.name: effect.node for effect in self.stage.wanted if isinstance(effect, Bind)}

    def nominations(self) -> list[tuple[str, str]]:
        """Which pod is to be nominated to which node, or to none any more."""
        return [(e.target.name, e.node) for e in self.stage.wanted if isinstance(e, Nominate)]

    def outcomes(self) -> list[str]:
        return [decision.outcome.value for decision in self.stage.decisions]

    def unfinished(self) -> dict[str, object]:
        """What the scheduler still has in mind, its picture of the cluster aside."""
        state = self.stage.scheduler._state
        ledger = state.ledger
        minds = {
            "plans": [*state.plans, *ledger.victims.strays],
            "reserved": [*ledger.nominations],
            "marked": state.plans.victims_in_flight(),
            "in line": [*state.queue, *ledger.parts],
            "promised": [*ledger.assumed],
        }
        return {name: mind for name, mind in minds.items() if mind}

    def restarted(self) -> "Served":
        """Another scheduler takes over, and knows nothing but what the API server holds."""
        scheduler = Scheduler(self.stage.scheduler._state.settings)
        return served(*self.objects.values(), scheduler=scheduler)

    # --- inside ---

    def named(self, name: str, kind: str = "Pod") -> Target:
        (found,) = (known for known in self.objects if known.name == name and known.kind == kind)
        return found

    def _remove(self, known: Target) -> None:
        del self.objects[known]
        self.stage.happens(Gone(known))

    def applied(self, effect: Effect) -> list[Event]:
        thing = self.objects.get(effect.target)
        match effect, thing:
            case Bind(node=node), Pod():
                changed = _with(thing, spec=msgspec.structs.replace(thing.spec, node_name=node))
            case Nominate(node=node), Pod():
                changed = _with(thing, status=msgspec.structs.replace(thing.status, nominated_node_name=node))
            case SetCondition(), Pod() | PodGroup():
                changed = _with(thing, status=_with_condition(thing.status, effect))
            case Evict(), Pod():
                grace = thing.spec.termination_grace_period_seconds
                changed = later(thing, deletion_timestamp=TIME, deletion_grace_period_seconds=grace)
            case _:
                return []
        self.objects[effect.target] = changed
        return [Seen(changed)]


def _with(thing: Any, **fields: Any) -> Any:
    return msgspec.structs.replace(later(thing), **fields)


def conditioned(pod: Pod, *conditions: Condition) -> Pod:
    """A pod with these conditions."""
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, conditions=conditions))


def nominated_to(pod: Pod, node: str) -> Pod:
    """A pod that waits for a node, as it shows itself."""
    status = msgspec.structs.replace(pod.status, nominated_node_name=node)
    return msgspec.structs.replace(later(pod), status=status)


def _with_condition(status: Any, effect: SetCondition) -> Any:
    since = datetime.fromtimestamp(effect.since, UTC) if effect.since is not None else None
    new = Condition(effect.type, effect.status, effect.reason, effect.message, last_transition_time=since)
    others = (condition for condition in status.conditions if condition.type != effect.type)
    return msgspec.structs.replace(status, conditions=(*others, new))


def served(
    *things: KubernetesObject, scheduler: Scheduler | None = None, settings: Settings | None = None
) -> Served:
    """All this is there when the scheduler starts."""
    stage = Stage(scheduler or Scheduler(settings))
    stage.happens(*map(Seen, things), Synced())
    return Served(stage, {target(thing): thing for thing in things})


def until(cluster: Served, stage: Step) -> Served:
    """The steps of the only plan are carried out until this stage begins."""
    for step in (Nominate, SetCondition, SetCondition, Evict):  # groups are marked after their pods
        if cluster.plan().stage is stage:
            return cluster
        cluster.does(step)
    assert cluster.plan().stage is stage
    return cluster
