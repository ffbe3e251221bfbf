"""Can the pod have its volumes there: claims, disks, limits of drivers, reach and room.

``claims`` comes before everything else a pod is asked about: what it finds holds for every node, so that
no node need be looked at. The others look at nodes, in kube-scheduler's order.
"""

from reprieve.placement.constraints.volumes.attach import limits
from reprieve.placement.constraints.volumes.bind import Bindings, binding, bindings
from reprieve.placement.constraints.volumes.share import exclusive
from reprieve.placement.constraints.volumes.usable import claims
from reprieve.placement.constraints.volumes.zone import zones

__all__ = ["Bindings", "binding", "bindings", "claims", "exclusive", "limits", "zones"]
