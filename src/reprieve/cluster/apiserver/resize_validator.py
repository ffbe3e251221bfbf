"""Could the node of a pod ever grant a resize? If not, the API server rejects the resize at once.

The admission plugin ``PodResizeValidator`` of Kubernetes. Which fields of a spec a resize may change is
decided in ``validation.pod_changes``.
"""

from collections.abc import Iterator

from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.cluster.api.values import part, same, text_in
from reprieve.cluster.apiserver.admission_plugins import AdmissionRefusal, Lookup, RefusalReason
from reprieve.model.footprint import footprint
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Node, Pod, ref_of
from reprieve.model.resources import CPU, MEMORY, Problems, node_capacity

_OS_LABEL = "kubernetes.io/os"


def resize_refusal(pod: Json, old: Json, lookup: Lookup) -> AdmissionRefusal | None:
    """For bound pods only: a pod without a node can still find one that is large enough."""
    name = text_in(part(pod, "spec"), "nodeName")
    if not name or same(part(pod, "spec"), part(old, "spec")):
        return None
    sentence = "; ".join(_complaints(pod, lookup.find("Node", "", name), name))
    return AdmissionRefusal(RefusalReason.FORBIDDEN, sentence) if sentence else None


def _complaints(pod: Json, node: Json | None, name: str) -> Iterator[str]:
    if node is None:
        yield f"the node {name} is not there"
        return
    system = text_in(part(node, "metadata", "labels"), _OS_LABEL)
    if system not in ("", "linux"):
        yield f"pods can be resized on linux nodes only, and {name} runs {system}"
    wanted, offers = _read(pod), _read(node)
    if isinstance(wanted, Pod) and isinstance(offers, Node):
        yield from _excesses(wanted, offers)


def _read(body: Json) -> KubernetesObject | None:
    read = decode_value(body)
    return read.object if isinstance(read, Decoded) else None


def _excesses(pod: Pod, node: Node) -> Iterator[str]:
    asked = footprint(pod, Problems(ref_of(pod))).desired
    offered = node_capacity(node, Problems(ref_of(node)))
    for resource, unit in ((CPU, " milli-cores"), (MEMORY, "")):
        wanted, most = asked.get(resource, 0), offered.get(resource, 0)
        if wanted > most:
            yield (
                f"{node.metadata.name} can never grant the {resource} asked for: "
                f"{wanted} of {most}{unit} allocatable"
            )
