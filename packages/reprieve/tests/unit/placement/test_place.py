"""Surveys, ratings, and pods placed one after the other."""

from tests.unit.model.things import a_node, a_pod, container
from tests.unit.placement.asking import ask_about

from reprieve.model.snapshot import NOWHERE, build
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Demand
from reprieve.placement.place import Placement, Unplaceable, place, pod_demand, survey
from reprieve.placement.rejection_codes import Code, Reason

BIG = [container(cpu="2")]


def test_a_node_keeps_the_reasons_of_the_first_constraint_that_refused_it() -> None:
    nodes = [a_node("closed", spec={"unschedulable": True}), a_node("small", cpu="1")]
    found = survey(ask_about(a_pod(containers=BIG), nodes))
    assert found.reasons_of(0) == (Reason(Code.NODE_UNSCHEDULABLE),)
    assert found.reasons_of(1) == (Reason(Code.EXCEEDS_CAPACITY, "cpu"),)


def test_what_evictions_cannot_cure() -> None:
    nodes = [a_node("full", cpu="2"), a_node("small", cpu="1"), a_node("free", cpu="2")]
    found = survey(ask_about(a_pod(containers=BIG), [*nodes, a_pod("old", on="full", containers=BIG)]))
    assert found.feasible.tolist() == [False, False, True]
    assert found.curable().tolist() == [True, False, False]


def test_each_pod_of_a_demand_sees_the_ones_before_it() -> None:
    pods = [a_pod(f"p{i}", containers=BIG) for i in range(3)]
    view = build([a_node("a", cpu="2"), a_node("b", cpu="2"), *pods]).snapshot
    together = Demand(pods=(0, 1), constraints=CONSTRAINTS, needed=2)
    assert place(together, view) == Placement((0, 1))
    too_many = place(Demand(pods=(0, 1, 2), constraints=CONSTRAINTS, needed=3), view)
    assert isinstance(too_many, Unplaceable)
    assert (too_many.pod, too_many.placed) == (2, 2)
    assert view.where.tolist() == [NOWHERE] * 3


def test_a_nomination_is_kept_while_it_is_feasible() -> None:
    pod = a_pod("p", status={"nominatedNodeName": "z"}, containers=BIG)
    view = build([a_node("a", cpu="9"), a_node("z", cpu="2"), pod]).snapshot
    assert place(pod_demand(view, 0), view) == Placement((1,))
    full = build([a_node("a", cpu="9"), a_node("z", cpu="1"), pod]).snapshot
    assert place(pod_demand(full, 0), full) == Placement((0,))


def test_equal_pods_in_a_cluster_without_nodes() -> None:
    view = build([a_pod("a"), a_pod("b")]).snapshot
    found = place(Demand(pods=(0, 1), constraints=CONSTRAINTS, needed=1, priority=0, may_preempt=True), view)
    assert isinstance(found, Unplaceable)
