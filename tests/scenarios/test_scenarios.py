"""Every file in this directory: what it says happens does."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from reprieve.model.snapshot import NOWHERE, Snapshot
from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement, Unplaceable
from reprieve.preemption.criteria import decided_by
from reprieve.preemption.plan import NoPlan, Plan
from reprieve.preemption.policy import Question, Shortcuts
from reprieve.preemption.search import candidates
from reprieve.preemption.units import Unit
from tests.scenarios.making import asked, moment, policy_of, snapshot_of
from tests.scenarios.reading import Expected, Scenario, Story, read_scenario
from tests.scenarios.telling import StatusReporter

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*/*.yaml"))


def test_there_are_some() -> None:
    assert FILES


EVERY_FILE = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")


@EVERY_FILE
def test_scenario(path: Path) -> None:
    scenario = read_scenario(path)
    assert scenario.name == path.stem
    assert scenario.why
    told(scenario, backwards=False)


@EVERY_FILE
def test_scenario_told_backwards(path: Path) -> None:
    told(read_scenario(path), backwards=True)


@EVERY_FILE
def test_scenario_with_every_shortcut(path: Path) -> None:
    """Those of large clusters, which change no answer in small ones."""
    scenario = read_scenario(path)
    if isinstance(scenario, Scenario):
        play(scenario, snapshot_of(scenario), Shortcuts(nodes=0, units=0))


def told(scenario: Scenario | Story, *, backwards: bool) -> None:
    if isinstance(scenario, Story):
        StatusReporter(scenario, backwards=backwards).play()
    else:
        play(scenario, snapshot_of(scenario, backwards=backwards), Shortcuts())


def play(scenario: Scenario, view: Snapshot, shortcuts: Shortcuts) -> None:
    demand, view = asked(scenario, view, moment(scenario.now))
    match place_together(demand, view):
        case Placement() as placement:
            assert may_fit(scenario.expect), "it fits without victims"
            compare_nodes(scenario.expect, view, placement)
        case Unplaceable() as unplaced:
            assert not scenario.expect.fits
            policy = policy_of(scenario.policy)
            question = Question(demand, view, unplaced.survey, policy=policy, shortcuts=shortcuts)
            for minutes, expect in {scenario.now: scenario.expect, **scenario.later}.items():
                compare(question, expect, moment(minutes))


def may_fit(expect: Expected) -> bool:
    """A plan that evicts nothing may as well be a placement that needs no plan."""
    return expect.fits or (expect.nodes is not None and not expect.victims and not expect.nothing)


def compare(question: Question, expect: Expected, now: float) -> None:
    view = question.view
    plans = candidates(question, now)
    if isinstance(plans, NoPlan):
        assert plans.why == expect.nothing
        assert plans.retry_at == (None if expect.retry is None else moment(expect.retry))
        return
    assert not expect.nothing
    best, *others = plans
    compare_plan(expect, view, best)
    criteria = {plan.domain: decided_by(best.cost, plan.cost).code for plan in others}
    assert expect.loses.items() <= criteria.items()


def compare_plan(expect: Expected, view: Snapshot, plan: Plan) -> None:
    assert names(view, plan.victims) == sorted(expect.victims)
    compare_nodes(expect, view, plan.placement)
    if expect.spared is not None:
        assert names(view, plan.spared) == sorted(expect.spared)
    if expect.broken is not None:
        assert plan.broken == expect.broken
    if expect.ceiling is not None:
        assert plan.ceiling == expect.ceiling
    if expect.cost is not None:
        assert plan.quality is not None
        assert {str(name): value for name, value in plan.quality.cost}.items() >= expect.cost.items()
    if expect.proved is not None:
        assert plan.quality is not None and plan.quality.proved == expect.proved


def compare_nodes(expect: Expected, view: Snapshot, placement: Placement) -> None:
    nodes = [view.nodes.names[node] if node != NOWHERE else None for node in placement.nodes]
    if expect.nodes is not None:
        assert nodes == expect.nodes
    if expect.node is not None:
        assert nodes == [expect.node]


def names(view: Snapshot, units: Sequence[Unit]) -> list[str]:
    return sorted(view.pods.compiled[pod].pod.metadata.name for unit in units for pod in unit.pods)
