"""Which kinds and fields does an API server serve, given its feature gates?

A field behind a gate that is off is dropped from what a client sends, unless the stored object uses it
already.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reprieve.cluster.api.values import items, part, text_in
from reprieve.model.json import Json


@dataclass(frozen=True, slots=True)
class Features:
    """The features that the API server serves, named after their gates."""

    generic_workload: bool = True
    workload_aware_preemption: bool = True
    pod_group_preemption_policy: bool = False
    topology_aware_workload_scheduling: bool = False
    composite_pod_group: bool = False
    in_place_pod_vertical_scaling_scheduler_preemption: bool = False


DEFAULT_FEATURES = Features()
ALL_FEATURES = Features(
    pod_group_preemption_policy=True,
    topology_aware_workload_scheduling=True,
    composite_pod_group=True,
    in_place_pod_vertical_scaling_scheduler_preemption=True,
)


_UNUSED: tuple[object, ...] = (None, "", [], {})  # a number is in use, whatever it is


def serves(features: Features, kind: str) -> bool:
    """Whether the kind is served at all."""
    if kind == "CompositePodGroup":
        return features.generic_workload and features.composite_pod_group
    return features.generic_workload or kind not in ("PodGroup", "Workload")


def drop_unserved(body: Json, old: Json | None, features: Features) -> None:
    """Removes fields that are not served and that the stored object does not use."""
    kind, before = body.get("kind"), old or {}
    match kind:
        case "Pod":
            _drop(part(body, "spec"), part(before, "spec"), _of_pods(features))
        case "Node":
            _drop(part(body, "spec"), part(before, "spec"), _of_nodes(features))
        case "PodGroup":
            _drop_from_group(part(body, "spec"), part(before, "spec"), features)
        case "CompositePodGroup":
            _drop(part(body, "spec"), part(before, "spec"), _of_composites(features))
        case "Workload":
            _drop_from_templates(part(body, "spec"), part(before, "spec"), features)
        case "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "ReplicationController" | "Job":
            was = part(before, "spec", "template", "spec")
            _drop(part(body, "spec", "template", "spec"), was, _of_pods(features))
        case "CronJob":
            way = ("spec", "jobTemplate", "spec", "template", "spec")
            _drop(part(body, *way), part(before, *way), _of_pods(features))


def _drop(spec: Json, before: Json, unserved: Iterator[str]) -> None:
    for field in unserved:
        if before.get(field) in _UNUSED:
            spec.pop(field, None)


def _drop_from_group(spec: Json, before: Json, features: Features) -> None:
    """In v1alpha2 the scheduling policy may hold the disruption mode."""
    _drop(spec, before, _of_groups(features))
    if not features.workload_aware_preemption:
        _drop(part(spec, "schedulingPolicy"), part(before, "schedulingPolicy"), iter(["disruptionMode"]))


def _drop_from_templates(parent: Json, before: Json, features: Features) -> None:
    if not features.composite_pod_group:
        _drop(parent, before, iter(["compositePodGroupTemplates"]))
    for field in ("podGroupTemplates", "compositePodGroupTemplates"):
        known = {text_in(template, "name"): template for template in items(before, field)}
        for template in items(parent, field):
            was = known.get(text_in(template, "name"), {})
            if field == "podGroupTemplates":
                _drop_from_group(template, was, features)
            else:
                _drop(template, was, _of_composites(features))
                _drop_from_templates(template, was, features)


def _of_pods(features: Features) -> Iterator[str]:
    if not features.generic_workload:
        yield "schedulingGroup"


def _of_nodes(features: Features) -> Iterator[str]:
    if not features.in_place_pod_vertical_scaling_scheduler_preemption:
        yield from ("podPreemptionPolicy", "preemptionPolicy")


def _of_groups(features: Features) -> Iterator[str]:
    yield from _of_composites(features)
    if not features.topology_aware_workload_scheduling:
        yield "schedulingConstraints"
    if not features.composite_pod_group:
        yield "parentCompositePodGroupName"


def _of_composites(features: Features) -> Iterator[str]:
    if not features.workload_aware_preemption:
        yield from ("priorityClassName", "priority", "disruptionMode")
    if not features.pod_group_preemption_policy:
        yield "preemptionPolicy"
