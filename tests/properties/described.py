"""A snapshot in words: everything it holds by names instead of rows, so that two can be compared."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np

from reprieve.model.columns import Ints, Mask, Relation
from reprieve.model.json import Json
from reprieve.model.pods import NO_POD, SelectingTerms
from reprieve.model.selectors import (
    ANYWHERE,
    EVERYTHING,
    NodeQuery,
    NodeTerm,
    Operator,
    Requirement,
    Selector,
)
from reprieve.model.snapshot import NOWHERE, Snapshot
from tests.properties.answers import answers
from tests.properties.vocabulary import HOSTNAME, NAMESPACES, NODE_LABELS, POD_LABELS, RACK, ZONE

NODE_KEYS = (HOSTNAME, ZONE, RACK, *NODE_LABELS)
IMAGES = ("mirror.local/db:latest", "tiny:latest", "registry.local/web:1")

Pod = tuple[str, str]
T = TypeVar("T", bound=Hashable)


def _requirement(key: str, operator: Operator, *values: str) -> Requirement:
    return Requirement(key, operator, frozenset(values))


NODE_QUERIES: tuple[NodeQuery | NodeTerm, ...] = (
    ANYWHERE,
    NodeQuery((_requirement(ZONE, Operator.IN, "z0", "z1"),)),
    NodeQuery((_requirement("disk", Operator.NOT_IN, "ssd"), _requirement(RACK, Operator.EXISTS))),
    NodeQuery(terms=(NodeTerm((_requirement("generation", Operator.GT, "1"),)), NodeTerm())),
    NodeTerm((), (_requirement("metadata.name", Operator.IN, "n1"),)),
    NodeTerm((_requirement(ZONE, Operator.DOES_NOT_EXIST),)),
)
SELECTORS = (
    EVERYTHING,
    Selector((_requirement("app", Operator.IN, "web", "db"),)),
    Selector((_requirement("app", Operator.NOT_IN, "web"), _requirement("track", Operator.EXISTS))),
    Selector((_requirement("track", Operator.DOES_NOT_EXIST),)),
)


def described(view: Snapshot) -> Json:
    return {
        "nodes": {name: _node(view, row) for row, name in enumerate(view.nodes.names)},
        "order": [view.nodes.names[row] for row in np.argsort(view.nodes.rank)],
        "pods": {pod: _pod(view, row) for pod, row in view.pods.rows.items()},
        "queries": {query: _nodes_in(view, view.nodes.matching(query)) for query in NODE_QUERIES},
        "matches": {selector: _pods_matching(view, selector) for selector in SELECTORS},
        "relations": _relations(view),
        "mentions": {pod: _mentions(view, row) for pod, row in view.pods.rows.items()},
        "namespaces": {pod[0]: dict(view.namespaces.labels[pod[0]]) for pod in view.pods.rows},
        "storage": _storage(view),
        "groups": (dict(view.groups.pod_groups), dict(view.groups.composites)),
        "budgets": list(view.budgets),
        "priority classes": dict(view.priority_classes),
        "owners": {
            pod: view.owners.selector_for(view.pods.shape(row)) for pod, row in view.pods.rows.items()
        },
        "answers": {pod: _without_zeros(said) for pod, said in answers(view).items()},
    }


def _without_zeros(answer: Json) -> Json:
    """A term that no pod carries any more may still be evaluated by a preference, and match nothing."""
    nodes = {
        name: {part: score for part, score in said.items() if score != 0}
        for name, said in answer["nodes"].items()
    }
    return {**answer, "nodes": nodes}


# --- nodes ---------------------------------------------------------------------------------------


def _node(view: Snapshot, row: int) -> Json:
    nodes = view.nodes
    assert nodes.rows[nodes.names[row]] == row
    return {
        "allocatable": _amounts(view, view.allocatable[:, row]),
        "requested": _amounts(view, view.requested[:, row]),
        "nonzero": view.nonzero[:, row].tolist(),
        "slots": [_names(view)[int(pod)] for pod in view.slots[:, row] if pod != NO_POD],
        "unschedulable": bool(nodes.unschedulable[row]),
        "taints": nodes.taints[row],
        "features": nodes.features[row],
        "labels": {key: nodes.label(key)[row] for key in NODE_KEYS},
        "images": [None if (sizes := nodes.image_sizes(i)) is None else int(sizes[row]) for i in IMAGES],
    }


def _amounts(view: Snapshot, column: Ints) -> dict[str, int]:
    """Resources without any amount are left out: a mirror may have seen them once."""
    return {name: int(amount) for name, amount in zip(view.axis.names, column, strict=True) if amount}


def _nodes_in(view: Snapshot, mask: Mask) -> set[str]:
    return {view.nodes.names[row] for row in np.flatnonzero(mask)}


# --- pods ----------------------------------------------------------------------------------------


def _names(view: Snapshot) -> Mapping[int, Pod]:
    return {row: pod for pod, row in view.pods.rows.items()}


def _pod(view: Snapshot, row: int) -> Json:
    pods, node = view.pods, int(view.where[row])
    return {
        "where": None if node == NOWHERE else view.nodes.names[node],
        "compiled": pods.compiled[row].shape,
        "problems": pods.compiled[row].problems,
        "namespace": pods.namespaces[row],
        "labels": pods.labels[row],
        "by key": {key: pods.label(key)[row] for key in POD_LABELS},
        "requests": _amounts(view, pods.requests[:, row]),
        "nonzero": pods.nonzero[:, row].tolist(),
        "priority": int(pods.priority[row]),
        "terminating": bool(pods.terminating[row]),
        "static": bool(pods.static[row]),
        "start": float(pods.start[row]),
        "scheduled": float(pods.scheduled[row]),
        "class": pods.classes[row],
        "group": pods.groups[row],
        "grouped": bool(pods.groups.codes[row]),
        "chain": [name for name, _ in view.groups.chain(pods.groups[row])],
    }


def _pods_matching(view: Snapshot, selector: Selector) -> set[Pod]:
    mask = view.pods.matching(selector, frozenset(NAMESPACES[:2]))
    return {pod for pod, row in view.pods.rows.items() if mask[row]}


def _relations(view: Snapshot) -> Json:
    pods = view.pods
    return {
        "ports": _pairs(view, pods.ports),
        "affinity": _pairs(view, pods.affinity),
        "anti-affinity": _pairs(view, pods.anti_affinity),
        "preferred": _pairs(view, pods.preferred),
        "claims": _pairs(view, pods.claims),
        "disks": _pairs(view, pods.disks),
        "volumes in use": {driver: _users(view, used) for driver, used in view.volumes_in_use.items()},
    }


def _pairs(view: Snapshot, relation: Relation[T]) -> set[tuple[Pod, T]]:
    names = _names(view)
    pairs = zip(relation.rows, relation.codes, strict=True)
    return {(names[int(row)], relation.things[int(code)]) for row, code in pairs}


def _users(view: Snapshot, relation: Relation[str]) -> set[tuple[Pod | str, str]]:
    """Pods, or the nodes that a volume is attached to, whatever uses it."""
    names = _names(view)
    pairs = zip(relation.rows.tolist(), relation.codes.tolist(), strict=True)
    return {
        (names[row] if row >= 0 else view.nodes.names[~row], relation.things[code]) for row, code in pairs
    }


def _mentions(view: Snapshot, row: int) -> Json:
    """Terms that no pod carries any more mean nothing."""
    found, pods = view.terms_matching(row), view.pods
    return {
        "affinity": _weights(pods.affinity, found.affinity),
        "anti-affinity": _weights(pods.anti_affinity, found.anti_affinity),
        "preferred": _weights(pods.preferred, found.preferred),
    }


def _weights(relation: Relation[T], terms: SelectingTerms) -> set[tuple[str, T, int]]:
    carried = set(relation.codes.tolist())
    found = zip(terms.codes.tolist(), terms.weights.tolist(), terms.topologies.tolist(), strict=True)
    return {
        (terms.topology_keys[topology], relation.things[code], weight)
        for code, weight, topology in found
        if code in carried
    }


# --- storage -------------------------------------------------------------------------------------


def _storage(view: Snapshot) -> Json:
    storage = view.storage
    return {
        "claims": storage.claims,
        "volumes": storage.volumes,
        "free": {name: {v.name for v in volumes} for name, volumes in storage.free.items()},
        "held": {claim: {v.name for v in volumes} for claim, volumes in storage.held.items()},
        "classes": storage.classes,
        "drivers": storage.drivers,
        "nodes": {name: storage.csi(view.nodes.names)[row] for row, name in enumerate(view.nodes.names)},
        "capacities": {name: set(found) for name, found in storage.capacities.items()},
        "attached": set(storage.attachments),
    }
