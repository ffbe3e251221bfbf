"""A pod: its spec, and its status."""

import msgspec

from reprieve.model.objects.meta import (
    Condition,
    Ignored,
    Int32,
    Int64,
    LabelSelector,
    Named,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    Quantity,
    Record,
    ResourceRequirements,
    Time,
)
from reprieve.model.objects.pod_volumes import Volume


class ContainerPort(Record, frozen=True):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class ContainerRestartRule(Record, frozen=True):
    action: str = ""


class VolumeMount(Record, frozen=True):
    bind_mount_options: tuple[str, ...] = ()


class Container(Record, frozen=True):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()


class PreferredSchedulingTerm(Record, frozen=True):
    weight: Int32
    preference: NodeSelectorTerm


class NodeAffinity(Record, frozen=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Record, frozen=True):
    label_selector: LabelSelector | None = None
    topology_key: str = ""
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Record, frozen=True):
    weight: Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Record, frozen=True):
    """Also the type of podAntiAffinity."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Record, frozen=True):
    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class Toleration(Record, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Record, frozen=True):
    max_skew: Int32 = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class SchedulingGroup(Record, frozen=True):
    """Which PodGroup a pod belongs to."""

    pod_group_name: str = ""


class PodSpec(Record, frozen=True):
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: dict[str, Quantity] = {}
    node_selector: dict[str, str] = {}
    affinity: Affinity = Affinity()
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    host_network: bool = False
    host_users: bool | None = None
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    scheduling_gates: tuple[Named, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    termination_grace_period_seconds: Int64 | None = None
    # Decoded only to reject pods that use them.
    resource_claims: tuple[Ignored, ...] = ()
    workload_ref: Ignored | None = None


class ContainerStatus(Record, frozen=True):
    name: str = ""
    allocated_resources: dict[str, Quantity] | None = None
    resources: ResourceRequirements | None = None


class MappedResource(Record, frozen=True):
    name: str = ""
    quantity: Quantity = 0


class OverheadResource(Record, frozen=True):
    name: str = ""
    per_pod: Quantity = 0
    per_container: Quantity = 0


class ClaimedResources(Record, frozen=True):
    """The node's own resources that a pod was given through a ResourceClaim."""

    containers: tuple[str, ...] = ()
    mapping: tuple[MappedResource, ...] = ()
    overhead: tuple[OverheadResource, ...] = ()


class PodStatus(Record, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: Time | None = None
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    allocated_resources: dict[str, Quantity] | None = None
    resources: ResourceRequirements | None = None
    node_allocatable_resource_claim_statuses: tuple[ClaimedResources, ...] = ()


class Pod(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
