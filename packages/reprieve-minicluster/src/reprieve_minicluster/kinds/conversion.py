"""Conversion between the storage version of an object and the API versions in which it is served.

Plain JSON values in, plain JSON values out; nothing is validated, and unknown fields stay as they are. Fields
that a version does not have are not shown in it, and survive a write in it.
"""

from collections.abc import Callable, Mapping
from functools import partial

from reprieve.model.json import Json
from reprieve_minicluster.kinds.kind import Conversion, ResourceKind, peek

# Core events: the name in events.k8s.io.
_EVENT_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_CORE_NAMES = {theirs: ours for ours, theirs in _EVENT_NAMES.items()}
_NOT_IN_OLDER = ("preemptionPolicy", "parentCompositePodGroupName", "compositePodGroupTemplates")
_SCHEDULED, _OLDER_SCHEDULED = "PodGroupInitiallyScheduled", "PodGroupScheduled"


def to_version(kind: ResourceKind, api_version: str, body: Json) -> Json:
    """A stored object in an API version."""
    if api_version == body.get("apiVersion"):
        return body
    return _conversion(kind, api_version).shown({**body, "apiVersion": api_version})


def to_storage_version(kind: ResourceKind, api_version: str, body: Json, before: Json | None = None) -> Json:
    """An object of an API version in the storage version; ``before`` is the object that it replaces."""
    return _conversion(kind, api_version).stored({**body, "apiVersion": kind.api_version}, before)


def normalized(kind: ResourceKind, api_version: str, body: Json) -> Json:
    return _conversion(kind, api_version).normalized(body)


def stored_field(kind: ResourceKind, api_version: str, path: str) -> str:
    """The stored name of a field in a field selector of an API version."""
    first, dot, rest = path.partition(".")
    return _conversion(kind, api_version).fields.get(first, first) + dot + rest


def _conversion(kind: ResourceKind, api_version: str) -> Conversion:
    return kind.conversions.get(api_version, _UNCHANGED)


_UNCHANGED = Conversion(shown=lambda body: body, stored=lambda body, before: body)


def _renamed(body: Json, names: Mapping[str, str]) -> Json:
    return {names.get(name, name): value for name, value in body.items()}


EVENTS = Conversion(
    shown=partial(_renamed, names=_EVENT_NAMES),
    stored=lambda body, before: _renamed(body, _CORE_NAMES),
    fields=_CORE_NAMES,
)


# --- autoscalers ---------------------------------------------------------------------------------

# Utilization of cpu is the only metric that autoscaling/v1 has.
_CPU_TARGET, _CPU_NOW = "targetCPUUtilizationPercentage", "currentCPUUtilizationPercentage"
_USUAL_UTILIZATION = 80


def _older_autoscaler(body: Json) -> Json:
    spec, status = peek(body, "spec"), peek(body, "status")
    older = {name: value for name, value in spec.items() if name not in ("metrics", "behavior")}
    now = {name: value for name, value in status.items() if name not in ("currentMetrics", "conditions")}
    for values, name, metrics, field in (
        (older, _CPU_TARGET, spec.get("metrics"), "target"),
        (now, _CPU_NOW, status.get("currentMetrics"), "current"),
    ):
        found = [peek(peek(one, "resource"), field) for one in _cpu_metrics(metrics, field)]
        if found:
            values[name] = found[0]["averageUtilization"]
    return {**body, "spec": older, **({"status": now} if "status" in body else {})}


def _cpu_metrics(metrics: object, field: str) -> list[Json]:
    listed = metrics if isinstance(metrics, list) else []
    return [one for one in listed if isinstance(one, dict) and _is_of_cpu(peek(one, "resource"), field)]


def _is_of_cpu(metric: Json, field: str) -> bool:
    return metric.get("name") == "cpu" and "averageUtilization" in peek(metric, field)


