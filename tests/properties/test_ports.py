"""Host ports: columns agree with the plain reading."""

from hypothesis import given

from reprieve.placement.constraints import ports
from tests.properties.agreement import assert_same_refusals
from tests.properties.worlds import World, worlds
from tests.reference.plain import ports as plain


@given(worlds(frozenset({"ports", "resources"})))
def test_host_ports(world: World) -> None:
    assert_same_refusals(world, ports.host_ports, plain.host_ports)
