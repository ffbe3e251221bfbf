"""The cluster at one instant, in read-only columns, and how they are built from objects.

``Snapshot`` has a row for each node and each pod. Pending pods are rows too, with NOWHERE as their node, so
that "what if this pod ran there" changes only ``where``. What does not depend on ``where`` (labels, taints,
selectors' matches) is computed on first use and shared by all what-ifs.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reprieve.model.budgets import Budget, budgets_table
from reprieve.model.columns import Ints, Mask, matrix, sealed
from reprieve.model.groups import Groups, groups_table
from reprieve.model.nodes import Nodes, nodes_table
from reprieve.model.objects import (
    KubernetesObject,
    Namespace,
    Node,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
    Problem,
    ref_of,
    runs,
)
from reprieve.model.owners import OWNER_KINDS, Namespaces, Owners, namespaces_table, owners_table
from reprieve.model.pod_compilation import compile_pod
from reprieve.model.pods import MatchingTerms, Pods, pods_table, slots_of
from reprieve.model.resources import Amounts, Problems, ResourceAxis, node_capacity
from reprieve.model.score_cache import ALL, Rows, ScoreCache, Touches, WhatIfScores
from reprieve.model.selectors import NOTHING
from reprieve.model.shape import CompiledPod, PodTerm
from reprieve.model.storage import KINDS as STORAGE
from reprieve.model.storage import InUse, Storage, build_storage, volumes_in_use

NOWHERE = -1


@dataclass(frozen=True, slots=True, eq=False)
class CachedScores:
    """The score cache, the number of nodes, and which of them changed, be it in what they are or how full."""

    scores: ScoreCache
    size: int
    touches: Touches

    def get(self, key: Hashable, compute: Callable[[Rows], Ints]) -> Ints:
        return self.scores.refreshed(key, self.size, self.touches, compute)

    def known(self, key: Hashable) -> Ints | None:
        return self.scores.fresh(key, self.size, self.touches)


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Nodes, pods, where the pods are, and how full that makes the nodes."""

    version: int
    axis: ResourceAxis
    nodes: Nodes
    pods: Pods
    allocatable: Ints  # [resource, node]
    requested: Ints  # [resource, node]
    nonzero: Ints  # [cpu and memory, node]: requests, with a floor for containers without a request
    where: Ints  # [pod] the row of its node, or NOWHERE
    slots: Ints  # [slot, node] its pods, the most important first; a what-if does not update it
    namespaces: Namespaces = field(default_factory=Namespaces)
    storage: Storage = field(default_factory=Storage)
    volumes_in_use: InUse = field(default_factory=dict)
    owners: Owners = field(default_factory=Owners)
    groups: Groups = field(default_factory=Groups)
    budgets: Sequence[Budget] = ()
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    # When workloads were evicted (see ``workloads``), the oldest first; only kept if there is a limit
    evictions: Mapping[str, Sequence[float]] = field(default_factory=dict)
    cached_scores: CachedScores | WhatIfScores | None = None

    def scores_by_row(self, key: Hashable, compute: Callable[[Rows], Ints]) -> Ints:
        """Scores that depend on the node alone (what it is, and how full), and so are cached per row."""
        return compute(ALL) if self.cached_scores is None else self.cached_scores.get(key, compute)

    def pods_matching(self, term: PodTerm) -> Mask:
        """[pod] whether a term selects it, wherever it is."""
        namespaces = term.namespaces
        if term.namespace_selector != NOTHING:
            namespaces |= self.namespaces.selected(term.namespace_selector)
        return self.pods.matching(term.selector, namespaces)

    def terms_matching(self, pod: int) -> MatchingTerms:
        """The terms of all pods that select this one."""
        shape = self.pods.shape(pod)
        return self.pods.terms_matching(shape, self.namespaces.labels[shape.namespace])

    def copy(self) -> "Snapshot":
        """With columns of its own: the originals change with the next event that the scheduler observes."""
        return replace(
            self,
            pods=self.pods.copy(),
            allocatable=sealed(self.allocatable.copy()),
            requested=sealed(self.requested.copy()),
            nonzero=sealed(self.nonzero.copy()),
            where=sealed(self.where.copy()),
            slots=sealed(self.slots.copy()),
            priority_classes=dict(self.priority_classes),
            evictions={workload: tuple(moments) for workload, moments in self.evictions.items()},
            cached_scores=None,
        )


