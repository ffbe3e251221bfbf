"""Tables: the answer for people. Which columns a kind has, and rows made from objects as they are stored."""

from collections.abc import Iterable, Mapping
from enum import Enum

from reprieve.cluster.mini.kinds import Kind
from reprieve.cluster.mini.rest.query import Query
from reprieve.cluster.mini.rest.tables import defined, kept, others, pods, workloads
from reprieve.cluster.mini.rest.tables.cells import AGE, NAME, Column
from reprieve.model.json import Json

META = "meta.k8s.io/v1"

COLUMNS: Mapping[str, tuple[Column, ...]] = {
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
    "ResourceQuota": others.QUOTA,
    "Namespace": others.NAMESPACE,
    "ConfigMap": others.CONFIG_MAP,
    "Secret": others.SECRET,
    "ServiceAccount": others.SERVICE_ACCOUNT,
    "Service": others.SERVICE,
    "Lease": others.LEASE,
    "PersistentVolume": others.VOLUME,
    "PersistentVolumeClaim": others.CLAIM,
    "StorageClass": others.STORAGE_CLASS,
    "CSINode": others.CSI_NODE,
    "CSIDriver": others.CSI_DRIVER,
    "VolumeAttachment": others.ATTACHMENT,
    "LimitRange": others.LIMIT_RANGE,
    "CronJob": workloads.CRON_JOB,
    "CSIStorageCapacity": others.CAPACITY,
    "Event": others.EVENT,
    "CustomResourceDefinition": others.DEFINITION,
    "Role": others.ROLE,
    "ClusterRole": others.ROLE,
    "RoleBinding": others.BINDING,
    "ClusterRoleBinding": others.BINDING,
    "HorizontalPodAutoscaler": kept.AUTOSCALER,
    "Endpoints": kept.ENDPOINTS,
    "NetworkPolicy": kept.NETWORK_POLICY,
    "PodTemplate": kept.POD_TEMPLATE,
    "Ingress": kept.INGRESS,
    "IngressClass": kept.INGRESS_CLASS,
    "EndpointSlice": kept.ENDPOINT_SLICE,
    "ResourceClaim": kept.RESOURCE_CLAIM,
    "ResourceSlice": kept.RESOURCE_SLICE,
    "VolumeAttributesClass": kept.ATTRIBUTES_CLASS,
}


class Included(Enum):
    """How much of its object a row carries."""

    NOTHING = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


def included(query: Query) -> Included:
    allowed = tuple(choice.value for choice in Included)
    return Included(query.choice("includeObject", allowed) or Included.METADATA.value)


def columns_of(kind: Kind, version: str = "") -> tuple[Column, ...]:
    if kind.custom is not None:
        return defined.columns(kind.custom.columns[version])
    return COLUMNS.get(kind.kind, (NAME, AGE))


def definitions(kind: Kind, version: str) -> list[Json]:
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


def row(columns: Iterable[Column], stored: Json, shown: Json, include: Included, now: float) -> Json:
    """``stored`` is what the cells are read from, ``shown`` the same as the client spells it."""
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
