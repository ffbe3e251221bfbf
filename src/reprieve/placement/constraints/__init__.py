"""What a node must fulfil, one module per family; ``CONSTRAINTS`` is their order.

The first constraint that refuses a node gives its reason. The order is kube-scheduler's, so that the
reasons people know come first: what holds for every node, then what differs from node to node.
"""

from reprieve.placement.constraints import node, pods, ports, resources, spread, volumes
from reprieve.placement.demand import Constraint

CONSTRAINTS: tuple[Constraint, ...] = (
    volumes.claims,
    node.unschedulable,
    node.taints,
    node.affinity,
    ports.host_ports,
    resources.resources,
    volumes.exclusive,
    volumes.limits,
    volumes.binding,
    volumes.zones,
    spread.spread,
    pods.pod_affinity,
    node.features,
)
