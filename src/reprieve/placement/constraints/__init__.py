"""What a node must fulfil, one module per family; ``CONSTRAINTS`` is their order.

The first constraint that refuses a node gives its reason. The order is kube-scheduler's, so that the
reasons people know come first: what holds for every node, then what differs from node to node.
"""

from reprieve.placement.constraints import node, pods, ports, resources, spread, volumes
from reprieve.placement.demand import Constraint
from reprieve.placement.profile import Profile

# With the names that people know: a profile leaves a constraint out by the name of its plugin.
BY_PLUGIN: tuple[tuple[str, Constraint], ...] = (
    ("VolumeBinding", volumes.claims),
    ("NodeUnschedulable", node.unschedulable),
    ("TaintToleration", node.taints),
    ("NodeAffinity", node.affinity),
    ("NodePorts", ports.host_ports),
    ("NodeResourcesFit", resources.resources),
    ("VolumeRestrictions", volumes.exclusive),
    ("NodeVolumeLimits", volumes.limits),
    ("VolumeBinding", volumes.binding),
    ("VolumeZone", volumes.zones),
    ("PodTopologySpread", spread.spread),
    ("InterPodAffinity", pods.pod_affinity),
    ("NodeDeclaredFeatures", node.features),
)
CONSTRAINTS: tuple[Constraint, ...] = tuple(constraint for _, constraint in BY_PLUGIN)


def constraints_under(profile: Profile) -> tuple[Constraint, ...]:
    if not profile.waived:
        return CONSTRAINTS
    return tuple(constraint for plugin, constraint in BY_PLUGIN if plugin not in profile.waived)
