"""How does each version of the API spell groups of pods, and what is the one form of the model?

``Newer`` is the spelling of scheduling.k8s.io v1beta1 and v1alpha3 and of reprieve.dev; ``Older`` that of
v1alpha2; of v1alpha1 only the Workload is known. A field of another version's spelling is declared as None:
ignoring it would disrupt a group in a way that its owner did not choose.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import msgspec

from reprieve.model.objects import (
    CompositePodGroup,
    CompositePodGroupTemplate,
    Condition,
    Count,
    GangPolicy,
    GroupStatus,
    Ignored,
    Int32,
    ObjectMeta,
    PodGroup,
    PodGroupSpec,
    PodGroupTemplate,
    Record,
    Workload,
    WorkloadRef,
)


class GroupApi(StrEnum):
    """The versions that have a PodGroup."""

    V1BETA1 = "scheduling.k8s.io/v1beta1"
    V1ALPHA3 = "scheduling.k8s.io/v1alpha3"
    V1ALPHA2 = "scheduling.k8s.io/v1alpha2"
    REPRIEVE = "reprieve.dev/v1alpha1"


NEWER = (GroupApi.V1BETA1, GroupApi.V1ALPHA3, GroupApi.REPRIEVE)
OLDER = GroupApi.V1ALPHA2
OLDEST = "scheduling.k8s.io/v1alpha1"

_SCHEDULED, _OLDER_SCHEDULED = "PodGroupInitiallyScheduled", "PodGroupScheduled"


def _check_one_of(**members: object) -> None:
    given = [name for name, member in members.items() if member is not None]
    if len(given) != 1:
        got = " and ".join(given) or "neither"
        raise ValueError(f"expected exactly one of {' and '.join(members)}, got {got}")


# --- what all versions share ---------------------------------------------------------------------


class TopologyConstraint(Record, frozen=True):
    key: Annotated[str, msgspec.Meta(min_length=1)]


class SchedulingConstraints(Record, frozen=True):
    topology: Annotated[tuple[TopologyConstraint, ...], msgspec.Meta(max_length=1)] = ()


class Shared(Record, frozen=True):
    """The fields that groups and their templates share in all versions."""

    scheduling_constraints: SchedulingConstraints | None = None
    resource_claims: tuple[Ignored, ...] = ()  # reported as not served, otherwise unused
    priority: Int32 | None = None
    priority_class_name: str = ""

    @property
    def topology_key(self) -> str:
        constraints = self.scheduling_constraints
        return constraints.topology[0].key if constraints is not None and constraints.topology else ""


# --- v1beta1 and v1alpha3 ------------------------------------------------------------------------


class DisruptionMode(Record, frozen=True):
    single: Ignored | None = None
    all: Ignored | None = None

    def __post_init__(self) -> None:
        _check_one_of(single=self.single, all=self.all)


class SchedulingPolicy(Record, frozen=True):
    basic: Ignored | None = None
    gang: GangPolicy | None = None
    disruption_mode: None = None

    def __post_init__(self) -> None:
        _check_one_of(basic=self.basic, gang=self.gang)


class CompositeGang(Record, frozen=True):
    min_group_count: Count


class CompositePolicy(Record, frozen=True):
    basic: Ignored | None = None
    gang: CompositeGang | None = None
    disruption_mode: None = None

    def __post_init__(self) -> None:
        _check_one_of(basic=self.basic, gang=self.gang)


class Newer(Shared, frozen=True):
    disruption_mode: DisruptionMode | None = None
    preemption_policy: str = ""
    pod_group_template_ref: None = None
    # Templates have neither of these two.
    workload_ref: WorkloadRef | None = None
    parent_composite_pod_group_name: str = ""

    def keep(self, gang: GangPolicy | None) -> PodGroupSpec:
        return PodGroupSpec(
            gang=gang,
            disrupted_whole=self.disruption_mode is not None and self.disruption_mode.all is not None,
            priority=self.priority,
            priority_class_name=self.priority_class_name,
            preemption_policy=self.preemption_policy,
            topology_key=self.topology_key,
            workload_ref=self.workload_ref,
            parent=self.parent_composite_pod_group_name,
        )


class NewerSpec(Newer, frozen=True, kw_only=True):
    scheduling_policy: SchedulingPolicy

    def kept(self) -> PodGroupSpec:
        return self.keep(self.scheduling_policy.gang)


class CompositeSpec(Newer, frozen=True, kw_only=True):
    scheduling_policy: CompositePolicy

    def kept(self) -> PodGroupSpec:
        gang = self.scheduling_policy.gang
        return self.keep(None if gang is None else GangPolicy(min_count=gang.min_group_count))


class NewerTemplate(NewerSpec, frozen=True, kw_only=True):
    name: str


class CompositeTemplate(CompositeSpec, frozen=True, kw_only=True):
    name: str
    pod_group_templates: tuple[NewerTemplate, ...] = ()
    composite_pod_group_templates: tuple["CompositeTemplate", ...] = ()


class NewerGroup(Record, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NewerSpec
    status: GroupStatus = GroupStatus()


class NewerComposite(Record, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CompositeSpec
    status: GroupStatus = GroupStatus()


class NewerWorkloadSpec(Record, frozen=True):
    pod_group_templates: tuple[NewerTemplate, ...] = ()
    composite_pod_group_templates: tuple[CompositeTemplate, ...] = ()


class NewerWorkload(Record, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NewerWorkloadSpec


# --- v1alpha2 ------------------------------------------------------------------------------------


def _check_mode(mode: str) -> None:
    if mode not in ("", "Pod", "PodGroup"):
        raise ValueError(f"expected Pod or PodGroup as disruptionMode, got {mode!r}")


class OlderPolicy(Record, frozen=True):
    basic: Ignored | None = None
    gang: GangPolicy | None = None
    disruption_mode: str = ""

    def __post_init__(self) -> None:
        _check_one_of(basic=self.basic, gang=self.gang)
        _check_mode(self.disruption_mode)


class TemplateName(Record, frozen=True):
    workload_name: str = ""
    pod_group_template_name: str = ""


class TemplateRef(Record, frozen=True):
    workload: TemplateName


class OlderSpec(Shared, frozen=True, kw_only=True):
    """The disruption mode is in the spec, or in the policy as in the first version of the design."""

    scheduling_policy: OlderPolicy
    disruption_mode: str = ""
    pod_group_template_ref: TemplateRef | None = None
    workload_ref: None = None
    preemption_policy: None = None
    parent_composite_pod_group_name: None = None

    def __post_init__(self) -> None:
        _check_mode(self.disruption_mode)
        if self.disruption_mode and self.scheduling_policy.disruption_mode:
            raise ValueError("expected disruptionMode here or in schedulingPolicy, got it in both")

    def kept(self) -> PodGroupSpec:
        mode = self.disruption_mode or self.scheduling_policy.disruption_mode
        return PodGroupSpec(
            gang=self.scheduling_policy.gang,
            disrupted_whole=mode == "PodGroup",
            priority=self.priority,
            priority_class_name=self.priority_class_name,
            topology_key=self.topology_key,
            workload_ref=self._workload_ref(),
        )

    def _workload_ref(self) -> WorkloadRef | None:
        if self.pod_group_template_ref is None:
            return None
        template = self.pod_group_template_ref.workload
        return WorkloadRef(
            workload_name=template.workload_name, template_name=template.pod_group_template_name
        )


class OlderTemplate(OlderSpec, frozen=True, kw_only=True):
    name: str


class OlderGroup(Record, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: OlderSpec
    status: GroupStatus = GroupStatus()


class OlderWorkloadSpec(Record, frozen=True):
    pod_group_templates: tuple[OlderTemplate, ...] = ()


class OlderWorkload(Record, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: OlderWorkloadSpec


# --- v1alpha1 ------------------------------------------------------------------------------------


class OldestTemplate(Record, frozen=True, kw_only=True):
    name: str
    policy: SchedulingPolicy


class OldestWorkloadSpec(Record, frozen=True):
    pod_groups: tuple[OldestTemplate, ...] = ()


class OldestWorkload(Record, frozen=True, kw_only=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: OldestWorkloadSpec


# --- from the API to the kept form ---------------------------------------------------------------

Spelling = NewerGroup | NewerComposite | NewerWorkload | OlderGroup | OlderWorkload | OldestWorkload


def spelled_condition(api_version: str, condition: str) -> str:
    """The name of a type of condition in a version of the API."""
    return _OLDER_SCHEDULED if (api_version, condition) == (OLDER, _SCHEDULED) else condition


def keep_group(group: NewerGroup | OlderGroup) -> PodGroup:
    status = group.status
    if isinstance(group, OlderGroup):
        status = _renamed(status, _OLDER_SCHEDULED, _SCHEDULED)
    return PodGroup(metadata=group.metadata, spec=group.spec.kept(), status=status)


def keep_composite(group: NewerComposite) -> CompositePodGroup:
    return CompositePodGroup(metadata=group.metadata, spec=group.spec.kept(), status=group.status)


def keep_workload(workload: NewerWorkload | OlderWorkload | OldestWorkload) -> Workload:
    match workload.spec:
        case NewerWorkloadSpec() as spec:
            return Workload(
                metadata=workload.metadata,
                pod_group_templates=_templates(spec.pod_group_templates),
                composite_pod_group_templates=_composites(spec.composite_pod_group_templates),
            )
        case OlderWorkloadSpec() as spec:
            return Workload(
                metadata=workload.metadata, pod_group_templates=_templates(spec.pod_group_templates)
            )
        case OldestWorkloadSpec() as spec:
            oldest = (
                PodGroupTemplate(name=t.name, spec=PodGroupSpec(gang=t.policy.gang)) for t in spec.pod_groups
            )
            return Workload(metadata=workload.metadata, pod_group_templates=tuple(oldest))


def _templates(templates: tuple[NewerTemplate | OlderTemplate, ...]) -> tuple[PodGroupTemplate, ...]:
    return tuple(PodGroupTemplate(name=t.name, spec=t.kept()) for t in templates)


def _composites(templates: tuple[CompositeTemplate, ...]) -> tuple[CompositePodGroupTemplate, ...]:
    return tuple(
        CompositePodGroupTemplate(
            name=t.name,
            spec=t.kept(),
            pod_group_templates=_templates(t.pod_group_templates),
            composite_pod_group_templates=_composites(t.composite_pod_group_templates),
        )
        for t in templates
    )


def _renamed(status: GroupStatus, old: str, new: str) -> GroupStatus:
    def rename(condition: Condition) -> Condition:
        return msgspec.structs.replace(condition, type=new) if condition.type == old else condition

    return GroupStatus(conditions=tuple(map(rename, status.conditions)))


def unserved_in(thing: Spelling) -> tuple[str, ...]:
    """Paths of claims for devices, which Reprieve does not place by."""
    match thing.spec:
        case OldestWorkloadSpec():
            return ()
        case NewerWorkloadSpec() | OlderWorkloadSpec() as spec:
            return tuple(_claims_of_templates(spec, "spec"))
        case spec:
            return ("spec.resourceClaims",) if spec.resource_claims else ()


def _claims_of_templates(
    parent: NewerWorkloadSpec | OlderWorkloadSpec | CompositeTemplate, path: str
) -> Iterator[str]:
    for i, template in enumerate(parent.pod_group_templates):
        if template.resource_claims:
            yield f"{path}.podGroupTemplates[{i}].resourceClaims"
    if not isinstance(parent, OlderWorkloadSpec):
        for i, composite in enumerate(parent.composite_pod_group_templates):
            yield from _claims_of_templates(composite, f"{path}.compositePodGroupTemplates[{i}]")
