"""Of which kind is a manifest: does it make pods, and in which order is it created?

Kinds are told apart by their API group: a Volcano ``Job`` is not a Job, a Knative ``Service`` no Service. Of
kinds that are not known here, the pod templates are found wherever they are.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from reprieve.cluster.api.templates import ControllerOwner, named_pod, pod_of
from reprieve.cluster.api.values import items, part, text_in
from reprieve.model.json import Json


class KindRole(Enum):
    """``SETTING``: what other manifests need, or what matters to placement and preemption."""

    SETTING = auto()
    POD_MAKER = auto()
    WITHOUT_PODS = auto()
    UNKNOWN = auto()


_GROUPS = "scheduling.k8s.io"
# What other manifests need is created first, whatever the order of the files.
_FIRST = (
    ("", "Namespace"),
    (_GROUPS, "PriorityClass"),
    ("storage.k8s.io", "StorageClass"),
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("", "PersistentVolumeClaim"),
    ("policy", "PodDisruptionBudget"),
    ("", "Service"),
    (_GROUPS, "Workload"),
    (_GROUPS, "CompositePodGroup"),
    (_GROUPS, "PodGroup"),
)
# Kinds that are pods or create them, and the version of each that is read.
_POD_MAKERS = {
    ("", "Pod"): "v1",
    ("", "ReplicationController"): "v1",
    **{("apps", kind): "v1" for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")},
    **{("batch", kind): "v1" for kind in ("Job", "CronJob")},
}
# Groups of which every kind that makes pods is known.
_COMPLETE = ("", "apps", "batch")
# Kinds of these groups that people keep beside their workloads, and that matter neither to placement nor to
# preemption. Other groups of Kubernetes (rbac.authorization.k8s.io, networking.k8s.io, …) have no others.
_WITHOUT_PODS = frozenset(
    {"ConfigMap", "Endpoints", "Event", "Secret", "ServiceAccount", "ControllerRevision", "PodTemplate"}
)
_BUILT_IN = (
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "autoscaling",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "storage.k8s.io",
)


def group_and_kind(body: Json) -> tuple[str, str]:
    return text_in(body, "apiVersion").rpartition("/")[0], text_in(body, "kind")


def role_of(body: Json) -> KindRole:
    group, kind = key = group_and_kind(body)
    if key in _POD_MAKERS:
        return KindRole.POD_MAKER
    if key in _FIRST:
        return KindRole.SETTING
    if group in _BUILT_IN or (group in _COMPLETE and kind in _WITHOUT_PODS):
        return KindRole.WITHOUT_PODS
    return KindRole.UNKNOWN


def turn_of(body: Json) -> int:
    key = group_and_kind(body)
    return _FIRST.index(key) if key in _FIRST else len(_FIRST)


def kind_fault(body: Json) -> str:
    """Why an object of this kind cannot be created; empty if it can."""
    group, kind = key = group_and_kind(body)
    api_version = text_in(body, "apiVersion")
    if key in _POD_MAKERS:
        expected = f"{group}/{_POD_MAKERS[key]}".removeprefix("/")
        return (
            ""
            if api_version == expected
            else f"apiVersion: expected {expected} for {kind}, got {api_version}"
        )
    if group in _COMPLETE and role_of(body) is KindRole.UNKNOWN:
        return f"kind: {kind} of {api_version} is not known"
    return ""


# --- another class -------------------------------------------------------------------------------


_TEMPLATE = ("spec", "template", "spec")
# Where each kind has the spec that names the class; a Workload has it in its templates.
_SPECS = {
    ("", "Pod"): ("spec",),
    (_GROUPS, "PodGroup"): ("spec",),
    (_GROUPS, "CompositePodGroup"): ("spec",),
    ("batch", "CronJob"): ("spec", "jobTemplate", *_TEMPLATE),
    ("batch", "Job"): _TEMPLATE,
    ("", "ReplicationController"): _TEMPLATE,
    **dict.fromkeys(
        (("apps", k) for k in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")), _TEMPLATE
    ),
}


def with_class(body: Json, priority_class: str) -> Json:
    key = group_and_kind(body)
    if priority_class and key == (_GROUPS, "Workload"):
        return {**body, "spec": _classed_templates(part(body, "spec"), priority_class)}
    return _classed(body, _SPECS[key], priority_class) if priority_class and key in _SPECS else body


def _classed(body: Json, path: tuple[str, ...], priority_class: str) -> Json:
    if not path:
        kept = {k: v for k, v in body.items() if k not in ("priority", "preemptionPolicy")}
        return {**kept, "priorityClassName": priority_class}
    return {**body, path[0]: _classed(part(body, path[0]), path[1:], priority_class)}


def _classed_templates(spec: Json, priority_class: str) -> Json:
    fields = ("podGroupTemplates", "compositePodGroupTemplates")
    changed = {
        name: [
            _classed_templates(_classed(template, (), priority_class), priority_class)
            for template in items(spec, name)
        ]
        for name in fields
        if name in spec
    }
    return {**spec, **changed}


# --- kinds that are not known --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FoundTemplate:
    """A pod template in an object of any kind. ``pods``: by the replicas and the parallelism around it."""

    path: str
    template: Json
    pods: int


_MOST_PODS = 10_000  # of one template: more would fill the memory
_COUNTS = ("replicas", "parallelism")


def templates_in(body: Json) -> list[FoundTemplate]:
    """Every object with a spec that has containers, outside of the object's metadata and status."""
    return [*_templates_below(part(body, "spec"), "spec", 1)]


def _templates_below(value: object, path: str, pods: int) -> Iterator[FoundTemplate]:
    match value:
        case list():
            for number, item in enumerate(value):
                yield from _templates_below(item, f"{path}[{number}]", pods)
        case dict() if any(items(part(value, "spec"), "containers")):
            yield FoundTemplate(path, value, min(pods, _MOST_PODS))
        case dict():
            counts = (value.get(name) for name in _COUNTS)
            for count in (n for n in counts if isinstance(n, int) and not isinstance(n, bool) and n >= 0):
                pods *= count
            for name, item in value.items():
                yield from _templates_below(item, f"{path}.{name}", pods)


def pods_of_templates(owner: ControllerOwner, templates: list[FoundTemplate]) -> Iterator[Json]:
    numbers = iter(range(sum(found.pods for found in templates)))
    for found in templates:
        for _ in range(found.pods):
            yield named_pod(pod_of(found.template, owner), owner, next(numbers))
