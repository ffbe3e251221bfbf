"""Pods in columns: everything but their nodes.

Host ports, disks and affinity terms are indexed by their distinct values, so that the pods that matter to a
newcomer are found without reading those of all.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from reprieve.model.annotations import CHECKPOINT, NO_COST, MemberCost, member_cost
from reprieve.model.budgets import Budget, BudgetSelection, LabelSet
from reprieve.model.columns import Column, Floats, Ints, Mask, Relation, matrix, sealed
from reprieve.model.conditions import scheduled_at
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.nodes import meeting
from reprieve.model.objects import ObjectMeta, Pod
from reprieve.model.resources import ResourceAxis
from reprieve.model.selectors import Labels, Selector
from reprieve.model.shape import (
    ANY_ADDRESS,
    CompiledPod,
    HostPort,
    InlineDisk,
    PodTerm,
    Shape,
    WeightedPodTerm,
)

PortNumber = tuple[str, int]  # protocol, port
DiskId = tuple[str, str]  # kind, identifier


@dataclass(frozen=True, slots=True, eq=False)
class RowsByCode:
    """The rows of a relation, sorted by code: ``rows[starts[code]:starts[code + 1]]``."""

    rows: Ints  # [pair of the relation]
    starts: Ints  # [code] where its rows begin; and the end of the last

    def with_any(self, codes: Iterable[int]) -> Ints:
        parts = [self.rows[self.starts[code] : self.starts[code + 1]] for code in codes]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Holders:
    """Which pods have which host ports and inline disks."""

    ports: Relation[HostPort]
    disks: Relation[InlineDisk]
    by_number: dict[PortNumber, list[int]]  # codes of ports
    by_id: dict[DiskId, list[int]]  # codes of disks
    rows_of_ports: RowsByCode
    rows_of_disks: RowsByCode

    def of_port(self, wanted: HostPort) -> Ints:
        """The rows of pods with a port that conflicts: of the same address, or one of both has them all."""
        if wanted.address == ANY_ADDRESS:
            return self.rows_of_ports.with_any(self.by_number.get((wanted.protocol, wanted.port), ()))
        conflicting = (wanted, HostPort(wanted.protocol, ANY_ADDRESS, wanted.port))
        codes = (self.ports.index.get(port) for port in conflicting)
        return self.rows_of_ports.with_any(code for code in codes if code is not None)

    def of_disk(self, wanted: InlineDisk) -> Ints:
        """The rows of pods with a disk that cannot be shared with this one."""
        near = {code for name in wanted.ids for code in self.by_id.get((wanted.kind, name), ())}
        codes = (code for code in sorted(near) if wanted.conflicts_with(self.disks.things[code]))
        return self.rows_of_disks.with_any(codes)


def holders(ports: Relation[HostPort], disks: Relation[InlineDisk]) -> Holders:
    by_number: dict[PortNumber, list[int]] = {}
    for code, port in enumerate(ports.things):
        by_number.setdefault((port.protocol, port.port), []).append(code)
    by_id: dict[DiskId, list[int]] = {}
    for code, disk in enumerate(disks.things):
        for name in disk.ids:
            by_id.setdefault((disk.kind, name), []).append(code)
    return Holders(ports, disks, by_number, by_id, _rows_by_code(ports), _rows_by_code(disks))


def _rows_by_code(relation: Relation[HostPort] | Relation[InlineDisk]) -> RowsByCode:
    order = np.argsort(relation.codes, kind="stable")
    starts = np.searchsorted(relation.codes[order], np.arange(len(relation.things) + 1))
    return RowsByCode(relation.rows[order], starts)


T = TypeVar("T", bound=Hashable)
Carriers = tuple[str, Ints, Ints]  # a topology key, the pods that carry such a term, and their weights


@dataclass(frozen=True, slots=True, eq=False)
class SelectingTerms:
    """The terms of one relation that select a certain pod, by code, with their weights and topologies.

    Only those are listed: there may be thousands of terms, each with a topology of its own.
    """

    codes: Ints  # ascending
    weights: Ints  # [as codes]; a required term has weight 1
    topologies: Ints  # [as codes] a position in topology_keys
    topology_keys: tuple[str, ...]

    def carriers(self, carried: Relation[T]) -> Iterator[Carriers]:
        """The pods that carry one of these terms, for each topology.

        carried  the relation whose terms these are: which pod has which
        """
        if not len(self.codes):
            return
        # ``pairs``: the pairs of the relation with such a term; ``found``: its place among these terms.
        places = np.full(len(carried.things), -1, np.int64)  # [code]
        places[self.codes] = np.arange(len(self.codes))
        found = places[carried.codes]
        pairs = np.flatnonzero(found >= 0)
        found = found[pairs]
        # Sorted by topology, those of each are a slice.
        order = np.argsort(self.topologies[found], kind="stable")
        pairs, found = pairs[order], found[order]
        ends = np.searchsorted(self.topologies[found], np.arange(1, len(self.topology_keys) + 1))
        start = 0
        for key, end in zip(self.topology_keys, ends.tolist(), strict=True):
            yield key, carried.rows[pairs[start:end]], self.weights[found[start:end]]
            start = end


@dataclass(frozen=True, slots=True, eq=False)
class MatchingTerms:
    """The terms of all pods that select a certain pod, by what they are for."""

    affinity: SelectingTerms
    anti_affinity: SelectingTerms
    preferred: SelectingTerms


def selecting(terms: Iterable[tuple[int, PodTerm]], selects: Callable[[PodTerm], bool]) -> SelectingTerms:
    keys: dict[str, int] = {}
    found = [
        (code, weight, keys.setdefault(term.topology_key, len(keys)))
        for code, (weight, term) in enumerate(terms)
        if weight and selects(term)
    ]
    codes, weights, topologies = np.array(found, np.int64).reshape(-1, 3).T
    return SelectingTerms(sealed(codes), sealed(weights), sealed(topologies), tuple(keys))


def keys_looked_at(terms: Iterable[PodTerm]) -> frozenset[str]:
    """The label keys that decide whether any of the terms selects a pod."""
    return frozenset(requirement.key for term in terms for requirement in term.selector.requirements)


_NAMESPACE, _ABSENT = "", "/"  # no label has these keys
MatchingKey = tuple[LabelSet, tuple[tuple[str, str], ...]]  # labels of the pod, labels of its namespace


# --- the columns ---------------------------------------------------------------------------------

Read = Callable[[Sequence[CompiledPod]], Sequence[Any]]  # what a column says of each of these pods


class ColumnKind(NamedTuple):
    """How a column of ``Pods`` is made of pods, read many at a time.

    Without a ``dtype`` it is dictionary-encoded: a ``Column``, or a ``Relation`` if a pod has any number of
    things.
    """

    read: Read
    dtype: type[np.generic] | None = None
    nothing: Hashable = None  # what a row without a pod has in a Column; its code is always 0
    is_relation: bool = False

    def table(self, pods: Sequence[CompiledPod]) -> Any:
        found = self.read(pods)
        if self.dtype is not None:
            return sealed(np.array(found, self.dtype))
        if self.is_relation:
            return Relation.of((row, thing) for row, things in enumerate(found) for thing in things)
        return Column.of(found, first=(self.nothing,))


def _array(dtype: type[np.generic], read: Read) -> dict[str, ColumnKind]:
    return {_KIND: ColumnKind(read, dtype)}


def _column(nothing: Hashable, read: Read) -> dict[str, ColumnKind]:
    return {_KIND: ColumnKind(read, nothing=nothing)}


def _relation(read: Read) -> dict[str, ColumnKind]:
    return {_KIND: ColumnKind(read, is_relation=True)}


_KIND = "kind"


def is_static(meta: ObjectMeta) -> bool:
    return "kubernetes.io/config.mirror" in meta.annotations


@dataclass(frozen=True, slots=True, eq=False)
class Pods:
    """Everything about pods but their nodes.

    A column is listed here and nowhere else, with how it is read: tables, copies and the columns of the
    mirror, which grow, follow from that. It is ``[pod]``, with a row for each pod.
    """

    compiled: Sequence[CompiledPod]
    rows: Mapping[tuple[str, str], int]  # (namespace, name) -> row
    requests: Ints  # [resource, pod]
    nonzero: Ints  # [cpu and memory, pod]: requests, with a floor for containers without a request
    looked_at: frozenset[str]  # the label keys in the selectors of affinity terms
    # Rows without a pod are in a namespace that no term names.
    namespaces: Column[str] = field(metadata=_column("", lambda pods: [p.shape.namespace for p in pods]))
    labels: Column[LabelSet] = field(
        metadata=_column(("", ()), lambda pods: [(p.shape.namespace, p.shape.labels) for p in pods])
    )
    shapes: Column[Shape | None] = field(metadata=_column(None, lambda pods: [p.shape for p in pods]))
    priority: Ints = field(metadata=_array(np.int64, lambda pods: [p.pod.spec.priority or 0 for p in pods]))
    # status.startTime; infinity if it has not started
    start: Floats = field(metadata=_array(np.float64, lambda pods: [start_of(p.pod) for p in pods]))
    # when PodScheduled became true; infinity if it is not
    scheduled: Floats = field(metadata=_array(np.float64, lambda pods: [scheduled_at(p.pod) for p in pods]))
    terminating: Mask = field(
        metadata=_array(np.bool_, lambda pods: [p.pod.metadata.deletion_timestamp is not None for p in pods])
    )
    # no controller owns the pod
    bare: Mask = field(metadata=_array(np.bool_, lambda pods: [not p.shape.owner_uid for p in pods]))
    # its annotations say when its work was last saved
    publishing: Mask = field(
        metadata=_array(np.bool_, lambda pods: [CHECKPOINT in p.pod.metadata.annotations for p in pods])
    )
    # static pods: deleting one deletes its mirror pod only, and the kubelet keeps it running
    static: Mask = field(metadata=_array(np.bool_, lambda pods: [is_static(p.pod.metadata) for p in pods]))
    # priority classes, by name
    classes: Column[str] = field(
        metadata=_column("", lambda pods: [p.pod.spec.priority_class_name for p in pods])
    )
    groups: Column[GroupKey | None] = field(
        metadata=_column(None, lambda pods: [group_key(p.pod) for p in pods])
    )
    costs: Column[MemberCost] = field(
        metadata=_column(NO_COST, lambda pods: [member_cost(p.pod.metadata) for p in pods])
    )
    ports: Relation[HostPort] = field(metadata=_relation(lambda pods: [p.shape.ports for p in pods]))
    affinity: Relation[PodTerm] = field(metadata=_relation(lambda pods: [p.shape.affinity for p in pods]))
    anti_affinity: Relation[PodTerm] = field(
        metadata=_relation(lambda pods: [p.shape.anti_affinity for p in pods])
    )
    preferred: Relation[WeightedPodTerm] = field(
        metadata=_relation(lambda pods: [p.shape.preferred_pods for p in pods])
    )
    # (namespace, claim name)
    claims: Relation[tuple[str, str]] = field(
        metadata=_relation(lambda pods: [[(p.shape.namespace, c) for c in p.shape.claims] for p in pods])
    )
    disks: Relation[InlineDisk] = field(metadata=_relation(lambda pods: [p.shape.disks for p in pods]))
    _labels: dict[str, Column[str | None]] = field(default_factory=dict)
    _by_set: dict[str, Column[str | None]] = field(default_factory=dict)
    _values: dict[str, dict[int, str]] = field(default_factory=dict)
    _matches: dict[tuple[Selector, frozenset[str]], Mask] = field(default_factory=dict)
    _terms_matching: dict[MatchingKey, MatchingTerms] = field(default_factory=dict)
    _carriers: dict[SelectingTerms, tuple[Carriers, ...]] = field(default_factory=dict)
    _holders: list[Holders] = field(default_factory=list)  # of ports and disks, indexed on first use
    _selection: BudgetSelection = field(default_factory=BudgetSelection)

    def __len__(self) -> int:
        return len(self.compiled)

    def shape(self, row: int) -> Shape:
        return self.compiled[row].shape

    def label(self, key: str) -> Column[str | None]:
        """The value of a label on each pod; code 0 is always its absence."""
        column = self._labels.get(key)
        if column is None:
            by_set = self._label_by_set(key)
            column = Column(sealed(by_set.codes[self.labels.codes]), by_set.things, by_set.index)
            self._labels[key] = column
        return column

    def _label_by_set(self, key: str) -> Column[str | None]:
        """[label set] the value of a label; there are far fewer sets of labels than pods."""
        column = self._by_set.get(key)
        if column is None:
            values = self._values_of().get(key)
            if values is None:
                return self._absent()
            codes = range(len(self.labels.things))
            column = self._by_set[key] = Column.of(map(values.get, codes), first=(None,))
        return column

    def _values_of(self) -> dict[str, dict[int, str]]:
        """[key][label set] the value of a label. Terms may look at far more keys than pods have."""
        if not self._values:
            self._values[_ABSENT] = {}  # no label has this key, either
            for code, (_, pairs) in enumerate(self.labels.things):
                for key, value in pairs:
                    self._values.setdefault(key, {})[code] = value
        return self._values

    def _absent(self) -> Column[str | None]:
        """[label set] that no pod has the label."""
        column = self._by_set.get(_ABSENT)
        if column is None:
            nothing = (None for _ in self.labels.things)
            column = self._by_set[_ABSENT] = Column.of(nothing, first=(None,))
        return column

    def _sets_in(self, namespaces: frozenset[str]) -> Mask:
        """[label set] whether it is that of a pod in one of the namespaces."""
        column = self._by_set.get(_NAMESPACE)
        if column is None:
            spaces = (namespace for namespace, _ in self.labels.things)
            column = self._by_set[_NAMESPACE] = Column.of(spaces, first=(None,))
        return column.where_in(namespaces)

    def matching(self, selector: Selector, namespaces: frozenset[str]) -> Mask:
        """[pod] whether its labels match and its namespace is one of these, wherever it is."""
        mask = self._matches.get((selector, namespaces))
        if mask is None:
            sets = self._sets_in(namespaces)
            for requirement in selector.requirements:
                sets &= meeting(requirement, self._label_by_set(requirement.key))
            mask = self._matches[selector, namespaces] = self.labels.lookup(sets)
            mask.setflags(write=False)
        return mask

    def guarded(self, budgets: Sequence[Budget]) -> tuple[Ints, Ints]:
        """Pods (rows, in order), wherever they are, and the budgets (places) that select them."""
        return self._selection.pairs(self.labels, budgets)

    def holders(self) -> Holders:
        """The pods with host ports and inline disks, wherever they are."""
        if not self._holders:
            self._holders.append(holders(self.ports, self.disks))
        return self._holders[0]

    def terms_matching(self, shape: Shape, namespace: Labels) -> MatchingTerms:
        """The terms of all pods that select a pod of this shape, whose namespace has these labels.

        Labels that no term looks at (the index of a StatefulSet's pod, say) are left out of the key, so that
        all pods of one template share the result.
        """
        labels = tuple(pair for pair in shape.labels if pair[0] in self.looked_at)
        key = (shape.namespace, labels), tuple(namespace.items())
        found = self._terms_matching.get(key)
        if found is None:
            seen = dict(labels)

            def selects(term: PodTerm) -> bool:
                return term.selects(seen, shape.namespace, namespace)

            found = self._terms_matching[key] = MatchingTerms(
                affinity=selecting(((1, t) for t in self.affinity.things), selects),
                anti_affinity=selecting(((1, t) for t in self.anti_affinity.things), selects),
                preferred=selecting(((w.weight, w.term) for w in self.preferred.things), selects),
            )
        return found

    def carriers(self, terms: SelectingTerms, carried: Relation[T]) -> tuple[Carriers, ...]:
        """The pods that carry these terms. A search asks for them again and again, of one table."""
        found = self._carriers.get(terms)
        if found is None:
            found = self._carriers[terms] = tuple(terms.carriers(carried))
        return found

    def copy(self) -> "Pods":
        """These pods in columns of their own, with empty caches."""
        own = {name: getattr(self, name).copy() for name in (*COLUMNS, "requests", "nonzero")}
        caches = {one.name: one.default_factory() for one in fields(self) if callable(one.default_factory)}
        for column in own.values():
            if isinstance(column, np.ndarray):
                sealed(column)
        return replace(self, compiled=tuple(self.compiled), rows=dict(self.rows), **own, **caches)


COLUMNS: Mapping[str, ColumnKind] = {
    one.name: one.metadata[_KIND] for one in fields(Pods) if _KIND in one.metadata
}


def pods_table(compiled: Iterable[CompiledPod], axis: ResourceAxis) -> Pods:
    pods = tuple(compiled)
    shapes = [pod.shape for pod in pods]
    nonzero = np.array([(shape.nonzero_cpu, shape.nonzero_memory) for shape in shapes], np.int64)
    names = ((pod.pod.metadata.namespace, pod.pod.metadata.name) for pod in pods)
    return Pods(
        compiled=pods,
        rows={name: row for row, name in enumerate(names)},
        requests=matrix((dict(shape.requests) for shape in shapes), axis.names),
        nonzero=sealed(nonzero.reshape(-1, 2).T),
        looked_at=keys_looked_at(term for shape in shapes for term in shape.terms()),
        **{name: kind.table(pods) for name, kind in COLUMNS.items()},
    )


# --- the pods of every node in order of importance -----------------------------------------------

NO_POD = -1

Importance = tuple[int, float, str, str]


def importance(pod: Pod) -> Importance:
    """Sorts the most important first: highest priority, then earliest start, then name."""
    return -(pod.spec.priority or 0), start_of(pod), pod.metadata.namespace, pod.metadata.name


def start_of(pod: Pod) -> float:
    """When a pod started; infinity if it has not, which makes it younger than all that have."""
    start = pod.status.start_time
    return start.timestamp() if start is not None else float("inf")


def slots_of(pods: Sequence[CompiledPod], where: Ints, nodes: int) -> Ints:
    """[slot, node] the rows of its pods, the most important first; NO_POD in the slots that are left.

    Slots are rows of the matrix, so that the pods of all nodes that are next in importance are one array.

    where  [pod]  the row of its node, or less than zero
    """
    on_node: list[list[tuple[Importance, int]]] = [[] for _ in range(nodes)]
    for row, compiled in enumerate(pods):
        if where[row] >= 0:
            on_node[where[row]].append((importance(compiled.pod), row))
    slots = np.full((max(map(len, on_node), default=0), nodes), NO_POD, np.int64)
    for node, pods_there in enumerate(on_node):
        slots[: len(pods_there), node] = [row for _, row in sorted(pods_there)]
    slots.setflags(write=False)
    return slots
