"""The cluster at one instant, in read-only columns.

``Snapshot`` knows nodes by row and pods by row. Pods that wait are rows too, with nowhere as their place,
so that asking "what if this pod ran there" only changes where it is. What does not depend on where pods
are (labels, taints, selectors' matches) is computed on first use and shared by all what-ifs.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reprieve.model.columns import Column, Ints, Mask, Relation, sealed
from reprieve.model.kept import ALL, KeptScores, Rows
from reprieve.model.mentions import Mentions, keys_looked_at, weights_by_topology
from reprieve.model.objects import (
    KubernetesObject,
    Namespace,
    Node,
    Pod,
    Problem,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    Taint,
    ref_of,
)
from reprieve.model.resources import Amounts, Problems, ResourceAxis, node_capacity
from reprieve.model.selectors import (
    EVERYTHING,
    NOTHING,
    Labels,
    NodeQuery,
    NodeTerm,
    Operator,
    Requirement,
    Selector,
    compile_selector,
)
from reprieve.model.shape import (
    CompiledPod,
    Disk,
    HostPort,
    PodTerm,
    Shape,
    WeightedPodTerm,
    compile_pod,
)
from reprieve.model.storage import KINDS as STORAGE
from reprieve.model.slots import slots_of
from reprieve.model.storage import InUse, Storage, build_storage, volumes_in_use

NOWHERE = -1

LabelSet = tuple[str, tuple[tuple[str, str], ...]]  # namespace, sorted labels
MentionKey = tuple[LabelSet, tuple[tuple[str, str], ...]]  # who is mentioned, labels of the namespace
NAMESPACE_NAME = "kubernetes.io/metadata.name"  # a label that every namespace has


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """What is known of nodes apart from how full they are."""

    objects: tuple[Node, ...]
    names: tuple[str, ...]
    rows: Mapping[str, int]
    rank: Ints  # the row's place in the order of names, for ties
    unschedulable: Mask
    taints: Column[tuple[Taint, ...]]
    features: Column[frozenset[str]]
    _labels: dict[str, Column[str | None]] = field(default_factory=dict)
    _masks: dict[NodeQuery | NodeTerm, Mask] = field(default_factory=dict)
    _images: list[dict[str, Ints]] = field(default_factory=list)  # one index of all, once it is asked for

    def __len__(self) -> int:
        return len(self.names)

    def label(self, key: str) -> Column[str | None]:
        """The value of a label on each node; code 0 is always its absence."""
        column = self._labels.get(key)
        if column is None:
            values = (node.metadata.labels.get(key) for node in self.objects)
            column = self._labels[key] = Column.of(values, first=(None,))
        return column

    def image_sizes(self, name: str) -> Ints | None:
        """How large an image is on each node, 0 where it is not; None if no node has it."""
        if not self._images:
            self._images.append(_image_sizes(self.objects))
        return self._images[0].get(name)

    def matching(self, query: NodeQuery | NodeTerm) -> Mask:
        mask = self._masks.get(query)
        if mask is None:
            found = self._query(query) if isinstance(query, NodeQuery) else self._term(query)
            mask = self._masks[query] = sealed(found)
        return mask

    def _query(self, query: NodeQuery) -> Mask:
        mask = self._all(query.selector)
        if query.terms is None:
            return mask
        anyone = np.zeros(len(self), np.bool_)
        for term in query.terms:
            anyone |= self.matching(term)
        return mask & anyone

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
            mask &= _meeting(requirement, self.label(requirement.key))
        return mask


def _meeting(requirement: Requirement, column: Column[str | None]) -> Mask:
    """The rows whose value of the label, or lack of it, meets the requirement."""
    match requirement.operator:
        case Operator.IN:
            return column.where_in(requirement.values)
        case Operator.NOT_IN:
            return ~column.where_in(requirement.values)
        case _:
            return column.where(requirement.accepts)


@dataclass(frozen=True, slots=True, eq=False)
class Pods:
    """What is known of pods apart from where they are."""

    compiled: Sequence[CompiledPod]
    rows: Mapping[tuple[str, str], int]  # (namespace, name) -> row
    namespaces: Column[str]
    labels: Column[LabelSet]
    requests: Ints  # [resource, pod]
    nonzero: Ints  # [cpu and memory, pod]
    priority: Ints
    terminating: Mask
    ports: Relation[HostPort]
    affinity: Relation[PodTerm]
    anti_affinity: Relation[PodTerm]
    preferred: Relation[WeightedPodTerm]
    claims: Relation[tuple[str, str]]  # (namespace, claim name)
    disks: Relation[Disk]
    looked_at: frozenset[str]  # the keys of labels that some pod's affinity terms look at
    _labels: dict[str, Column[str | None]] = field(default_factory=dict)
    _matches: dict[tuple[Selector, frozenset[str]], Mask] = field(default_factory=dict)
    _mentions: dict[MentionKey, Mentions] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.compiled)

    def shape(self, row: int) -> Shape:
        return self.compiled[row].shape

    def label(self, key: str) -> Column[str | None]:
        """The value of a label on each pod; code 0 is always its absence."""
        column = self._labels.get(key)
        if column is None:
            values = (dict(pairs).get(key) for _, pairs in self.labels.things)
            by_set = Column.of(values, first=(None,))
            column = Column(sealed(by_set.codes[self.labels.codes]), by_set.things, by_set.index)
            self._labels[key] = column
        return column

    def matching(self, selector: Selector, namespaces: frozenset[str]) -> Mask:
        """The pods with matching labels in one of the namespaces, wherever they are."""
        mask = self._matches.get((selector, namespaces))
        if mask is None:
            mask = self._matches[selector, namespaces] = self.namespaces.where_in(namespaces)
            for requirement in selector.requirements:
                mask &= _meeting(requirement, self.label(requirement.key))
            mask.setflags(write=False)
        return mask

    def mentions(self, shape: Shape, namespace: Labels) -> Mentions:
        """The terms of all pods that mean a pod of this shape, whose namespace has these labels.

        Labels that no term looks at (the index of a stateful pod, say) are left out, so that all pods of
        one template share the answer.
        """
        labels = tuple(pair for pair in shape.labels if pair[0] in self.looked_at)
        key = (shape.namespace, labels), tuple(namespace.items())
        found = self._mentions.get(key)
        if found is None:
            seen = dict(labels)

            def means(term: PodTerm) -> bool:
                return term.means(seen, shape.namespace, namespace)

            found = self._mentions[key] = Mentions(
                affinity=weights_by_topology(((1, t) for t in self.affinity.things), means),
                anti_affinity=weights_by_topology(((1, t) for t in self.anti_affinity.things), means),
                preferred=weights_by_topology(((w.weight, w.term) for w in self.preferred.things), means),
            )
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Namespaces:
    """Namespaces by their labels: all that pods live in, and others."""

    labels: Mapping[str, Labels] = field(default_factory=dict)
    _selected: dict[Selector, frozenset[str]] = field(default_factory=dict)

    def selected(self, selector: Selector) -> frozenset[str]:
        names = self._selected.get(selector)
        if names is None:
            matching = (name for name, labels in self.labels.items() if selector.matches(labels))
            names = self._selected[selector] = frozenset(matching)
        return names


Owner = ReplicaSet | StatefulSet | ReplicationController


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """What groups pods by selector: the default spreading keeps such pods apart."""

    services: Mapping[str, Sequence[Service]] = field(default_factory=dict)  # by namespace
    controllers: Mapping[str, Owner] = field(default_factory=dict)  # by UID
    _selectors: dict[tuple[str, str, tuple[tuple[str, str], ...]], Selector] = field(default_factory=dict)

    def selector_for(self, shape: Shape) -> Selector:
        """What the services and the controller of such a pod select; everything if it has none."""
        key = (shape.owner_uid, shape.namespace, shape.labels)
        selector = self._selectors.get(key)
        if selector is None:
            selector = self._selectors[key] = self._selector(shape)
        return selector

    def _selector(self, shape: Shape) -> Selector:
        labels = dict(shape.labels)
        exact: dict[str, str] = {}
        for service in self.services.get(shape.namespace, ()):
            if service.spec.selector.items() <= labels.items():
                exact.update(service.spec.selector)
        more: tuple[Requirement, ...] = ()
        match self.controllers.get(shape.owner_uid):
            case ReplicationController() as controller:
                exact.update(controller.spec.selector)
            case ReplicaSet() | StatefulSet() as controller:
                more = _requirements_of(controller)
        return EVERYTHING.narrowed(
            [*(Requirement(key, Operator.IN, frozenset({value})) for key, value in exact.items()), *more]
        )


def _requirements_of(controller: ReplicaSet | StatefulSet) -> tuple[Requirement, ...]:
    """A controller whose selector is absent or malformed adds nothing."""
    selector = compile_selector(controller.spec.selector, "spec.selector", Problems(ref_of(controller)))
    return () if selector == NOTHING else selector.requirements


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Where scores are kept, and when the numbers of each node last changed."""

    scores: KeptScores
    touched: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Nodes, pods, where the pods are, and how full that makes the nodes."""

    version: int
    axis: ResourceAxis
    nodes: Nodes
    pods: Pods
    allocatable: Ints  # [resource, node]
    requested: Ints  # [resource, node]
    nonzero: Ints  # [cpu and memory, node]: requests, with a floor for pods that ask nothing
    where: Ints  # [pod] the row of its node, or NOWHERE
    slots: Ints  # [slot, node] its pods, the most important first; a what-if moves pods but keeps slots
    namespaces: Namespaces = field(default_factory=Namespaces)
    storage: Storage = field(default_factory=Storage)
    volumes_in_use: InUse = field(default_factory=dict)
    owners: Owners = field(default_factory=Owners)
    kept: Kept | None = None

    def scores_by_row(self, key: Hashable, compute: Callable[[Rows], Ints]) -> Ints:
        """Scores that depend on a node's own numbers only, so that they can be kept while those last."""
        if self.kept is None:
            return compute(ALL)
        return self.kept.scores.refreshed(key, self.kept.touched, compute)

    def pods_meant(self, term: PodTerm) -> Mask:
        """The pods a term means, wherever they are."""
        namespaces = term.namespaces
        if term.namespace_selector != NOTHING:
            namespaces |= self.namespaces.selected(term.namespace_selector)
        return self.pods.matching(term.selector, namespaces)

    def mentions(self, pod: int) -> Mentions:
        """The terms of all pods that mean this one."""
        shape = self.pods.shape(pod)
        return self.pods.mentions(shape, self.namespaces.labels[shape.namespace])

    def copy(self) -> "Snapshot":
        """For whoever keeps a snapshot beyond the next change of the world it came from."""
        return replace(
            self,
            allocatable=sealed(self.allocatable.copy()),
            requested=sealed(self.requested.copy()),
            nonzero=sealed(self.nonzero.copy()),
            where=sealed(self.where.copy()),
        )


