"""How full is a cluster at a moment, and how much of what is free lies in pieces too small to be of use?"""

from collections.abc import Iterable, Mapping, Sequence

from reprieve.model.objects import Node, Pod
from reprieve.model.resources import milli


class Occupancy:
    """``typical``: what a typical pod requests of the resource."""

    def __init__(self, nodes: Sequence[Node], resource: str, typical: float) -> None:
        self._resource = resource
        self._typical = typical
        self._offered = {node.metadata.name: _amount(node.status.allocatable, resource) for node in nodes}

    def of(self, pods: Iterable[Pod]) -> tuple[float, float]:
        """The share that is used, and the share of the rest that is in fragments."""
        free = dict(self._offered)
        for pod in pods:
            spec = pod.spec
            if spec.node_name in free:
                requests = spec.containers[0].resources.requests
                free[spec.node_name] -= _amount(requests, self._resource) if requests else 0.0
        total = sum(self._offered.values())
        used = 1 - sum(free.values()) / total if total else 0.0
        return used, _fragments(free, self._typical)


def _amount(amounts: Mapping[str, str | int | float], resource: str) -> float:
    return (milli(amounts.get(resource, 0)) or 0) / 1000


def _fragments(free: Mapping[str, float], typical: float) -> float:
    """The share of what is free that lies on nodes where a typical pod does not fit."""
    total = sum(free.values())
    return sum(amount for amount in free.values() if amount < typical) / total if total else 0.0
