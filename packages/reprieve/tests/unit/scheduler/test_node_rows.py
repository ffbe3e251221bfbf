"""The nodes of the mirror: what is cached for a node does not outlast what the node was."""

from typing import Any

import msgspec
import pytest
from tests.unit.scheduler.making import a_node, a_pod, later
from tests.unit.scheduler.stage import stage_with

from reprieve.model.json import Json
from reprieve.model.objects import Node

FEATURE = "UserNamespacesHostNetworkSupport"


def suitable(name: str) -> Node:
    node = a_node(name, labels={"disk": "ssd"})
    return msgspec.structs.replace(
        node, status=msgspec.structs.replace(node.status, declared_features=(FEATURE,))
    )


SUITABLE = suitable("n1")
DEMANDING: Json = {"nodeSelector": {"disk": "ssd"}, "hostNetwork": True, "hostUsers": False}


def respecified(**spec: Any) -> Node:
    return msgspec.structs.replace(later(SUITABLE), spec=msgspec.convert(spec, type(SUITABLE.spec)))


CHANGES = {
    "cordon": respecified(unschedulable=True),
    "taints": respecified(taints=[{"key": "k", "effect": "NoSchedule"}]),
    "labels": later(SUITABLE, labels={}),
    "features": msgspec.structs.replace(
        later(SUITABLE), status=msgspec.structs.replace(SUITABLE.status, declared_features=())
    ),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_a_node_that_no_longer_suits_a_pod_is_not_chosen(changed: Node) -> None:
    """The first pod fills another node: on the one that changes, no pod comes or leaves."""
    stage = stage_with(suitable("n0"), SUITABLE, a_pod("first", cpu="4", **DEMANDING))
    assert stage.binds() == {"first": "n0"}
    assert stage.see(changed, a_pod("second", cpu="4", **DEMANDING)).binds() == {}
