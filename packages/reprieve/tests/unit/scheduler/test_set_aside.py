"""An exception that one object causes is contained: the object is set aside and retried, all others go on."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, later, target

from reprieve.model.effects import Announce, Bind, Effect, SetCondition, Tone
from reprieve.model.events import Done, Event, Gone, Seen, Synced
from reprieve.model.moment import Due, on_one_clock
from reprieve.model.objects import Pod
from reprieve.model.pod_compilation import compile_pod
from reprieve.model.shape import CompiledPod
from reprieve.placement.demand import Demand
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement, Unplaceable
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.deciding import deciding
from reprieve.scheduler.demand_key import DemandKey
from reprieve.scheduler.demand_lookup import DemandLookup
from reprieve.scheduler.events import binding
from reprieve.scheduler.reporting.decision import Decision, Outcome

pytestmark = pytest.mark.usefixtures("mishaps")

BAD, GOOD = a_pod("bad", cpu="1"), a_pod("good", cpu="1")
NODE = a_node("n1", cpu="8")


class Shown:
    """A scheduler that is shown events, and what comes of it."""

    def __init__(self) -> None:
        self.scheduler = Scheduler()
        self.effects: list[Effect] = []
        self.decisions: list[Decision] = []

    def show(self, *events: Event, at: float = 0.0) -> "Shown":
        self.effects += self.scheduler.observe(events, on_one_clock(at))
        self.errors = [str(failure.error) for failure in self.scheduler.failures()]
        while (decided := self.scheduler.decide(on_one_clock(at))) is not None:
            self.decisions.append(decided.decision)
            self.effects += decided.effects
            self.errors += [str(failure.error) for failure in self.scheduler.failures()]
        return self

    def bound(self) -> list[str]:
        return [effect.target.name for effect in self.effects if isinstance(effect, Bind)]

    def warned(self) -> list[str]:
        told = (e for e in self.effects if isinstance(e, Announce) and e.tone is Tone.WARNING)
        return [f"{effect.target.name}: {effect.note}" for effect in told]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of pods that cannot be compiled."""
    names: set[str] = set()

    def compile_unless_broken(pod: Pod) -> CompiledPod:
        if pod.metadata.name in names:
            raise RuntimeError("it broke")
        return compile_pod(pod)

    monkeypatch.setattr("reprieve.scheduler.mirror.world.compile_pod", compile_unless_broken)
    return names


