"""A scheduler on a stage: things are shown to it, time passes, and effects end as the script has it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tests.unit.scheduler.making import target
from tests.unit.scheduler.validation import validate

from reprieve.model.effects import Announce, Bind, Effect, SetCondition
from reprieve.model.events import Done, Event, Gone, Seen, Synced
from reprieve.model.moment import Moment
from reprieve.model.objects import KubernetesObject
from reprieve.preemption.least_disturbance.solver_task import ImprovePlan, answer_of, message_of, solved
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.plans.plan_records import PlanRecord
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.settings import Settings

NOBODY_IS_EVICTED = Settings(policies={})


@dataclass(slots=True)
class Stage:
    """Effects are kept in ``wanted`` until they are taken, requests to improve plans in ``asked``.

    ``now``: the time of day. ``ahead``: by how much the clock for durations is ahead of it: so much that
    whatever takes one for the other is far off, and a power of two, so that fewest fractions are rounded.
    """

    scheduler: Scheduler = field(default_factory=lambda: Scheduler(NOBODY_IS_EVICTED))
    now: float = 0.0
    ahead: float = 2.0**30
    wanted: list[Effect] = field(default_factory=list)
    asked: list[ImprovePlan] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    records: list[PlanRecord] = field(default_factory=list)

    def happens(self, *events: Event) -> "Stage":
        """Something is observed, and the demands that are due then are decided."""
        self.wanted += self.scheduler.observe(events, self.moment())
        self.records += self.scheduler.records()
        validate(self.scheduler)
        while (decided := self.scheduler.decide(self.moment())) is not None:
            validate(self.scheduler)
            self.decisions.append(decided.decision)
            self.wanted += decided.effects
            self.asked += [decided.improve] if decided.improve is not None else []
            self.records += self.scheduler.records()
        return self

    def improve(self) -> "Stage":
        """All plans that are to be improved are, with a real solver."""
        asked, self.asked = self.asked, []
        return self.happens(*(answer_of(one, solved(message_of(one))) for one in asked))

    def see(self, *things: KubernetesObject) -> "Stage":
        return self.happens(*map(Seen, things))

    def lose(self, *things: KubernetesObject) -> "Stage":
        return self.happens(*(Gone(target(thing)) for thing in things))

    def after(self, seconds: float) -> "Stage":
        """Time passes, with a look whenever the scheduler asked for one."""
        until = self.now + seconds
        while (time := self.next_time()) is not None and time <= until:
            self.now = max(self.now, time)
            self.happens()
        self.now = until
        return self.happens()

    def moment(self) -> Moment:
        return Moment(self.now, self.now + self.ahead)

    def set_clock(self, seconds: float) -> "Stage":
        """The time of day is set forward, or back."""
        self.now += seconds
        self.ahead -= seconds
        return self.happens()

    def next_time(self) -> float | None:
        """When the scheduler is to be asked again, as a time of day."""
        due = self.scheduler.next_time()
        return replace(due, elapsed=due.elapsed - self.ahead).on_one_clock

    def succeed(self) -> list[Effect]:
        """Everything that is wanted is done; says what that was."""
        effects = self.take()
        self.happens(*map(Done, effects))
        return effects

    def take(self) -> list[Effect]:
        effects, self.wanted = self.wanted, []
        return effects

    def binds(self) -> dict[str, str]:
        """Takes what is wanted: the pods that are to be bound, and where."""
        return {e.target.name: e.node for e in self.take() if isinstance(e, Bind)}


def stage_with(*things: KubernetesObject) -> Stage:
    return Stage().happens(*map(Seen, things), Synced())


def promises(stage: Stage) -> int:
    """How many pods count as running somewhere because we said so."""
    return len(stage.scheduler._state.ledger.assumed)


def remains(scheduler: Scheduler) -> list[str]:
    """Where the scheduler still remembers something, beside its picture of the cluster and tombstones."""
    seen = {id(scheduler._state.world), id(scheduler._state.tombstones)}
    return [*_memories(scheduler, "scheduler", seen)]


def _memories(thing: object, path: str, seen: set[int]) -> Iterator[str]:
    """``seen``: objects that are not looked at again, for parts share some."""
    for name, value in vars(thing).items():
        if isinstance(value, dict | list | set) and value:
            yield f"{path}.{name}"
        elif id(value) not in seen and _is_a_part(value):
            seen.add(id(value))
            yield from _memories(value, f"{path}.{name}", seen)


def _is_a_part(value: object) -> bool:
    return type(value).__module__.startswith("reprieve.scheduler.") and hasattr(value, "__dict__")


def notes(effects: Iterable[Effect]) -> list[str]:
    """What people are told, as events and as conditions."""
    return [
        *(effect.message for effect in effects if isinstance(effect, SetCondition)),
        *(effect.note for effect in effects if isinstance(effect, Announce)),
    ]
