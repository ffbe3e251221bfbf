"""CSI migration: which driver attaches the volumes of in-tree plugins, and under which handle.

Old volumes and pods still use the in-tree fields. On a node that reports the plugin as migrated, the volume's
zone is that of the label that the CSI driver sets on nodes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from reprieve.model.objects import (
    CloudDisk,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorTerm,
    PersistentVolume,
)
from reprieve.model.selectors import Labels

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"

_ZONE_DELIMITER = "__"
_UNSPECIFIED = "UNSPECIFIED"
_EBS_ID = re.compile(r"vol-[^/]*")


@dataclass(frozen=True, slots=True)
class Attachment:
    """One volume as a node attaches it; two with the same driver and handle are the same volume."""

    driver: str
    handle: str
    # Uses in-tree fields: only a node with a CSINode object attaches it through the driver.
    migrated: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class InTreePlugin:
    """A volume plugin that was part of Kubernetes, and the CSI driver that replaced it."""

    name: str
    driver: str
    # The zone label of nodes with the driver; empty if migration does not change the label.
    zone_label: str = ""


_GCE = InTreePlugin("kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone")
_EBS = InTreePlugin("kubernetes.io/aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone")
_CINDER = InTreePlugin(
    "kubernetes.io/cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"
)
_AZURE = InTreePlugin("kubernetes.io/azure-disk", "disk.csi.azure.com")
_PORTWORX = InTreePlugin("kubernetes.io/portworx-volume", "pxd.portworx.com")

IN_TREE_PLUGINS = {plugin.name: plugin for plugin in (_GCE, _EBS, _CINDER, _AZURE, _PORTWORX)}
# Migrated as well, but nodes have no attach limit for them.
UNCOUNTED_PROVISIONERS = frozenset({"kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"})


@dataclass(frozen=True, slots=True)
class MigratedDisk:
    plugin: InTreePlugin
    handle: str | None  # None: it has no equivalent in the driver

    @property
    def attachment(self) -> Attachment | None:
        return Attachment(self.plugin.driver, self.handle, migrated=True) if self.handle else None


def migrated_disk(disk: CloudDisk, labels: Labels) -> MigratedDisk | None:
    """``labels``: of the PersistentVolume; empty for an inline volume of a pod."""
    if (gce := disk.gce_persistent_disk) is not None:
        return MigratedDisk(_GCE, _gce_handle(gce.pd_name, labels))
    if (ebs := disk.aws_elastic_block_store) is not None:
        return MigratedDisk(_EBS, _ebs_handle(ebs.volume_id))
    if (azure := disk.azure_disk) is not None:
        return MigratedDisk(_AZURE, azure.disk_uri if azure.kind.lower() == "managed" else None)
    if disk.cinder is not None:
        return MigratedDisk(_CINDER, disk.cinder.volume_id)
    if disk.portworx_volume is not None:
        return MigratedDisk(_PORTWORX, disk.portworx_volume.volume_id)
    return None


def _gce_handle(name: str, labels: Labels) -> str | None:
    """A disk in several zones is regional; the region is the common prefix of the zones' names."""
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(_ZONE_DELIMITER)
    if len(zones) == 1:
        return f"projects/{_UNSPECIFIED}/zones/{zones[0] or _UNSPECIFIED}/disks/{name}"
    parts = [zone.split("-") for zone in zones]
    regions = {"-".join(words[:2]) for words in parts}
    if len(regions) != 1 or any(len(words) != 3 for words in parts):
        return None
    return f"projects/{_UNSPECIFIED}/regions/{regions.pop()}/disks/{name}"


def _ebs_handle(volume_id: str) -> str | None:
    """An old form of the ID has the zone in it: aws://zone/vol-123."""
    if not volume_id.startswith("aws://"):
        return volume_id
    _, _, path = volume_id.removeprefix("aws://").partition("/")
    bare = path.strip("/")
    return bare if _EBS_ID.fullmatch(bare) else None


# --- node affinity of migrated volumes -----------------------------------------------------------


def zones_in(label: str) -> frozenset[str]:
    """The zones in a volume's zone label; none if it is malformed."""
    zones = frozenset(zone.strip() for zone in label.split(_ZONE_DELIMITER))
    return frozenset() if "" in zones else zones


def migrated_affinity(volume: PersistentVolume, plugin: InTreePlugin) -> NodeSelector | None:
    """The volume's node affinity, translated to the labels of migrated nodes."""
    affinity = volume.spec.node_affinity.required
    if not plugin.zone_label:
        return affinity
    zone, region = _zone_and_region_label(affinity, volume.metadata.labels)
    if _names_values(affinity, zone):
        affinity = _with_key_renamed(affinity, zone, plugin.zone_label)
    elif zones := _tidied(volume.metadata.labels.get(zone, "")):
        affinity = _with_requirement(affinity, plugin.zone_label, zones)
    if region == BETA_REGION and _names_values(affinity, BETA_REGION):
        affinity = _with_key_renamed(affinity, BETA_REGION, REGION)
    return affinity


def _tidied(label: str) -> tuple[str, ...]:
    return tuple(sorted({z.strip() for z in label.split(_ZONE_DELIMITER)} - {""}))


def _zone_and_region_label(affinity: NodeSelector | None, labels: Labels) -> tuple[str, str]:
    """The labels that the volume uses; the deprecated pair only if it does not use the new one."""
    in_affinity = {e.key for term in _terms(affinity) for e in term.match_expressions}
    for known in (in_affinity, labels):
        if ZONE in known:
            return ZONE, REGION
        if BETA_ZONE in known:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _terms(affinity: NodeSelector | None) -> tuple[NodeSelectorTerm, ...]:
    return affinity.node_selector_terms if affinity is not None else ()


def _names_values(affinity: NodeSelector | None, key: str) -> bool:
    return any(e.key == key and e.values for term in _terms(affinity) for e in term.match_expressions)


Expressions = tuple[LabelSelectorRequirement, ...]


def _with_expressions(
    terms: tuple[NodeSelectorTerm, ...], change: Callable[[Expressions], Expressions]
) -> NodeSelector:
    changed = (
        NodeSelectorTerm(match_expressions=change(t.match_expressions), match_fields=t.match_fields)
        for t in terms
    )
    return NodeSelector(node_selector_terms=tuple(changed))


def _with_key_renamed(affinity: NodeSelector | None, old: str, new: str) -> NodeSelector:
    def renamed(expressions: Expressions) -> Expressions:
        return tuple(
            LabelSelectorRequirement(key=new, operator=e.operator, values=e.values) if e.key == old else e
            for e in expressions
        )

    return _with_expressions(_terms(affinity), renamed)


def _with_requirement(affinity: NodeSelector | None, key: str, values: tuple[str, ...]) -> NodeSelector:
    more = LabelSelectorRequirement(key=key, operator="In", values=values)
    return _with_expressions(_terms(affinity) or (NodeSelectorTerm(),), lambda known: (*known, more))
