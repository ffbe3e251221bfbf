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
from reprieve.placement.place import Unplaceable
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


ONES, SHAPES = [member(f"p{i}") for i in range(30)], [member(f"p{i}", cpu=f"{1000 + i}m") for i in range(30)]
FOLLOWERS = [member(f"p{i}", cpu=f"{100 + i}m", **near("x")) for i in range(30)]
HALF = Branch(15, tuple(range(30)))


@pytest.mark.parametrize(
    ("tree", "pods"),
    [
        (Branch(15, children=leaves(30)), ONES),
        (Branch(1, children=(HALF,)), SHAPES),
        (Branch(2, children=(HALF, Branch(1))), FOLLOWERS),
    ],
    ids=["children", "members", "draws that a later group never completes"],
)
def test_no_more_is_combined_than_the_effort_allows(tree: Branch, pods: list[Pod]) -> None:
    demand, view = a_tree(tree, node("n1", "14" if pods is not FOLLOWERS else "1"), *pods)
    with at_most(20_000):
        assert isinstance(place_tree(demand, view), Unplaceable)
    assert demand.effort.fell_short


# --- no group or shape has a frame of its own ----------------------------------------------------


def test_many_children_that_do_not_fit_together() -> None:
    pods = [member(f"p{i}", cpu="10m") for i in range(200)]
    demand, view = a_tree(Branch(200, children=leaves(200)), node("n1", "1990m"), *pods, units=10_000)
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


def test_tries_of_domains_have_a_limit(tried: list[str]) -> None:
    nodes, pods = [node(f"n{i}") for i in range(40)], [member(f"p{i}", "5") for i in range(40)]
    demand, view = a_tree(on_hosts(40, needed=1), *nodes, *pods, units=100)
    assert isinstance(place_tree(demand, view), Unplaceable)
    assert len(tried) < 1_100
    assert demand.effort.fell_short
