"""The pods of the mirror in growing columns: a row each, for as long as the pod is known.

Columns are written for many pods at once: thousands come together when a cluster is seen for the first time.
"""

from itertools import chain, compress

import numpy as np

from reprieve.model.budgets import BudgetSelection
from reprieve.model.columns import Ints, Mask, matrix
from reprieve.model.objects import ObjectKey, Pod
from reprieve.model.pods import COLUMNS, MatchingKey, MatchingTerms, Pods, keys_looked_at
from reprieve.model.resources import ResourceAxis
from reprieve.model.shape import CompiledPod, Shape, WeightedPodTerm
from reprieve.scheduler.mirror.growable_columns import GrowingRelation, growing, grown, published

NO_PODS_BIRTH = -1  # in a free row
_MOST_MENTIONED = 4096  # kinds of pods that take turns; more than that start over


def pod_key(pod: Pod) -> ObjectKey:
    return pod.metadata.namespace, pod.metadata.name


class PodRows:
    def __init__(self) -> None:
        self.compiled: list[CompiledPod] = []
        self.rows: dict[ObjectKey, int] = {}
        self.with_volumes: set[int] = set()
        self._free: list[int] = []
        self._unwritten: dict[int, None] = {}  # rows whose columns are not up to date, the oldest first
        self._axis = ResourceAxis(())
        self.born = np.zeros(0, np.int64)  # a running number of the pod in a row, from 1; always up to date
        self._births = 0
        self.requests = np.zeros((0, 0), np.int64)  # as all columns, valid after ``write``
        self.nonzero = np.zeros((2, 0), np.int64)
        self._columns = {name: growing(kind) for name, kind in COLUMNS.items()}
        terms = (self._columns[name] for name in ("affinity", "anti_affinity", "preferred"))
        self._terms = [column for column in terms if isinstance(column, GrowingRelation)]
        self._edition: tuple[object, ...] = ()  # of all terms
        self._looked_at: frozenset[str] = frozenset()
        self._mentioned: dict[MatchingKey, MatchingTerms] = {}
        self._selection = BudgetSelection()
        self._table: Pods | None = None

    def __len__(self) -> int:
        """How many rows there are, free ones included."""
        return len(self.compiled)

    def widen(self, axis: ResourceAxis) -> None:
        """The axis has new resources: no pod has requested them so far."""
        missing = len(axis.names) - len(self.requests)
        nothing = np.zeros((missing, self.requests.shape[1]), np.int64)
        self.requests = np.concatenate([self.requests, nothing])
        self._axis = axis
        self._table = None

    def resources_in_use(self) -> Mask:
        """[resource] whether any pod requests it."""
        self.write()
        requested: Mask = np.logical_or.reduce(self.requests[:, list(self.rows.values())], axis=1)
        return requested

    def keep_resources(self, kept: Mask) -> None:
        self.write()
        self.requests = self.requests[kept]
        self._axis = ResourceAxis(tuple(compress(self._axis.names, kept)))
        self._table = None

    def add(self, key: ObjectKey, compiled: CompiledPod) -> int:
        row = self._free.pop() if self._free else len(self.compiled)
        if row == len(self.compiled):
            self.compiled.append(compiled)
        self.rows[key] = row
        self._births += 1
        self.born = grown(self.born, row + 1)
        self.born[row] = self._births
        self.change(row, compiled)
        return row

    def change(self, row: int, compiled: CompiledPod) -> None:
        self.compiled[row] = compiled
        self._unwritten[row] = None
        self._table = None

    def note(self, row: int, compiled: CompiledPod) -> None:
        """The object changed in nothing that a column shows."""
        self.compiled[row] = compiled

    def drop(self, key: ObjectKey) -> None:
        row = self.rows.pop(key)
        self._unwritten.pop(row, None)
        self.born[row] = NO_PODS_BIRTH
        for column in self._columns.values():
            column.clear(row)
        self.with_volumes.discard(row)
        self._free.append(row)
        self._table = None

    def unwritten(self) -> int:
        return len(self._unwritten)

    def write(self) -> None:
        """Brings the columns up to date, in the order in which pods came and changed.

        What is wrong with one pod must show when that pod is added: the exception is then contained as that
        of one event. Here it would be one of all pods. It stops the scheduler, and leaves no column behind
        that looks up to date and is not.
        """
        rows = [*self._unwritten]
        if not rows:
            return
        self._write_pods(rows, [self.compiled[row] for row in rows])
        self._unwritten = {}

    def _write_pods(self, rows: list[int], pods: list[CompiledPod]) -> None:
        shapes = [pod.shape for pod in pods]
        self.requests = grown(self.requests, len(self.compiled))
        self.nonzero = grown(self.nonzero, len(self.compiled))
        self.requests[:, rows] = self._requests_of(shapes)
        self.nonzero[0, rows] = [shape.nonzero_cpu for shape in shapes]
        self.nonzero[1, rows] = [shape.nonzero_memory for shape in shapes]
        for name, kind in COLUMNS.items():
            self._columns[name].set(rows, kind.read(pods))
        self.with_volumes.difference_update(rows)
        self.with_volumes.update(
            row for row, shape in zip(rows, shapes, strict=True) if shape.claims or shape.inline_volumes
        )

    def _requests_of(self, shapes: list[Shape]) -> Ints:
        """[resource, pod]; pods of one template share one shape, which is read once."""
        distinct = {id(shape): shape for shape in shapes}
        numbers = {known: number for number, known in enumerate(distinct)}
        amounts = matrix([dict(shape.requests) for shape in distinct.values()], self._axis.names)
        return amounts[:, [numbers[id(shape)] for shape in shapes]]

    def table(self) -> Pods:
        """Read-only columns of all rows, valid until the next change."""
        if self._table is None:
            self._table = self._publish()
        return self._table

    def withdraw(self) -> None:
        """The next table is made anew."""
        self._table = None

    def _publish(self) -> Pods:
        self.write()
        size = len(self.compiled)
        self._note_terms()
        return Pods(
            compiled=self.compiled,
            rows=self.rows,
            requests=published(self.requests, size),
            nonzero=published(self.nonzero, size),
            looked_at=self._looked_at,
            **{name: column.view(size) for name, column in self._columns.items()},
            _terms_matching=self._mentioned,
            _selection=self._selection,
        )

    def _note_terms(self) -> None:
        """Which pods a term mentions stays as it is for as long as the terms are the same."""
        edition = tuple(column.edition for column in self._terms)
        if edition != self._edition:
            things = chain.from_iterable(column.interner.things for column in self._terms)
            terms = (one.term if isinstance(one, WeightedPodTerm) else one for one in things)
            self._edition, self._looked_at = edition, keys_looked_at(terms)
            self._mentioned = {}
        elif len(self._mentioned) > _MOST_MENTIONED:
            self._mentioned = {}
