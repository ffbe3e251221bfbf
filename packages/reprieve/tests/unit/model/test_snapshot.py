"""A snapshot of a few objects: where pods are, how full nodes are, what matches."""

import numpy as np
import pytest
from tests.unit.model.things import a_node, a_pod, container

from reprieve.model.selectors import NodeQuery
from reprieve.model.snapshot import NOWHERE, build, on_nodes


def test_rows_are_in_the_order_of_the_objects() -> None:
    snapshot = build([a_node("b"), a_pod("q", on="a"), a_node("a"), a_pod("p")]).snapshot
    assert snapshot.nodes.names == ("b", "a")
    assert snapshot.nodes.rank.tolist() == [1, 0]
    assert snapshot.pods.rows == {("default", "q"): 0, ("default", "p"): 1}
    assert snapshot.where.tolist() == [1, NOWHERE]


def test_a_node_is_as_full_as_the_pods_on_it() -> None:
    heavy = [container(cpu="1", memory="1Mi", **{"example.com/gpu": "2"})]
    pods = [a_pod("p", on="n", containers=heavy), a_pod("q", on="n"), a_pod("waits", containers=heavy)]
    snapshot = build([a_node("n", cpu="4"), a_node("empty"), *pods]).snapshot
    rows = dict(zip(snapshot.axis.names, snapshot.requested.tolist(), strict=True))
    assert rows["cpu"] == [1000, 0]
    assert rows["pods"] == [2, 0]
    assert rows["example.com/gpu"] == [2, 0]
    assert snapshot.nonzero.tolist() == [[1100, 0], [(1 << 20) + 200 * (1 << 20), 0]]
    assert dict(zip(snapshot.axis.names, snapshot.allocatable.tolist(), strict=True))["cpu"] == [4000, 0]


def test_a_pod_that_is_nowhere_is_on_none_of_the_nodes() -> None:
    """Also not on the last one, whose row counted from the end is that of nowhere."""
    pods = [a_pod("p", on="a"), a_pod("q", on="b"), a_pod("waits"), a_pod("r", on="b")]
    snapshot = build([a_node("a"), a_node("b"), *pods]).snapshot
    for nodes in ([1], np.array([1]), np.array([False, True])):
        assert on_nodes(snapshot, nodes).tolist() == [False, True, False, True]
        assert on_nodes(snapshot, nodes, np.array([2, 1])).tolist() == [False, True]
    assert not on_nodes(snapshot, []).any()


def test_an_empty_cluster_is_a_cluster() -> None:
    snapshot = build([]).snapshot
    assert (len(snapshot.nodes), len(snapshot.pods)) == (0, 0)
    assert snapshot.requested.shape == (4, 0)
    assert snapshot.nodes.matching(NodeQuery()).tolist() == []


def test_problems_of_all_objects_are_gathered() -> None:
    built = build([a_node("n", cpu="much"), a_pod("p", containers=[container(memory="little")])])
    assert sorted(str(problem).partition(": expected")[0] for problem in built.problems) == [
        "Node n: status.allocatable.cpu",
        "Pod default/p: spec.containers[0].resources.requests.memory",
    ]


def test_columns_are_read_only() -> None:
    snapshot = build([a_node("n"), a_pod("p", on="n")]).snapshot
    for array in (snapshot.where, snapshot.requested, snapshot.nonzero, snapshot.allocatable):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 7


def test_a_copy_shares_nothing_that_changes() -> None:
    snapshot = build([a_node("n", cpu="1"), a_pod("p", on="n")]).snapshot
    copy = snapshot.copy()
    for name in ("where", "requested", "nonzero", "allocatable"):
        assert np.array_equal(getattr(snapshot, name), getattr(copy, name))
        assert not np.shares_memory(getattr(snapshot, name), getattr(copy, name))
