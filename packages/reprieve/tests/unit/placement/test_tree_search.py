"""Trees of groups that are large, or that do not fit: what their search costs, in counted steps."""

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest
from tests.unit.placement.test_gang_search import HOSTNAME, a_gang, member, near, node

from reprieve.model.columns import Mask
from reprieve.model.objects import Node, Pod
from reprieve.model.snapshot import Snapshot
from reprieve.placement import tree_search
from reprieve.placement.demand import Branch, Demand
from reprieve.placement.place import Placement, Unplaceable
from reprieve.placement.tree_search import place_tree


@contextmanager
def at_most(steps: int) -> Iterator[None]:
    """Fails as soon as functions of the search are entered, or generators of it resumed, more often."""
    taken = 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal taken
        taken += event == "call" and frame.f_code.co_filename == tree_search.__file__
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


# --- domains of one node each --------------------------------------------------------------------


def on_hosts(count: int, needed: int) -> Branch:
    """Leaves of one pod, each in one host."""
    return Branch(needed, children=tuple(replace(leaf, topology_key=HOSTNAME) for leaf in leaves(count)))


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The domains of which a mask is made, in turn."""
    names, domains = list[str](), tree_search._Search.domains

    def noted(*args: Any, **given: Any) -> Iterator[tuple[str, Mask]]:
        for name, nodes in domains(*args, **given):
            if name:
                names.append(name)
            yield name, nodes

    monkeypatch.setattr(tree_search._Search, "domains", noted)
    return names


def test_the_fullest_domain_is_tried_first_and_of_equals_the_first_by_name(tried: list[str]) -> None:
    nodes = [node("n4"), node("n3"), node("n2", "8"), node("n1", "8"), node("n5", "2")]
    pods = [member(f"p{i}", "2") for i in range(4)]
    demand, view = a_tree(on_hosts(4, needed=4), *nodes, *pods)
    found = place_tree(demand, view)
    assert isinstance(found, Placement)
    assert [view.nodes.names[row] for row in found.nodes] == ["n5", "n3", "n3", "n4"]
    assert tried[:4] == ["n5", "n5", "n3", "n3"]


def test_no_mask_is_made_of_a_domain_that_is_not_tried(tried: list[str]) -> None:
    nodes, pods = [node(f"n{i}") for i in range(100)], [member(f"p{i}") for i in range(4)]
    demand, view = a_tree(on_hosts(4, needed=4), *nodes, *pods)
    assert isinstance(place_tree(demand, view), Placement)
    assert len(tried) == 4


def test_tries_of_domains_have_a_limit(tried: list[str]) -> None:
    nodes, pods = [node(f"n{i}") for i in range(40)], [member(f"p{i}", "5") for i in range(40)]
    demand, view = a_tree(on_hosts(40, needed=1), *nodes, *pods, units=100)
    assert isinstance(place_tree(demand, view), Unplaceable)
    assert len(tried) < 1_100
    assert demand.effort.fell_short
