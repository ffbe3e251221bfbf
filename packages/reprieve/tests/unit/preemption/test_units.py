"""In which order units are listed, and when."""

import random

import numpy as np
import pytest

from reprieve.model.columns import Ints
from reprieve.preemption.units import Listing, Unit, Units, numbers_of, pods_and_groups, with_any
from tests.scenarios.making import snapshot_of
from tests.scenarios.reading import DemandLine, Expected, PodLine, Scenario


def units(seed: int) -> Units:
    """Few priorities and moments of start, so that names decide between many."""
    chance = random.Random(seed)
    names = chance.sample([f"{a}{b}{c}" for a in "ab" for b in ("", "-", "0") for c in "abcdef"], 20)
    pods = {
        name: PodLine(
            on="n",
            namespace=chance.choice(["team", "team-a"]),
            cpu=1,
            priority=chance.randint(1, 3),
            start=chance.randint(1, 3),
        )
        for name in names
    }
    scenario = Scenario(
        name="",
        why="",
        nodes={"n": "cpu 40"},
        pods=pods,
        demand=DemandLine(cpu=1, priority=9),
        expect=Expected(),
    )
    return pods_and_groups(snapshot_of(scenario))


def all_numbers(found: Units) -> Ints:
    return np.flatnonzero(found.size > 0)


@pytest.mark.parametrize("seed", range(10))
def test_the_most_important_comes_first_and_names_decide_between_equals(seed: int) -> None:
    found = units(seed)
    numbers = all_numbers(found)
    listed = found.listed(np.random.default_rng(seed).permutation(numbers))
    assert listed == sorted(listed, key=lambda unit: (-unit.priority, unit.start, unit.name.split("/")))
    assert found.in_order(numbers).tolist() == numbers_of(listed).tolist()
    assert found.listed(numbers[:7]) == [unit for unit in listed if unit.number in numbers[:7]]


def test_units_without_a_tie_need_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    found = units(0)
    numbers = found.in_order(all_numbers(found))
    first_of_each = [*{(u.priority, u.start): u.number for u in found.made(numbers)}.values()]
    monkeypatch.setattr(Units, "names", None)
    assert found.in_order(np.array(first_of_each[::-1])).tolist() == first_of_each


def test_a_listing_is_a_sequence_that_is_made_when_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    found = units(1)
    numbers = all_numbers(found)
    wanted = tuple(found.listed(numbers))
    fresh = units(1)
    listing = Listing(fresh, numbers)
    with monkeypatch.context() as patch:
        patch.setattr(Units, "made", None)
        assert len(listing) == len(wanted)
    assert listing == wanted
    assert wanted == listing
    assert listing != wanted[1:]
    assert listing != "units"
    assert hash(listing) == hash(wanted)
    assert (listing[0], listing[-2:], [*listing]) == (wanted[0], [*wanted[-2:]], [*wanted])


def test_those_that_have_a_pod_are_found_in_every_sequence() -> None:
    found = units(2)
    numbers = all_numbers(found)
    wanted: list[Unit] = found.listed(numbers)
    pods = np.zeros(len(found.of_pod), np.bool_)
    pods[[wanted[3].pods[0], wanted[5].pods[0]]] = True
    assert [*with_any(Listing(found, numbers), pods)] == with_any(wanted, pods) == [wanted[3], wanted[5]]
