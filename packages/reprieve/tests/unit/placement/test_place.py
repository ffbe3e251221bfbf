"""Surveys, ratings, and pods placed one after the other."""

from collections import Counter

import numpy as np
from tests.unit.model.things import a_node, a_pod, container
from tests.unit.placement.asking import ask_about

from reprieve.model.snapshot import NOWHERE, build
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Demand
from reprieve.placement.place import Placement, Survey, Unplaceable, best, place, pod_demand, rate, survey
from reprieve.placement.profile import Preference, Profile
from reprieve.placement.rejection_codes import Code, Reason

BIG = [container(cpu="2")]


def test_a_node_keeps_the_reasons_of_the_first_constraint_that_refused_it() -> None:
    nodes = [a_node("closed", spec={"unschedulable": True}), a_node("small", cpu="1")]
    found = survey(ask_about(a_pod(containers=BIG), nodes))
    assert found.reasons_of(0) == (Reason(Code.NODE_UNSCHEDULABLE),)
    assert found.reasons_of(1) == (Reason(Code.EXCEEDS_CAPACITY, "cpu"),)


def refused(found: Survey) -> Counter[Reason]:
    return Counter({reason: int(rows.sum()) for reason, rows in found.refused().items()})


def test_nodes_are_counted_once_for_each_reason() -> None:
    nodes = [a_node(f"n{i}", cpu="1", memory="1Mi") for i in range(3)]
    found = survey(ask_about(a_pod(containers=[container(cpu="2", memory="1Gi")]), nodes))
    assert refused(found) == Counter(
        {Reason(Code.EXCEEDS_CAPACITY, "cpu"): 3, Reason(Code.EXCEEDS_CAPACITY, "memory"): 3}
    )


def test_a_port_wanted_twice_is_one_reason() -> None:
    wanted = [{"containerPort": 1, "hostPort": 80, "hostIP": ip} for ip in ("10.0.0.1", "10.0.0.2")]
    taken = [{"containerPort": 1, "hostPort": 80}]
    old = a_pod("old", on="n", containers=[{"name": "c", "ports": taken}])
    found = survey(ask_about(a_pod(containers=[{"name": "c", "ports": wanted}]), [a_node("n"), old]))
    reason = Reason(Code.HOST_PORT, "80/TCP")
    assert found.reasons_of(0) == (reason,)
    assert refused(found) == Counter({reason: 1})


def test_what_evictions_cannot_cure() -> None:
    nodes = [a_node("full", cpu="2"), a_node("small", cpu="1"), a_node("free", cpu="2")]
    found = survey(ask_about(a_pod(containers=BIG), [*nodes, a_pod("old", on="full", containers=BIG)]))
    assert found.feasible.tolist() == [False, False, True]
    assert found.curable().tolist() == [True, False, False]


def test_nodes_outside_the_domain_are_not_asked() -> None:
    ask = ask_about(a_pod(), [a_node("in"), a_node("out")])
    found = survey(ask, CONSTRAINTS, np.array([True, False]))
    assert found.feasible.tolist() == [True, False]
    assert found.reasons_of(1) == (Reason(Code.OUTSIDE_DOMAIN, "the domain that was asked about"),)


def test_ratings_add_up_by_weight() -> None:
    profile = Profile(weights=((Preference.RESOURCES, 2), (Preference.BALANCE, 1)))
    ask = ask_about(a_pod(containers=BIG), [a_node("n", cpu="4", memory="1Gi")], profile)
    ratings = rate(ask, np.array([True]))
    assert ratings.parts.keys() == {Preference.RESOURCES, Preference.BALANCE}
    assert ratings.total[0] == sum(part[0] for part in ratings.parts.values())


def test_of_equal_nodes_the_first_by_name_is_best() -> None:
    ask = ask_about(a_pod(), [a_node(name, cpu="4", memory="4Gi") for name in ("c", "a", "b")])
    assert ask.view.nodes.names[best(ask, np.array([True, True, True]))] == "a"
    assert ask.view.nodes.names[best(ask, np.array([True, False, True]))] == "b"


def test_each_pod_of_a_demand_sees_the_ones_before_it() -> None:
    pods = [a_pod(f"p{i}", containers=BIG) for i in range(3)]
    view = build([a_node("a", cpu="2"), a_node("b", cpu="2"), *pods]).snapshot
    together = Demand(pods=(0, 1), constraints=CONSTRAINTS, needed=2)
    assert place(together, view) == Placement((0, 1))
    too_many = place(Demand(pods=(0, 1, 2), constraints=CONSTRAINTS, needed=3), view)
    assert isinstance(too_many, Unplaceable)
    assert (too_many.pod, too_many.placed) == (2, 2)
    assert view.where.tolist() == [NOWHERE] * 3


def test_a_demand_may_need_fewer_pods_than_it_has() -> None:
    pods = [a_pod(f"p{i}", containers=BIG) for i in range(2)]
    view = build([a_node("a", cpu="2"), *pods]).snapshot
    assert place(Demand(pods=(0, 1), constraints=CONSTRAINTS, needed=1), view) == Placement((0, NOWHERE))


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