# --- building one from objects -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A snapshot, and what could not be read of the objects it was built from."""

    snapshot: Snapshot
    problems: tuple[Problem, ...]


def build(objects: Iterable[KubernetesObject], version: int = 0) -> Built:
    """A snapshot of these objects. Rows are in the order the objects come in."""
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
        allocatable=matrix(capacities, axis),
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
    )
    return Built(snapshot, tuple(problems))


def runs(pod: Pod) -> bool:
    """Whether a pod still needs or will need room; finished ones are not part of the picture."""
    return pod.status.phase not in ("Succeeded", "Failed")


def _axis(capacities: Iterable[Amounts], pods: Iterable[CompiledPod]) -> ResourceAxis:
    names = {name for amounts in capacities for name in amounts}
    names.update(name for pod in pods for name, _ in pod.shape.requests)
    return ResourceAxis().extended(names)


def matrix(columns: Iterable[Mapping[str, int]], axis: ResourceAxis) -> Ints:
    """Resource-major: one contiguous row for each resource, so that a comparison touches only that."""
    columns = list(columns)
    result = np.zeros((len(axis.names), len(columns)), np.int64)
    rows = {name: row for row, name in enumerate(axis.names)}
    for column, amounts in enumerate(columns):
        for name, amount in amounts.items():
            result[rows[name], column] = amount
    return sealed(result)


