"""How does a manifest look whose pods and groups have another priority class?"""

from reprieve.cluster.api.values import items, part, text_in
from reprieve.model.json import Json

_TEMPLATE = ("spec", "template", "spec")
# Where each kind has the spec that names the class; a Workload has it in its templates.
_SPECS = {
    "Pod": ("spec",),
    "PodGroup": ("spec",),
    "CompositePodGroup": ("spec",),
    "CronJob": ("spec", "jobTemplate", *_TEMPLATE),
    **dict.fromkeys(("Deployment", "ReplicaSet", "ReplicationController"), _TEMPLATE),
    **dict.fromkeys(("StatefulSet", "DaemonSet", "Job"), _TEMPLATE),
}


def with_class(body: Json, priority_class: str) -> Json:
    kind = text_in(body, "kind")
    if priority_class and kind == "Workload":
        return {**body, "spec": _classed_templates(part(body, "spec"), priority_class)}
    return _classed(body, _SPECS[kind], priority_class) if priority_class and kind in _SPECS else body


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
