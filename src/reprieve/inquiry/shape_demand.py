"""Which manifest stands for "a pod of this shape and priority", in a cluster that need not have such a class?

The pod gets a namespace and a priority class of its own, so that no quota, no default and no missing class
changes the answer: only room and priority count.
"""

from dataclasses import dataclass, replace

from reprieve.inquiry.decoded_cluster import DecodedCluster
from reprieve.inquiry.whatif import Manifest
from reprieve.model.json import Json
from reprieve.model.resources import STANDARD, milli

_NAME = "reprieve-exposure"
_SCHEDULING = "scheduling.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class PodShape:
    """Resources by name, as quantities."""

    requests: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return ", ".join(f"{name} {quantity}" for name, quantity in self.requests)


class ShapeSyntaxError(ValueError):
    """The text is no shape: one sentence."""


def parse_shape(text: str) -> PodShape:
    """``cpu=4,memory=8Gi,nvidia.com/gpu=1``."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, sign, quantity = (word.strip() for word in part.partition("="))
        if not (name and sign and quantity):
            raise ShapeSyntaxError(f"expected RESOURCE=QUANTITY, as in cpu=4,memory=8Gi, got {part!r}")
        if (milli(quantity) or 0) <= 0:
            raise ShapeSyntaxError(
                f"{name}: expected a quantity above zero, as in 4 or 8Gi, got {quantity!r}"
            )
        if name in found:
            raise ShapeSyntaxError(f"{name} is given twice")
        found[name] = quantity
    return PodShape(tuple(found.items()))


def shape_manifest(shape: PodShape) -> Manifest:
    """Requests equal limits, as extended resources need. Taints that are named after a requested resource are
    tolerated, as the admission plugin ExtendedResourceToleration does."""
    requests = dict(shape.requests)
    tolerations = [{"key": name, "operator": "Exists"} for name in requests if name not in STANDARD]
    body: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": _NAME, "namespace": _NAME},
        "spec": {
            "priorityClassName": _NAME,
            "tolerations": tolerations,
            "containers": [
                {"name": "main", "image": "shape", "resources": {"requests": requests, "limits": requests}}
            ],
        },
    }
    return Manifest(body, where="--shape")


def with_class_for_shape(cluster: DecodedCluster, priority: int) -> DecodedCluster:
    """The cluster with the namespace and the priority class that ``shape_manifest`` names."""
    objects = cluster.by_name.copy()
    objects.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAME}})
    objects.put(
        {"apiVersion": _SCHEDULING, "kind": "PriorityClass", "metadata": {"name": _NAME}, "value": priority}
    )
    return replace(cluster, by_name=objects)