@pytest.fixture
def undecidable(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Names of pods that cannot be decided."""
    names: set[str] = set()

    def place_unless_broken(demand: Demand, view: Any, *more: Any, **options: Any) -> Placement | Unplaceable:
        if names & {view.pods.compiled[row].pod.metadata.name for row in demand.pods}:
            raise RuntimeError("it broke")
        return place_together(demand, view, *more, **options)

    monkeypatch.setattr(deciding, "place_together", place_unless_broken)
    return names


def test_an_event_that_fails_stops_no_other(broken: set[str]) -> None:
    broken.add("bad")
    shown = Shown().show(Seen(NODE), Seen(BAD), Seen(GOOD), Synced())
    assert shown.bound() == ["good"]
    assert shown.errors == ["it broke"]
    text = "the scheduler failed on it, and tries again later: RuntimeError, see its log"
    assert shown.warned() == [f"bad: {text}"]


def test_it_is_observed_again_ever_more_slowly(broken: set[str]) -> None:
    broken.add("bad")
    shown = Shown().show(Seen(NODE), Seen(BAD), Synced())
    moments = []
    for _ in range(3):
        moments.append(shown.scheduler.next_time().on_one_clock or 0.0)
        assert shown.show(at=moments[-1] - 0.1).errors == []
        assert shown.show(at=moments[-1]).errors == ["it broke"]
    assert moments == [1, 3, 7]
    assert len(shown.warned()) == 1
    broken.clear()
    assert shown.show(at=15.0).bound() == ["bad"]
    assert shown.scheduler.next_time() == Due()


def test_of_later_versions_the_last_is_observed(broken: set[str]) -> None:
    broken.add("bad")
    shown = Shown().show(Seen(NODE), Seen(BAD), Synced())
    broken.clear()
    assert shown.show(Seen(later(BAD, labels={"a": "b"})), at=0.5).bound() == []
    shown.show(at=1.0)
    assert shown.bound() == ["bad"]


def test_one_that_is_gone_is_not_tried_again(broken: set[str]) -> None:
    broken.add("bad")
    shown = Shown().show(Seen(NODE), Seen(BAD), Synced())
    shown.show(Gone(target(BAD), "200"), at=0.5)
    assert shown.scheduler.next_time() == Due()


def test_what_is_about_no_object_is_not_contained(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("it broke")

    monkeypatch.setattr("reprieve.scheduler.events.enqueueing.on_synced", fail)
    with pytest.raises(RuntimeError, match="it broke"):
        Shown().show(Synced())


def test_an_answer_that_fails_is_taken_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown().show(Seen(NODE), Seen(GOOD), Synced())
    (bind,) = (effect for effect in shown.effects if isinstance(effect, Bind))
    with monkeypatch.context() as patch:
        patch.setattr(binding, "on_bound", failing)
        assert shown.show(Done(bind), at=1.0).errors == ["it broke"]
    shown.show(at=2.0)
    assert shown.errors == []
    assert shown.scheduler.pending() == {}


def failing(*_: object) -> None:
    raise RuntimeError("it broke")


# --- decisions -----------------------------------------------------------------------------------


def test_a_decision_that_fails_stops_no_other(undecidable: set[str]) -> None:
    undecidable.add("bad")
    shown = Shown().show(Seen(NODE), Seen(BAD), Seen(GOOD), Synced())
    assert shown.bound() == ["good"]
    assert [(d.demand.name, d.outcome) for d in shown.decisions] == [
        ("bad", Outcome.ERROR),
        ("good", Outcome.PLACED),
    ]
    assert shown.errors == ["it broke"]
    conditions = [e for e in shown.effects if isinstance(e, SetCondition)]
    assert [(e.target.name, e.reason) for e in conditions] == [("bad", "SchedulerError")]
    assert len(shown.warned()) == 1


def test_it_is_decided_again_ever_more_slowly(undecidable: set[str]) -> None:
    undecidable.add("bad")
    shown = Shown().show(Seen(NODE), Seen(BAD), Synced())
    moments = []
    for _ in range(6):
        moments.append(shown.scheduler.next_time().on_one_clock or 0.0)
        shown.show(Seen(later(NODE, labels={"at": str(moments[-1])})), at=moments[-1] - 0.1)
        assert len(shown.decisions) == len(moments)
        shown.show(at=moments[-1])
    assert moments == [1, 3, 7, 15, 31, 63]
    undecidable.clear()
    assert shown.show(at=127.0).bound() == ["bad"]


def test_a_pod_that_is_changed_is_decided_at_once(undecidable: set[str]) -> None:
    undecidable.add("bad")
    shown = Shown().show(Seen(NODE), Seen(BAD), Synced())
    undecidable.clear()
    changed = later(a_pod("bad", cpu="2"))
    assert shown.show(Seen(changed), at=0.5).bound() == ["bad"]


def test_what_was_begun_for_a_gang_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assume: Callable[..., Any] = binding.assume
    calls = []

    def assume_some(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 2:
            raise RuntimeError("it broke")
        return assume(*args)

    monkeypatch.setattr(deciding, "assume", assume_some)
    members = [a_member(f"m{n}", cpu="1") for n in range(3)]
    shown = Shown().show(Seen(NODE), Seen(a_group("g", 0, 3)), *map(Seen, members), Synced())
    assert shown.bound() == []
    assert shown.errors == ["it broke"]
    assert len(shown.scheduler._state.ledger.assumed) == 0
    shown.show(at=1.0)
    assert sorted(shown.bound()) == ["m0", "m1", "m2"]


def test_a_group_whose_demand_cannot_be_made_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    requester, broken = DemandLookup.requester, {"bad"}

    def unless_broken(demands: DemandLookup, key: DemandKey) -> Any:
        if key.name in broken:
            raise RuntimeError("it broke")
        return requester(demands, key)

    monkeypatch.setattr(DemandLookup, "requester", unless_broken)
    groups = [a_group(name, 0, 2) for name in ("bad", "good")]
    members = [a_member(f"{group}-{n}", group, cpu="1") for group in ("bad", "good") for n in range(2)]
    shown = Shown().show(Seen(NODE), Synced()).show(*map(Seen, groups), *map(Seen, members))
    assert shown.bound() == ["good-0", "good-1"]
    assert shown.errors == ["it broke"]
    broken.clear()
    assert shown.show(at=1.0).bound() == ["good-0", "good-1", "bad-0", "bad-1"]
