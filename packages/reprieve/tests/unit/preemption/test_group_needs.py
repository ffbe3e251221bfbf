"""Groups that are left with too little, in trees of any depth."""

import numpy as np

from reprieve.model.snapshot import NOWHERE
from reprieve.preemption.gangs import GroupNeeds

# A root needs both of `left` and `right`; `left` needs one of `a` and `b`. Of `a`, which has two pods, one is
# needed, of `b` two of three, and of `right` three of four.
A, B, LEFT, RIGHT, ROOT = range(5)
TREE = GroupNeeds(
    np.zeros(0, np.int64),
    running=(2, 3, 0, 4, 0),
    slack=(1, 1, 1, 1, 0),
    parent=(LEFT, LEFT, ROOT, ROOT, NOWHERE),
    ends=(True,) * 5,
)


def stopped(needs: GroupNeeds, lost: dict[int, int]) -> tuple[list[int], int, int]:
    """The groups that are broken, the pods that run on for nothing, and the groups that end."""
    broken = needs.broken(lost)
    return sorted(broken), needs.idle(broken, lost), needs.ended(broken)


def test_surplus_pods_break_nothing() -> None:
    assert stopped(TREE, {A: 1, B: 1, RIGHT: 1}) == ([], 0, 0)


def test_a_leaf_that_breaks_stops_its_own_pods() -> None:
    assert stopped(TREE, {B: 2}) == ([B], 1, 1)


def test_a_group_without_the_leaves_it_needs_breaks_and_all_around_it() -> None:
    assert stopped(TREE, {A: 2, B: 2}) == ([A, B, LEFT, ROOT], 1 + 4, 4)


def test_the_root_stops_the_pods_of_all_leaves_once() -> None:
    assert stopped(TREE, {RIGHT: 2}) == ([RIGHT, ROOT], 2 + 2 + 3, 2)
    assert stopped(TREE, {RIGHT: 2, B: 2}) == ([B, RIGHT, ROOT], 2 + 1 + 2, 3)


def test_a_leaf_that_goes_whole_is_counted_as_a_unit() -> None:
    needs = GroupNeeds(TREE.of_pod, TREE.running, (1, 1, 1, 0, 0), TREE.parent, (*(True,) * 3, False, True))
    assert stopped(needs, {RIGHT: 4}) == ([RIGHT, ROOT], 2 + 3, 1)


def test_the_trees_around_some_leaves_are_the_same_by_other_numbers() -> None:
    """Before the tree there is a gang of two, of which both are needed."""
    needs = GroupNeeds(
        np.zeros(0, np.int64),
        running=(2, *TREE.running),
        slack=(0, *TREE.slack),
        parent=(NOWHERE, *(p + 1 if p != NOWHERE else p for p in TREE.parent)),
        ends=(True, *TREE.ends),
    )
    tree, number = needs.around([A + 1])
    assert (tree.running, tree.slack, tree.parent) == (TREE.running, TREE.slack, TREE.parent)
    assert stopped(tree, {number[A + 1]: 2, number[B + 1]: 2}) == stopped(TREE, {A: 2, B: 2})
    assert needs.around([])[0].running == ()
