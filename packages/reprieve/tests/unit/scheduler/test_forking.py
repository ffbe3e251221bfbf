"""A fork of a scheduler remembers the same, and neither notices what happens to the other."""

from collections.abc import Callable, Iterator
from enum import Enum

import msgspec
import numpy as np
import pytest
from tests.unit.scheduler.making import a_node, a_pod, bound, leaving, target
from tests.unit.scheduler.validation import validate

from reprieve.model.effects import Effect
from reprieve.model.events import Done, Event, Gone, Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.model.score_cache import ScoreCache
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Outcome

NODES = [a_node("n1", cpu="2"), a_node("n2", cpu="2")]
RUNNING = [a_pod("a", cpu="2", on="n1"), a_pod("b", cpu="1", on="n2")]
WAITING = [a_pod("small", cpu="1"), a_pod("high", cpu="2", priority=9)]


def scheduler_with(*events: Event) -> Scheduler:
    scheduler = Scheduler()
    scheduler.observe([*map(Seen, NODES), *map(Seen, RUNNING), *events], on_one_clock(0.0))
    return scheduler


def played(scheduler: Scheduler) -> list[Effect]:
    """All that it wants from now on, where every call succeeds."""
    wanted: list[Effect] = []
    effects = scheduler.observe([*map(Seen, WAITING), Synced()], on_one_clock(1.0))
    while effects := [*effects, *decided_now(scheduler)]:
        wanted += effects
        effects = scheduler.observe([*map(Done, effects)], on_one_clock(1.0))
        validate(scheduler)
    return wanted


def decided_now(scheduler: Scheduler) -> Iterator[Effect]:
    while (decided := scheduler.decide(on_one_clock(1.0))) is not None:
        yield from decided.effects


def deciding(scheduler: Scheduler) -> None:
    played(scheduler)


def publishing(scheduler: Scheduler) -> None:
    scheduler._state.world.snapshot()


@pytest.mark.parametrize("before", [lambda _: None, publishing, deciding], ids=["new", "published", "used"])
def test_what_happens_to_a_fork_does_not_happen_to_the_other(before: Callable[[Scheduler], None]) -> None:
    one = scheduler_with()
    before(one)
    two, expected = one.fork(), one.fork()
    events: list[Event] = [
        Gone(target(RUNNING[0])),
        Seen(leaving(RUNNING[1])),
        Seen(bound(WAITING[0], "n1")),
        Synced(),
    ]
    one.observe(events, on_one_clock(2.0))
    one.decide(on_one_clock(2.0))
    assert played(two) == played(expected)
    assert two.known() == expected.known()
    validate(two)


def test_a_fork_decides_as_if_it_had_seen_it_all_itself() -> None:
    assert played(scheduler_with().fork()) == played(scheduler_with())


def test_a_fork_has_cached_scores_of_its_own() -> None:
    full = a_pod("full", cpu="2", on="n1")
    one = Scheduler()
    one.observe([Seen(NODES[0]), Seen(full), Seen(a_pod("first", cpu="1")), Synced()], on_one_clock(0.0))
    assert outcomes(one) == [Outcome.UNSCHEDULABLE], "which node will do is cached now"
    two = one.fork()
    alike = a_pod("alike", cpu="1", labels={"a": "b"})
    one.observe([Gone(target(full)), Seen(alike)], on_one_clock(1.0))
    assert Outcome.PLACED in outcomes(one)
    two.observe([Seen(alike)], on_one_clock(1.0))
    assert outcomes(two) == [Outcome.UNSCHEDULABLE], "in the fork, the node is still full"


def outcomes(scheduler: Scheduler) -> list[Outcome]:
    decided = iter(lambda: scheduler.decide(on_one_clock(1.0)), None)
    return [one.decision.outcome for one in decided]


def test_nothing_that_can_change_is_shared() -> None:
    one = scheduler_with(*map(Seen, WAITING), Synced())
    played(one)
    two = one.fork()
    ours, theirs = ({id(part): part for part in changeable(thing, set())} for thing in (one, two))
    assert any(isinstance(part, ScoreCache) for part in ours.values()), "it looks into the model, too"
    assert [ours[key] for key in ours.keys() & theirs.keys()] == []


def changeable(thing: object, known: set[int]) -> Iterator[object]:
    """What can change of all that can be reached, other than through settings and records."""
    is_frozen = getattr(getattr(thing, "__dataclass_params__", None), "frozen", False)
    if id(thing) in known or is_frozen or isinstance(thing, msgspec.Struct | Enum | type):
        return
    known.add(id(thing))
    match thing:
        case dict() | list() | set() | tuple() | frozenset():
            if not isinstance(thing, tuple | frozenset):
                yield thing
            for part in [*thing, *(thing.values() if isinstance(thing, dict) else ())]:
                yield from changeable(part, known)
        case np.ndarray():
            yield thing
        case _ if type(thing).__module__.startswith("reprieve."):
            yield thing
            slots = (name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ()))
            for name in {*getattr(thing, "__dict__", ()), *slots}:
                yield from changeable(getattr(thing, name, None), known)
