"""Tables of nodes, of pods and of workloads with their progress, as the scenes show them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator

import numpy as np

from reprieve.cluster.api.codec import Decoded, decode_value
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Pod, group_of
from reprieve.model.resources import PODS
from reprieve.model.snapshot import Snapshot
from reprieve.report.text_layout import TextLine, amount, table
from reprieve_minicluster.scenes import ListObjects


def decoded_objects(listing: ListObjects, *kinds: str) -> list[KubernetesObject]:
    found = (decode_value(body) for kind in kinds for body in listing(kind))
    return [one.object for one in found if isinstance(one, Decoded)]


# --- nodes ----------------------------------------------------------------------------------------


ZONE = "topology.kubernetes.io/zone"

Titled = tuple[str, list[str]]


def node_table(view: Snapshot, only: Collection[int] | None = None) -> list[TextLine]:
    """A row for each node, or for some, by name; a column for each resource that any node has."""
    columns: list[Titled] = [
        ("NODE", list(view.nodes.names)),
        *_zones(view),
        *_fillings(view),
        *_taints(view),
    ]
    order = (row for row in np.argsort(view.nodes.rank) if only is None or row in only)
    rows = [[cells[row] for _, cells in columns] for row in order]
    return table([title for title, _ in columns], rows)


def _zones(view: Snapshot) -> Iterator[Titled]:
    zones = [node.metadata.labels.get(ZONE, "-") for node in view.nodes.objects]
    if any(zone != "-" for zone in zones):
        yield "ZONE", zones


def _fillings(view: Snapshot) -> Iterator[Titled]:
    """One column for each resource; the number of pods, which seldom matters, is the last.

    A title leaves out the domain of a resource, unless two resources differ only in that.
    """
    short = Counter(name.rpartition("/")[2] for name in view.axis.names)
    for name in sorted(view.axis.names, key=lambda name: name == PODS):
        row = view.axis.names.index(name)
        if view.allocatable[row].any():
            pairs = zip(view.requested[row], view.allocatable[row], strict=True)
            title = name.rpartition("/")[2]
            cells = [_filling(name, int(used), int(capacity)) for used, capacity in pairs]
            yield (title if short[title] == 1 else name).upper(), cells


def _filling(name: str, used: int, capacity: int) -> str:
    if not capacity:
        return "-"
    share = "" if name == PODS else f" ({used * 100 // capacity}%)"
    return f"{amount(name, used)}/{amount(name, capacity)}{share}"


def _taints(view: Snapshot) -> Iterator[Titled]:
    taints = [", ".join(_taints_of(view, row)) for row in range(len(view.nodes))]
    if any(taints):
        yield "TAINTS", taints


def _taints_of(view: Snapshot, row: int) -> Iterator[str]:
    if view.nodes.unschedulable[row]:
        yield "cordoned"
    yield from map(str, view.nodes.taints[row])


# --- pods -----------------------------------------------------------------------------------------


def pod_table(pods: Iterable[Pod]) -> list[TextLine]:
    return table(["POD", "PRIORITY", "GROUP", "NODE", "STATE"], list(map(_pod_row, pods)), [1])


def _pod_row(pod: Pod) -> list[str]:
    meta, spec = pod.metadata, pod.spec
    return [
        f"{meta.namespace}/{meta.name}",
        str(spec.priority or 0),
        group_of(pod) or "-",
        spec.node_name or "-",
        _state(pod),
    ]


def _state(pod: Pod) -> str:
    if pod.metadata.deletion_timestamp is not None:
        return "terminating"
    if pod.status.nominated_node_name and not pod.spec.node_name:
        return f"nominated to {pod.status.nominated_node_name}"
    return (pod.status.phase or "Pending").lower()


# --- workloads ------------------------------------------------------------------------------------


def workload_table(workloads: Iterable[Json]) -> list[TextLine]:
    return table(["WORKLOAD", "PODS", "STATE"], [_workload_row(workload) for workload in workloads])


def _workload_row(workload: Json) -> list[str]:
    meta, spec, status = workload["metadata"], workload["spec"], workload.get("status", {})
    name = f"{workload['kind']} {meta['namespace']}/{meta['name']}"
    if workload["kind"] == "Job":
        return [name, f"{status.get('succeeded', 0)}/{spec.get('completions', 1)} done", _job_state(status)]
    ready, desired = status.get("readyReplicas", 0), spec.get("replicas", 1)
    return [name, f"{ready}/{desired} ready", "available" if ready >= desired else "progressing"]


def _job_state(status: Json) -> str:
    ended = [c["type"] for c in status.get("conditions", ()) if c["status"] == "True"]
    return next((state.lower() for state in ("Complete", "Failed") if state in ended), "running")
