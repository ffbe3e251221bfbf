"""Nodes in columns: everything but their allocation.

What is computed from labels is cached, and patched by row when a node changes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from reprieve.model.columns import Column, Ints, Mask, sealed
from reprieve.model.objects import Node, Taint
from reprieve.model.selectors import NodeQuery, NodeTerm, Operator, Requirement

_MOST_MASKS = 1024  # queries; beyond that the cache starts over
_MOST_LABELS = 1024  # label keys; any pod can name one, so beyond that the cache starts over


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Everything about nodes but their allocation."""

    objects: tuple[Node, ...]
    names: tuple[str, ...]
    rows: Mapping[str, int]
    rank: Ints  # [node] its position in the order of names, for ties
    unschedulable: Mask  # [node]
    taints: Column[tuple[Taint, ...]]
    features: Column[frozenset[str]]
    _labels: dict[str, Column[str | None]] = field(default_factory=dict)
    _masks: dict[NodeQuery | NodeTerm, Mask] = field(default_factory=dict)
    _images: list[dict[str, Ints]] = field(default_factory=list)  # an index of all images, built on first use

    def __len__(self) -> int:
        return len(self.names)

    def label(self, key: str) -> Column[str | None]:
        """The value of a label on each node; code 0 is always its absence."""
        column = self._labels.get(key)
        if column is None:
            if len(self._labels) >= _MOST_LABELS:
                self._labels.clear()
            values = (node.metadata.labels.get(key) for node in self.objects)
            column = self._labels[key] = Column.of(values, first=(None,))
        return column

    def image_sizes(self, name: str) -> Ints | None:
        """[node] the size of an image in bytes, 0 where it is missing; None if no node has it."""
        if not self._images:
            self._images.append(_image_sizes(self.objects))
        return self._images[0].get(name)

    def matching(self, query: NodeQuery | NodeTerm) -> Mask:
        """[node] whether it matches. Few queries are asked again and again, so masks are kept."""
        mask = self._masks.get(query)
        if mask is None:
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            found = self._query(query) if isinstance(query, NodeQuery) else self._term(query)
            mask = self._masks[query] = sealed(found)
        return mask

    def _query(self, query: NodeQuery) -> Mask:
        mask = self._all(query.selector)
        if query.terms is None:
            return mask
        any_term = np.zeros(len(self), np.bool_)
        for term in query.terms:
            any_term |= self.matching(term)
        return mask & any_term

    def _term(self, term: NodeTerm) -> Mask:
        mask = self._all(term.labels)
        for requirement in term.names:
            named = np.zeros(len(self), np.bool_)
            named[[self.rows[n] for n in requirement.values if n in self.rows]] = True
            mask &= named if requirement.operator is Operator.IN else ~named
        return mask

    def _all(self, requirements: Iterable[Requirement]) -> Mask:
        mask = np.ones(len(self), np.bool_)
        for requirement in requirements:
            mask &= meeting(requirement, self.label(requirement.key))
        return mask


def meeting(requirement: Requirement, column: Column[str | None]) -> Mask:
    """[row] whether its label value, or its absence, meets the requirement."""
    match requirement.operator:
        case Operator.IN:
            return column.where_in(requirement.values)
        case Operator.NOT_IN:
            return ~column.where_in(requirement.values)
        case _:
            return column.where(requirement.accepts)


def nodes_table(nodes: Iterable[Node]) -> Nodes:
    objects = tuple(nodes)
    names = tuple(node.metadata.name for node in objects)
    rank = np.empty(len(names), np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return Nodes(
        objects=objects,
        names=names,
        rows={name: row for row, name in enumerate(names)},
        rank=sealed(rank),
        unschedulable=sealed(np.fromiter((n.spec.unschedulable for n in objects), np.bool_)),
        taints=Column.of(n.spec.taints for n in objects),
        features=Column.of(frozenset(n.status.declared_features) for n in objects),
    )


def nodes_patched(nodes: Nodes, changed: Mapping[int, Node]) -> Nodes:
    """The table with some rows replaced; the names of the nodes stay the same.

    Caches that depend on labels are patched for these rows and kept for the others.
    """
    objects = list(nodes.objects)
    for row, node in changed.items():
        objects[row] = node
    fresh = nodes_table(objects)
    for key, column in nodes._labels.items():
        # A patched column keeps every value it ever had; one with too many is dropped and rebuilt on use.
        if len(column.things) <= 2 * len(objects):
            fresh._labels[key] = _patched_label(key, column, changed)
    for query, mask in nodes._masks.items():
        patched = mask.copy()
        for row, node in changed.items():
            patched[row] = query.matches(node.metadata.labels, node.metadata.name)
        patched.setflags(write=False)
        fresh._masks[query] = patched
    return fresh


def _patched_label(key: str, column: Column[str | None], changed: Mapping[int, Node]) -> Column[str | None]:
    codes, index = column.codes.copy(), dict(column.index)
    for row, node in changed.items():
        codes[row] = index.setdefault(node.metadata.labels.get(key), len(index))
    return Column(sealed(codes), tuple(index), index)


def _image_sizes(nodes: tuple[Node, ...]) -> dict[str, Ints]:
    sizes: dict[str, Ints] = {}
    for row, node in enumerate(nodes):
        for image in node.status.images:
            for name in image.names:
                sizes.setdefault(name, np.zeros(len(nodes), np.int64))[row] = image.size_bytes
    return sizes
