"""The pods of every node in order of importance: one matrix, ``[slot, node]``.

With it, a question about the least important pods of all nodes is one operation on rows of the matrix. The
most important pod is in slot 0; below the last pod of a node the slots hold NO_POD.
"""

from collections.abc import Sequence

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.objects import Pod
from reprieve.model.shape import CompiledPod

NO_POD = -1

Importance = tuple[int, float, str, str]


def importance(pod: Pod) -> Importance:
    """Sorts the most important first: highest priority, then earliest start, then name."""
    return -(pod.spec.priority or 0), start_of(pod), pod.metadata.namespace, pod.metadata.name


def start_of(pod: Pod) -> float:
    """When a pod started; infinity if it has not, which makes it younger than all that have."""
    start = pod.status.start_time
    return start.timestamp() if start is not None else float("inf")


def slots_of(pods: Sequence[CompiledPod], where: Ints, nodes: int) -> Ints:
    on_node: list[list[tuple[Importance, int]]] = [[] for _ in range(nodes)]
    for row, compiled in enumerate(pods):
        if where[row] >= 0:
            on_node[where[row]].append((importance(compiled.pod), row))
    slots = np.full((max(map(len, on_node), default=0), nodes), NO_POD, np.int64)
    for node, pods_there in enumerate(on_node):
        slots[: len(pods_there), node] = [row for _, row in sorted(pods_there)]
    slots.setflags(write=False)
    return slots
