"""Host ports: columns agree with the plain reading."""

from hypothesis import given

from reprieve.placement.constraints.pods import host_ports
from tests.properties.agreement import assert_same_refusals
from tests.properties.worlds import World, has_ended, worlds
from tests.reference.plain import ports as plain


@given(worlds(frozenset({"ports", "resources"})))
def test_host_ports(world: World) -> None:
    assert_same_refusals(world, host_ports, plain.host_ports)


@given(worlds(frozenset({"ports", "resources"})))
def test_a_pod_does_not_stand_in_its_own_way(world: World) -> None:
    for pod in (thing for thing in world.objects if thing["kind"] == "Pod" and not has_ended(thing)):
        others = [thing for thing in world.objects if thing is not pod]
        assert_same_refusals(World([*others, world.newcomer], pod), host_ports, plain.host_ports)
