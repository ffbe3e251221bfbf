"""Merge keys that many kinds share: which field identifies items of a list in a strategic merge patch.

A list without a merge key is replaced as a whole, such as tolerations, taints, and lists in selectors.
"""

from collections.abc import Mapping

PRIMITIVE = ""  # items are plain values, each its own key

# Merge keys by path. The path of a nested list has no element for the item.
METADATA = {"ownerReferences": "uid", "finalizers": PRIMITIVE}
_CONTAINER = {
    "ports": "containerPort",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
}
POD_SPEC = {
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


def under(prefix: str, keys: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}.{path}": key for path, key in keys.items()}


TEMPLATE = {**under("spec.template.metadata", METADATA), **under("spec.template.spec", POD_SPEC)}

# Lists that any object may have.
COMMON = {**under("metadata", METADATA), "status.conditions": "type"}
