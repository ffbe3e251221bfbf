"""Members that do not fit in the demand's order, and what keeps them from each other."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.model.things import a_node, a_pod, container

from reprieve.model.json import Json
from reprieve.model.objects import Node, Pod
from reprieve.model.snapshot import NOWHERE, Snapshot, build
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Demand, Promised
from reprieve.placement.effort import Effort
from reprieve.placement.gang_members import Ties, members_of
from reprieve.placement.gang_search import place_in_any_order
from reprieve.placement.place import Placement, Unplaceable, place
from reprieve.placement.profile import DEFAULT_PROFILE
from reprieve.placement.rejection_codes import Code

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ON_N1: Json = {"nodeSelector": {HOSTNAME: "n1"}}


def node(name: str, cpu: str = "4", zone: str = "a") -> Node:
    return a_node(name, labels={HOSTNAME: name, ZONE: zone}, cpu=cpu)


def member(name: str, cpu: str = "1", app: str = "x", **spec: Any) -> Pod:
    return a_pod(name, labels={"app": app}, containers=[container(cpu=cpu)], **spec)


def near(app: str, kind: str = "podAffinity", key: str = HOSTNAME) -> Json:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {"affinity": {kind: {REQUIRED: [term]}}}


def apart_from(app: str, key: str = HOSTNAME) -> Json:
    return near(app, "podAntiAffinity", key)


def with_port(name: str, port: int, cpu: str = "1", **spec: Any) -> Pod:
    ports = [{"containerPort": port, "hostPort": port}]
    return a_pod(name, containers=[container(cpu=cpu) | {"ports": ports}], **spec)


def a_gang(*things: Node | Pod, needed: int | None = None, units: int = 1000) -> tuple[Demand, Snapshot]:
    """All pods without a node are its members, in the order in which they are named."""
    view = build(things).snapshot
    names = [thing.metadata.name for thing in things if isinstance(thing, Pod) and not thing.spec.node_name]
    rows = tuple(view.pods.rows["default", name] for name in names)
    least = len(rows) if needed is None else needed
    return Demand(pods=rows, constraints=CONSTRAINTS, needed=least, effort=Effort(units)), view


def found_nodes(demand: Demand, view: Snapshot, **given: Any) -> list[str | None]:
    found = place_in_any_order(demand, view, **given)
    assert isinstance(found, Placement)
    return [view.nodes.names[row] if row != NOWHERE else None for row in found.nodes]


def refused(demand: Demand, view: Snapshot) -> Unplaceable:
    found = place_in_any_order(demand, view)
    assert isinstance(found, Unplaceable)
    return found


# --- in another order ----------------------------------------------------------------------------


def test_where_the_fixed_order_fits_it_stays() -> None:
    demand, view = a_gang(node("n1"), node("n2"), member("a", "4", **ON_N1), member("b", "4"))
    assert place_in_any_order(demand, view) == Placement((0, 1))
    assert demand.effort.spent == 0


def test_the_one_with_fewer_nodes_comes_first() -> None:
    demand, view = a_gang(node("n1"), node("n2"), member("a", "4"), member("b", "4", **ON_N1))
    assert place_in_any_order(demand, view) == Placement((1, 0), (1, 0))


def test_a_follower_comes_after_its_leader() -> None:
    demand, view = a_gang(node("n1", "2"), node("n2"), member("a", **near("lead")), member("b", "3", "lead"))
    assert place_in_any_order(demand, view) == Placement((1, 1), (1, 0))


def test_a_chain_of_followers() -> None:
    chain = [member("a", app="a", **near("b")), member("b", app="b", **near("c")), member("c", app="c")]
    demand, view = a_gang(node("n1"), *chain)
    assert place_in_any_order(demand, view) == Placement((0, 0, 0), (2, 1, 0))


def test_those_who_exclude_each_other_get_nodes_of_their_own() -> None:
    things = [node("n1"), node("n2"), node("n3", zone="b")]
    pods = [member("a", app="x"), member("b", app="x", **apart_from("x", ZONE), **ON_N1)]
    demand, view = a_gang(*things, *pods)
    assert found_nodes(demand, view) == ["n3", "n1"]


def test_ports() -> None:
    demand, view = a_gang(node("n1"), node("n2"), with_port("a", 80), with_port("b", 80, "2", **ON_N1))
    assert found_nodes(demand, view) == ["n2", "n1"]


def test_room_that_is_promised_to_others_stays_free() -> None:
    things: list[Node | Pod] = [node("n1"), node("n2"), member("a", "4"), member("b", "4", **ON_N1)]
    demand, view = a_gang(*things, a_pod("other", containers=[container(cpu="1")]))
    own = replace(demand, pods=demand.pods[:2], needed=2)
    promised = Promised((demand.pods[2],), (view.nodes.rows["n2"],))
    assert isinstance(place_in_any_order(own, view, promised=promised), Unplaceable)
    assert found_nodes(own, view) == ["n2", "n1"]


def test_reserved_room_is_used_first() -> None:
    sizes = ("3", "2", "2")
    members = [member(f"m{i}", cpu) for i, cpu in enumerate(sizes)]
    demand, view = a_gang(node("n1"), node("n2", "3"), node("n3", "3"), node("n4", "2"), *members)
    rows = view.nodes.rows
    reserved = replace(demand, nominated=(rows["n3"], NOWHERE, rows["n4"]), needed=3)
    assert found_nodes(reserved, view)[0] == "n3"
    assert found_nodes(reserved, view)[2] == "n4"


# --- what ties members ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pods", "ties"),
    [
        ([member("a"), member("b", "2", **ON_N1)], Ties.ROOM),
        ([member("a"), with_port("b", 80)], Ties.PRESENCE),
        ([member("a"), member("b", **apart_from("x"))], Ties.PRESENCE),
        ([member("a", **near("x")), member("b", **apart_from("x"))], Ties.ORDER),
    ],
)
def test_ties(pods: list[Pod], ties: Ties) -> None:
    demand, view = a_gang(node("n1"), *pods)
    assert members_of(demand, view, DEFAULT_PROFILE).ties is ties


def test_equal_members_that_take_only_room_are_exact_in_their_order() -> None:
    demand, view = a_gang(node("n1"), member("a", "3"), member("b", "3"))
    assert members_of(demand, view, DEFAULT_PROFILE).fixed_order_is_exact
    refused(demand, view)
    assert (demand.effort.spent, demand.effort.fell_short) == (0, False)


# --- why not -------------------------------------------------------------------------------------


def test_too_few_domains_are_seen_at_once() -> None:
    nodes = [node(f"n{i}") for i in range(4)]
    pods = [member(f"m{i}", str(1 + i % 2), **apart_from("x", ZONE)) for i in range(2)]
    demand, view = a_gang(*nodes, *pods)
    assert Code.POD_ANTI_AFFINITY in refused(demand, view).codes
    assert (demand.effort.spent, demand.effort.fell_short) == (0, False)


def test_too_few_nodes_for_a_port_are_seen_at_once() -> None:
    demand, view = a_gang(node("n1"), with_port("a", 80), with_port("b", 80, "2"))
    assert Code.HOST_PORT in refused(demand, view).codes
    assert demand.effort.spent == 0


def test_what_is_refused_to_any_member_is_known() -> None:
    """The first found no room; what would help the second counts as well, for another order may do then."""
    demand, view = a_gang(
        node("n1", "1"), node("n2"), member("a", "5"), member("b", "1", nodeSelector={"x": "y"})
    )
    assert {Code.EXCEEDS_CAPACITY, Code.NODE_AFFINITY} <= refused(demand, view).codes


def test_a_search_among_tied_members_that_ends_early_says_so() -> None:
    nodes = [node(f"n{i}", "3", zone=f"z{i % 2}") for i in range(4)]
    pods = [member(f"m{i}", str(1 + i % 3), f"a{i}", **near(f"a{(i + 1) % 4}", key=ZONE)) for i in range(4)]
    demand, view = a_gang(*nodes, *pods, units=4)
    refused(demand, view)
    assert demand.effort.fell_short


def test_the_reasons_of_every_member_count_where_the_order_is_fixed() -> None:
    """A change that helps any of them may help the gang."""
    demand, view = a_gang(
        node("n1"), member("a", "9"), member("b", nodeSelector={HOSTNAME: "n2"}), needed=1, units=0
    )
    found = place(demand, view)
    assert isinstance(found, Unplaceable)
    assert found.codes >= {Code.EXCEEDS_CAPACITY, Code.NODE_AFFINITY}
