"""While a plan is improved, the loop goes on; what was found is journaled, and replayed without a solver."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.unit.runtime.fake_cluster import FakeCluster
from tests.unit.runtime.test_solver_process import SlowSolver
from tests.unit.scheduler.making import a_node, a_pod, target
from tests.unit.scheduler.test_improving import PATIENCE, POLICY, gang, world

from reprieve.model.effects import Bind, SetCondition
from reprieve.model.events import Gone, PlanImproved, Seen, Synced
from reprieve.model.json import Json
from reprieve.preemption.least_disturbance import solver_task
from reprieve.runtime.journal import Journal, Journaled, read_entries
from reprieve.runtime.journal_lines import Observed
from reprieve.runtime.journal_replay import Replayed, replay_runs
from reprieve.runtime.loop import Loop
from reprieve.runtime.observers import Machine
from reprieve.runtime.solver_process import InProcess, Solver
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve.scheduler.settings import SCHEDULER_NAME, Settings
from reprieve_minicluster.virtual_time import clock, run

OTHERS = 20
SETTINGS = Settings(policies={SCHEDULER_NAME: POLICY})


@dataclass(slots=True)
class Told:
    decisions: list[tuple[float, Decision]] = field(default_factory=list)

    def put(self, decision: Decision) -> None:
        self.decisions.append((asyncio.get_running_loop().time(), decision))

    def at(self, outcome: Outcome) -> list[float]:
        return [time for time, decision in self.decisions if decision.outcome is outcome]


def played(
    solver: Solver, machine_of: Callable[[Scheduler], Machine] = lambda s: s
) -> tuple[Told, FakeCluster]:
    """A gang comes that preempts, and then other pods one after the other, for which there is room."""

    async def main() -> tuple[Told, FakeCluster]:
        cluster, told = FakeCluster(), Told()
        room = a_node("room", cpu="3")  # for others, and for no member of the gang
        cluster.show([*map(Seen, (*world(), room, *gang())), Synced()])
        loop = Loop(machine_of(Scheduler(SETTINGS)), cluster, clock, told.put, solver=solver)
        async with loop.running():
            for i in range(OTHERS):
                await asyncio.sleep(0.05)
                cluster.show([Seen(a_pod(f"other-{i}", cpu="100m"))])
            await asyncio.sleep(2 * PATIENCE)
        return told, cluster

    return run(main())


def test_others_are_decided_while_a_plan_is_improved() -> None:
    """As many, and as fast, as if nothing were improved."""
    told, cluster = played(SlowSolver([1.5]))
    (asked, _), (decided,) = told.at(Outcome.IMPROVING), told.at(Outcome.PREEMPTS)  # after a second, too
    assert asked == 0.0
    assert 1.5 <= decided < 1.6
    assert len(told.at(Outcome.PLACED)) == OTHERS
    assert all(asked < time < decided for time in told.at(Outcome.PLACED))
    bound = [time for time, effect in cluster.tried if isinstance(effect, Bind)]
    idle, _ = played(SlowSolver([0.0]))
    assert told.at(Outcome.PLACED) == idle.at(Outcome.PLACED) == bound


def test_nothing_is_sent_for_the_plan_before_the_answer() -> None:
    _, cluster = played(SlowSolver([1.5]))
    tried = [(time, effect) for time, effect in cluster.tried if effect.target.name in ("g", "g-0", "g-1")]
    (first, reported), *rest = tried
    assert isinstance(reported, SetCondition) and (reported.target.name, reported.reason) == (
        "g",
        "ImprovingPlan",
    )
    assert 0.99 < first < 1.1
    assert rest and min(time for time, _ in rest) >= 1.5


def test_a_solver_that_does_not_answer_costs_patience_and_no_more() -> None:
    told, _ = played(SlowSolver([1000.0]))
    assert told.at(Outcome.PREEMPTS) == [PATIENCE]


@pytest.mark.parametrize(
    "sights",
    [
        [Gone(target(one)) for one in gang()],
        [Seen(a_node(f"new-{i}")) for i in range(2)],
    ],
    ids=["the gang is gone", "the gang was placed"],
)
def test_a_search_whose_answer_is_not_needed_any_more_ends(sights: list[Seen | Gone]) -> None:
    """Before patience does, and at the same moment on every run."""

    async def main() -> float:
        cluster, solver = FakeCluster(), SlowSolver([1000.0])
        cluster.show([*map(Seen, (*world(), *gang())), Synced()])
        async with Loop(Scheduler(SETTINGS), cluster, clock, Told().put, solver=solver).running():
            await asyncio.sleep(0.5)
            assert solver.working == 1
            cluster.show(sights)
            while solver.working:
                await asyncio.sleep(0.01)
            return asyncio.get_running_loop().time()

    assert 0.5 < run(main()) == run(main()) < PATIENCE


def test_what_was_found_is_journaled_and_replayed_without_a_solver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path, {}, pytest.fail)
    told, _ = played(InProcess(), lambda scheduler: Journaled(scheduler, journal))
    journal.close()
    written = [e for entry in read_entries(tmp_path) if isinstance(entry, Observed) for e in entry.events]
    (answer,) = [event for event in written if isinstance(event, PlanImproved)]
    assert answer.found[0].proved and answer.found[0].units

    def never(*_: object) -> None:
        pytest.fail("a replay starts no solver")

    def again(_: Json) -> Machine:
        return Scheduler(SETTINGS)

    monkeypatch.setattr(solver_task, "improved", never)
    (replayed,) = replay_runs(tmp_path, again)
    assert isinstance(replayed, Replayed)
    assert (replayed.difference, replayed.decisions) == (None, len(told.decisions))
