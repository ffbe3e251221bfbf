"""The nodes of the mirror: what they are, how full they are, and which pods are on them, by row.

How full a node is follows from the pods on it; it is added up when it is next looked at.
"""

import numpy as np

from reprieve.model.columns import Ints, Mask, matrix
from reprieve.model.nodes import Nodes, nodes_patched, nodes_table
from reprieve.model.objects import Node
from reprieve.model.pods import NO_POD, Importance
from reprieve.model.resources import Amounts, ResourceAxis
from reprieve.model.score_cache import ScoreCache, Touches
from reprieve.model.snapshot import CachedScores
from reprieve.scheduler.mirror.growable_columns import grown, published


class NodeRows:
    """Rows have no gaps: when a node goes, the last one takes its row."""

    def __init__(self) -> None:
        self.objects: list[Node] = []
        self.rows: dict[str, int] = {}
        self.on_node: list[list[tuple[Importance, int]]] = []  # in order as soon as they are counted
        self._allocatable = np.zeros((0, 0), np.int64)
        self._requested = np.zeros((0, 0), np.int64)
        self._nonzero = np.zeros((2, 0), np.int64)
        self._slots = np.full((0, 0), NO_POD, np.int64)
        self._height = 0  # of the fullest node, or more
        self._may_be_lower = False  # a node that was the fullest has fewer pods, or is gone
        self._touches = Touches()  # rows of nodes that changed in anything that is cached for a node alone
        self._uncounted: set[int] = set()  # rows of nodes where pods came or left
        self._scores = ScoreCache()
        self._table: Nodes | None = None
        self._changed: dict[int, Node] = {}

    def __len__(self) -> int:
        return len(self.objects)

    def widen(self, axis: ResourceAxis) -> None:
        missing = len(axis.names) - len(self._allocatable)
        nothing = np.zeros((missing, self._allocatable.shape[1]), np.int64)
        self._allocatable = np.concatenate([self._allocatable, nothing])
        self._requested = np.concatenate([self._requested, nothing])

    def resources_in_use(self) -> Mask:
        """[resource] whether some node has it."""
        has: Mask = np.logical_or.reduce(self._allocatable, axis=1)
        return has

    def keep_resources(self, kept: Mask) -> None:
        self._allocatable, self._requested = self._allocatable[kept], self._requested[kept]

    # --- the nodes themselves ---

    def add(self, node: Node, capacity: Amounts, axis: ResourceAxis) -> int:
        row, column = len(self.objects), _column(capacity, axis)
        self.objects.append(node)
        self.rows[node.metadata.name] = row
        self.on_node.append([])
        self._allocatable = grown(self._allocatable, row + 1)
        self._requested = grown(self._requested, row + 1)
        self._nonzero = grown(self._nonzero, row + 1)
        self._slots = grown(self._slots, row + 1, NO_POD)
        self._allocatable[:, row] = column
        self._touches.touch(row)
        self._table = None
        return row

    def change(self, row: int, node: Node, capacity: Amounts, axis: ResourceAxis) -> None:
        """Merits depend on all that is read of a node: its labels, taints, cordon and features, too."""
        self._allocatable[:, row] = _column(capacity, axis)
        self.objects[row] = node
        self._changed[row] = node
        self._touches.touch(row)

    def note(self, row: int, node: Node) -> None:
        """The object changed in nothing that is read."""
        self.objects[row] = node

    def drop(self, name: str) -> tuple[int, int]:
        """Frees the row of an empty node; says which row moved there (itself, if it was the last)."""
        row, last = self.rows.pop(name), len(self.objects) - 1
        for columns in (self._allocatable, self._requested, self._nonzero, self._slots):
            columns[:, row] = columns[:, last]
            columns[:, last] = NO_POD if columns is self._slots else 0
        self.objects[row], self.on_node[row] = self.objects[last], self.on_node[last]
        self.objects.pop()
        self.on_node.pop()
        self._may_be_lower = True
        self._uncounted.discard(row)
        if last in self._uncounted:
            self._uncounted.remove(last)
            self._uncounted.add(row)
        if row != last:
            self.rows[self.objects[row].metadata.name] = row
        self._scores.clear()
        self._table = None
        return row, last

    # --- the pods on them ---

    def enter(self, row: int, pod: int, rank: Importance) -> None:
        self.on_node[row].append((rank, pod))
        self._uncounted.add(row)

    def leave(self, row: int, pod: int, rank: Importance) -> None:
        self.on_node[row].remove((rank, pod))
        self._uncounted.add(row)

    def uncounted(self) -> int:
        return len(self._uncounted)

    def count(self, requests: Ints, nonzero: Ints) -> None:
        """Adds up the pods of the nodes where they changed. [resource, pod] what each pod requests."""
        for row in self._uncounted:
            self.on_node[row].sort()
            there = [pod for _, pod in self.on_node[row]]
            self._write_slots(row, there)
            np.add.reduce(requests[:, there], axis=1, out=self._requested[:, row])
            np.add.reduce(nonzero[:, there], axis=1, out=self._nonzero[:, row])
            self._touches.touch(row)
        self._uncounted.clear()

    def _write_slots(self, row: int, pods: list[int]) -> None:
        height, width = self._slots.shape
        if len(pods) > height:
            taller = np.full((max(len(pods), 2 * height), width), NO_POD, np.int64)
            taller[:height] = self._slots
            self._slots = taller
        if len(pods) < self._height and self._slots[self._height - 1, row] != NO_POD:
            self._may_be_lower = True
        self._height = max(self._height, len(pods))
        self._slots[: len(pods), row] = pods
        self._slots[len(pods) :, row] = NO_POD

    # --- looking at them ---

    def table(self) -> Nodes:
        if self._table is None:
            self._table = nodes_table(self.objects)
        elif self._changed:
            self._table = nodes_patched(self._table, self._changed)
        self._changed = {}
        return self._table

    def allocatable(self) -> Ints:
        return published(self._allocatable, len(self))

    def requested(self) -> Ints:
        return published(self._requested, len(self))

    def nonzero(self) -> Ints:
        return published(self._nonzero, len(self))

    def kept(self) -> CachedScores:
        return CachedScores(self._scores, len(self), self._touches)

    def slots(self) -> Ints:
        """Without the rows below the fullest node."""
        while self._may_be_lower and self._height and (self._slots[self._height - 1] == NO_POD).all():
            self._height -= 1
        self._may_be_lower = False
        return published(self._slots[: self._height], len(self))


def _column(capacity: Amounts, axis: ResourceAxis) -> Ints:
    """[resource]; made before anything is changed, so that a node is added or changed as a whole or not."""
    return matrix([capacity], axis.names)[:, 0]
