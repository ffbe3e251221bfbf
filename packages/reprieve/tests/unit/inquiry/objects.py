"""Small clusters and manifests as Kubernetes objects, and files of them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

GPU = "nvidia.com/gpu"
TAKEN_AT = "2026-03-02T10:00:00Z"
STARTED = "2026-03-02T09:30:00Z"
_CLASSES: dict[str, dict[str, Any]] = {
    "low": {"value": 10},
    "standard": {"value": 100, "globalDefault": True},
    "urgent": {"value": 900},
    "patient": {"value": 900, "preemptionPolicy": "Never"},
}


def classes() -> list[Any]:
    return [priority_class(name, **fields) for name, fields in _CLASSES.items()]


def priority_class(name: str, annotations: dict[str, str] | None = None, **fields: Any) -> Any:
    meta = {"name": name, "annotations": annotations or {}}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, **fields}


def node(name: str, gpus: int = 8, cpu: str = "32", **spec: Any) -> Any:
    amounts = {"cpu": cpu, "memory": "256Gi", "pods": "110", GPU: str(gpus)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(  # noqa: PLR0913  one for each trait
    name: str,
    gpus: int = 0,
    cpu: str = "1",
    *,
    on: str = "",
    level: str = "standard",
    namespace: str = "default",
    group: str = "",
    owner: str = "",
    labels: dict[str, str] | None = None,
) -> Any:
    """``on``: the node where it runs. ``owner``: the ReplicaSet that controls it."""
    requests = {"cpu": cpu, **({GPU: str(gpus)} if gpus else {})}
    limits = {GPU: str(gpus)} if gpus else {}
    spec: dict[str, Any] = {
        "priorityClassName": level,
        "containers": [
            {"name": "main", "image": "app", "resources": {"requests": requests, "limits": limits}}
        ],
    }
    meta: dict[str, Any] = {"name": name, "namespace": namespace, "labels": labels or {}}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner}
        meta["ownerReferences"] = [{**reference, "controller": True}]
    if on:
        spec["nodeName"] = on
        body["status"] = {
            "phase": "Running",
            "startTime": STARTED,
            "conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": STARTED}],
        }
    return body


def group(name: str, count: int, *, level: str = "", whole: bool = False, namespace: str = "default") -> Any:
    """``count``: how many of its pods must start together."""
    spec: dict[str, Any] = {"schedulingPolicy": {"gang": {"minCount": count}}}
    if level:
        spec["priorityClassName"] = level
    if whole:
        spec["disruptionMode"] = {"all": {}}
    head = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup"}
    return {**head, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def budget(name: str, labels: dict[str, str], allowed: int) -> Any:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, "maxUnavailable": allowed},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 3,
            "desiredHealthy": 3,
            "expectedPods": 3,
        },
    }


def deployment(name: str, replicas: int, gpus: int = 0, cpu: str = "1", level: str = "standard") -> Any:
    template = pod(name, gpus, cpu, level=level)
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
        },
    }


def snapshot_file(folder: Path, objects: Iterable[Any]) -> str:
    """A snapshot that was taken at TAKEN_AT."""
    header = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "ClusterSnapshot", "takenAt": TAKEN_AT}
    return _written(folder / "cluster.jsonl", [header, *objects])


def manifest_file(folder: Path, objects: Iterable[Any], name: str = "new.yaml") -> str:
    """JSON is YAML: one document a line, with separators."""
    path = folder / name
    path.write_text("\n---\n".join(json.dumps(thing) for thing in objects))
    return str(path)


def _written(path: Path, things: Iterable[Any]) -> str:
    path.write_text("".join(f"{json.dumps(thing)}\n" for thing in things))
    return str(path)
