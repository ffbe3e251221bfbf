"""Small objects for the cases in this directory, written as their JSON."""

from typing import Any

import msgspec

from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Node, NodeSelectorTerm, Pod, Ref, Taint, Toleration
from reprieve.model.resources import Problems


def a_pod(
    name: str = "p", on: str = "", labels: Json | None = None, status: Json | None = None, **spec: Any
) -> Pod:
    spec = {"containers": [{"name": "c"}], **spec}
    if on:
        spec["nodeName"] = on
    meta = {"name": name, "namespace": "default", "labels": labels or {}}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status or {}}, Pod)


def container(name: str = "c", **requests: str) -> Json:
    return {"name": name, "resources": {"requests": requests}}


def sidecar(name: str, **requests: str) -> Json:
    return container(name, **requests) | {"restartPolicy": "Always"}


def a_node(name: str = "n", labels: Json | None = None, spec: Json | None = None, **allocatable: str) -> Node:
    status = {"allocatable": {"pods": "110", **allocatable}}
    meta = {"name": name, "labels": labels or {}}
    return msgspec.convert({"metadata": meta, "spec": spec or {}, "status": status}, Node)


def a_selector(**fields: Any) -> LabelSelector:
    return msgspec.convert(fields, LabelSelector)


def a_term(
    *expressions: tuple[str, str, list[str]], names: list[tuple[str, list[str]]] | None = None
) -> NodeSelectorTerm:
    fields = [{"key": "metadata.name", "operator": op, "values": values} for op, values in names or []]
    labels = [{"key": key, "operator": op, "values": values} for key, op, values in expressions]
    return msgspec.convert({"matchExpressions": labels, "matchFields": fields}, NodeSelectorTerm)


def a_toleration(**fields: str) -> Toleration:
    return msgspec.convert(fields, Toleration)


def a_taint(key: str, value: str = "", effect: str = "NoSchedule") -> Taint:
    return Taint(key=key, value=value, effect=effect)


def no_problems() -> Problems:
    return Problems(Ref(kind="Pod", namespace="default", name="p"))


def paths(problems: Problems) -> list[str]:
    return [problem.path for problem in problems.all()]
