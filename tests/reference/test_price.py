"""The plain reading of the criteria, on worlds small enough to be counted by hand."""

import math
import random
from typing import Any

import msgspec
import pytest

from tests.reference.asking import asked, fits
from tests.reference.crowded_rooms import crowded_room
from tests.reference.every_plan import is_small, least_cost
from tests.reference.exact_disturbance import cost_of, world_of
from tests.reference.exact_disturbance import least_cost as least_by_solver
from tests.reference.plain.price import RunningCluster, price
from tests.reference.preemption_worlds import PreemptionWorld
from tests.scenarios.making import decoded, moment, world_objects
from tests.scenarios.reading import WorldLine

NODES = {"n1": "cpu 8", "n2": "cpu 8"}
ALONE = {"a": {"on": "n1", "cpu": 2, "priority": 5}, "b": {"on": "n2", "cpu": 2, "owner": "ReplicaSet/b"}}


def cluster(
    pods: dict[str, Any], groups: dict[str, Any] | None = None, now: float = 0, **rest: Any
) -> RunningCluster:
    world = msgspec.convert({"nodes": NODES, "pods": pods, "groups": groups or {}, **rest}, WorldLine)
    return RunningCluster([decoded(one) for one in world_objects(world, world.groups)], now=moment(now))


def costs(of: RunningCluster, *victims: str) -> dict[str, float]:
    return dict(price(of, [("default", name) for name in victims]))


def members(group: str, count: int, node: str = "n1") -> dict[str, Any]:
    return {f"{group}-{i}": {"on": node, "cpu": 1, "group": group} for i in range(count)}


def job(
    *, leader: str = "single", workers: str = "single", root: str = "single", least: int | None = 2
) -> RunningCluster:
    """A leader and three workers of which two are needed."""
    groups = {
        "job": {"composite": True, "min": least, "priority": 3, "disruption": root},
        "leader": {"parent": "job", "min": 1, "disruption": leader},
        "workers": {"parent": "job", "min": 2, "disruption": workers},
    }
    return cluster({**members("leader", 1), **members("workers", 3, "n2")}, groups)


# --- pods and priorities -------------------------------------------------------------------------


def test_nothing_costs_nothing() -> None:
    assert costs(cluster(ALONE)) == {
        "BudgetsBroken": 0,
        "HighestPriority": -math.inf,
        "PodsStopped": 0,
        "WorkloadsEnded": 0,
        "PrioritySum": 0,
        "Cascade": 0,
        "LostWork": 0,
        "LatestStart": -math.inf,
        "Pods": 0,
        "LongestGrace": 0,
        "OtherGangsBroken": 0,
    }


def test_pods_alone_are_counted_one_by_one() -> None:
    found = costs(cluster(ALONE), "a", "b")
    assert (found["PodsStopped"], found["Pods"]) == (2, 2)
    assert found["WorkloadsEnded"] == 1, "b is made again by its controller"
    assert (found["HighestPriority"], found["PrioritySum"]) == (5, 2 * 2**31 + 5)


def test_a_group_has_the_priority_of_the_outermost_one() -> None:
    found = costs(job(), "workers-0")
    assert (found["HighestPriority"], found["PrioritySum"]) == (3, 2**31 + 3)


def test_a_unit_goes_whole() -> None:
    with pytest.raises(AssertionError):
        costs(job(workers="all"), "workers-0")


def test_budgets_count_all_victims_together() -> None:
    pods = {name: {"on": "n1", "labels": {"app": "x"}} for name in "abc"}
    of = cluster(pods, budgets={"x": {"selects": {"app": "x"}, "allowed": 1, "disrupted": ["c"]}})
    assert [costs(of, *names)["BudgetsBroken"] for names in ("a", "ab", "ac", "abc")] == [0, 1, 0, 1]


def test_of_the_highest_priority_the_earliest_start_counts() -> None:
    pods = {
        "old": {"on": "n1", "priority": 1, "start": 1},
        "mid": {"on": "n1", "priority": 2, "start": 5},
        "new": {"on": "n1", "priority": 2, "start": 9},
        "begins": {"on": "n1", "priority": 2, "start": None},
    }
    of = cluster(pods)
    day = moment(0) - 86400
    assert costs(of, "old", "mid", "new")["LatestStart"] == -(day + 5 * 60)
    assert costs(of, "old", "new", "begins")["LatestStart"] == -(day + 9 * 60)
    assert costs(of, "begins")["LatestStart"] == -math.inf


