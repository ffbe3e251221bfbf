"""Which nodes does a study have? So many of a shape, or those of openb."""

from msgspec.structs import replace

from reprieve.model.objects import Node, NodeStatus, ObjectMeta
from reprieve_study.job import GPU

_SHAPES = {
    "gpu8": {"cpu": "96", "memory": "768Gi", GPU: "8", "pods": "110"},
    "gpu4": {"cpu": "64", "memory": "512Gi", GPU: "4", "pods": "110"},
    "cpu16": {"cpu": "16", "memory": "64Gi", "pods": "110"},
    "cpu64": {"cpu": "64", "memory": "256Gi", "pods": "110"},
}
_MOST = 100_000
_OPENB_GPUS = "alibabacloud.com/gpu-count"


class NodePoolError(ValueError):
    """A sentence."""


def pool(text: str) -> tuple[Node, ...]:
    """``gpu8x200``, or several: ``gpu8x200,cpu64x50``."""
    nodes: list[Node] = []
    for part in text.split(","):
        shape, sign, count = part.strip().rpartition("x")
        is_number = count.isascii() and count.isdigit() and 0 < int(count) <= _MOST
        if shape not in _SHAPES or not sign or not is_number:
            known = ", ".join(f"{name}xN" for name in _SHAPES)
            raise NodePoolError(f"expected {known}, or a file with nodes, got {part!r}")
        nodes += [node(f"{shape}-{len(nodes) + i}", _SHAPES[shape]) for i in range(int(count))]
    return tuple(nodes)


def node(name: str, offered: dict[str, str], labels: dict[str, str] | None = None) -> Node:
    return Node(
        metadata=ObjectMeta(
            name=name, uid=f"node-{name}", labels={"kubernetes.io/hostname": name, **(labels or {})}
        ),
        status=NodeStatus(allocatable=dict(offered)),
    )


def with_known_gpus(given: Node) -> Node:
    """GPUs under the name by which jobs request them: openb's YAML has another one."""
    offered = given.status.allocatable
    if GPU in offered or _OPENB_GPUS not in offered:
        return given
    return replace(given, status=replace(given.status, allocatable={**offered, GPU: offered[_OPENB_GPUS]}))
