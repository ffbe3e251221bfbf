"""Groups in groups: whose word counts, what they wait for, and that they are placed as one or not at all."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from tests.unit.scheduler.crowds import a_group, a_member
from tests.unit.scheduler.making import a_node, a_pod, later
from tests.unit.scheduler.serving import served
from tests.unit.scheduler.stage import notes

from reprieve.model.effects import Announce, SetCondition
from reprieve.model.groups import Group, GroupKey, Groups, GroupsByParent
from reprieve.model.objects import CompositePodGroup, KubernetesObject, Pod, PriorityClass
from reprieve.scheduler.demand_key import DemandKey, with_its_group, with_its_tree
from reprieve.scheduler.demands.group_rules import CONSISTENT, GroupRules
from reprieve.scheduler.mirror.group_mirror import GroupMirror
from reprieve.scheduler.settings import Settings

INSIDE = a_group("g", 1, 2, parent="tree")
PODS = [a_member(f"g-{i}", cpu="3", priority=9) for i in range(2)]
WORLD: list[KubernetesObject] = [a_node("n1"), a_node("n2"), INSIDE, *PODS]


def a_tree(name: str = "tree", priority: int = 9, **spec: Any) -> CompositePodGroup:
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "100"}
    return msgspec.convert({"metadata": meta, "spec": {"priority": priority, **spec}}, CompositePodGroup)


def test_a_group_waits_for_the_group_around_it_and_then_goes_on() -> None:
    cluster = served(*WORLD)
    assert any("CompositePodGroup default/tree does not exist yet" in note for note in notes(cluster.take()))
    assert cluster.show(a_tree()).comes_true().places().keys() == {"g-0", "g-1"}


def test_also_for_the_one_around_that() -> None:
    cluster = served(*WORLD, a_tree(parent="forest"))
    assert any("CompositePodGroup default/forest does not exist" in note for note in notes(cluster.take()))
    assert cluster.show(a_tree("forest")).comes_true().places().keys() == {"g-0", "g-1"}


def test_a_group_whose_tree_is_gone_waits_again() -> None:
    cluster = served(a_node("n1", cpu="1"), *WORLD[2:], a_tree())
    cluster.gone("tree", kind="CompositePodGroup").show(a_node("n1"), a_node("n2")).stage.after(60.0)
    assert cluster.comes_true().places() == {}


def test_a_report_of_a_tree_is_no_news() -> None:
    cluster = served(a_node("n1"), *WORLD[2:], a_tree())
    before = len(cluster.outcomes())
    cluster.show(later(a_tree())).stage.after(0.0)
    assert len(cluster.outcomes()) == before


def test_where_trees_are_not_looked_at_a_group_stands_for_itself() -> None:
    alone = Settings(demand_of_pod=with_its_group, group_rules=GroupRules(checks=CONSISTENT))
    assert served(*WORLD, settings=alone).comes_true().places().keys() == {"g-0", "g-1"}


def test_the_class_of_the_outermost_group_says_whether_it_preempts() -> None:
    quiet = msgspec.convert(
        {"metadata": {"name": "quiet", "uid": "u"}, "value": 9, "preemptionPolicy": "Never"}, PriorityClass
    )
    full = [a_pod(f"old-{i}", cpu="3", on=f"n{i}") for i in (1, 2)]
    assert served(quiet, *WORLD, *full, a_tree()).outcomes() == ["Preempts"]
    shy = served(quiet, *WORLD, *full, a_tree(priorityClassName="quiet"))
    assert shy.gone("quiet", kind="PriorityClass").outcomes() == ["Unschedulable"]


# --- as one, or not at all -----------------------------------------------------------------------


def two_leaves(count: int, cpu: str = "3", **root: Any) -> list[KubernetesObject]:
    """A tree of two gangs of two pods each."""
    leaves = [a_group(name, 9, 2, parent="tree") for name in ("a", "b")]
    pods = [a_member(f"{g}-{i}", g, cpu=cpu, priority=9) for g in ("a", "b") for i in range(2)]
    return [*(a_node(f"n{i}") for i in range(count)), a_tree(**root), *leaves, *pods]


ALL_FOUR = {"a-0", "a-1", "b-0", "b-1"}


def test_a_tree_starts_with_as_many_children_as_it_needs() -> None:
    assert served(*two_leaves(4, gang={"minCount": 2})).comes_true().places().keys() == ALL_FOUR
    both = served(*two_leaves(3, gang={"minCount": 2}))
    assert both.comes_true().places() == {}
    assert both.outcomes() == ["Unschedulable"]


def test_a_child_that_is_not_needed_may_wait() -> None:
    cluster = served(*two_leaves(3, gang={"minCount": 1})).comes_true()
    assert cluster.places().keys() == {"a-0", "a-1"}
    cluster.show(a_node("n3")).stage.after(60.0)
    assert cluster.comes_true().places().keys() == ALL_FOUR


def test_a_tree_preempts_for_what_it_needs_or_not_at_all() -> None:
    old = [a_pod(f"old-{i}", cpu="3", on=f"n{i}") for i in range(3)]
    too_few = served(*two_leaves(3, gang={"minCount": 2}), *old)
    assert too_few.outcomes() == ["Unschedulable"]
    assert served(*two_leaves(4, gang={"minCount": 2}), *old).outcomes() == ["Preempts"]


def test_a_tree_waits_until_enough_children_have_their_pods() -> None:
    *there, last = two_leaves(4, gang={"minCount": 2})
    cluster = served(*there)
    assert cluster.outcomes() == []
    cluster.stage.after(10.0)
    assert any("waits until 2 child groups have enough pods" in note for note in notes(cluster.take()))
    assert cluster.show(last).comes_true().places().keys() == ALL_FOUR


def test_a_group_grows_although_another_has_lost_pods() -> None:
    started = [a_member(f"{name}", name[0], priority=9, on="n0") for name in ("a-0", "a-1", "b-0")]
    leaves = [a_group(name, 9, 2, parent="tree") for name in ("a", "b")]
    groups: list[KubernetesObject] = [a_tree(gang={"minCount": 2}), *leaves]
    cluster = served(a_node("n0"), *groups, *started, a_member("a-2", "a", priority=9))
    assert "a-2" in cluster.comes_true().places()


def test_a_tree_is_looked_at_again_if_a_group_of_which_all_pods_run_needs_fewer() -> None:
    groups: list[KubernetesObject] = [a_tree(gang={"minCount": 2}), a_group("a", 9, 2, parent="tree")]
    pods = [a_member("a-0", "a", priority=9, on="n0"), a_member("b-0", "b", priority=9)]
    cluster = served(a_node("n0"), *groups, a_group("b", 9, 1, parent="tree"), *pods)
    assert cluster.comes_true().places().keys() == {"a-0"}
    cluster.show(later(a_group("a", 9, 1, parent="tree")))
    assert cluster.comes_true().places().keys() == {"a-0", "b-0"}


def test_a_pod_that_lacks_others_joins_while_the_rest_of_its_tree_is_bound() -> None:
    groups: list[KubernetesObject] = [a_tree(gang={"minCount": 1}), a_group("a", 9, 1, parent="tree")]
    first = a_member("a-0", "a", priority=9)
    cluster = served(a_node("n0"), *groups, a_group("b", 9, 2, parent="tree"), first)
    cluster.outcomes()
    cluster.show(a_member("b-0", "b", priority=9))
    cluster.show(a_member("b-1", "b", priority=9))
    assert cluster.comes_true().places().keys() == {"a-0", "b-0", "b-1"}


def test_a_group_that_joins_a_tree_that_runs_starts_as_one() -> None:
    started = [a_member(f"a-{i}", "a", cpu="1", priority=9, on="n0") for i in range(2)]
    leaves = [a_group(name, 9, 2, parent="tree") for name in ("a", "b")]
    joining = [a_member(f"b-{i}", "b", cpu="3", priority=9) for i in range(2)]
    old = a_pod("old", cpu="3", on="n2")
    tree = a_tree(gang={"minCount": 1})
    world: list[KubernetesObject] = [a_node("n0"), a_node("n1"), tree, *leaves, *started, *joining]
    assert served(*world).outcomes() == ["Unschedulable"]
    assert served(*world, a_node("n2"), old).outcomes() == ["Preempts"]


def test_nested_domains() -> None:
    """All of the tree in one zone, each child in one rack of it."""
    racks = {"z1/r1": 1, "z1/r2": 2, "z2/r3": 2, "z2/r4": 2}
    nodes = [
        a_node(f"{rack[-2:]}-{i}", labels={"zone": rack[:2], "rack": rack[-2:]})
        for rack, count in racks.items()
        for i in range(count)
    ]
    leaves = [a_group(name, 9, 2, parent="tree", topologyKey="rack") for name in ("a", "b")]
    pods = [a_member(f"{g}-{i}", g, cpu="3", priority=9) for g in ("a", "b") for i in range(2)]
    cluster = served(*nodes, a_tree(gang={"minCount": 2}, topologyKey="zone"), *leaves, *pods)
    places = cluster.comes_true().places()
    assert {name[0]: {places[f"{name[0]}-0"][:2], places[f"{name[0]}-1"][:2]} for name in places} in (
        {"a": {"r3"}, "b": {"r4"}},
        {"a": {"r4"}, "b": {"r3"}},
    )


def test_groups_that_are_in_each_other_say_so() -> None:
    cluster = served(*WORLD, a_tree(parent="forest"), a_tree("forest", parent="tree"))
    effects = cluster.take()
    assert any("CompositePodGroup default/tree is inside itself" in note for note in notes(effects))
    told = [effect for effect in effects if effect.target.kind == "PodGroup"]
    assert [one.reason for one in told if isinstance(one, SetCondition)] == ["Invalid"]
    assert [one.reason for one in told if isinstance(one, Announce)] == ["FailedScheduling"]
    assert cluster.outcomes() == []


def test_a_tree_of_five_levels_says_so() -> None:
    deep = [a_tree("tree", parent="c2"), a_tree("c2", parent="c3"), a_tree("c3", parent="c4"), a_tree("c4")]
    cluster = served(*WORLD, *deep)
    assert any("a tree has no more than 4 levels" in note for note in notes(cluster.take()))
    assert cluster.gone("c4", kind="CompositePodGroup").comes_true().places() == {}


def a_deep_leaf(count: int, *pods: Pod, inner: int = 9) -> list[KubernetesObject]:
    """PodGroup z inside so many composite groups that are inside the tree, all but the first with a priority
    of their own."""
    around = [a_tree(f"c{i}", inner if i else 9, parent=f"c{i - 1}" if i else "tree") for i in range(count)]
    return [a_tree(), *around, a_group("z", 9, 1, parent=f"c{count - 1}"), *pods]


@pytest.mark.parametrize("count", [3, 4, 300])
def test_a_group_that_is_too_deep_does_not_start_with_its_tree(count: int) -> None:
    sound: list[KubernetesObject] = [
        a_group("a", 9, 1, parent="tree"),
        a_member("a-0", "a", cpu="1", priority=9),
    ]
    deep = a_deep_leaf(count, a_member("z-0", "z", cpu="1", priority=9))
    cluster = served(a_node("n1"), *sound, *deep)
    told = notes(cluster.stage.wanted)
    assert any("PodGroup default/z cannot be scheduled" in note for note in told)
    assert cluster.outcomes() == ["Placed"]
    assert cluster.comes_true().places() == {"a-0": "n1"}


@pytest.mark.parametrize("inner", [0, 1000])
def test_a_group_that_is_too_deep_has_the_priority_of_the_outermost_group_as_a_victim(inner: int) -> None:
    deep = a_deep_leaf(4, a_member("z-0", "z", cpu="3", priority=9, on="n1"), inner=inner)
    for priority, outcome in ((9, "Unschedulable"), (10, "Preempts")):
        cluster = served(a_node("n1"), *deep, a_pod("p", cpu="3", priority=priority))
        assert cluster.outcomes()[-1] == outcome


def test_a_change_of_a_tree_looks_up_the_demand_of_a_group_once() -> None:
    looked_up = list[str]()

    def demand_of_pod(pod: Pod, groups: Groups) -> DemandKey:
        looked_up.append(pod.metadata.name)
        return with_its_tree(pod, groups)

    pods = [a_member(f"g-{i}", cpu="3", priority=9) for i in range(30)]
    cluster = served(
        a_node("n1", cpu="1"), INSIDE, *pods, a_tree(), settings=Settings(demand_of_pod=demand_of_pod)
    )
    looked_up.clear()
    cluster.show(later(a_tree(priority=10)))
    assert len(looked_up) < len(pods)


# --- demands that wait for victims ---------------------------------------------------------------

DEAR = a_pod("dear", cpu="3", priority=5, on="n1")
MEMBER = a_member("m", "team", cpu="3", priority=5, on="n1")


def around_the_team(count: int) -> list[KubernetesObject]:
    """A tree, and so many composite groups inside each other inside it."""
    return [
        a_tree(priority=5),
        *(a_tree(f"c{i}", 5, parent=f"c{i - 1}" if i else "tree") for i in range(count)),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], a_group("team", 1)),
        ([a_group("team", 5, parent="tree")], a_tree(priority=1)),
        ([a_group("team", 5, parent="c2"), *around_the_team(3)], later(a_tree(priority=1))),
        ([a_group("team", 5, parent="c2"), *around_the_team(3)[1:]], a_tree(priority=1)),
        ([a_group("team", 5, parent="c299"), *around_the_team(300)], later(a_tree(priority=1))),
    ],
    ids=["a group", "a tree", "too deep in a tree", "too deep in a tree that is new", "deeper still"],
)
def test_a_pod_that_waits_learns_that_a_pod_may_be_taken_now(
    before: list[KubernetesObject], after: KubernetesObject
) -> None:
    cluster = served(a_node("n1"), MEMBER, *before, a_pod("new", cpu="3", priority=5))
    assert cluster.outcomes() == ["Unschedulable"]
    cluster.show(after).stage.after(10.0)
    assert cluster.outcomes() == ["Unschedulable", "Preempts"]


def test_and_when_a_group_that_protected_them_is_gone() -> None:
    cluster = served(a_node("n1"), MEMBER, a_group("team", 50), a_pod("new", cpu="3", priority=9))
    cluster.gone("team", kind="PodGroup").stage.after(10.0)
    assert cluster.outcomes() == ["Unschedulable", "Preempts"]


def test_and_when_a_group_far_around_them_is_gone() -> None:
    around = [a_tree("c0", 1), *around_the_team(5)[2:], a_group("team", 5, parent="c4")]
    cluster = served(a_node("n1"), MEMBER, *around, a_pod("new", cpu="3", priority=2))
    assert cluster.outcomes() == ["Preempts"]
    around[0] = a_tree("c0", 1, parent="tree")
    cluster = served(a_node("n1"), MEMBER, a_tree(priority=5), *around, a_pod("new", cpu="3", priority=2))
    assert cluster.outcomes() == ["Unschedulable"]
    cluster.gone("tree", kind="CompositePodGroup").stage.after(10.0)
    assert cluster.outcomes() == ["Unschedulable", "Preempts"]


def test_a_long_chain_of_groups_is_followed_down_once_for_all_that_a_step_brings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up = list[GroupKey]()

    def children(self: GroupsByParent, composite: GroupKey) -> Iterable[Group]:
        looked_up.append(composite)
        return children_of(self, composite)

    children_of = GroupsByParent.children
    around = around_the_team(300)
    cluster = served(a_node("n1"), MEMBER, a_group("team", 5, parent="c299"), *around)
    monkeypatch.setattr(GroupsByParent, "children", children)
    cluster.show(*map(later, around_the_team(300)))
    assert looked_up == [], "nothing new is said"
    cluster.show(*(later(later(a_tree(f"c{i}", 6, parent=f"c{i - 1}"))) for i in range(1, 300)))
    assert len(looked_up) < 300 * 8


def test_a_list_of_composite_groups_copies_the_groups_no_more_than_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = list[Groups]()

    def tree(self: GroupMirror) -> Groups:
        made.append(tree_of(self))
        return made[-1]

    tree_of = GroupMirror.tree
    monkeypatch.setattr(GroupMirror, "tree", tree)
    served(*around_the_team(30))
    assert len({id(one) for one in made}) <= 1


def test_a_group_of_which_none_runs_wakes_none() -> None:
    cluster = served(a_node("n1"), DEAR, a_pod("new", cpu="3", priority=5))
    cluster.show(a_group("other", 1)).stage.after(10.0)
    assert cluster.outcomes() == ["Unschedulable"]
