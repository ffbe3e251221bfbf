"""Why a node was rejected: a code for programs, a sentence for people, and whether preemption could help."""

from dataclasses import dataclass
from enum import StrEnum

from reprieve.model.columns import Mask


class Code(StrEnum):
    """Why a node was rejected. The values are part of the output and never change."""

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
    Code.NODE_NAME: "is not the node that the pod requests",
    Code.NODE_UNSCHEDULABLE: "is marked unschedulable",
    Code.UNTOLERATED_TAINT: "has the taint {detail}, which the pod does not tolerate",
    Code.NODE_AFFINITY: "does not match the pod's node selector or affinity",
    Code.NODE_FEATURE: "does not declare a feature that the pod needs: {detail}",
    Code.HOST_PORT: "has the host port {detail} in use",
    Code.INSUFFICIENT_RESOURCE: "has insufficient {detail} left",
    Code.EXCEEDS_CAPACITY: "is too small: the pod needs more {detail} than its capacity",
    Code.TOO_MANY_PODS: "runs as many pods as it allows",
    Code.POD_AFFINITY: "does not match the pod's pod affinity",
    Code.POD_ANTI_AFFINITY: "does not match the pod's pod anti-affinity",
    Code.EXISTING_ANTI_AFFINITY: "does not match the anti-affinity of pods that run there",
    Code.SPREAD_LABEL_MISSING: "lacks the label {detail} of the pod's topology spread constraint",
    Code.SPREAD_SKEW: "does not match the pod's topology spread constraint for {detail}",
    Code.CLAIM_NOT_FOUND: "cannot be used: PersistentVolumeClaim {detail} does not exist",
    Code.CLAIM_LOST: "cannot be used: PersistentVolumeClaim {detail} has lost its volume",
    Code.CLAIM_DELETED: "cannot be used: PersistentVolumeClaim {detail} is being deleted",
    Code.CLAIM_UNBOUND: "cannot be used: PersistentVolumeClaim {detail}",
    Code.CLAIM_OF_ANOTHER: "cannot be used: PersistentVolumeClaim {detail} was not created for this pod",
    Code.VOLUME_NOT_FOUND: "cannot be used: PersistentVolume {detail} does not exist",
    Code.VOLUME_NODE_AFFINITY: "does not match the node affinity of PersistentVolume {detail}",
    Code.VOLUME_ZONE: "is in another zone than PersistentVolume {detail}",
    Code.VOLUME_LIMIT: "has reached the volume limit of the CSI driver {detail}",
    Code.DRIVER_MISSING: "does not have the CSI driver {detail}",
    Code.NO_VOLUME_TO_BIND: "has no volume for PersistentVolumeClaim {detail} and cannot get one",
    Code.STORAGE_CAPACITY: "has too little free storage for PersistentVolumeClaim {detail}",
    Code.DISK_CONFLICT: "has a disk mounted that pods cannot share",
    Code.CLAIM_IN_USE: "cannot be used: another pod has the ReadWriteOncePod claim {detail}",
    Code.OUTSIDE_DOMAIN: "is outside {detail}",
    Code.DOMAIN_LABEL_MISSING: "lacks the label {detail} of the group's topology constraint",
}

_PLURALS = {"is": "are", "has": "have", "does": "do", "runs": "run", "lacks": "lack"}


@dataclass(frozen=True, slots=True, order=True)
class Reason:
    code: Code
    detail: str = ""

    @property
    def text(self) -> str:
        """A predicate about the node."""
        return _SENTENCES[self.code].format(detail=self.detail)

    def said_of(self, nodes: int) -> str:
        """A sentence about so many nodes."""
        if nodes == 1:
            return f"1 node {self.text}"
        verb, _, rest = self.text.partition(" ")
        return f"{nodes} nodes {_PLURALS.get(verb, verb)} {rest}"


def reason_of(code: str, text: str) -> Reason:
    """The reason with this text; raises ValueError if there is no such code."""
    known = Code(code)
    before, _, after = _SENTENCES[known].partition("{detail}")
    return Reason(known, text.removeprefix(before).removesuffix(after) if "{" in _SENTENCES[known] else "")


@dataclass(frozen=True, slots=True, eq=False)
class Rejection:
    """Nodes rejected for one reason. ``curable``: they might be feasible if some pods were gone."""

    rows: Mask
    reason: Reason
    curable: bool
