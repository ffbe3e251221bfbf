"""How full is a cluster at a moment, and how much of what is free lies in pieces too small to be of use?"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from reprieve.model.objects import Node, Pod
from reprieve.model.resources import milli


class Occupancy:
    """``typical``: what a typical pod requests of the resource."""

    def __init__(self, nodes: Sequence[Node], resource: str, typical: float) -> None:
        self._resource = resource
        self._typical = typical
        self._rows = {node.metadata.name: row for row, node in enumerate(nodes)}
        self._offered = np.array([_amount(node.status.allocatable, resource) for node in nodes])
        self._total = float(self._offered.sum())

    def of(self, pods: Iterable[Pod]) -> tuple[float, float]:
        """The share that is used, and the share of the rest that is in fragments: on nodes where a typical
        pod does not fit."""
        free = self._offered.copy()
        rows = self._rows
        for pod in pods:
            row = rows.get(pod.spec.node_name)
            if row is not None and (requests := pod.spec.containers[0].resources.requests):
                free[row] -= _amount(requests, self._resource)
        left = float(free.sum())
        used = 1 - left / self._total if self._total else 0.0
        return used, float(free[free < self._typical].sum()) / left if left else 0.0


def _amount(amounts: Mapping[str, str | int | float], resource: str) -> float:
    return (milli(amounts.get(resource, 0)) or 0) / 1000
