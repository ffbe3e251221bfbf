"""The constraints on nodes, one module per family; ``CONSTRAINTS`` is their order.

The first constraint that rejects a node gives its reason. The order is kube-scheduler's, so that the reasons
that people know come first: those that hold for every node, then those that differ from node to node.
"""

from reprieve.placement.constraints import node, pods, resources, spread, volumes
from reprieve.placement.demand import Constraint
from reprieve.placement.profile import Profile

# By the name of kube-scheduler's plugin, with which a profile disables them.
BY_PLUGIN: tuple[tuple[str, Constraint], ...] = (
    ("VolumeBinding", volumes.claims),
    ("NodeUnschedulable", node.unschedulable),
    ("TaintToleration", node.taints),
    ("NodeAffinity", node.affinity),
    ("NodePorts", pods.host_ports),
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
