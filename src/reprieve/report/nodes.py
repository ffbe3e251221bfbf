"""A table of nodes: zone, allocation of each resource, taints."""

from collections import Counter
from collections.abc import Collection, Iterator

import numpy as np

from reprieve.model.resources import PODS
from reprieve.model.snapshot import Snapshot
from reprieve.report.text_layout import TextLine, amount, table

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
