"""The default never does worse than kube-scheduler would: not than its search in the same place, nor than
with its own way to rank pods of groups and to count budgets.
"""

from collections.abc import Iterator
from dataclasses import replace

import msgspec
import pytest
from hypothesis import settings

from reprieve.preemption import searches
from reprieve.preemption.plan import Plan
from reprieve.preemption.policy import Policy
from reprieve.preemption.searches import REPRIEVE
from tests.properties.crowded import EVERYTHING, ROOM_ONLY, Crowd, seeded_crowd
from tests.properties.preempting import question_of
from tests.reference.optimum import best_plan
from tests.reference.policies import UPSTREAM, usual_rank
from tests.scenarios.reading import Scenario, read_scenario
from tests.scenarios.test_scenarios import HERE, told

WORLDS = 10_000 if settings().max_examples > 1000 else 500
BATCH = WORLDS // 5

ONLY_THE_SEARCH = replace(REPRIEVE, search=searches.UPSTREAM)


def best_by(policy: Policy, crowd: Crowd) -> Plan | None:
    """For the same number of members, and with budgets counted alike, so that plans can be compared."""
    question = question_of(crowd)
    if question is None:
        return None
    return best_plan(replace(question, policy=policy))


def crowds_of(batch: int) -> Iterator[Crowd]:
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        yield seeded_crowd(seed, ROOM_ONLY if seed % 2 else EVERYTHING)


def is_worse(ours: Plan | None, theirs: Plan | None) -> bool:
    if ours is None or theirs is None:
        return theirs is not None
    return usual_rank(ours)[:-1] > usual_rank(theirs)[:-1]


@pytest.mark.parametrize("batch", range(5))
def test_never_worse_than_their_search(batch: int) -> None:
    for crowd in crowds_of(batch):
        assert not is_worse(best_by(REPRIEVE, crowd), best_by(ONLY_THE_SEARCH, crowd))


@pytest.mark.parametrize("batch", range(5))
def test_never_worse_than_all_they_do(batch: int) -> None:
    pairs = [(best_by(REPRIEVE, crowd), best_by(UPSTREAM, crowd)) for crowd in crowds_of(batch)]
    assert not any(is_worse(ours, theirs) for ours, theirs in pairs)
    assert sum(is_worse(theirs, ours) for ours, theirs in pairs) >= len(pairs) / 20


def test_nor_where_there_are_more_nodes_than_plans_are_made_for() -> None:
    """On each of the others the two victims started later, so in our order the node of a comes last."""
    path = HERE / "interactions" / "a-member-that-is-put-back-first-saves-another.yaml"
    scenario = msgspec.to_builtins(read_scenario(path))
    for i in range(25):
        late = {"on": f"m{i}", "cpu": 1, "priority": 3, "start": 95}
        scenario["nodes"][f"m{i}"] = "cpu 4"
        scenario["pods"] |= {f"dear{i}": {**late, "cpu": 2, "priority": 9}, f"x{i}": late, f"y{i}": late}
    told(msgspec.convert(scenario, Scenario), backwards=False)
