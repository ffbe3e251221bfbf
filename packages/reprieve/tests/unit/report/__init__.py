"""What people read, line by line, for small clusters."""

from collections.abc import Iterable
from typing import Any

import msgspec

from reprieve.model.objects import Node, Pod
from reprieve.model.snapshot import Snapshot, build
from reprieve.report.text_layout import TextLine


def texts(lines: Iterable[TextLine]) -> list[str]:
    return [line.text for line in lines]


def node(
    name: str, *, cpu: str = "4", memory: str = "8Gi", gpus: str = "0", zone: str = "", **spec: Any
) -> Node:
    offers = {"cpu": cpu, "memory": memory, "example.com/gpu": gpus, "pods": "110"}
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    return msgspec.convert(
        {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": offers}}, Node
    )


def pod(
    name: str, *, on: str = "", cpu: str = "1", annotations: dict[str, str] | None = None, **spec: Any
) -> Pod:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    return msgspec.convert(
        {
            "metadata": {"namespace": "default", "name": name, "annotations": annotations or {}},
            "spec": {"nodeName": on, "containers": [container], **spec},
        },
        Pod,
    )


def view_of(*objects: Node | Pod) -> Snapshot:
    built = build(objects)
    assert built.problems == ()
    return built.snapshot
