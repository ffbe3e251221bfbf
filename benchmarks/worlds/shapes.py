"""Pods of many shapes, from `shapes.yaml`: what can a pod ask of its node?"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from benchmarks.worlds.objects import Json, container, pod

_FILE = Path(__file__).with_name("shapes.yaml")


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    fits: bool
    written: Json


@cache
def shapes() -> tuple[Shape, ...]:
    return tuple(Shape(one["name"], one.get("fits", True), one) for one in yaml.safe_load(_FILE.read_text()))


def shaped(shape: Shape, name: str) -> Json:
    """A pod of the shape that waits for a node."""
    written = shape.written
    main = container(written.get("cpu"), written.get("memory"), written.get("extra"))
    if "hostPort" in written:
        main["ports"] = [{"containerPort": 80, "hostPort": written["hostPort"]}]
    helpers = [
        {**container(**written[kind]), "name": kind, "restartPolicy": policy}
        for kind, policy in (("sidecar", "Always"), ("init", ""))
        if kind in written
    ]
    spec = {"schedulerName": "reprieve", "priority": 500, "containers": [main], "initContainers": helpers}
    made = pod(name, written.get("labels", {"app": "newcomer"}), {**spec, **written.get("spec", {})})
    return {**made, "status": {"phase": "Pending"}}
