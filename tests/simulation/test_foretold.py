"""What a what-if says before a demand is submitted is what happens after."""

from collections import Counter

import pytest

from tests.simulation.foretold import foretell, seeds

DEMANDS = 100


@pytest.mark.parametrize("seed", seeds(DEMANDS))
def test_what_happens_was_said(seed: int) -> None:
    foretell(seed)


def test_every_kind_of_demand_is_tried() -> None:
    ends = sum((foretell(seed) for seed in range(3)), Counter[str]())
    assert {end.partition(":")[0] for end in ends} >= {"Pod", "PodGroup", "Deployment", "resize"}
    assert {end.partition(": ")[2] for end in ends} >= {"Fits", "Preempts", "Unschedulable"}
