"""Constraints by volumes: claims, disks, attach limits, node affinity and storage capacity.

``claims`` comes before all other constraints: what it finds holds for every node, so that no node has to be
checked. The others check nodes, in kube-scheduler's order.
"""

from reprieve.placement.constraints.volumes.attach import limits
from reprieve.placement.constraints.volumes.bind import Bindings, binding, bindings
from reprieve.placement.constraints.volumes.claim_checks import claims
from reprieve.placement.constraints.volumes.exclusive_access import exclusive
from reprieve.placement.constraints.volumes.zone import zones

__all__ = ["Bindings", "binding", "bindings", "claims", "exclusive", "limits", "zones"]
