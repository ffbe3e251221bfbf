"""The built-in kinds, one record for each: adding a kind is adding an entry to one of these modules."""

from collections.abc import Mapping

from reprieve_minicluster.kinds import (
    access,
    core,
    devices,
    extensions,
    networking,
    pods,
    scheduling,
    storage,
    workloads,
)
from reprieve_minicluster.kinds.kind import (
    CLEANUP_FINALIZER,
    NAMESPACE_FINALIZER,
    CustomKind,
    GenerationRule,
    ResourceKind,
    RoleAccess,
    SelectableField,
    StatusSubresource,
    peek,
    section,
)

__all__ = [
    "BY_NAME",
    "BY_RESOURCE",
    "CLEANUP_FINALIZER",
    "KINDS",
    "NAMESPACE_FINALIZER",
    "CustomKind",
    "GenerationRule",
    "ResourceKind",
    "RoleAccess",
    "SelectableField",
    "StatusSubresource",
    "peek",
    "section",
]

KINDS: tuple[ResourceKind, ...] = (
    *core.KINDS,
    *scheduling.KINDS,
    *storage.KINDS,
    *networking.KINDS,
    *workloads.KINDS,
    *pods.KINDS,
    *devices.KINDS,
    *access.KINDS,
    *extensions.KINDS,
)
BY_RESOURCE: Mapping[str, ResourceKind] = {kind.resource: kind for kind in KINDS}
BY_NAME: Mapping[str, ResourceKind] = {kind.kind: kind for kind in KINDS}