def test_the_longest_grace_is_half_a_minute_if_unset() -> None:
    pods = {
        "usual": {"on": "n1"},
        "quick": {"on": "n1", "spec": {"terminationGracePeriodSeconds": 0}},
        "slow": {"on": "n1", "spec": {"terminationGracePeriodSeconds": 90}},
    }
    of = cluster(pods)
    found = [
        costs(of, *names)["LongestGrace"] for names in (["quick"], ["usual", "quick"], ["slow", "usual"])
    ]
    assert found == [0, 30, 90]


# --- gangs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("going, stopped, ended", [(1, 1, 0), (2, 4, 1), (4, 4, 1)])
def test_a_gang_with_a_pod_to_spare(going: int, stopped: int, ended: int) -> None:
    """Of four pods, three are needed. No pod of it is a workload by itself."""
    of = cluster(members("g", 4), {"g": {"min": 3}})
    found = costs(of, *(f"g-{i}" for i in range(going)))
    assert (found["PodsStopped"], found["WorkloadsEnded"], found["Pods"]) == (stopped, ended, going)


def test_a_gang_that_goes_whole_ends_one_workload() -> None:
    of = cluster(members("g", 4), {"g": {"min": 3, "disruption": "all"}})
    found = costs(of, "g-0", "g-1", "g-2", "g-3")
    assert (found["PodsStopped"], found["WorkloadsEnded"], found["OtherGangsBroken"]) == (4, 1, 1)


def test_a_gang_that_was_incomplete_stops_nothing_more() -> None:
    found = costs(cluster(members("g", 4), {"g": {"min": 5}}), "g-0")
    assert (found["PodsStopped"], found["WorkloadsEnded"], found["OtherGangsBroken"]) == (1, 0, 0)


def test_a_basic_group_is_not_broken() -> None:
    found = costs(cluster(members("g", 2), {"g": {}}), "g-0", "g-1")
    assert (found["PodsStopped"], found["WorkloadsEnded"], found["OtherGangsBroken"]) == (2, 2, 0)


# --- trees ---------------------------------------------------------------------------------------


def test_a_leaf_with_a_pod_to_spare_breaks_nothing() -> None:
    found = costs(job(), "workers-0")
    assert (found["PodsStopped"], found["WorkloadsEnded"]) == (1, 0)


def test_a_broken_leaf_breaks_the_tree_that_needs_it() -> None:
    found = costs(job(), "leader-0")
    assert found["PodsStopped"] == 4, "the workers run on for nothing"
    assert found["WorkloadsEnded"] == 2, "the leaf and the tree"
    assert found["Pods"] == 1


@pytest.mark.parametrize("leader", ["single", "all"])
def test_how_the_leaf_goes_makes_no_difference_to_what_stops(leader: str) -> None:
    found = costs(job(leader=leader), "leader-0")
    assert (found["PodsStopped"], found["WorkloadsEnded"], found["OtherGangsBroken"]) == (4, 2, 1)


@pytest.mark.parametrize("least", [1, None])
def test_a_tree_that_needs_one_role_survives(least: int | None) -> None:
    found = costs(job(least=least), "leader-0")
    assert (found["PodsStopped"], found["WorkloadsEnded"]) == (1, 1)


def test_a_tree_that_goes_whole_is_one_workload() -> None:
    found = costs(job(root="all"), "leader-0", "workers-0", "workers-1", "workers-2")
    assert (found["PodsStopped"], found["WorkloadsEnded"], found["OtherGangsBroken"]) == (4, 1, 2)


def test_a_tree_that_was_incomplete_stops_no_other_leaf() -> None:
    found = costs(job(least=3), "workers-0", "workers-1")
    assert found["PodsStopped"] == 3, "the leader had no use before"
    assert found["WorkloadsEnded"] == 1


def test_pods_of_a_leaf_that_was_incomplete_count_for_nothing() -> None:
    groups = {
        "root": {"composite": True, "min": 1},
        "good": {"parent": "root", "min": 2},
        "poor": {"parent": "root", "min": 2},
    }
    of = cluster({**members("good", 2), **members("poor", 1)}, groups)
    assert costs(of, "good-0")["PodsStopped"] == 2
    assert costs(of, "poor-0")["PodsStopped"] == 1


