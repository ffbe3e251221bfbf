"""Groups as the cluster shows them: which are inside which."""

import msgspec
import pytest
from tests.unit.scheduler.crowds import a_group

from reprieve.model.groups import Group, GroupsByParent
from reprieve.model.objects import CompositePodGroup, PodGroup
from reprieve.scheduler.mirror.group_mirror import GroupMirror

LEAF = ("default", "leaf")


@pytest.mark.parametrize("length", [10, 40])
def test_a_list_of_composite_groups_costs_as_much_as_it_has_groups(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No index is built anew for each of them."""
    entered, enter = list[Group](), GroupsByParent.add

    def counted(index: GroupsByParent, group: Group) -> None:
        entered.append(group)
        enter(index, group)

    monkeypatch.setattr(GroupsByParent, "add", counted)
    mirror = GroupMirror()
    mirror.see(a_group("leaf", parent="c0"))
    for number in range(length):
        document = {
            "metadata": {"name": f"c{number}", "namespace": "default"},
            "spec": {"parent": f"c{number + 1}"},
        }
        mirror.see(msgspec.convert(document, CompositePodGroup))
    assert len(entered) == length + 1


def test_a_group_that_is_created_anew_in_another_tree_has_left_the_first() -> None:
    mirror = GroupMirror()
    for parent in ("a", "b"):
        mirror.see(a_group("leaf", parent=parent))
    assert (mirror.beneath(("default", "a")), mirror.beneath(("default", "b"))) == ([], [LEAF])
    mirror.lose(PodGroup, LEAF)
    assert mirror.beneath(("default", "b")) == []
