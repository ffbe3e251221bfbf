"""No other search finds a better plan than the default, and nothing is said to be proved that is not.

By what no plan may be worse is in ``asking``; more worlds are tried by `disturbance_runs`.
"""

from itertools import combinations
from pathlib import Path

import pytest

from tests.reference.asking import Asked, asked, first_criteria, fits
from tests.reference.comparing import Compared, compared, faults
from tests.reference.every_plan import cost_of, eligible, fits_without, is_small, least_cost
from tests.reference.plain.price import price
from tests.reference.preemption_worlds import KINDS, PreemptionWorld, seeded_world
from tests.reference.small_worlds import EXAMPLES, read_world

WORLDS = 100


# The last three: a pod of a group of one within a topology, and replacements of the victims of a resize.
@pytest.mark.parametrize("seed", [*range(WORLDS), 10_525, 12_713, 10_155])
def test_no_plan_of_others_is_better(seed: int) -> None:
    assert not faults(seeded_world(seed))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_no_plan_of_others_is_better_in_worlds_where_one_was(path: Path) -> None:
    assert not faults(read_world(path))


# --- whether the worlds are any good -------------------------------------------------------------


@pytest.fixture(scope="module")
def everything() -> list[tuple[PreemptionWorld, Compared]]:
    worlds = map(seeded_world, range(2 * WORLDS))
    return [(world, found) for world in worlds if (found := compared(world)) is not None]


@pytest.mark.parametrize("kind", KINDS)
def test_the_worlds_are_not_too_easy(kind: str, everything: list[tuple[PreemptionWorld, Compared]]) -> None:
    """In many there is a plan, and in some the plans of the searches differ by what they cost."""
    found = [one for world, one in everything if world.kind == kind]
    plans = [[*one.others.values(), one.ours] for one in found]
    names, differ = first_criteria(kind), 0
    for one, answers in zip(found, plans, strict=True):
        differ += len({each.price(one.asked.cluster, names) for each in answers if each is not None}) > 1
    assert sum(all(answers) for answers in plans) >= WORLDS / 4
    assert differ >= 2
    assert sum(is_small(one.asked) for one in found) >= WORLDS / 5


def test_the_worlds_have_broken_trees(everything: list[tuple[PreemptionWorld, Compared]]) -> None:
    """Some plan breaks a composite group, and stops pods that are not its victims."""
    plans = [
        (one.asked.cluster, answer)
        for _, one in everything
        for answer in one.others.values()
        if answer is not None
    ]
    broken = [{type(group).__name__ for group in of.broken_by(plan.victims)} for of, plan in plans]
    assert sum("CompositePodGroup" in kinds for kinds in broken) >= 10
    idle = [price(of, plan.victims, ("PodsStopped", "Pods")) for of, plan in plans]
    assert sum(cost["PodsStopped"] > cost["Pods"] for cost in idle) >= 25


# --- whether every plan is tried -----------------------------------------------------------------


def really_least(of: Asked, order: tuple[str, ...]) -> tuple[float, ...] | None:
    """Without leaving out any set of victims."""
    units = [of.cluster.units[unit] for unit in eligible(of)]
    sets = (chosen for size in range(len(units) + 1) for chosen in combinations(units, size))
    victims = (frozenset(pod for unit in chosen for pod in unit) for chosen in sets)
    return min((cost_of(of.cluster, pods, order) for pods in victims if fits_without(of, pods)), default=None)


@pytest.mark.parametrize("seed", range(0, WORLDS, 3))
def test_no_set_of_victims_is_left_out_that_could_be_the_best(seed: int) -> None:
    of = asked(seeded_world(seed))
    if fits(of) or len(eligible(of)) > 7:
        return
    for order in (
        ("BudgetsBroken", "HighestPriority", "PodsStopped", "LatestStart"),
        ("Pods", "LongestGrace"),
    ):
        assert least_cost(of, order) == really_least(of, order)
