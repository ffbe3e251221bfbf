"""How full is each node? A table of them."""

from collections.abc import Iterator

import numpy as np

from reprieve.model.columns import Ints
from reprieve.model.resources import PODS
from reprieve.model.snapshot import Snapshot
from reprieve.report.text import Line, amount, table

ZONE = "topology.kubernetes.io/zone"

Titled = tuple[str, list[str]]


def node_table(view: Snapshot) -> list[Line]:
    """One row for each node, by name; a column for each resource that some node has."""
    columns: list[Titled] = [
        ("NODE", list(view.nodes.names)),
        *_zones(view),
        *_fillings(view),
        *_taints(view),
    ]
    rows = [[cells[row] for _, cells in columns] for row in np.argsort(view.nodes.rank)]
    return table([title for title, _ in columns], rows)


def _zones(view: Snapshot) -> Iterator[Titled]:
    zones = [node.metadata.labels.get(ZONE, "-") for node in view.nodes.objects]
    if any(zone != "-" for zone in zones):
        yield "ZONE", zones


def _fillings(view: Snapshot) -> Iterator[Titled]:
    """The number of pods, which seldom matters, comes last."""
    for name in sorted(view.axis.names, key=lambda name: name == PODS):
        row = view.axis.names.index(name)
        if view.allocatable[row].any():
            yield name.upper(), _filling(name, view.requested[row], view.allocatable[row])


def _filling(name: str, used: Ints, capacity: Ints) -> list[str]:
    return [
        f"{amount(name, int(u))}/{amount(name, int(c))} ({u * 100 // c}%)" if c else "-"
        for u, c in zip(used, capacity, strict=True)
    ]


def _taints(view: Snapshot) -> Iterator[Titled]:
    remarks = [", ".join(_keeping_out(view, row)) for row in range(len(view.nodes))]
    if any(remarks):
        yield "KEEPS OUT", remarks


def _keeping_out(view: Snapshot, row: int) -> Iterator[str]:
    if view.nodes.unschedulable[row]:
        yield "cordoned"
    yield from map(str, view.nodes.taints[row])
