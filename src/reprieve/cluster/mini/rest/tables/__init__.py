"""Server-side printing: the columns of each kind, and rows from stored objects."""

from collections.abc import Iterable, Mapping
from enum import Enum

from reprieve.cluster.mini.kinds import ResourceKind
from reprieve.cluster.mini.rest.query_parameters import Query
from reprieve.cluster.mini.rest.tables import (
    core,
    devices,
    networking,
    pods,
    printer_columns,
    rbac,
    storage,
    workloads,
)
from reprieve.cluster.mini.rest.tables.cells import AGE, NAME, TableColumn
from reprieve.model.json import Json

META = "meta.k8s.io/v1"

COLUMNS: Mapping[str, tuple[TableColumn, ...]] = {
    "Pod": pods.POD,
    "Node": pods.NODE,
    "Deployment": workloads.DEPLOYMENT,
    "ReplicaSet": workloads.REPLICA_SET,
    "ReplicationController": workloads.REPLICA_SET,
    "StatefulSet": workloads.STATEFUL_SET,
    "ControllerRevision": workloads.REVISION,
    "DaemonSet": workloads.DAEMON_SET,
    "Job": workloads.JOB,
    "PodGroup": workloads.POD_GROUP,
    "CompositePodGroup": workloads.COMPOSITE_POD_GROUP,
    "Workload": workloads.WORKLOAD,
    "PodDisruptionBudget": workloads.BUDGET,
    "PriorityClass": workloads.PRIORITY_CLASS,
    "ResourceQuota": core.QUOTA,
    "Namespace": core.NAMESPACE,
    "ConfigMap": core.CONFIG_MAP,
    "Secret": core.SECRET,
    "ServiceAccount": core.SERVICE_ACCOUNT,
    "Service": networking.SERVICE,
    "Lease": core.LEASE,
    "PersistentVolume": storage.VOLUME,
    "PersistentVolumeClaim": storage.CLAIM,
    "StorageClass": storage.STORAGE_CLASS,
    "CSINode": storage.CSI_NODE,
    "CSIDriver": storage.CSI_DRIVER,
    "VolumeAttachment": storage.ATTACHMENT,
    "LimitRange": core.LIMIT_RANGE,
    "CronJob": workloads.CRON_JOB,
    "CSIStorageCapacity": storage.CAPACITY,
    "Event": core.EVENT,
    "CustomResourceDefinition": core.DEFINITION,
    "Role": rbac.ROLE,
    "ClusterRole": rbac.ROLE,
    "RoleBinding": rbac.BINDING,
    "ClusterRoleBinding": rbac.BINDING,
    "HorizontalPodAutoscaler": workloads.AUTOSCALER,
    "Endpoints": networking.ENDPOINTS,
    "NetworkPolicy": networking.NETWORK_POLICY,
    "PodTemplate": workloads.POD_TEMPLATE,
    "Ingress": networking.INGRESS,
    "IngressClass": networking.INGRESS_CLASS,
    "RuntimeClass": workloads.RUNTIME_CLASS,
    "EndpointSlice": networking.ENDPOINT_SLICE,
    "ResourceClaim": devices.RESOURCE_CLAIM,
    "ResourceSlice": devices.RESOURCE_SLICE,
    "VolumeAttributesClass": storage.ATTRIBUTES_CLASS,
}


class Included(Enum):
    """How much of its object a row carries."""

    NOTHING = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


def included(query: Query) -> Included:
    allowed = tuple(choice.value for choice in Included)
    return Included(query.choice("includeObject", allowed) or Included.METADATA.value)


def columns_of(kind: ResourceKind, version: str = "") -> tuple[TableColumn, ...]:
    if kind.custom is not None:
        return printer_columns.columns(kind.custom.columns[version])
    return COLUMNS.get(kind.kind, (NAME, AGE))


def definitions(kind: ResourceKind, version: str) -> list[Json]:
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": f"{column.name} of the {kind.kind}",
            "priority": 1 if column.wide else 0,
        }
        for column in columns_of(kind, version)
    ]


def row(columns: Iterable[TableColumn], stored: Json, shown: Json, include: Included, now: float) -> Json:
    """Cells come from ``stored``; ``shown`` is the same object in the client's API version."""
    cells = [column.read(stored, now) for column in columns]
    match include:
        case Included.NOTHING:
            return {"cells": cells}
        case Included.METADATA:
            return {"cells": cells, "object": metadata_only(shown)}
        case Included.OBJECT:
            return {"cells": cells, "object": shown}


def table(rows: Iterable[Json], head: list[Json], metadata: Json) -> Json:
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": metadata,
        "columnDefinitions": head,
        "rows": list(rows),
    }


def metadata_only(shown: Json) -> Json:
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": shown.get("metadata", {})}
