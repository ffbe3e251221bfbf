"""Members that do not fit in the demand's order, and what keeps them from each other."""

from typing import Any

from tests.unit.model.things import a_node, a_pod, container

from reprieve.model.json import Json
from reprieve.model.objects import Node, Pod
from reprieve.model.snapshot import Snapshot, build
from reprieve.placement.constraints import CONSTRAINTS
from reprieve.placement.demand import Demand
from reprieve.placement.effort import Effort
from reprieve.placement.gang_members import members_of
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


def a_gang(*things: Node | Pod, needed: int | None = None, units: int = 1000) -> tuple[Demand, Snapshot]:
    """All pods without a node are its members, in the order in which they are named."""
    view = build(things).snapshot
    names = [thing.metadata.name for thing in things if isinstance(thing, Pod) and not thing.spec.node_name]
    rows = tuple(view.pods.rows["default", name] for name in names)
    least = len(rows) if needed is None else needed
    return Demand(pods=rows, constraints=CONSTRAINTS, needed=least, effort=Effort(units)), view


def refused(demand: Demand, view: Snapshot) -> Unplaceable:
    found = place_in_any_order(demand, view)
    assert isinstance(found, Unplaceable)
    return found


# --- in another order ----------------------------------------------------------------------------


def test_the_one_with_fewer_nodes_comes_first() -> None:
    demand, view = a_gang(node("n1"), node("n2"), member("a", "4"), member("b", "4", **ON_N1))
    assert place_in_any_order(demand, view) == Placement((1, 0), (1, 0))


def test_a_follower_comes_after_its_leader() -> None:
    demand, view = a_gang(node("n1", "2"), node("n2"), member("a", **near("lead")), member("b", "3", "lead"))
    assert place_in_any_order(demand, view) == Placement((1, 1), (1, 0))


# --- what ties members ---------------------------------------------------------------------------


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