def test_nor_do_those_of_a_leaf_inside_a_group_that_was_incomplete() -> None:
    groups = {
        "root": {"composite": True, "min": 1},
        "good": {"parent": "root", "min": 2},
        "poor": {"composite": True, "min": 2, "parent": "root"},
        "leaf": {"parent": "poor", "min": 1},
    }
    of = cluster({**members("good", 2), **members("leaf", 2)}, groups)
    assert costs(of, "good-0")["PodsStopped"] == 2


def test_a_basic_leaf_is_complete_while_one_pod_runs() -> None:
    groups = {"root": {"composite": True, "min": 2}, "a": {"parent": "root"}, "b": {"parent": "root"}}
    of = cluster({**members("a", 2), **members("b", 3)}, groups)
    assert costs(of, "a-0")["PodsStopped"] == 1
    found = costs(of, "a-0", "a-1")
    assert (found["PodsStopped"], found["WorkloadsEnded"]) == (5, 2), "the leaf and the root"


def test_three_levels_break_from_the_bottom_to_the_top() -> None:
    groups = {
        "root": {"composite": True, "min": 2},
        "left": {"composite": True, "min": 2, "parent": "root"},
        "a": {"min": 1, "parent": "left"},
        "b": {"min": 1, "parent": "left"},
        "right": {"min": 3, "parent": "root"},
    }
    of = cluster({**members("a", 1), **members("b", 2), **members("right", 4)}, groups)
    found = costs(of, "a-0")
    assert found["PodsStopped"] == 7
    assert found["WorkloadsEnded"] == 3, "its leaf, the middle and the root"
    assert costs(of, "b-0", "right-0")["PodsStopped"] == 2


# --- where pods go, and what they lose -----------------------------------------------------------


@pytest.mark.parametrize("on_the_other, expected", [(0, 0), (5, 1), (9, 2)])
def test_a_victim_fits_elsewhere_or_must_preempt_or_has_no_place(on_the_other: int, expected: int) -> None:
    """The other node is full of a pod of this priority."""
    filler = {"on": "n2", "cpu": 8 if on_the_other else 1, "priority": on_the_other}
    of = cluster({"v": {"on": "n1", "cpu": 4, "priority": 7}, "filler": filler})
    assert costs(of, "v")["Cascade"] == expected


def test_a_checkpoint_loses_seconds_of_a_node() -> None:
    saved = {"reprieve.dev/last-checkpoint": "2026-01-02T00:50:00Z"}
    pods: dict[str, Any] = {
        "pod": {"on": "n1", "cpu": 4, "annotations": saved},
        "by-group": {"on": "n1", "cpu": 2, "group": "g"},
        "silent": {"on": "n1", "cpu": 4},
    }
    of = cluster(pods, {"g": {"annotations": saved}}, now=60)
    assert [costs(of, name)["LostWork"] for name in pods] == [300, 150, 0]
    late = cluster(pods, {"g": {"annotations": saved}}, now=600)
    assert costs(late, "pod")["LostWork"] == 1800, "an hour counts at most"


# --- against the other plain reading -------------------------------------------------------------


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_two_readings_agree(seed: int) -> None:
    """`exact_disturbance` reads the JSON, and knows no trees."""
    room = crowded_room(seed, nodes=6, members=4)
    rng = random.Random(seed)
    order = ("BudgetsBroken", "PodsStopped", "WorkloadsEnded", "PrioritySum", "Cascade", "Pods")
    of = RunningCluster([decoded(thing) for thing in room.objects])
    other = world_of(room.objects, room.members, room.needed)
    units = [*other.units().values()]
    for _ in range(5):
        names = [pod["metadata"]["name"] for unit in units if rng.random() < 0.3 for pod in unit]
        ours = price(of, [("default", name) for name in names], order)
        assert tuple(ours.values()) == cost_of(other, names, order)


@pytest.mark.parametrize("seed", range(0, 120, 2))
def test_two_ways_to_the_least_agree(seed: int) -> None:
    """A solver's, and that of trying every set of victims, which knows no tolerations."""
    room = crowded_room(seed, nodes=3, members=3)
    names = tuple(pod["metadata"]["name"] for pod in room.members)
    world = PreemptionWorld("gang", [*room.objects, *room.members], names, is_tied=False, everybody=False)
    of = asked(world)
    order = ("BudgetsBroken", "PodsStopped", "WorkloadsEnded", "PrioritySum", "Cascade")
    is_held = any("priorityClassName" in thing.get("spec", {}) for thing in room.objects)
    if not fits(of) and is_small(of) and not is_held:
        assert least_cost(of, order) == least_by_solver(
            world_of(room.objects, room.members, room.needed), order
        )
