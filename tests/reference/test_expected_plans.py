"""The plan that a scenario expects by default is the best there is, by the list of criteria.

A file that says otherwise would be a wrong expectation: no search is asked here.
"""

from pathlib import Path

import pytest

from reprieve.placement.domains import place_together
from reprieve.placement.place import Placement
from tests.reference.asking import LIST, Asked
from tests.reference.every_plan import cost_of, fits_without, least_cost
from tests.reference.plain.price import RunningCluster
from tests.scenarios.making import NEWCOMER, asked, decoded, member, moment, snapshot_of, world_objects
from tests.scenarios.reading import PolicyLine, Scenario, read_scenario

SCENARIOS = Path(__file__).parents[1] / "scenarios"
FILES = [
    path
    for path in sorted(SCENARIOS.glob("least_disturbance/*.yaml"))
    if isinstance(scenario := read_scenario(path), Scenario) and scenario.policy == PolicyLine()
]
FILES.append(SCENARIOS / "resize" / "one-large-pod-goes-rather-than-two-small-ones.yaml")


def asked_in(scenario: Scenario) -> Asked:
    demand, view = asked(scenario, snapshot_of(scenario), moment(scenario.now))
    objects = [decoded(thing) for thing in world_objects(scenario, scenario.groups)]
    count = len(scenario.demand.members) or scenario.demand.gang
    names = [scenario.resize] if scenario.resize else [NEWCOMER, *map(member, range(count))]
    absent = frozenset(("default", name) for name in names)
    groups = frozenset(key for pod in demand.pods if (key := view.pods.groups[pod]) is not None)
    cluster = RunningCluster(objects, now=moment(scenario.now), absent=absent)
    return Asked(view, demand, cluster, groups)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_plan_is_better_than_the_expected_one(path: Path) -> None:
    scenario = read_scenario(path)
    assert isinstance(scenario, Scenario)
    of = asked_in(scenario)
    assert not isinstance(place_together(of.demand, of.view), Placement)
    victims = frozenset(("default", name) for name in scenario.expect.victims)
    assert victims <= of.cluster.pods.keys()
    assert fits_without(of, victims)
    cost = cost_of(of.cluster, victims, LIST)
    assert least_cost(of, LIST, cost) == cost
