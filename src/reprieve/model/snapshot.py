"""The cluster at one instant, in read-only columns.

``Snapshot`` knows nodes by row and pods by row. Pods that wait are rows too, with nowhere as their place,
so that asking "what if this pod ran there" only changes where it is. What does not depend on where pods
are (labels, taints, selectors' matches) is computed on first use and shared by all what-ifs.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from reprieve.model.budgets import Budget
from reprieve.model.columns import Ints, Mask, sealed
from reprieve.model.groups import Groups
from reprieve.model.matching_terms import MatchingTerms
from reprieve.model.nodes import Nodes
from reprieve.model.objects import PriorityClass
from reprieve.model.owners import Namespaces, Owners
from reprieve.model.pods import Pods
from reprieve.model.resources import ResourceAxis
from reprieve.model.score_cache import ALL, Rows, ScoreCache
from reprieve.model.selectors import NOTHING
from reprieve.model.shape import PodTerm
from reprieve.model.storage import InUse, Storage

NOWHERE = -1


@dataclass(frozen=True, slots=True, eq=False)
class CachedScores:
    """Where scores are kept, and when the numbers of each node last changed."""

    scores: ScoreCache
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
    groups: Groups = field(default_factory=Groups)
    budgets: Sequence[Budget] = ()
    priority_classes: Mapping[str, PriorityClass] = field(default_factory=dict)
    kept: CachedScores | None = None

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

    def mentions(self, pod: int) -> MatchingTerms:
        """The terms of all pods that mean this one."""
        shape = self.pods.shape(pod)
        return self.pods.mentions(shape, self.namespaces.labels[shape.namespace])

    def copy(self) -> "Snapshot":
        """For whoever keeps a snapshot beyond the next change of the world it came from."""
        return replace(
            self,
            pods=self.pods.copy(),
            allocatable=sealed(self.allocatable.copy()),
            requested=sealed(self.requested.copy()),
            nonzero=sealed(self.nonzero.copy()),
            where=sealed(self.where.copy()),
            slots=sealed(self.slots.copy()),
            priority_classes=dict(self.priority_classes),
            kept=None,
        )


def sums_by_node(amounts: Ints, where: Ints, nodes: int) -> Ints:
    """Per-pod amounts ``[kind, pod]`` added up to ``[kind, node]``."""
    placed = where >= 0
    rows = where[placed]
    sums = np.zeros((len(amounts), nodes), np.int64)
    for kind, row in enumerate(amounts):
        np.add.at(sums[kind], rows, row[placed])
    return sums
