"""What a what-if says of a change to a Deployment, StatefulSet or DaemonSet is what happens after.

Only where other pods wait, whose next attempt nobody can know, may it differ; the answer names that.
"""

from collections import Counter

import pytest
from hypothesis import settings

from tests.simulation.rolled_out import roll_out

SEEDS = range(20 if settings().derandomize else 300)  # five changes each


@pytest.mark.parametrize("seed", SEEDS)
def test_what_happens_to_pods_was_said(seed: int) -> None:
    assert roll_out(seed)["the difference is named"] <= 2


def test_every_kind_of_change_is_tried() -> None:
    ends = sum((roll_out(seed) for seed in range(8)), Counter[str]())
    for kind in ("Deployment", "StatefulSet", "DaemonSet"):
        assert ends[f"{kind}: Fits"]
        assert ends[f"{kind}: Unschedulable"]
    assert ends["the difference is named"] <= 1
    assert ends["pods stopped"] > ends["victims"] > 0
