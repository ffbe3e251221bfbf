"""Trees of groups: which group is the outermost one, and what is wrong with trees that are too deep."""

from typing import Any

import msgspec
import pytest

from reprieve.model.groups import Groups, groups_table
from reprieve.model.objects import CompositePodGroup, PodGroup

LEAF = ("default", "leaf")


class Counted(dict[tuple[str, str], CompositePodGroup]):
    """Composite groups that count how often one is looked up."""

    lookups = 0

    def get(self, *args: Any) -> Any:
        self.lookups += 1
        return super().get(*args)


def a_chain(length: int, outermost: str = "") -> Groups:
    """A PodGroup inside c0, which is inside c1, and so on; the last one is inside ``outermost``, if any."""
    parents = [*(f"c{i + 1}" for i in range(length - 1)), outermost]
    inside = msgspec.convert({"metadata": _meta("leaf"), "spec": {"parent": "c0"}}, PodGroup)
    around = [
        msgspec.convert({"metadata": _meta(f"c{i}"), "spec": {"parent": parent}}, CompositePodGroup)
        for i, parent in enumerate(parents)
    ]
    return groups_table([inside, *around])


def _meta(name: str) -> dict[str, str]:
    return {"name": name, "namespace": "default", "uid": f"uid-{name}"}


def test_a_tree_has_up_to_four_levels() -> None:
    assert a_chain(3).ancestry(LEAF).root == ("default", "c2")
    assert a_chain(2, "unknown").ancestry(LEAF).root == ("default", "unknown")


@pytest.mark.parametrize("length", [4, 5, 6, 300])
def test_a_deeper_one_says_so(length: int) -> None:
    found = a_chain(length).ancestry(LEAF)
    assert found.root is None
    assert found.problem == (
        "it is 4 levels below CompositePodGroup default/c3; a tree has no more than 4 levels"
    )


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_a_cycle_says_so(length: int) -> None:
    found = a_chain(length, "c0").ancestry(LEAF)
    assert found.root is None
    assert found.problem == "CompositePodGroup default/c0 is inside itself"


def test_a_group_that_is_too_deep_or_in_a_cycle_is_in_no_tree() -> None:
    assert a_chain(3).leaves(("default", "c2")) == [LEAF]
    assert a_chain(2, "unknown").leaves(("default", "unknown")) == [LEAF]
    assert a_chain(3).leaves(("default", "c1")) == []
    assert [a_chain(4).leaves(("default", f"c{i}")) for i in range(4)] == [[]] * 4
    assert [a_chain(2, "c0").leaves(("default", f"c{i}")) for i in range(2)] == [[]] * 2


@pytest.mark.parametrize("length", [1, 2, 4, 5, 300])
def test_the_chain_of_a_group_in_a_cycle_ends(length: int) -> None:
    groups = a_chain(length, "c0")
    assert [len([*groups.chain(LEAF)]) for _ in range(2)] == [4, 4]


def test_the_length_of_a_chain_costs_nothing() -> None:
    groups = a_chain(300)
    composites = Counted(groups.composites)
    assert Groups(groups.pod_groups, composites).ancestry(LEAF).problem
    assert composites.lookups <= 5
