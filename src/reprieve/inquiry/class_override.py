"""How does a manifest look whose pods and groups have another priority class?"""

from reprieve.cluster.api.values import items, part, text_in
from reprieve.model.json import Json

_CLASSED = (
    "Pod",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "PodGroup",
    "CompositePodGroup",
    "Workload",
)
_TEMPLATES = {
    "Pod": ("spec",),
    "PodGroup": ("spec",),
    "CompositePodGroup": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}


def with_class(body: Json, priority_class: str) -> Json:
    kind = text_in(body, "kind")
    if not priority_class or kind not in _CLASSED:
        return body
    if kind == "Workload":
        return {**body, "spec": _classed_templates(part(body, "spec"), priority_class)}
    return _classed(body, _TEMPLATES.get(kind, ("spec", "template", "spec")), priority_class)


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
