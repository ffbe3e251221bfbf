"""What must hold for an object of each kind, and what may an update change of it?

The checks are functions that report errors through a cursor; none of them raises or changes anything.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reprieve.cluster.api.names import TextForm, dns_label, dns_subdomain, path_segment
from reprieve.cluster.apiserver.field_errors import At
from reprieve.cluster.apiserver.validation import (
    controllers,
    cron_jobs,
    csi,
    definitions,
    groups,
    limits,
    nodes,
    pod_changes,
    pods,
    rbac,
    small_kinds,
    stored_only,
    volumes,
)
from reprieve.model.json import Json

__all__ = ["Rules", "rules_of"]


def _anything(thing: At) -> None:
    pass


def _any_change(thing: At, old: Json) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Rules:
    """``whole`` checks every object, ``new`` also one that is created, ``change`` also one that is updated,
    and ``status`` an update of the status.
    """

    whole: Callable[[At], None] = _anything
    change: Callable[[At, Json], None] = _any_change
    status: Callable[[At, Json], None] = _any_change
    new: Callable[[At], None] = _anything
    name: TextForm = dns_subdomain
    namespaced: bool = True


_ANY = Rules()
_OLDER_GROUPS = ("scheduling.k8s.io", "v1alpha2")

_RULES: Mapping[str, Rules] = {
    "Namespace": Rules(name=dns_label, namespaced=False),
    "Node": Rules(nodes.check_node, nodes.check_node_change, nodes.check_node_status, namespaced=False),
    "Pod": Rules(pods.check_pod, pod_changes.check_pod_change, pods.check_pod_status, pods.check_new_pod),
    "Event": Rules(small_kinds.check_core_event, name=path_segment),
    "ConfigMap": Rules(small_kinds.check_config_map, small_kinds.check_data_change),
    "Secret": Rules(small_kinds.check_secret, small_kinds.check_data_change),
    "Service": Rules(small_kinds.check_service, small_kinds.check_service_change, name=dns_label),
    "PersistentVolume": Rules(volumes.check_volume, volumes.check_volume_change, namespaced=False),
    "PersistentVolumeClaim": Rules(volumes.check_claim, volumes.check_claim_change),
    "StorageClass": Rules(volumes.check_storage_class, volumes.check_storage_class_change, namespaced=False),
    "CSINode": Rules(volumes.check_csi_node, volumes.check_csi_node_change, namespaced=False),
    "CSIDriver": Rules(csi.check_driver, csi.check_driver_change, namespaced=False),
    "CSIStorageCapacity": Rules(csi.check_capacity, csi.check_capacity_change),
    "VolumeAttachment": Rules(csi.check_attachment, csi.check_attachment_change, namespaced=False),
    "ResourceQuota": Rules(limits.check_quota, limits.check_quota_change, limits.check_quota_status),
    "LimitRange": Rules(limits.check_limit_range),
    "Deployment": Rules(controllers.check_deployment, controllers.check_selector_change),
    "ReplicationController": Rules(controllers.check_replication_controller),
    "ReplicaSet": Rules(controllers.check_replica_set, controllers.check_selector_change),
    "StatefulSet": Rules(
        controllers.check_stateful_set, controllers.check_stateful_set_change, name=dns_label
    ),
    "DaemonSet": Rules(controllers.check_daemon_set, controllers.check_selector_change),
    "CronJob": Rules(
        cron_jobs.check_cron_job, cron_jobs.check_cron_job_change, new=cron_jobs.check_new_cron_job
    ),
    "Job": Rules(controllers.check_job, controllers.check_job_change),
    "PriorityClass": Rules(
        small_kinds.check_priority_class, small_kinds.check_priority_class_change, namespaced=False
    ),
    "PodDisruptionBudget": Rules(small_kinds.check_budget, status=small_kinds.check_budget_status),
    "PodGroup": Rules(groups.check_group, groups.check_group_change, groups.check_group_status),
    "CompositePodGroup": Rules(
        groups.check_composite, groups.check_composite_change, groups.check_group_status
    ),
    "Workload": Rules(groups.check_workload, groups.check_workload_change),
    "CustomResourceDefinition": Rules(
        definitions.check_definition, definitions.check_definition_change, namespaced=False
    ),
    "Lease": Rules(small_kinds.check_lease),
    "EndpointSlice": Rules(stored_only.check_endpoint_slice, stored_only.check_endpoint_slice_change),
    "Ingress": Rules(stored_only.check_ingress),
    "IngressClass": Rules(namespaced=False),
    "NetworkPolicy": Rules(stored_only.check_network_policy),
    "HorizontalPodAutoscaler": Rules(stored_only.check_autoscaler),
    "VolumeAttributesClass": Rules(
        stored_only.check_attributes_class, stored_only.check_attributes_class_change, namespaced=False
    ),
    "RuntimeClass": Rules(
        stored_only.check_runtime_class, stored_only.check_runtime_class_change, namespaced=False
    ),
    "DeviceClass": Rules(stored_only.check_device_class, namespaced=False),
    "DeviceTaintRule": Rules(stored_only.check_taint_rule, namespaced=False),
    "ResourceClaim": Rules(
        stored_only.check_resource_claim, stored_only.keeps_its_spec, stored_only.check_claim_status
    ),
    "ResourceClaimTemplate": Rules(stored_only.check_claim_template, stored_only.keeps_its_spec),
    "ResourceSlice": Rules(stored_only.check_slice, stored_only.check_slice_change, namespaced=False),
    "Role": Rules(rbac.check_role, name=path_segment),
    "ClusterRole": Rules(rbac.check_cluster_role, name=path_segment, namespaced=False),
    "RoleBinding": Rules(rbac.check_binding, rbac.check_binding_change, name=path_segment),
    "ClusterRoleBinding": Rules(
        rbac.check_cluster_binding, rbac.check_binding_change, name=path_segment, namespaced=False
    ),
}

_SPELLED: Mapping[tuple[str, str, str], Rules] = {
    (*_OLDER_GROUPS, "PodGroup"): Rules(
        groups.check_older_group, groups.check_group_change, groups.check_group_status
    ),
    (*_OLDER_GROUPS, "Workload"): Rules(groups.check_older_workload, groups.check_workload_change),
    ("events.k8s.io", "v1", "Event"): Rules(small_kinds.check_event, small_kinds.check_event_change),
}


def rules_of(group: str, version: str, kind: str) -> Rules:
    """Kinds that are not in the table have their metadata checked, and nothing else."""
    return _SPELLED.get((group, version, kind)) or _RULES.get(kind, _ANY)
