"""Pods in columns: everything but their nodes."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from reprieve.model.budget_selection import BudgetSelection, LabelSet
from reprieve.model.budgets import Budget
from reprieve.model.columns import Column, Floats, Ints, Mask, Relation, matrix, sealed
from reprieve.model.disruption_costs import CHECKPOINT, NO_COST, MemberCost, member_cost
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.holders import Holders, holders
from reprieve.model.matching_terms import Carriers, MatchingTerms, SelectingTerms, keys_looked_at, selecting
from reprieve.model.nodes import meeting
from reprieve.model.objects import ObjectMeta
from reprieve.model.pods_by_importance import start_of
from reprieve.model.resources import ResourceAxis
from reprieve.model.scheduled_times import scheduled_at
from reprieve.model.selectors import Labels, Selector
from reprieve.model.shape import CompiledPod, HostPort, InlineDisk, PodTerm, Shape, WeightedPodTerm

T = TypeVar("T", bound=Hashable)
_NAMESPACE = ""  # no label has this key
MatchingKey = tuple[LabelSet, tuple[tuple[str, str], ...]]  # labels of the pod, labels of its namespace


@dataclass(frozen=True, slots=True, eq=False)
class Pods:
    """Everything about pods but their nodes."""

    compiled: Sequence[CompiledPod]
    rows: Mapping[tuple[str, str], int]  # (namespace, name) -> row
    namespaces: Column[str]
    labels: Column[LabelSet]
    shapes: Column[Shape | None]  # None in a row that is free
    requests: Ints  # [resource, pod]
    nonzero: Ints  # [cpu and memory, pod]
    priority: Ints
    start: Floats  # status.startTime; infinity if it has not started
    scheduled: Floats  # when PodScheduled became true; infinity if it is not
    terminating: Mask
    bare: Mask  # no controller owns the pod
    publishing: Mask  # its annotations say when its work was last saved
    static: Mask  # static pods: deleting one deletes its mirror pod only, and the kubelet keeps it running
    classes: Column[str]  # priority classes, by name
    groups: Column[GroupKey | None]
    costs: Column[MemberCost]
    ports: Relation[HostPort]
    affinity: Relation[PodTerm]
    anti_affinity: Relation[PodTerm]
    preferred: Relation[WeightedPodTerm]
    claims: Relation[tuple[str, str]]  # (namespace, claim name)
    disks: Relation[InlineDisk]
    looked_at: frozenset[str]  # the label keys in the selectors of affinity terms
    _labels: dict[str, Column[str | None]] = field(default_factory=dict)
    _by_set: dict[str, Column[str | None]] = field(default_factory=dict)
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
            values = (dict(pairs).get(key) for _, pairs in self.labels.things)
            column = self._by_set[key] = Column.of(values, first=(None,))
        return column

    def _sets_in(self, namespaces: frozenset[str]) -> Mask:
        """[label set] whether it is that of a pod in one of the namespaces."""
        column = self._by_set.get(_NAMESPACE)
        if column is None:
            spaces = (namespace for namespace, _ in self.labels.things)
            column = self._by_set[_NAMESPACE] = Column.of(spaces, first=(None,))
        return column.where_in(namespaces)

    def matching(self, selector: Selector, namespaces: frozenset[str]) -> Mask:
        """The pods with matching labels in one of the namespaces, wherever they are."""
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
        """With columns of its own, and empty caches."""
        return replace(
            self,
            compiled=tuple(self.compiled),
            rows=dict(self.rows),
            namespaces=self.namespaces.copy(),
            labels=self.labels.copy(),
            shapes=self.shapes.copy(),
            requests=sealed(self.requests.copy()),
            nonzero=sealed(self.nonzero.copy()),
            priority=sealed(self.priority.copy()),
            start=sealed(self.start.copy()),
            scheduled=sealed(self.scheduled.copy()),
            terminating=sealed(self.terminating.copy()),
            bare=sealed(self.bare.copy()),
            publishing=sealed(self.publishing.copy()),
            static=sealed(self.static.copy()),
            classes=self.classes.copy(),
            groups=self.groups.copy(),
            costs=self.costs.copy(),
            ports=self.ports.copy(),
            affinity=self.affinity.copy(),
            anti_affinity=self.anti_affinity.copy(),
            preferred=self.preferred.copy(),
            claims=self.claims.copy(),
            disks=self.disks.copy(),
            _labels={},
            _by_set={},
            _matches={},
            _terms_matching={},
            _carriers={},
            _holders=[],
            _selection=BudgetSelection(),
        )


def is_static(meta: ObjectMeta) -> bool:
    return "kubernetes.io/config.mirror" in meta.annotations


def pods_table(compiled: Iterable[CompiledPod], axis: ResourceAxis) -> Pods:
    pods = tuple(compiled)
    shapes = [p.shape for p in pods]
    metas = [p.pod.metadata for p in pods]
    numbered = list(enumerate(shapes))
    return Pods(
        compiled=pods,
        rows={(m.namespace, m.name): row for row, m in enumerate(metas)},
        namespaces=Column.of(s.namespace for s in shapes),
        labels=Column.of((s.namespace, s.labels) for s in shapes),
        shapes=Column.of(shapes, first=(None,)),
        requests=matrix((dict(s.requests) for s in shapes), axis.names),
        nonzero=sealed(
            np.array([(s.nonzero_cpu, s.nonzero_memory) for s in shapes], np.int64).reshape(-1, 2).T
        ),
        priority=sealed(np.fromiter((p.pod.spec.priority or 0 for p in pods), np.int64)),
        start=sealed(np.fromiter((start_of(p.pod) for p in pods), np.float64)),
        scheduled=sealed(np.fromiter((scheduled_at(p.pod) for p in pods), np.float64)),
        classes=Column.of((p.pod.spec.priority_class_name for p in pods), first=("",)),
        groups=Column.of((group_key(p.pod) for p in pods), first=(None,)),
        costs=Column.of(map(member_cost, metas), first=(NO_COST,)),
        terminating=sealed(np.fromiter((m.deletion_timestamp is not None for m in metas), np.bool_)),
        bare=sealed(np.fromiter((not s.owner_uid for s in shapes), np.bool_)),
        publishing=sealed(np.fromiter((CHECKPOINT in m.annotations for m in metas), np.bool_)),
        static=sealed(np.fromiter(map(is_static, metas), np.bool_)),
        ports=Relation.of((row, port) for row, s in numbered for port in s.ports),
        affinity=Relation.of((row, term) for row, s in numbered for term in s.affinity),
        anti_affinity=Relation.of((row, term) for row, s in numbered for term in s.anti_affinity),
        preferred=Relation.of((row, term) for row, s in numbered for term in s.preferred_pods),
        claims=Relation.of((row, (s.namespace, c)) for row, s in numbered for c in s.claims),
        disks=Relation.of((row, disk) for row, s in numbered for disk in s.disks),
        looked_at=keys_looked_at(term for shape in shapes for term in shape.terms()),
    )
