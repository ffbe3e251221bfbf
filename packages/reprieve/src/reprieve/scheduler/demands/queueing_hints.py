"""What a change in the cluster could mean for demands that wait, and which changes each waits for."""

from collections.abc import Iterable, Mapping

from reprieve.model.events import Change
from reprieve.placement.rejection_codes import Code

# No backoff delays a demand when an administrator allows what it waits for.
AT_ONCE = frozenset({Change.TOLERATIONS})

# A resize waits for more room on its node, or, once there is enough, for the kubelet to act: then it matters
# whether another pod takes the room.
ROOM_IN_PLACE = frozenset({Change.NODE_GREW, Change.POD_LEFT, Change.POD_SHRANK})
ROOM_AT_RISK = TAKES_ROOM = frozenset({Change.POD_ARRIVED, Change.POD_GREW})

# For a demand that only one node can help, these matter only if they happen there.
LOCAL = ROOM_IN_PLACE | ROOM_AT_RISK

_NEW_NODE = frozenset({Change.NODE_ADDED})
_ROOM = frozenset({Change.NODE_ADDED, Change.NODE_GREW, Change.POD_LEFT, Change.POD_SHRANK})
_APART = frozenset(
    {Change.NODE_ADDED, Change.NODE_LABELS, Change.POD_LEFT, Change.POD_RELABELED, Change.NAMESPACES}
)
# A domain that vanishes, or fills up elsewhere, raises the minimum that skew is counted from.
_SPREAD = frozenset(
    {Change.NODE_GONE, Change.NODE_TAINTS, Change.POD_ARRIVED, Change.POD_LEAVING, Change.OWNERS}
)
_STORED = frozenset({Change.NODE_ADDED, Change.NODE_LABELS, Change.STORAGE})

# A node is let go by the first constraint that refused it; only what changes that constraint's answer
# can make the node usable. So a demand waits for the changes that belong to the reasons it was given: to any
# of its pods, and, where other pods may be evicted, also as it would be without them.
HELPS: Mapping[Code, frozenset[Change]] = {
    Code.NODE_NAME: _NEW_NODE,
    Code.NODE_UNSCHEDULABLE: _NEW_NODE | {Change.NODE_UNCORDONED},
    Code.UNTOLERATED_TAINT: _NEW_NODE | {Change.NODE_TAINTS},
    Code.NODE_AFFINITY: _NEW_NODE | {Change.NODE_LABELS},
    Code.NODE_FEATURE: _NEW_NODE | {Change.NODE_FEATURES},
    Code.HOST_PORT: _NEW_NODE | {Change.POD_LEFT},
    Code.INSUFFICIENT_RESOURCE: _ROOM,
    Code.EXCEEDS_CAPACITY: _NEW_NODE | {Change.NODE_GREW},
    Code.TOO_MANY_PODS: _ROOM,
    Code.POD_AFFINITY: _APART | {Change.POD_ARRIVED},
    Code.POD_ANTI_AFFINITY: _APART,
    Code.EXISTING_ANTI_AFFINITY: _APART,
    Code.SPREAD_LABEL_MISSING: _NEW_NODE | {Change.NODE_LABELS},
    Code.SPREAD_SKEW: _APART | _SPREAD,
    Code.CLAIM_NOT_FOUND: _STORED,
    Code.CLAIM_LOST: _STORED,
    Code.CLAIM_DELETED: _STORED,
    Code.CLAIM_UNBOUND: _STORED,
    Code.CLAIM_OF_ANOTHER: _STORED,
    Code.VOLUME_NOT_FOUND: _STORED,
    Code.VOLUME_NODE_AFFINITY: _STORED,
    Code.VOLUME_ZONE: _STORED,
    # A pod that brings the same volume saves the newcomer an attachment.
    Code.VOLUME_LIMIT: _STORED | {Change.POD_LEFT, Change.POD_ARRIVED},
    Code.DRIVER_MISSING: _STORED,
    Code.NO_VOLUME_TO_BIND: _STORED,
    Code.STORAGE_CAPACITY: _STORED,
    Code.DISK_CONFLICT: _NEW_NODE | {Change.POD_LEFT},
    Code.CLAIM_IN_USE: _STORED | {Change.POD_LEFT},
    # Nodes get their labels late; and members of a group that run keep the others in their domain.
    Code.OUTSIDE_DOMAIN: _NEW_NODE | {Change.NODE_LABELS, Change.POD_LEFT},
    Code.DOMAIN_LABEL_MISSING: _NEW_NODE | {Change.NODE_LABELS},
}


def helpful(codes: Iterable[Code]) -> frozenset[Change]:
    """Any node will do for a start, so a cluster without nodes waits for one."""
    return _NEW_NODE.union(*(HELPS[code] for code in codes))
