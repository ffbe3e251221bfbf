"""Builds a snapshot from objects, and collects what is malformed in them."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from reprieve.model.budgets import budgets_table
from reprieve.model.columns import matrix, sealed
from reprieve.model.groups import groups_table
from reprieve.model.nodes import nodes_table
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
from reprieve.model.owners import OWNER_KINDS, namespaces_table, owners_table
from reprieve.model.pod_compilation import compile_pod
from reprieve.model.pods import pods_table
from reprieve.model.pods_by_importance import slots_of
from reprieve.model.resources import Amounts, Problems, ResourceAxis, node_capacity
from reprieve.model.shape import CompiledPod
from reprieve.model.snapshot import NOWHERE, Snapshot, sums_by_node
from reprieve.model.storage import KINDS as STORAGE
from reprieve.model.storage import build_storage, volumes_in_use


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
