"""A cluster as a reader would picture it: nodes, and the pods on each. No columns, no caches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from reprieve.model.objects import KubernetesObject, Node, Pod
from reprieve.placement.rejection_codes import Reason

Refusals = set[tuple[Reason, bool]]  # a reason, and whether it might pass if some pods were gone
PlainConstraint = Callable[["Cluster", Node], Refusals]


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything there is, and the pod that asks for a place."""

    objects: tuple[KubernetesObject, ...]
    newcomer: Pod

    @property
    def nodes(self) -> list[Node]:
        return [thing for thing in self.objects if isinstance(thing, Node)]

    def pods_on(self, node: Node) -> list[Pod]:
        """The pods that take up room there: bound, not finished, and not the newcomer itself."""
        return [
            pod
            for pod in self.objects
            if isinstance(pod, Pod)
            and pod.spec.node_name == node.metadata.name
            and pod.status.phase not in ("Succeeded", "Failed")
            and pod.metadata.uid != self.newcomer.metadata.uid
        ]


def refusals_by_node(cluster: Cluster, constraint: PlainConstraint) -> Mapping[str, Refusals]:
    return {node.metadata.name: constraint(cluster, node) for node in cluster.nodes}


def scaled(raw: Mapping[str, int], *, reverse: bool = False) -> dict[str, int]:
    """Scores of the feasible nodes in proportion to the largest; reversed, fewer is better."""
    largest = max(raw.values(), default=0)
    if largest == 0:
        return dict.fromkeys(raw, 100 if reverse else 0)
    return {name: 100 - 100 * n // largest if reverse else 100 * n // largest for name, n in raw.items()}
