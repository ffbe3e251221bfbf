"""PodGroups, CompositePodGroups, their Workloads, and PriorityClasses."""

from reprieve.model.objects.meta import Condition, Count, Int32, ObjectMeta, Record


class GangPolicy(Record, frozen=True):
    """How many members must be placed together: pods, or the child groups of a composite group."""

    min_count: Count


class WorkloadRef(Record, frozen=True):
    workload_name: str = ""
    template_name: str = ""


class PodGroupSpec(Record, frozen=True):
    """One form for all API versions; ``gang`` is None for the basic policy."""

    gang: GangPolicy | None = None
    disrupted_whole: bool = False
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    topology_key: str = ""
    workload_ref: WorkloadRef | None = None
    parent: str = ""


class GroupStatus(Record, frozen=True):
    conditions: tuple[Condition, ...] = ()


class PodGroup(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: GroupStatus = GroupStatus()


class CompositePodGroup(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: GroupStatus = GroupStatus()


class PodGroupTemplate(Record, frozen=True):
    name: str = ""
    spec: PodGroupSpec = PodGroupSpec()


class CompositePodGroupTemplate(Record, frozen=True):
    name: str = ""
    spec: PodGroupSpec = PodGroupSpec()
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    composite_pod_group_templates: tuple["CompositePodGroupTemplate", ...] = ()


class Workload(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    pod_group_templates: tuple[PodGroupTemplate, ...] = ()
    composite_pod_group_templates: tuple[CompositePodGroupTemplate, ...] = ()


class PriorityClass(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"
