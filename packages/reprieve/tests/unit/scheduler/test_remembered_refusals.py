"""A refusal is remembered by equivalence class until something may help, and is never told wrongly."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from tests.unit.scheduler.crowds import a_budget, a_group, a_member
from tests.unit.scheduler.making import a_claim, a_key, a_namespace, a_node, a_pod, leaving, target
from tests.unit.scheduler.serving import Served, served
from tests.unit.scheduler.test_toleration_changes import a_class, tolerant

from reprieve.model.effects import Announce, Effect, SetCondition
from reprieve.model.objects import KubernetesObject, Pod
from reprieve.placement.domains import place_together
from reprieve.scheduler.deciding import deciding
from reprieve.scheduler.demand_key import DemandKind
from reprieve.scheduler.ledger.nominations import NominationReason
from reprieve.scheduler.reporting.decision import Decision, Outcome

BOSS = a_pod("boss", cpu="3", on="n1", priority=100)
SMALL = a_pod("small", cpu="500m", on="n1", priority=100)
JOBS = [f"job-{i}" for i in range(3)]


@dataclass(slots=True)
class Watched:
    """A cluster, and for which demands nodes were looked at."""

    cluster: Served
    searched: list[object] = field(default_factory=list)

    def look_again(self, *names: str, kind: DemandKind = DemandKind.POD) -> list[str]:
        """Demands are next, for whatever reason; the demands that were decided."""
        stage = self.cluster.stage
        self.searched.clear()
        for name in names:
            stage.scheduler._state.queue.again(a_key(name, kind), 0.0)
        before = len(stage.decisions)
        stage.happens()
        return [decision.demand.name for decision in stage.decisions[before:]]


Watch = Callable[..., Watched]


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    def made(*things: KubernetesObject) -> Watched:
        watched = Watched(served(*things))

        def counted(*arguments: object, **more: object) -> object:
            watched.searched.append(arguments[0])
            return place_together(*arguments, **more)  # type: ignore[arg-type]  # whatever they are

        monkeypatch.setattr(deciding, "place_together", counted)
        watched.cluster.does()
        return watched

    return made


def a_job(name: str) -> Pod:
    return a_pod(name, cpu="2", priority=1)


def full(watch: Watch, *more: KubernetesObject) -> Watched:
    """A node without room, and jobs that were told so."""
    return watch(a_node("n1"), BOSS, SMALL, *more, *map(a_job, JOBS))


def told(effects: list[Effect]) -> list[str]:
    return [effect.target.name for effect in effects if isinstance(effect, SetCondition)]


# --- while it holds ------------------------------------------------------------------------------


def test_every_pod_gets_its_condition_and_its_event_once() -> None:
    cluster = served(a_node("n1"), BOSS, SMALL, *map(a_job, JOBS))
    assert told(cluster.stage.wanted) == JOBS
    assert [e.target.name for e in cluster.stage.wanted if isinstance(e, Announce)] == JOBS
    assert len({e.message for e in cluster.stage.wanted if isinstance(e, SetCondition)}) == 1


def test_a_demand_that_was_told_so_goes_on_waiting(watch: Watch) -> None:
    watched = full(watch)
    assert watched.look_again(*JOBS) == []
    assert (watched.searched, watched.cluster.stage.wanted) == ([], [])


def test_a_pod_that_comes_helps_none(watch: Watch) -> None:
    watched = full(watch)
    watched.cluster.show(a_pod("more", cpu="100m", on="n1", priority=100))
    assert watched.look_again(*JOBS) == []
    assert watched.searched == []


def test_a_newcomer_is_told_what_is_exact(watch: Watch) -> None:
    watched = full(watch)
    watched.cluster.show(a_job("job-3"))
    assert (watched.searched, told(watched.cluster.stage.take())) == ([], ["job-3"])
    watched.cluster.show(a_pod("more", cpu="100m", on="n1", priority=100))
    watched.cluster.show(a_job("job-4"))
    (condition,) = (e for e in watched.cluster.stage.take() if isinstance(e, SetCondition))
    assert len(watched.searched) == 1, "what the others were told is not exact any more"
    assert condition.target.name == "job-4"
    decision = watched.cluster.stage.decisions[-1]
    assert "short of cpu by 1600m" in decision.text.replace("1.6", "1600m")


def test_a_report_that_did_not_arrive_is_repeated(watch: Watch) -> None:
    watched = full(watch)
    watched.cluster.stage.scheduler._state.reporter.forget(target(a_job("job-1")))
    assert watched.look_again(*JOBS) == ["job-1"]
    assert told(watched.cluster.stage.wanted) == ["job-1"]


def test_events_are_not_kept_waiting_by_many(watch: Watch) -> None:
    """One decision may pass over many demands, but not over any number of them."""
    watched = watch(a_node("n1"), BOSS, *(a_job(f"job-{i}") for i in range(250)))
    decided = watched.look_again(*(f"job-{i}" for i in range(250)))
    assert 0 < len(decided) <= 5
    assert watched.searched == []


# --- until something may help --------------------------------------------------------------------


def reserve(cluster: Served) -> None:
    """Room is reserved for another pod, and given up again."""
    nominations = cluster.stage.scheduler._state.ledger.nominations
    nominations.nominate(target(a_job("job-0")), "n1", NominationReason.KEPT)
    nominations.withdraw(target(a_job("job-0")))


HELPS: dict[str, Callable[[Served], object]] = {
    "a pod leaves": lambda c: c.gone("small"),
    "a pod is being deleted": lambda c: c.show(leaving(SMALL)),
    "a node comes": lambda c: c.show(a_node("n2", cpu="1")),
    "a budget": lambda c: c.show(a_budget("b", 1, app="web")),
    "a claim": lambda c: c.show(a_claim("data")),
    "a namespace": lambda c: c.show(a_namespace("other")),
    "room that was reserved": reserve,
    "the clock is put back": lambda c: c.stage.set_clock(-200.0),
    "a long time": lambda c: setattr(c.stage, "now", 300.0),
}


@pytest.mark.parametrize("help_", HELPS)
def test_one_of_a_class_is_looked_at_when_something_may_help(help_: str, watch: Watch) -> None:
    """Whether the change wakes the jobs or not."""
    watched = full(watch)
    watched.cluster.stage.now = 100.0
    watched.look_again()
    watched.searched.clear()
    HELPS[help_](watched.cluster)
    state = watched.cluster.stage.scheduler._state
    for name in JOBS:
        state.queue.again(a_key(name), 0.0)
    watched.cluster.stage.happens()
    assert len(watched.searched) == 1


def test_the_end_of_a_toleration_ends_it(watch: Watch) -> None:
    """And demands that wait for it are decided then, each by itself if the first got the room."""
    watched = watch(a_node(), a_class(), tolerant(), *(a_pod(name, cpu="4", priority=9) for name in JOBS))
    watched.cluster.stage.after(599.0)
    assert all(decision.outcome is Outcome.UNSCHEDULABLE for decision in watched.cluster.stage.decisions)
    watched.cluster.stage.after(1.0)
    assert [d.demand.name for d in watched.cluster.stage.decisions if d.outcome is Outcome.PREEMPTS] == [
        "job-0"
    ]


def test_all_jobs_run_in_the_end(watch: Watch) -> None:
    watched = full(watch)
    watched.cluster.gone("boss")
    watched.cluster.stage.after(20.0)
    watched.cluster.does().stage.after(20.0)
    assert {name for name in watched.cluster.places() if name in JOBS} == {"job-0"}
    watched.cluster.gone("job-0").stage.after(20.0)
    watched.cluster.does()
    assert len({name for name in watched.cluster.places() if name in JOBS}) == 1


# --- gangs ---------------------------------------------------------------------------------------


def gang(name: str, size: int = 2) -> list[KubernetesObject]:
    members = [a_member(f"{name}-{i}", name, cpu="2", priority=1) for i in range(size)]
    return [a_group(name, 1, min_count=size), *members]


def of_gang(watched: Watched, name: str) -> Decision:
    return next(d for d in watched.cluster.stage.decisions if d.demand.name == name)


@pytest.mark.parametrize("low", [(), (a_pod("low", cpu="500m", on="n1"),)], ids=["no victim", "no help"])
def test_equal_gangs_are_refused_together_and_each_is_told_of_its_own_pods(
    low: tuple[Pod, ...], watch: Watch
) -> None:
    watched = watch(a_node("n1"), BOSS, *low, *gang("g"))
    assert of_gang(watched, "g").text.count("g-0") == 1 + len(low)
    watched.searched.clear()
    watched.cluster.show(*gang("h"))
    assert watched.searched == []
    assert of_gang(watched, "h").text == of_gang(watched, "g").text.replace("g-0", "h-0")
    assert {"h-0", "h-1", "h"} == set(told(watched.cluster.take(SetCondition)))


def test_a_gang_that_was_told_so_goes_on_waiting(watch: Watch) -> None:
    watched = watch(a_node("n1"), BOSS, *gang("g"))
    assert watched.look_again("g", kind=DemandKind.GROUP) == []
    watched.cluster.gone("boss")
    watched.cluster.stage.after(20.0)
    assert of_last(watched).outcome is Outcome.PLACED


def of_last(watched: Watched) -> Decision:
    return watched.cluster.stage.decisions[-1]


def test_gangs_of_other_sizes_are_not_equal(watch: Watch) -> None:
    watched = watch(a_node("n1"), BOSS, *gang("g"))
    watched.searched.clear()
    watched.cluster.show(*gang("h", 3))
    assert len(watched.searched) == 1


# --- nothing piles up ----------------------------------------------------------------------------


def test_nothing_is_remembered_when_no_demand_is_left(watch: Watch) -> None:
    watched = full(watch)
    assert len(watched.cluster.stage.scheduler._state.refusals) == 1
    watched.cluster.gone(*JOBS)
    assert len(watched.cluster.stage.scheduler._state.refusals) == 0
