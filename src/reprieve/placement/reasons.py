"""Why a node was refused: a code for programs, a sentence for people, and whether eviction could help."""

from dataclasses import dataclass
from enum import StrEnum

from reprieve.model.columns import Mask


class Code(StrEnum):
    """What a node was refused for. The values are part of the output and never change."""

    NODE_NAME = "NodeName"
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    UNTOLERATED_TAINT = "UntoleratedTaint"
    NODE_AFFINITY = "NodeAffinity"
    NODE_FEATURE = "NodeFeature"
    HOST_PORT = "HostPort"
    INSUFFICIENT_RESOURCE = "InsufficientResource"
    EXCEEDS_CAPACITY = "ExceedsCapacity"
    TOO_MANY_PODS = "TooManyPods"
    POD_AFFINITY = "PodAffinity"
    POD_ANTI_AFFINITY = "PodAntiAffinity"
    EXISTING_ANTI_AFFINITY = "ExistingAntiAffinity"
    SPREAD_LABEL_MISSING = "SpreadLabelMissing"
    SPREAD_SKEW = "SpreadSkew"
    CLAIM_NOT_FOUND = "ClaimNotFound"
    CLAIM_LOST = "ClaimLost"
    CLAIM_DELETED = "ClaimBeingDeleted"
    CLAIM_UNBOUND = "ClaimUnbound"
    CLAIM_OF_ANOTHER = "ClaimOfAnotherPod"
    VOLUME_NOT_FOUND = "VolumeNotFound"
    VOLUME_NODE_AFFINITY = "VolumeNodeAffinity"
    VOLUME_ZONE = "VolumeZone"
    VOLUME_LIMIT = "VolumeLimit"
    DRIVER_MISSING = "VolumeDriverMissing"
    NO_VOLUME_TO_BIND = "NoVolumeToBind"
    STORAGE_CAPACITY = "StorageCapacity"
    DISK_CONFLICT = "DiskConflict"
    CLAIM_IN_USE = "ClaimInUse"
    OUTSIDE_DOMAIN = "OutsideDomain"
    DOMAIN_LABEL_MISSING = "DomainLabelMissing"


NO_CODES: frozenset[Code] = frozenset()

_SENTENCES = {
    Code.NODE_NAME: "is not the node the pod asks for",
    Code.NODE_UNSCHEDULABLE: "is marked unschedulable",
    Code.UNTOLERATED_TAINT: "has the taint {detail}, which the pod does not tolerate",
    Code.NODE_AFFINITY: "does not match the pod's node selector or affinity",
    Code.NODE_FEATURE: "does not declare a feature the pod needs: {detail}",
    Code.HOST_PORT: "has the host port {detail} in use",
    Code.INSUFFICIENT_RESOURCE: "has insufficient {detail} left",
    Code.EXCEEDS_CAPACITY: "is too small: the pod alone needs more {detail} than there is",
    Code.TOO_MANY_PODS: "runs as many pods as allowed",
    Code.POD_AFFINITY: "is not near the pods the pod wants to be with",
    Code.POD_ANTI_AFFINITY: "is near pods the pod must be apart from",
    Code.EXISTING_ANTI_AFFINITY: "is near pods that must be apart from this one",
    Code.SPREAD_LABEL_MISSING: "lacks the label {detail}, over which the pod must be spread",
    Code.SPREAD_SKEW: "would leave pods spread too unevenly over {detail}",
    Code.CLAIM_NOT_FOUND: "cannot be used: the volume claim {detail} does not exist",
    Code.CLAIM_LOST: "cannot be used: the volume claim {detail} has lost its volume",
    Code.CLAIM_DELETED: "cannot be used: the volume claim {detail} is being deleted",
    Code.CLAIM_UNBOUND: "cannot be used: the volume claim {detail} is to be bound at once and is not yet",
    Code.CLAIM_OF_ANOTHER: "cannot be used: the volume claim {detail} was not made for this pod",
    Code.VOLUME_NOT_FOUND: "cannot be used: the volume {detail} does not exist",
    Code.VOLUME_NODE_AFFINITY: "cannot reach the volume {detail}",
    Code.VOLUME_ZONE: "is in another zone than the volume {detail}",
    Code.VOLUME_LIMIT: "has as many volumes of {detail} attached as possible",
    Code.DRIVER_MISSING: "does not have the volume driver {detail}",
    Code.NO_VOLUME_TO_BIND: "has no volume for the claim {detail}, and none can be made there",
    Code.STORAGE_CAPACITY: "has too little free storage for the claim {detail}",
    Code.DISK_CONFLICT: "has a disk mounted that the pod cannot share",
    Code.CLAIM_IN_USE: "cannot be used: another pod holds the claim {detail} for itself",
    Code.OUTSIDE_DOMAIN: "is outside {detail}",
    Code.DOMAIN_LABEL_MISSING: "lacks the label {detail}, by which the group is kept together",
}

_PLURALS = {"is": "are", "has": "have", "does": "do", "runs": "run", "lacks": "lack"}


@dataclass(frozen=True, slots=True, order=True)
class Reason:
    code: Code
    detail: str = ""

    @property
    def text(self) -> str:
        """A predicate: what is said of the node."""
        return _SENTENCES[self.code].format(detail=self.detail)

    def said_of(self, nodes: int) -> str:
        """A sentence about so many nodes."""
        if nodes == 1:
            return f"1 node {self.text}"
        verb, _, rest = self.text.partition(" ")
        return f"{nodes} nodes {_PLURALS.get(verb, verb)} {rest}"


@dataclass(frozen=True, slots=True, eq=False)
class Rejection:
    """Nodes refused for one reason. ``curable``: it might pass if some pods were gone."""

    rows: Mask
    reason: Reason
    curable: bool
