"""Trees of groups that are large, or that do not fit: what their search costs, in counted steps."""

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from reprieve.model.objects import Node, Pod
from reprieve.model.snapshot import Snapshot
from reprieve.placement import group_tree
from reprieve.placement.demand import Branch, Demand
from reprieve.placement.group_tree import place_tree
from reprieve.placement.place import Unplaceable
from tests.unit.placement.test_gang_search import a_gang, member, near, node


@contextmanager
def at_most(steps: int) -> Iterator[None]:
    """Fails as soon as functions of the search are entered, or generators of it resumed, more often."""
    taken = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal taken
        taken += event == "call" and frame.f_code.co_filename == group_tree.__file__
        assert taken <= steps, "the search runs on"

    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(None)


@contextmanager
def few_frames() -> Iterator[None]:
    """A recursion for each of a few hundred things fails."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 150)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def a_tree(tree: Branch, *things: Node | Pod, units: int = 1000) -> tuple[Demand, Snapshot]:
    demand, view = a_gang(*things, units=units)
    return replace(demand, most=len(demand.pods), tree=tree), view


def leaves(count: int, needed: int = 1) -> tuple[Branch, ...]:
    """Of one pod each."""
    return tuple(Branch(needed, (position,)) for position in range(count))


# --- no loop outlives the effort -----------------------------------------------------------------


def test_members_of_many_shapes_that_are_all_needed_are_drawn_once() -> None:
    pods = [member(f"p{i}", cpu=f"{1000 + i}m") for i in range(30)]
    demand, view = a_tree(Branch(1, children=(Branch(30, tuple(range(30))),)), node("n1"), *pods)
    with at_most(2_000):
        assert isinstance(place_tree(demand, view), Unplaceable)
    assert not demand.effort.fell_short


def test_no_more_children_are_combined_than_the_effort_allows() -> None:
    pods = [member(f"p{i}") for i in range(30)]
    demand, view = a_tree(Branch(15, children=leaves(30)), node("n1", "14"), *pods)
    with at_most(20_000):
        assert isinstance(place_tree(demand, view), Unplaceable)
    assert demand.effort.fell_short


def test_no_more_members_are_drawn_than_the_effort_allows() -> None:
    pods = [member(f"p{i}", cpu=f"{1000 + i}m") for i in range(30)]
    demand, view = a_tree(Branch(1, children=(Branch(15, tuple(range(30))),)), node("n1", "14"), *pods)
    with at_most(20_000):
        assert isinstance(place_tree(demand, view), Unplaceable)
    assert demand.effort.fell_short


def test_draws_that_a_later_group_never_completes_take_effort_too() -> None:
    pods = [member(f"p{i}", cpu=f"{100 + i}m", **near("x")) for i in range(30)]
    tree = Branch(2, children=(Branch(15, tuple(range(30))), Branch(1)))
    demand, view = a_tree(tree, node("n1", "1"), *pods)
    with at_most(20_000):
        assert isinstance(place_tree(demand, view), Unplaceable)
    assert demand.effort.fell_short


# --- no group or shape has a frame of its own ----------------------------------------------------


def test_many_children_that_do_not_fit_together() -> None:
    pods = [member(f"p{i}", cpu="10m") for i in range(200)]
    demand, view = a_tree(Branch(200, children=leaves(200)), node("n1", "1990m"), *pods, units=10_000)
    with few_frames():
        assert isinstance(place_tree(demand, view), Unplaceable)


def test_a_leaf_of_many_shapes_that_does_not_fit() -> None:
    pods = [member(f"p{i}", cpu=f"{1000 + i}m") for i in range(200)]
    leaf = Branch(200, tuple(range(200)))
    demand, view = a_tree(Branch(1, children=(leaf,)), node("n1"), *pods, units=10_000)
    with few_frames():
        assert isinstance(place_tree(demand, view), Unplaceable)
