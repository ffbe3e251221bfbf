"""A small cluster in which everything that can go wrong does, one seeded step at a time.

It holds pods and nodes, tells the scheduler late, and carries out what the scheduler wants: or refuses, or
loses the answer before or after it happened.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from tests.unit.scheduler.making import a_node, a_pod, bound, finished, later, leaving, target
from tests.unit.scheduler.validation import validate

from reprieve.model.effects import Bind, Effect, Evict, Nominate, SetCondition, Target
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Synced, Unknown
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import KubernetesObject, Node, Pod
from reprieve.model.snapshot import Snapshot, build
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.settings import Settings
from tests.properties.vocabulary import some

SIZES = ("500m", "1", "2")
LOSSES = ("refused", "lost before", "lost after")


@dataclass(slots=True)
class Troubled:
    settings: Settings
    scheduler: Scheduler = field(init=False)
    now: float = 0.0
    version: int = 1000
    objects: dict[tuple[str, str], KubernetesObject] = field(default_factory=dict)  # by kind and name
    news: list[Event] = field(default_factory=list)  # not yet told
    wanted: list[Effect] = field(default_factory=list)  # not yet carried out
    bound_by_us: list[Bind] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(self.settings)
        self.news.append(Synced())

    def go_through(self, seeds: list[int]) -> None:
        for seed in seeds:
            rng = random.Random(seed)
            rng.choice(STEPS)(self, rng)

    # --- the cluster ---

    def put(self, thing: KubernetesObject) -> None:
        self.version += 1
        meta = msgspec.structs.replace(thing.metadata, resource_version=str(self.version))
        thing = msgspec.structs.replace(thing, metadata=meta)
        self.objects[type(thing).__name__, meta.name] = thing
        self.news.append(Seen(thing))

    def remove(self, thing: KubernetesObject) -> None:
        del self.objects[type(thing).__name__, thing.metadata.name]
        self.news.append(Gone(target(thing)))

    def pods(self) -> list[Pod]:
        return [thing for thing in self.objects.values() if isinstance(thing, Pod)]

    def nodes(self) -> list[Node]:
        return [thing for thing in self.objects.values() if isinstance(thing, Node)]

    def find(self, pod: Target) -> Pod | None:
        found = self.objects.get(("Pod", pod.name))
        return found if isinstance(found, Pod) and found.metadata.uid == pod.uid else None

    def built(self) -> Snapshot:
        return build(self.objects.values()).snapshot

    # --- between the two ---

    def tell(self, events: list[Event]) -> None:
        self.wanted += self.scheduler.observe(events, on_one_clock(self.now))
        validate(self.scheduler)

    def decide(self) -> None:
        while (decided := self.scheduler.decide(on_one_clock(self.now))) is not None:
            validate(self.scheduler)
            self.wanted += decided.effects

    def end(self, effect: Effect, how: str) -> Event:
        """Carries out an effect, or not, and says what the scheduler learns of it."""
        if how == "refused":
            return Failed(effect, "refused")
        if how == "lost before":
            return Unknown(effect, "lost")
        error = self.carry_out(effect)
        if how == "lost after":
            return Unknown(effect, "lost")
        return Failed(effect, error) if error else Done(effect)

    def carry_out(self, effect: Effect) -> str:
        """What is wrong, or nothing."""
        pod = self.find(effect.target)
        if pod is None:
            return "" if isinstance(effect, Evict) else "not found"
        match effect:
            case Bind(_, node):
                return self._bind(pod, effect) if pod.spec.node_name != node else ""
            case Nominate(_, node):
                status = msgspec.structs.replace(pod.status, nominated_node_name=node)
                self.put(msgspec.structs.replace(pod, status=status))
            case Evict():
                self.put(leaving(pod))
            case SetCondition():
                self.put(later(pod))
            case _:
                pass
        return ""

    def _bind(self, pod: Pod, effect: Bind) -> str:
        if pod.spec.node_name or pod.metadata.deletion_timestamp is not None:
            return "conflict"
        self.bound_by_us.append(effect)
        self.put(bound(pod, effect.node))
        return ""

    # --- the end of all trouble ---

    def calm_down(self, seconds: float) -> None:
        """Everything is told and succeeds at once, and pods that are being deleted go."""
        until = self.now + seconds
        while True:
            for pod in self.pods():
                if pod.metadata.deletion_timestamp is not None or self._is_orphan(pod):
                    self.remove(pod)
            self.tell(self._taken_news())
            self.decide()
            if self.wanted:
                effects, self.wanted = self.wanted, []
                self.tell([self.end(effect, "done") for effect in effects])
            elif not self.news:
                time = self.scheduler.next_time().on_one_clock
                if time is None or time > until:
                    return
                self.now = max(self.now, time)

    def _is_orphan(self, pod: Pod) -> bool:
        return bool(pod.spec.node_name) and ("Node", pod.spec.node_name) not in self.objects

    def _taken_news(self) -> list[Event]:
        news, self.news = self.news, []
        return news


# --- steps ---------------------------------------------------------------------------------------


def _pods_come(now: Troubled, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 3)):
        name = f"p{rng.randrange(12)}"
        if ("Pod", name) not in now.objects:
            priority = rng.choice((0, 0, 5))
            now.put(a_pod(name, cpu=rng.choice(SIZES), priority=priority, uid=f"{name}-{now.version}"))


def _a_pod_goes(now: Troubled, rng: random.Random) -> None:
    for pod in some(rng, now.pods(), at_most=2):
        rng.choice((now.remove, lambda p: now.put(leaving(p)), lambda p: now.put(finished(p))))(pod)


def _what_is_leaving_goes(now: Troubled, rng: random.Random) -> None:
    for pod in now.pods():
        if pod.metadata.deletion_timestamp is not None:
            now.remove(pod)


def _a_node_comes(now: Troubled, rng: random.Random) -> None:
    """One that comes again is as large as before, since its pods may still be there."""
    number = rng.randrange(4)
    if ("Node", f"n{number}") not in now.objects:
        now.put(a_node(f"n{number}", cpu=str(number + 1), uid=f"n{number}-{now.version}"))


def _a_node_goes(now: Troubled, rng: random.Random) -> None:
    for node in some(rng, now.nodes(), at_most=1):
        now.remove(node)


def _a_node_is_cordoned_or_not(now: Troubled, rng: random.Random) -> None:
    for node in some(rng, now.nodes(), at_most=1):
        spec = msgspec.structs.replace(node.spec, unschedulable=not node.spec.unschedulable)
        now.put(msgspec.structs.replace(node, spec=spec))


def _some_is_told(now: Troubled, rng: random.Random) -> None:
    count = rng.randint(1, len(now.news)) if now.news else 0
    told, now.news = now.news[:count], now.news[count:]
    now.tell(told)


def _a_pod_is_decided(now: Troubled, rng: random.Random) -> None:
    now.decide()


def _effects_end(now: Troubled, rng: random.Random) -> None:
    for effect in some(rng, now.wanted, at_most=4):
        now.wanted.remove(effect)
        now.tell([now.end(effect, rng.choice(("done", "done", "done", *LOSSES)))])


def _time_passes(now: Troubled, rng: random.Random) -> None:
    now.now += rng.choice((0.1, 1.0, 5.0, 12.0, 400.0))
    now.tell([])
    now.decide()


STEPS: tuple[Callable[[Troubled, random.Random], None], ...] = (
    _pods_come,
    _pods_come,
    _a_pod_goes,
    _what_is_leaving_goes,
    _a_node_comes,
    _a_node_comes,
    _a_node_goes,
    _a_node_is_cordoned_or_not,
    _some_is_told,
    _some_is_told,
    _some_is_told,
    _a_pod_is_decided,
    _a_pod_is_decided,
    _effects_end,
    _effects_end,
    _effects_end,
    _time_passes,
)
