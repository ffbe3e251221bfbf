"""Disks named the old way, and from where a volume can be reached, read plainly."""

from collections.abc import Mapping

from reprieve.model.objects import CloudDisk, CSINode, Node, NodeSelectorTerm, PersistentVolume
from tests.reference.plain.selectors import meets

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = (key.replace("topology", "failure-domain.beta") for key in (ZONE, REGION))
ZONE_KEYS = {BETA_ZONE: ZONE, BETA_REGION: REGION, ZONE: ZONE, REGION: REGION}

# The plugin a disk belonged to, the driver it has now, and the label by which nodes tell their zone.
MOVED = {
    "gce_persistent_disk": ("gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    "aws_elastic_block_store": ("aws-ebs", "ebs.csi.aws.com", "topology.ebs.csi.aws.com/zone"),
    "cinder": ("cinder", "cinder.csi.openstack.org", "topology.cinder.csi.openstack.org/zone"),
    "azure_disk": ("azure-disk", "disk.csi.azure.com", ""),
    "portworx_volume": ("portworx-volume", "pxd.portworx.com", ""),
}


def plugin_driver(provisioner: str) -> str | None:
    """The driver that took over a built-in plugin, empty if it is not counted; None if it is no such."""
    if provisioner in ("kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"):
        return ""
    return {f"kubernetes.io/{plugin}": driver for plugin, driver, _ in MOVED.values()}.get(provisioner)


def field_of(disk: CloudDisk) -> str | None:
    return next((field for field in MOVED if getattr(disk, field) is not None), None)


def driver_and_handle(disk: CloudDisk, labels: Mapping[str, str]) -> tuple[str, str] | None:
    field = field_of(disk)
    handle = handle_of(disk, labels)
    return (MOVED[field][1], handle) if field is not None and handle is not None else None


def handle_of(disk: CloudDisk, labels: Mapping[str, str]) -> str | None:
    if disk.gce_persistent_disk:
        return gce_handle(disk.gce_persistent_disk.pd_name, labels)
    if disk.aws_elastic_block_store:
        bare = disk.aws_elastic_block_store.volume_id.rpartition("/")[2]
        old_form = disk.aws_elastic_block_store.volume_id.startswith("aws://")
        return None if old_form and not bare.startswith("vol-") else bare
    if disk.azure_disk:
        return disk.azure_disk.disk_uri if disk.azure_disk.kind == "Managed" else None
    if disk.cinder:
        return disk.cinder.volume_id
    return disk.portworx_volume.volume_id if disk.portworx_volume else None


def gce_handle(name: str, labels: Mapping[str, str]) -> str | None:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE) or "UNSPECIFIED").split("__")
    if len(zones) == 1:
        return f"projects/UNSPECIFIED/zones/{zones[0]}/disks/{name}"
    regions = {zone.rpartition("-")[0] for zone in zones}
    if len(regions) != 1 or any(zone.count("-") != 2 for zone in zones):
        return None
    return f"projects/UNSPECIFIED/regions/{regions.pop()}/disks/{name}"


# --- reach ---------------------------------------------------------------------------------------


def can_reach(volume: PersistentVolume, node: Node, csi: CSINode | None) -> bool:
    """Without a CSINode the volume is taken at its word; with one, as the drivers there see it."""
    required = volume.spec.node_affinity.required
    field = field_of(volume.spec) if volume.spec.csi is None else None
    labels = dict(node.metadata.labels)
    terms = None if required is None else list(required.node_selector_terms)
    if field is None or csi is None or not has_moved(field, csi):
        return terms is None or any(holds(term, labels) for term in terms)
    if handle_of(volume.spec, volume.metadata.labels) is None:
        return False
    return reached_when_moved(volume, terms, labels, MOVED[field][2])


def has_moved(field: str, csi: CSINode) -> bool:
    annotation = csi.metadata.annotations.get("storage.alpha.kubernetes.io/migrated-plugins", "")
    return f"kubernetes.io/{MOVED[field][0]}" in annotation.split(",")


def reached_when_moved(
    volume: PersistentVolume, terms: list[NodeSelectorTerm] | None, labels: dict[str, str], zone_label: str
) -> bool:
    """What the volume says of zones is compared with the label of the driver."""
    said = {e.key: e.values for term in terms or () for e in term.match_expressions}
    with_values = {e.key for term in terms or () for e in term.match_expressions if e.values}
    keys = [key for known in (said, volume.metadata.labels) for key in (ZONE, BETA_ZONE) if key in known]
    zone_key = keys[0] if keys else ZONE
    zones: set[str] = set()
    seen = dict(labels)
    if zone_label and zone_key in with_values:
        rename(seen, labels, zone_key, zone_label)
    elif zone_label:
        zones = {z.strip() for z in volume.metadata.labels.get(zone_key, "").split("__")} - {""}
    if zone_label and zone_key == BETA_ZONE and BETA_REGION in with_values:
        rename(seen, labels, BETA_REGION, REGION)
    if not zones:
        return terms is None or any(holds(term, seen) for term in terms)
    in_zone = labels.get(zone_label) in zones
    return in_zone and (not terms or any(is_empty(term) or holds(term, seen) for term in terms))


def rename(seen: dict[str, str], labels: dict[str, str], key: str, stands_for: str) -> None:
    seen.pop(key, None)
    if stands_for in labels:
        seen[key] = labels[stands_for]


def is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def holds(term: NodeSelectorTerm, labels: Mapping[str, str]) -> bool:
    """The name of the node is not looked at."""
    return not is_empty(term) and all(meets(e, labels) for e in term.match_expressions)
