"""Host ports: which pod holds which on which node."""

from typing import Any

from tests.unit.model.things import a_node, a_pod
from tests.unit.placement.asking import ask_about, refused

from reprieve.model.objects import Pod
from reprieve.model.whatif import without
from reprieve.placement.constraints.pods import host_ports
from reprieve.placement.demand import Ask

NODES = [a_node("n"), a_node("m")]


def with_ports(name: str, *numbers: int, on: str = "", **fields: Any) -> Pod:
    held = [{"containerPort": 80, "hostPort": number, **fields} for number in numbers]
    return a_pod(name, on=on, containers=[{"name": "c", "ports": held}])


def test_a_port_in_use_refuses_the_node_until_its_holder_leaves() -> None:
    ask = ask_about(with_ports("new", 80, 443), [*NODES, with_ports("old", 80, on="n")])
    assert refused(host_ports, ask) == {"n": ["HostPort 80/TCP?"]}
    gone = Ask(without(ask.view, [0]), ask.pod)
    assert refused(host_ports, gone) == {}


def test_other_protocols_and_other_addresses_are_other_ports() -> None:
    old = [
        with_ports("udp", 80, on="n", protocol="UDP"),
        with_ports("elsewhere", 80, on="n", hostIP="10.0.0.2"),
    ]
    assert refused(host_ports, ask_about(with_ports("new", 80, hostIP="10.0.0.1"), [*NODES, *old])) == {}


def test_every_address_includes_any_one() -> None:
    old = with_ports("old", 80, on="m", hostIP="10.0.0.2")
    assert refused(host_ports, ask_about(with_ports("new", 80), [*NODES, old])) == {"m": ["HostPort 80/TCP?"]}


def test_pending_pods_hold_no_port_and_a_pod_does_not_block_itself() -> None:
    waiting = with_ports("waiting", 80)
    assert refused(host_ports, ask_about(with_ports("new", 80, on="n"), [*NODES, waiting])) == {}
