"""A table of pods: priority, group, node and state."""

from collections.abc import Iterable

from reprieve.model.objects import Pod, group_of
from reprieve.report.text_layout import TextLine, table


def pod_table(pods: Iterable[Pod]) -> list[TextLine]:
    return table(["POD", "PRIORITY", "GROUP", "NODE", "STATE"], list(map(_row, pods)), [1])


def _row(pod: Pod) -> list[str]:
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
