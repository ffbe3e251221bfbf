"""The scheduler observes all that happened before it decides, and is shown what follows from decisions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.model.effects import Bind, Effect
from reprieve.model.events import Done, Event, Seen, Synced
from reprieve.runtime.in_memory_loop import WITHOUT_PAUSE, InMemoryLoop
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decided


@dataclass
class Answering:
    """A cluster that answers bindings at once; ``steps``: what the scheduler was called for."""

    events: list[Event]
    steps: list[str] = field(default_factory=list)
    bound: dict[str, str] = field(default_factory=dict)

    def has_news(self, now: float) -> bool:
        return bool(self.events)

    def take_events(self) -> list[Event]:
        events, self.events = self.events, []
        self.steps.append(f"observes {len(events)}")
        return events

    def on_observed(self, effects: Sequence[Effect], now: float) -> None:
        self.events += [Done(effect) for effect in effects if isinstance(effect, Bind)]

    def on_decided(self, decided: Decided | None, now: float) -> None:
        if decided is None:
            return
        self.steps.append(f"decides {decided.decision.demand.name}")
        self.bound |= {e.target.name: e.node for e in decided.effects if isinstance(e, Bind)}
        self.on_observed(decided.effects, now)


@pytest.mark.parametrize(
    ("in_a_row", "steps"),
    [
        (1, ["observes 4", "decides a", "observes 1", "decides b", "observes 1"]),
        (WITHOUT_PAUSE, ["observes 4", "decides a", "decides b", "observes 2"]),
    ],
)
def test_so_many_are_decided_before_answers_are_seen(in_a_row: int, steps: list[str]) -> None:
    cluster = Answering([Seen(a_node("n1")), Seen(a_pod("a")), Seen(a_pod("b")), Synced()])
    InMemoryLoop(Scheduler(), cluster, in_a_row).settle(0.0)
    assert cluster.bound == {"a": "n1", "b": "n1"}
    assert cluster.steps == steps


def test_the_scheduler_observes_also_without_news() -> None:
    cluster = Answering([])
    InMemoryLoop(Scheduler(), cluster, WITHOUT_PAUSE).settle(0.0)
    assert cluster.steps == ["observes 0"]