def sums_by_node(amounts: Ints, where: Ints, nodes: int) -> Ints:
    """Per-pod amounts ``[kind, pod]`` added up to ``[kind, node]``."""
    placed = where >= 0
    rows = where[placed]
    sums = np.zeros((len(amounts), nodes), np.int64)
    for kind, row in enumerate(amounts):
        np.add.at(sums[kind], rows, row[placed])
    return sums


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
    """The table with some rows described anew; the nodes and their names are the same.

    What was computed from labels is put right for these rows; the rest of it is kept.
    """
    objects = list(nodes.objects)
    for row, node in changed.items():
        objects[row] = node
    fresh = nodes_table(objects)
    for key, column in nodes._labels.items():
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
        requests=matrix((dict(s.requests) for s in shapes), axis),
        nonzero=sealed(
            np.array([(s.nonzero_cpu, s.nonzero_memory) for s in shapes], np.int64).reshape(-1, 2).T
        ),
        priority=sealed(np.fromiter((p.pod.spec.priority or 0 for p in pods), np.int64)),
        terminating=sealed(np.fromiter((m.deletion_timestamp is not None for m in metas), np.bool_)),
        ports=Relation.of((row, port) for row, s in numbered for port in s.ports),
        affinity=Relation.of((row, term) for row, s in numbered for term in s.affinity),
        anti_affinity=Relation.of((row, term) for row, s in numbered for term in s.anti_affinity),
        preferred=Relation.of((row, wish) for row, s in numbered for wish in s.preferred_pods),
        claims=Relation.of((row, (s.namespace, c)) for row, s in numbered for c in s.claims),
        disks=Relation.of((row, disk) for row, s in numbered for disk in s.disks),
        looked_at=keys_looked_at(term for shape in shapes for term in shape.terms()),
    )


def namespaces_table(objects: Iterable[Namespace], lived_in: Iterable[str]) -> Namespaces:
    """``lived_in``: the namespaces of pods, which exist even if nobody has shown them to us yet."""
    labels: dict[str, Labels] = {name: {NAMESPACE_NAME: name} for name in lived_in}
    labels.update((n.metadata.name, n.metadata.labels) for n in objects)
    return Namespaces(labels)


OWNER_KINDS = (Service, ReplicaSet, StatefulSet, ReplicationController)


def owners_table(objects: Iterable[KubernetesObject]) -> Owners:
    services: dict[str, list[Service]] = {}
    controllers: dict[str, Owner] = {}
    for thing in objects:
        match thing:
            case Service():
                services.setdefault(thing.metadata.namespace, []).append(thing)
            # What has no UID cannot be meant by a pod: a pod without a controller names the empty one.
            case ReplicaSet() | StatefulSet() | ReplicationController() if thing.metadata.uid:
                controllers[thing.metadata.uid] = thing
            case _:
                pass
    return Owners(services, controllers)
