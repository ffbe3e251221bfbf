"""What must hold for an object, and what may change of it: one line for each kind.

The checks are functions that complain through a cursor; none of them raises or changes anything.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reprieve.cluster.api.fields import At
from reprieve.cluster.api.names import Form, dns_label, dns_subdomain, path_segment
from reprieve.cluster.api.validation import (
    bounds,
    cron_jobs,
    definitions,
    drivers,
    groups,
    kept,
    nodes,
    others,
    owners,
    pod_changes,
    pods,
    rights,
    volumes,
)
from reprieve.cluster.api.values import Json

__all__ = ["Rules", "rules_of"]


def _anything(thing: At) -> None:
    pass


def _any_change(thing: At, old: Json) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Rules:
    """``whole`` holds for every object, ``new`` beside it for one that is created.

    ``change`` is what an update must keep to, beside ``whole``, and ``status`` an update of the status.
    """

    whole: Callable[[At], None] = _anything
    change: Callable[[At, Json], None] = _any_change
    status: Callable[[At, Json], None] = _any_change
    new: Callable[[At], None] = _anything
    name: Form = dns_subdomain
    namespaced: bool = True


_ANY = Rules()
_OLDER_GROUPS = ("scheduling.k8s.io", "v1alpha2")

_RULES: Mapping[str, Rules] = {
    "Namespace": Rules(name=dns_label, namespaced=False),
    "Node": Rules(nodes.check_node, nodes.check_node_change, nodes.check_node_status, namespaced=False),
    "Pod": Rules(pods.check_pod, pod_changes.check_pod_change, pods.check_pod_status, pods.check_new_pod),
    "Event": Rules(others.check_core_event, name=path_segment),
    "ConfigMap": Rules(others.check_config_map, others.check_data_change),
    "Secret": Rules(others.check_secret, others.check_data_change),
    "Service": Rules(others.check_service, others.check_service_change, name=dns_label),
    "PersistentVolume": Rules(volumes.check_volume, volumes.check_volume_change, namespaced=False),
    "PersistentVolumeClaim": Rules(volumes.check_claim, volumes.check_claim_change),
    "StorageClass": Rules(volumes.check_storage_class, volumes.check_storage_class_change, namespaced=False),
    "CSINode": Rules(volumes.check_csi_node, volumes.check_csi_node_change, namespaced=False),
    "CSIDriver": Rules(drivers.check_driver, drivers.check_driver_change, namespaced=False),
    "CSIStorageCapacity": Rules(drivers.check_capacity, drivers.check_capacity_change),
    "VolumeAttachment": Rules(drivers.check_attachment, drivers.check_attachment_change, namespaced=False),
    "ResourceQuota": Rules(bounds.check_quota, bounds.check_quota_change, bounds.check_quota_status),
    "LimitRange": Rules(bounds.check_limit_range),
    "Deployment": Rules(owners.check_deployment, owners.check_selector_change),
    "ReplicationController": Rules(owners.check_replication_controller),
    "ReplicaSet": Rules(owners.check_replica_set, owners.check_selector_change),
    "StatefulSet": Rules(owners.check_stateful_set, owners.check_stateful_set_change, name=dns_label),
    "DaemonSet": Rules(owners.check_daemon_set, owners.check_selector_change),
    "CronJob": Rules(
        cron_jobs.check_cron_job, cron_jobs.check_cron_job_change, new=cron_jobs.check_new_cron_job
    ),
    "Job": Rules(owners.check_job, owners.check_job_change),
    "PriorityClass": Rules(others.check_priority_class, others.check_priority_class_change, namespaced=False),
    "PodDisruptionBudget": Rules(others.check_budget, status=others.check_budget_status),
    "PodGroup": Rules(groups.check_group, groups.check_group_change, groups.check_group_status),
    "CompositePodGroup": Rules(
        groups.check_composite, groups.check_composite_change, groups.check_group_status
    ),
    "Workload": Rules(groups.check_workload, groups.check_workload_change),
    "CustomResourceDefinition": Rules(
        definitions.check_definition, definitions.check_definition_change, namespaced=False
    ),
    "Lease": Rules(others.check_lease),
    "EndpointSlice": Rules(kept.check_endpoint_slice, kept.check_endpoint_slice_change),
    "Ingress": Rules(kept.check_ingress),
    "IngressClass": Rules(namespaced=False),
    "NetworkPolicy": Rules(kept.check_network_policy),
    "HorizontalPodAutoscaler": Rules(kept.check_autoscaler),
    "VolumeAttributesClass": Rules(
        kept.check_attributes_class, kept.check_attributes_class_change, namespaced=False
    ),
    "DeviceClass": Rules(kept.check_device_class, namespaced=False),
    "DeviceTaintRule": Rules(kept.check_taint_rule, namespaced=False),
    "ResourceClaim": Rules(kept.check_resource_claim, kept.keeps_its_spec, kept.check_claim_status),
    "ResourceClaimTemplate": Rules(kept.check_claim_template, kept.keeps_its_spec),
    "ResourceSlice": Rules(kept.check_slice, kept.check_slice_change, namespaced=False),
    "Role": Rules(rights.check_role, name=path_segment),
    "ClusterRole": Rules(rights.check_cluster_role, name=path_segment, namespaced=False),
    "RoleBinding": Rules(rights.check_binding, rights.check_binding_change, name=path_segment),
    "ClusterRoleBinding": Rules(
        rights.check_cluster_binding, rights.check_binding_change, name=path_segment, namespaced=False
    ),
}

_SPELLED: Mapping[tuple[str, str, str], Rules] = {
    (*_OLDER_GROUPS, "PodGroup"): Rules(
        groups.check_older_group, groups.check_group_change, groups.check_group_status
    ),
    (*_OLDER_GROUPS, "Workload"): Rules(groups.check_older_workload, groups.check_workload_change),
    ("events.k8s.io", "v1", "Event"): Rules(others.check_event, others.check_event_change),
}


def rules_of(group: str, version: str, kind: str) -> Rules:
    """Of a kind that is not in the list, only the metadata is checked."""
    return _SPELLED.get((group, version, kind)) or _RULES.get(kind, _ANY)
