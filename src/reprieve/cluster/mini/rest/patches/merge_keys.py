"""Merge keys: the field that identifies items of a list in a strategic merge patch, for each kind.

A list without a merge key is replaced as a whole, such as tolerations, taints, and lists in selectors.
"""

from collections.abc import Mapping
from functools import cache

from reprieve.cluster.mini.kinds import ResourceKind

PRIMITIVE = ""  # items are plain values, each its own key

# Merge keys by path. The path of a nested list has no element for the item.
_METADATA = {"ownerReferences": "uid", "finalizers": PRIMITIVE}
_CONTAINER = {
    "ports": "containerPort",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
}
_POD_SPEC = {
    "volumes": "name",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "evictionResponders": "name",
    **{
        path: key
        for containers in ("containers", "initContainers", "ephemeralContainers")
        for path, key in {
            containers: "name",
            **{f"{containers}.{name}": key for name, key in _CONTAINER.items()},
        }.items()
    },
}
_CONDITIONS = {"status.conditions": "type"}
_CLAIMS = {"spec.resourceClaims": "name", "status.resourceClaimStatuses": "name"}


def _under(prefix: str, keys: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}.{path}": key for path, key in keys.items()}


_TEMPLATE = {**_under("spec.template.metadata", _METADATA), **_under("spec.template.spec", _POD_SPEC)}
_OWN: Mapping[str, Mapping[str, str]] = {
    "Pod": {
        **_under("spec", _POD_SPEC),
        "status.podIPs": "ip",
        "status.hostIPs": "ip",
        "status.resourceClaimStatuses": "name",
    },
    "Node": {"spec.podCIDRs": PRIMITIVE, "status.addresses": "type"},
    "Service": {"spec.ports": "port"},
    "ServiceAccount": {"secrets": "name"},
    "CSINode": {"spec.drivers": "name"},
    "Deployment": _TEMPLATE,
    "ReplicaSet": _TEMPLATE,
    "StatefulSet": _TEMPLATE,
    "ReplicationController": _TEMPLATE,
    "DaemonSet": _TEMPLATE,
    "CronJob": _under("spec.jobTemplate", {"metadata.finalizers": PRIMITIVE, **_TEMPLATE}),
    "Job": _TEMPLATE,
    "PodTemplate": {**_under("template.metadata", _METADATA), **_under("template.spec", _POD_SPEC)},
    "ResourceClaim": {"status.reservedFor": "uid"},
    "PodGroup": _CLAIMS,
    "CompositePodGroup": _CLAIMS,
    "Workload": {"spec.podGroupTemplates.resourceClaims": "name"},
}

# Mappings that are replaced as a whole.
_ATOMIC: Mapping[str, frozenset[str]] = {"PodDisruptionBudget": frozenset({"spec.selector"})}


@cache
def merge_keys(kind: ResourceKind) -> Mapping[str, str]:
    return {**_under("metadata", _METADATA), **_CONDITIONS, **_OWN.get(kind.kind, {})}


def atomic_mappings(kind: ResourceKind) -> frozenset[str]:
    return _ATOMIC.get(kind.kind, frozenset())
