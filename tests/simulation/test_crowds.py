"""Crowded clusters drawn from seeds, in which much goes wrong: what must hold is said in ``watched``."""

import pytest
from hypothesis import settings

from reprieve.model.conditions import MARK
from reprieve.model.effects import Target
from reprieve.scheduler.reporting.decision import Decision, EvictionReason, Outcome, Preemption, Victim
from reprieve_minicluster.store import Store
from tests.simulation.crowded_play import play_crowd, play_jumps
from tests.simulation.evictions import Evictions
from tests.simulation.invariants import BrokenInvariantError
from tests.simulation.objects import pod, pod_spec

COUNTED = range(40)  # played together, and what happens in them is counted
SEEDS = range(COUNTED.stop, 100 if settings().derandomize else 50_000)  # a soak plays all others
JUMPS = range(20 if settings().derandomize else 5_000)

NEW = Target("Pod", "default", "new", "uid-new")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_crowd_comes_to_rest(seed: int) -> None:
    play_crowd(seed)


@pytest.mark.parametrize("seed", JUMPS)
def test_a_crowd_comes_to_rest_although_the_clock_is_set(seed: int) -> None:
    play_jumps(seed)


def test_a_group_goes_whole_although_the_clock_jumps_an_hour_forward() -> None:
    """The jump made the plan too old, and a late pod of the group stayed."""
    play_crowd(5_001_400)


def test_enough_is_going_on_and_little_is_in_vain() -> None:
    tallies = [play_crowd(seed) for seed in COUNTED]
    assert sum(tally.placed for tally in tallies) > 200
    assert sum(tally.plans for tally in tallies) > 80
    assert sum(tally.evicted for tally in tallies) > 70
    assert sum(tally.mishaps for tally in tallies) > 100
    assert sum(tally.wasted for tally in tallies) < sum(tally.evicted for tally in tallies) / 3
    planning = [tally.planning for tally in tallies]
    assert sum(one.asked for one in planning) > 10, "solvers"
    assert sum(one.improved for one in planning) > 2
    assert sum(one.first for one in planning) > 5


# --- which pod was evicted for what --------------------------------------------------------------


def evictions(message: str, *victims: str) -> tuple[Evictions, Target]:
    """A pod that is marked with this message, and a decision about some pods."""
    store = Store(lambda: 0.0)
    mark = {"type": MARK, "status": "True", "message": message}
    stored = store.create("pods", {**pod("old", pod_spec("1")), "status": {"conditions": [mark]}})
    kept = Evictions(store)
    named = (
        Victim(
            Target("Pod", "default", name, stored.uid),
            "n1",
            0,
            f"Pod/default/{name}",
            (),
            EvictionReason("", ""),
        )
        for name in victims
    )
    plan = Preemption(victims=tuple(named))
    kept.decided(Decision("d-1", NEW, 9, 0.0, Outcome.PREEMPTS, 1, places=((NEW, "n1"),), preemption=plan))
    return kept, Target("Pod", "default", "old", stored.uid)


def test_an_eviction_is_wasted_if_none_comes() -> None:
    kept, old = evictions("preempting (decision d-1)", "old")
    kept.wanted(old)
    assert kept.wasted({"uid-new": "n1"}) == 0
    assert kept.wasted({"uid-new": "n2"}) == 1
    assert kept.wasted({}) == 1


def test_a_victim_that_cannot_know_why_it_goes_is_found() -> None:
    kept, old = evictions("preempting (decision d-7)", "old")
    with pytest.raises(BrokenInvariantError, match="its mark names no decision"):
        kept.wanted(old)


def test_a_victim_of_which_the_decision_does_not_speak_is_found() -> None:
    kept, old = evictions("preempting (decision d-1)", "another")
    with pytest.raises(BrokenInvariantError, match="decision d-1 does not say so"):
        kept.wanted(old)