def _newer_autoscaler(body: Json, before: Json | None) -> Json:
    spec, old = dict(peek(body, "spec")), peek(before or {}, "spec")
    utilization = spec.pop(_CPU_TARGET, None)
    metrics = old.get("metrics", [])
    others = [one for one in metrics if one not in _cpu_metrics(metrics, "target")]
    if utilization is not None or not others:
        target = {"type": "Utilization", "averageUtilization": utilization or _USUAL_UTILIZATION}
        others = [*others, {"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = {"behavior": old["behavior"]} if "behavior" in old else {}
    newer = {**body, "spec": {**spec, "metrics": others, **behavior}}
    if "status" in body:
        status = peek(before or {}, "status")
        kept = {name: status[name] for name in ("currentMetrics", "conditions") if name in status}
        shown = {name: value for name, value in peek(body, "status").items() if name != _CPU_NOW}
        newer["status"] = {**shown, **kept}
    return newer


OLDER_AUTOSCALERS = Conversion(shown=_older_autoscaler, stored=_newer_autoscaler)


# --- groups --------------------------------------------------------------------------------------


def _each_spec(body: Json, change: Callable[[Json], Json]) -> Json:
    """Apply a function to the spec of a group, or to the templates of a workload."""
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return body
    if body.get("kind") == "Workload":
        templates = spec.get("podGroupTemplates")
        if not isinstance(templates, list):
            return body
        changed = [change(t) if isinstance(t, dict) else t for t in templates]
        return {**body, "spec": {**spec, "podGroupTemplates": changed}}
    return {**body, "spec": change(spec)}


def _older(body: Json) -> Json:
    shown = _each_spec(body, _older_spec)
    if isinstance(shown.get("spec"), dict):
        shown["spec"] = {k: v for k, v in shown["spec"].items() if k not in _NOT_IN_OLDER}
    return _with_condition(shown, _SCHEDULED, _OLDER_SCHEDULED)


def _older_spec(spec: Json) -> Json:
    shown = {name: value for name, value in spec.items() if name not in _NOT_IN_OLDER}
    match shown.get("disruptionMode"):
        case {"all": dict()}:
            shown["disruptionMode"] = "PodGroup"
        case {"single": dict()}:
            shown["disruptionMode"] = "Pod"
    if isinstance(reference := shown.get("workloadRef"), dict):
        del shown["workloadRef"]
        names = {"templateName": "podGroupTemplateName"}
        shown["podGroupTemplateRef"] = {"workload": _renamed(reference, names)}
    return shown


def _newer(body: Json, before: Json | None) -> Json:
    newer = _with_condition(_each_spec(body, _newer_spec), _OLDER_SCHEDULED, _SCHEDULED)
    return newer if before is None else _with_unserved_fields(newer, before)


def _newer_spec(spec: Json) -> Json:
    kept = _mode_once(spec)
    policy = peek(kept, "schedulingPolicy")
    if "disruptionMode" in policy and "disruptionMode" not in kept:
        kept["disruptionMode"] = policy["disruptionMode"]
        kept["schedulingPolicy"] = {k: v for k, v in policy.items() if k != "disruptionMode"}
    match kept.get("disruptionMode"):
        case "PodGroup":
            kept["disruptionMode"] = {"all": {}}
        case "Pod":
            kept["disruptionMode"] = {"single": {}}
    match kept.get("podGroupTemplateRef"):
        case {"workload": dict(reference)}:
            del kept["podGroupTemplateRef"]
            kept["workloadRef"] = _renamed(reference, {"podGroupTemplateName": "templateName"})
    return kept


def _mode_once(spec: Json) -> Json:
    policy = peek(spec, "schedulingPolicy")
    mode = policy.get("disruptionMode")
    if mode is None or mode != spec.get("disruptionMode"):
        return dict(spec)
    return {**spec, "schedulingPolicy": {k: v for k, v in policy.items() if k != "disruptionMode"}}


def _with_condition(body: Json, old: str, new: str) -> Json:
    """Rename a type of condition."""
    status = peek(body, "status")
    conditions = status.get("conditions")
    if not isinstance(conditions, list):
        return body
    renamed = [{**c, "type": new} if isinstance(c, dict) and c.get("type") == old else c for c in conditions]
    return {**body, "status": {**status, "conditions": renamed}}


def _with_unserved_fields(body: Json, before: Json) -> Json:
    spec, old = peek(body, "spec"), peek(before, "spec")
    kept = {**_unserved_fields(old), **spec}
    templates = _by_name(old.get("podGroupTemplates"))
    if templates and isinstance(spec.get("podGroupTemplates"), list):
        kept["podGroupTemplates"] = [
            {**_unserved_fields(templates.get(str(t.get("name")), {})), **t} if isinstance(t, dict) else t
            for t in spec["podGroupTemplates"]
        ]
    return {**body, "spec": kept} if kept else body


def _unserved_fields(spec: Json) -> Json:
    return {name: spec[name] for name in _NOT_IN_OLDER if name in spec}


def _by_name(templates: object) -> dict[str, Json]:
    if not isinstance(templates, list):
        return {}
    return {t["name"]: t for t in templates if isinstance(t, dict) and isinstance(t.get("name"), str)}


# v1alpha2 has two fields for the disruption mode: if both have the same value, one is dropped.
OLDER_GROUPS = Conversion(shown=_older, stored=_newer, normalized=lambda body: _each_spec(body, _mode_once))
