"""The pods of the mirror in growing columns: a row each, for as long as the pod is known.

Columns are written for many pods at once: thousands come together when a cluster is seen for the first time.
"""

from itertools import compress

import numpy as np

from reprieve.model.budget_selection import BudgetSelection, LabelSet
from reprieve.model.columns import Ints, Mask, matrix
from reprieve.model.disruption_costs import CHECKPOINT, NO_COST, MemberCost, member_cost
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.matching_terms import MatchingTerms, keys_looked_at
from reprieve.model.objects import Pod
from reprieve.model.pods import MatchingKey, Pods, is_static
from reprieve.model.pods_by_importance import start_of
from reprieve.model.resources import ResourceAxis
from reprieve.model.scheduled_times import scheduled_at
from reprieve.model.shape import CompiledPod, HostPort, InlineDisk, PodTerm, Shape, WeightedPodTerm
from reprieve.scheduler.growable_columns import GrowingColumn, GrowingRelation, grown, published

PodKey = tuple[str, str]  # namespace, name

NO_PODS_BIRTH = -1  # in a free row
_MOST_MENTIONED = 4096  # kinds of pods that take turns; more than that start over


def pod_key(pod: Pod) -> PodKey:
    return pod.metadata.namespace, pod.metadata.name


class PodRows:
    def __init__(self) -> None:
        self.compiled: list[CompiledPod] = []
        self.rows: dict[PodKey, int] = {}
        self.with_volumes: set[int] = set()
        self._free: list[int] = []
        self._unwritten: dict[int, None] = {}  # rows whose columns are not up to date, the oldest first
        self._axis = ResourceAxis(())
        self.born = np.zeros(0, np.int64)  # a running number of the pod in a row, from 1; always up to date
        self._births = 0
        self.requests = np.zeros((0, 0), np.int64)  # as all columns, valid after ``write``
        self.nonzero = np.zeros((2, 0), np.int64)
        self._priority = np.zeros(0, np.int64)
        self._start = np.zeros(0, np.float64)
        self._scheduled = np.zeros(0, np.float64)
        self._terminating = np.zeros(0, np.bool_)
        self._bare = np.zeros(0, np.bool_)
        self._publishing = np.zeros(0, np.bool_)
        self._static = np.zeros(0, np.bool_)
        self._classes: GrowingColumn[str] = GrowingColumn("")
        self._groups: GrowingColumn[GroupKey | None] = GrowingColumn(None)
        self._costs: GrowingColumn[MemberCost] = GrowingColumn(NO_COST)
        # Free rows lie in a namespace that no term names.
        self._namespaces: GrowingColumn[str] = GrowingColumn("")
        self._labels: GrowingColumn[LabelSet] = GrowingColumn(("", ()))
        self._shapes: GrowingColumn[Shape | None] = GrowingColumn(None)
        self._ports: GrowingRelation[HostPort] = GrowingRelation()
        self._affinity: GrowingRelation[PodTerm] = GrowingRelation()
        self._anti_affinity: GrowingRelation[PodTerm] = GrowingRelation()
        self._preferred: GrowingRelation[WeightedPodTerm] = GrowingRelation()
        self._claims: GrowingRelation[tuple[str, str]] = GrowingRelation()
        self._disks: GrowingRelation[InlineDisk] = GrowingRelation()
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

    def add(self, key: PodKey, compiled: CompiledPod) -> int:
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

    def drop(self, key: PodKey) -> None:
        row = self.rows.pop(key)
        self._unwritten.pop(row, None)
        self.born[row] = NO_PODS_BIRTH
        self._namespaces.clear(row)
        self._labels.clear(row)
        self._shapes.clear(row)
        self._classes.clear(row)
        self._groups.clear(row)
        self._costs.clear(row)
        self._ports.clear(row)
        self._affinity.clear(row)
        self._anti_affinity.clear(row)
        self._preferred.clear(row)
        self._claims.clear(row)
        self._disks.clear(row)
        self.with_volumes.discard(row)
        self._free.append(row)
        self._table = None

    def _make_room(self, size: int) -> None:
        self.requests = grown(self.requests, size)
        self.nonzero = grown(self.nonzero, size)
        self._priority = grown(self._priority, size)
        self._start = grown(self._start, size)
        self._scheduled = grown(self._scheduled, size)
        self._terminating = grown(self._terminating, size)
        self._bare = grown(self._bare, size)
        self._publishing = grown(self._publishing, size)
        self._static = grown(self._static, size)

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
        self._make_room(len(self.compiled))
        self._write_pods(rows, [self.compiled[row].pod for row in rows])
        self._write_shapes(rows, [self.compiled[row].shape for row in rows])
        self._unwritten = {}

    def _write_pods(self, rows: list[int], pods: list[Pod]) -> None:
        self._priority[rows] = [pod.spec.priority or 0 for pod in pods]
        self._start[rows] = [*map(start_of, pods)]
        self._scheduled[rows] = [*map(scheduled_at, pods)]
        self._terminating[rows] = [pod.metadata.deletion_timestamp is not None for pod in pods]
        self._publishing[rows] = [CHECKPOINT in pod.metadata.annotations for pod in pods]
        self._static[rows] = [is_static(pod.metadata) for pod in pods]
        self._classes.set(rows, [pod.spec.priority_class_name for pod in pods])
        self._groups.set(rows, [*map(group_key, pods)])
        self._costs.set(rows, [member_cost(pod.metadata) for pod in pods])

    def _write_shapes(self, rows: list[int], shapes: list[Shape]) -> None:
        self.requests[:, rows] = self._requests_of(shapes)
        self.nonzero[0, rows] = [shape.nonzero_cpu for shape in shapes]
        self.nonzero[1, rows] = [shape.nonzero_memory for shape in shapes]
        self._namespaces.set(rows, [shape.namespace for shape in shapes])
        self._labels.set(rows, [(shape.namespace, shape.labels) for shape in shapes])
        self._shapes.set(rows, shapes)
        self._bare[rows] = [not shape.owner_uid for shape in shapes]
        self._ports.set(rows, [shape.ports for shape in shapes])
        self._affinity.set(rows, [shape.affinity for shape in shapes])
        self._anti_affinity.set(rows, [shape.anti_affinity for shape in shapes])
        self._preferred.set(rows, [shape.preferred_pods for shape in shapes])
        claims = [[(shape.namespace, claim) for claim in shape.claims] for shape in shapes]
        self._claims.set(rows, claims)
        self._disks.set(rows, [shape.disks for shape in shapes])
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
            namespaces=self._namespaces.view(size),
            labels=self._labels.view(size),
            shapes=self._shapes.view(size),
            requests=published(self.requests, size),
            nonzero=published(self.nonzero, size),
            priority=published(self._priority, size),
            start=published(self._start, size),
            scheduled=published(self._scheduled, size),
            terminating=published(self._terminating, size),
            bare=published(self._bare, size),
            publishing=published(self._publishing, size),
            static=published(self._static, size),
            classes=self._classes.view(size),
            groups=self._groups.view(size),
            costs=self._costs.view(size),
            ports=self._ports.view(),
            affinity=self._affinity.view(),
            anti_affinity=self._anti_affinity.view(),
            preferred=self._preferred.view(),
            claims=self._claims.view(),
            disks=self._disks.view(),
            looked_at=self._looked_at,
            _terms_matching=self._mentioned,
            _selection=self._selection,
        )

    def _note_terms(self) -> None:
        """Which pods a term mentions stays as it is for as long as the terms are the same."""
        edition = (self._affinity.edition, self._anti_affinity.edition, self._preferred.edition)
        if edition != self._edition:
            terms = (*self._affinity.interner.things, *self._anti_affinity.interner.things)
            wishes = (wish.term for wish in self._preferred.interner.things)
            self._edition, self._looked_at = edition, keys_looked_at((*terms, *wishes))
            self._mentioned = {}
        elif len(self._mentioned) > _MOST_MENTIONED:
            self._mentioned = {}