def on_nodes(view: Snapshot, nodes: Sequence[int] | Ints | Mask, pods: Ints | None = None) -> Mask:
    """[pod] whether it runs on one of the nodes, which are given by rows or as a mask. ``pods``: of these."""
    used = np.zeros(len(view.nodes) + 1, np.bool_)  # the last one stands for NOWHERE
    used[:-1][nodes] = True
    on_used: Mask = used[view.where if pods is None else view.where[pods]]
    return on_used


def sums_by_node(amounts: Ints, where: Ints, nodes: int) -> Ints:
    """Per-pod amounts ``[kind, pod]`` added up to ``[kind, node]``."""
    placed = where >= 0
    if not placed.all():
        amounts, where = amounts[:, placed], where[placed]
    sums = np.zeros((len(amounts), nodes), np.int64)
    for kind, row in enumerate(amounts):
        if row.any():  # most pods request few of all resources
            np.add.at(sums[kind], where, row)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class BuiltSnapshot:
    """A snapshot, and what was malformed in its objects."""

    snapshot: Snapshot
    problems: tuple[Problem, ...]


def build(objects: Iterable[KubernetesObject], version: int = 0) -> BuiltSnapshot:
    """A snapshot of these objects, with rows in their order."""
    by_kind: dict[type, list[KubernetesObject]] = {}
    for thing in objects:
        by_kind.setdefault(type(thing), []).append(thing)
    nodes = [n for n in by_kind.get(Node, ()) if isinstance(n, Node)]
    compiled = [compile_pod(p) for p in by_kind.get(Pod, ()) if isinstance(p, Pod) and runs(p)]
    problems = [problem for pod in compiled for problem in pod.problems]
    capacities = []
    for node in nodes:
        found = Problems(ref_of(node))
        capacities.append(node_capacity(node, found))
        problems.extend(found.all())
    storage = build_storage((thing for kind in STORAGE for thing in by_kind.get(kind, ())), problems)
    axis = _axis(capacities, compiled)
    node_table = nodes_table(nodes)
    pod_table = pods_table(compiled, axis)
    where = sealed(
        np.fromiter((node_table.rows.get(p.pod.spec.node_name, NOWHERE) for p in compiled), np.int64)
    )
    snapshot = Snapshot(
        version=version,
        axis=axis,
        nodes=node_table,
        pods=pod_table,
        allocatable=matrix(capacities, axis.names),
        requested=sealed(sums_by_node(pod_table.requests, where, len(nodes))),
        nonzero=sealed(sums_by_node(pod_table.nonzero, where, len(nodes))),
        where=where,
        slots=slots_of(compiled, where, len(nodes)),
        namespaces=namespaces_table(
            (n for n in by_kind.get(Namespace, ()) if isinstance(n, Namespace)),
            (pod.shape.namespace for pod in compiled),
        ),
        storage=storage,
        volumes_in_use=volumes_in_use(storage, enumerate(p.shape for p in compiled), node_table.rows),
        owners=owners_table(thing for kind in OWNER_KINDS for thing in by_kind.get(kind, ())),
        groups=groups_table(thing for things in by_kind.values() for thing in things),
        budgets=budgets_table(by_kind.get(PodDisruptionBudget, ()), problems),
        priority_classes={
            thing.metadata.name: thing
            for thing in by_kind.get(PriorityClass, ())
            if isinstance(thing, PriorityClass)
        },
    )
    return BuiltSnapshot(snapshot, tuple(problems))


def _axis(capacities: Iterable[Amounts], pods: Iterable[CompiledPod]) -> ResourceAxis:
    names = {name for amounts in capacities for name in amounts}
    names.update(name for pod in pods for name, _ in pod.shape.requests)
    return ResourceAxis().extended(names)
