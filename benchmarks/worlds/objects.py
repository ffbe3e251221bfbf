"""What do the objects of all worlds have in common?"""

from typing import Any

Json = dict[str, Any]


def container(cpu: str | None, memory: str | None, extra: dict[str, str] | None = None) -> Json:
    asked = {"cpu": cpu, "memory": memory, **(extra or {})}
    requests = {name: amount for name, amount in asked.items() if amount is not None}
    return {"name": "main", "image": "example/app:1", "resources": {"requests": requests}}


def pod(name: str, labels: dict[str, str], spec: Json) -> Json:
    meta = {"name": name, "namespace": "default", "uid": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def group(name: str, spec: Json) -> Json:
    meta = {"name": name, "namespace": "default", "uid": name}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": spec}
