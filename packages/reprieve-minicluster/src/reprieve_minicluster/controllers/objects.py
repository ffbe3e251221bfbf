"""Objects as controllers decode them: only the fields by which they decide. Templates stay plain JSON."""

from datetime import datetime
from math import inf
from typing import ClassVar, Protocol

import msgspec

from reprieve.cluster.api.templates import ControllerOwner
from reprieve.model.json import Json
from reprieve.model.objects import (
    Condition,
    CSINode,
    DisruptionBudgetSpec,
    Int64,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeStatus,
    ObjectMeta,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PhaseStatus,
    Record,
    SchedulingGroup,
    StorageClass,
    Taint,
    Toleration,
)
from reprieve_minicluster.kinds import BY_RESOURCE


class Thing(Protocol):
    """What is known of any object."""

    resource: ClassVar[str]

    @property
    def metadata(self) -> ObjectMeta: ...


class Facts(Record, frozen=True):
    """What controllers know of an object. ``resource``: its type."""

    resource: ClassVar[str] = ""
    metadata: ObjectMeta = ObjectMeta()

    @property
    def is_leaving(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    @property
    def created(self) -> float:
        since = self.metadata.creation_timestamp
        return since.timestamp() if since is not None else 0.0


class TimedTaint(Taint, frozen=True):
    time_added: datetime | None = None


class NodeTaints(Record, frozen=True):
    taints: tuple[TimedTaint, ...] = ()


class NodeFacts(Facts, frozen=True):
    resource = "nodes"
    spec: NodeTaints = NodeTaints()
    status: NodeStatus = NodeStatus()


class TimedToleration(Toleration, frozen=True):
    toleration_seconds: Int64 | None = None

    @property
    def seconds(self) -> float:
        return inf if self.toleration_seconds is None else max(0, self.toleration_seconds)


class AffinityFacts(Record, frozen=True):
    """The node affinity of a pod."""

    node_affinity: NodeAffinity = NodeAffinity()


class ClaimUse(Record, frozen=True):
    claim_name: str = ""


class ClaimTemplate(Record, frozen=True):
    volume_claim_template: Json = {}


class VolumeUse(Record, frozen=True):
    name: str = ""
    persistent_volume_claim: ClaimUse | None = None
    ephemeral: ClaimTemplate | None = None


class PodSpecFacts(Record, frozen=True):
    node_name: str = ""
    affinity: AffinityFacts = AffinityFacts()
    volumes: tuple[VolumeUse, ...] = ()
    tolerations: tuple[TimedToleration, ...] = ()
    scheduling_group: SchedulingGroup | None = None


class PodStatusFacts(Record, frozen=True):
    phase: str = ""
    pod_ip: str = msgspec.field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()


class PodFacts(Facts, frozen=True):
    resource = "pods"
    spec: PodSpecFacts = PodSpecFacts()
    status: PodStatusFacts = PodStatusFacts()

    @property
    def is_over(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_active(self) -> bool:
        return not self.is_over and not self.is_leaving

    @property
    def is_ready(self) -> bool:
        return self.has_condition("Ready")

    def has_condition(self, name: str, status: str = "True") -> bool:
        return any(c.type == name and c.status == status for c in self.status.conditions)


class VolumeSpec(PersistentVolumeSpec, frozen=True):
    persistent_volume_reclaim_policy: str = "Retain"


class VolumeFacts(Facts, frozen=True):
    resource = "persistentvolumes"
    spec: VolumeSpec = VolumeSpec()
    status: PhaseStatus = PhaseStatus()


class StorageClassFacts(StorageClass, frozen=True):
    resource: ClassVar[str] = "storageclasses.storage.k8s.io"
    reclaim_policy: str = "Delete"
    mount_options: tuple[str, ...] = ()
    allow_volume_expansion: bool = False


class ClaimFacts(PersistentVolumeClaim, frozen=True):
    resource: ClassVar[str] = "persistentvolumeclaims"


class CSINodeFacts(CSINode, frozen=True):
    resource: ClassVar[str] = "csinodes.storage.k8s.io"


class RollingUpdate(Record, frozen=True):
    max_surge: int | str = "25%"
    max_unavailable: int | str = "25%"


class DeploymentStrategy(Record, frozen=True):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DeploymentSpec(Record, frozen=True):
    replicas: int = 1
    selector: Json = {}
    template: Json = {}
    strategy: DeploymentStrategy = DeploymentStrategy()
    paused: bool = False
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    progress_deadline_seconds: int = 600


class DeploymentStatus(Record, frozen=True):
    conditions: tuple[Condition, ...] = ()


class DeploymentFacts(Facts, frozen=True):
    resource = "deployments.apps"
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ReplicaSetSpec(Record, frozen=True):
    replicas: int = 1
    selector: Json = {}
    template: Json = {}
    min_ready_seconds: int = 0


class ReplicaSetFacts(Facts, frozen=True):
    resource = "replicasets.apps"
    spec: ReplicaSetSpec = ReplicaSetSpec()

    @property
    def selector(self) -> Json:
        return self.spec.selector


class ReplicationControllerFacts(ReplicaSetFacts, frozen=True):
    """Its selector is a mapping of labels."""

    resource: ClassVar[str] = "replicationcontrollers"

    @property
    def selector(self) -> Json:
        return {"matchLabels": self.spec.selector}


class RollingSet(Record, frozen=True):
    partition: int = 0
    max_unavailable: int | str = 1
    max_surge: int | str = 0


class SetStrategy(Record, frozen=True):
    type: str = "RollingUpdate"
    rolling_update: RollingSet = RollingSet()


class Ordinals(Record, frozen=True):
    start: int = 0


class ClaimRetention(Record, frozen=True):
    when_deleted: str = "Retain"
    when_scaled: str = "Retain"


class StatefulSetSpec(Record, frozen=True):
    replicas: int = 1
    selector: Json = {}
    template: Json = {}
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    volume_claim_templates: list[Json] = []
    update_strategy: SetStrategy = SetStrategy()
    ordinals: Ordinals = Ordinals()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()


class StatefulSetStatus(Record, frozen=True):
    current_revision: str = ""


class StatefulSetFacts(Facts, frozen=True):
    resource = "statefulsets.apps"
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetSpec(Record, frozen=True):
    selector: Json = {}
    template: Json = {}
    update_strategy: SetStrategy = SetStrategy()
    min_ready_seconds: int = 0
    revision_history_limit: int = 10


class DaemonSetFacts(Facts, frozen=True):
    resource = "daemonsets.apps"
    spec: DaemonSetSpec = DaemonSetSpec()


class DaemonPodFacts(Record, frozen=True):
    """The node constraints in the pod template of a DaemonSet."""

    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: AffinityFacts = AffinityFacts()
    tolerations: tuple[Toleration, ...] = ()

    @property
    def required(self) -> NodeSelector | None:
        return self.affinity.node_affinity.required_during_scheduling_ignored_during_execution


class RevisionFacts(Facts, frozen=True):
    """A ControllerRevision."""

    resource = "controllerrevisions.apps"
    data: Json = {}
    revision: int = 0


class ConditionPattern(Record, frozen=True):
    type: str = ""
    status: str = "True"


class FailureRule(Record, frozen=True):
    action: str = ""
    on_pod_conditions: tuple[ConditionPattern, ...] = ()


class FailurePolicy(Record, frozen=True):
    rules: tuple[FailureRule, ...] = ()


class JobSpec(Record, frozen=True):
    parallelism: int | None = None
    completions: int | None = None
    backoff_limit: int = 6
    suspend: bool = False
    managed_by: str | None = None
    selector: Json = {}
    completion_mode: str = "NonIndexed"
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    pod_failure_policy: FailurePolicy = FailurePolicy()
    template: Json = {}


class JobStatus(Record, frozen=True):
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    start_time: str = ""
    completion_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()


class JobFacts(Facts, frozen=True):
    resource = "jobs.batch"
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class CronJobSpec(Record, frozen=True):
    schedule: str = ""
    time_zone: str | None = None
    suspend: bool = False
    concurrency_policy: str = "Allow"
    starting_deadline_seconds: int | None = None
    job_template: Json = {}
    successful_jobs_history_limit: int = 3
    failed_jobs_history_limit: int = 1


class CronJobStatus(Record, frozen=True):
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class CronJobFacts(Facts, frozen=True):
    resource = "cronjobs.batch"
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


class WorkloadFacts(Facts, frozen=True):
    resource = "workloads.scheduling.k8s.io"
    api_version: str = ""
    kind: str = ""
    spec: Json = {}


class PodGroupFacts(Facts, frozen=True):
    resource = "podgroups.scheduling.k8s.io"
    spec: Json = {}


class CompositeGroupFacts(PodGroupFacts, frozen=True):
    """A CompositePodGroup."""

    resource: ClassVar[str] = "compositepodgroups.scheduling.k8s.io"


class AggregationRule(Record, frozen=True):
    cluster_role_selectors: tuple[LabelSelector, ...] = ()


class ClusterRoleFacts(Facts, frozen=True):
    resource = "clusterroles.rbac.authorization.k8s.io"
    aggregation_rule: AggregationRule | None = None
    rules: list[Json] | None = None


class ServiceSpecFacts(Record, frozen=True):
    selector: dict[str, str] | None = None
    ports: tuple[Json, ...] = ()
    publish_not_ready_addresses: bool = False


class ServiceFacts(Facts, frozen=True):
    resource = "services"
    spec: ServiceSpecFacts = ServiceSpecFacts()


class EndpointSliceFacts(Facts, frozen=True):
    resource = "endpointslices.discovery.k8s.io"
    endpoints: list[Json] = []
    ports: list[Json] | None = None


class NamespaceFacts(Facts, frozen=True):
    resource = "namespaces"


class ServiceAccountFacts(Facts, frozen=True):
    resource = "serviceaccounts"


class ConfigMapFacts(Facts, frozen=True):
    resource = "configmaps"
    data: dict[str, str] = {}


class BudgetStatus(Record, frozen=True):
    disrupted_pods: dict[str, datetime] = {}


class BudgetFacts(Facts, frozen=True):
    resource = "poddisruptionbudgets.policy"
    spec: DisruptionBudgetSpec = DisruptionBudgetSpec()
    status: BudgetStatus = BudgetStatus()


def controller_uid(meta: ObjectMeta) -> str:
    return next((owner.uid for owner in meta.owner_references if owner.controller), "")


def owner_of(thing: Thing) -> ControllerOwner:
    """The object as the owner of others."""
    kind, meta = BY_RESOURCE[thing.resource], thing.metadata
    return ControllerOwner(kind.api_version, kind.kind, meta.namespace, meta.name, meta.uid)
