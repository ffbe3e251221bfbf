"""What decides where a pod can run, as a hashable record.

Pods of one template have equal shapes, so what is computed for a shape can be cached for all of them. How a
spec becomes a shape is in ``pod_compilation``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from msgspec import Struct

from reprieve.model.csi_migration import Attachment
from reprieve.model.footprint import Footprint
from reprieve.model.objects import Pod, Problem, Toleration
from reprieve.model.selectors import ANYWHERE, Labels, NodeQuery, NodeTerm, Selector

ANY_ADDRESS = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class HostPort:
    protocol: str
    address: str
    port: int


@dataclass(frozen=True, slots=True)
class PodTerm:
    """The pods that an affinity term selects, and the topology within which they count as near."""

    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    topology_key: str

    def selects(self, labels: Labels, namespace: str, namespace_labels: Labels) -> bool:
        """Whether the term selects a pod with these labels in this namespace."""
        inside = namespace in self.namespaces or self.namespace_selector.matches(namespace_labels)
        return inside and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class WeightedPodTerm:
    """A preference: positive weights attract, negative ones repel."""

    weight: int
    term: PodTerm


@dataclass(frozen=True, slots=True)
class WeightedNodeTerm:
    weight: int
    term: NodeTerm


@dataclass(frozen=True, slots=True)
class SpreadRule:
    """One topology spread constraint; ``selector`` already includes the matchLabelKeys."""

    topology_key: str
    max_skew: int
    selector: Selector
    required: bool = True
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


@dataclass(frozen=True, slots=True)
class InlineDisk:
    """A disk in the pod's spec, without a claim: pods on one node share it only if all of them read only."""

    kind: str
    ids: frozenset[str]
    read_only: bool
    # Readers may share GCE, iSCSI and RBD disks, but never EBS volumes.
    shareable: bool = True

    def conflicts_with(self, other: "InlineDisk") -> bool:
        if self.kind != other.kind or not self.ids & other.ids:
            return False
        return not (self.shareable and self.read_only and other.read_only)


@dataclass(frozen=True, slots=True)
class Shape:
    """Everything about a pod that decides where it can run."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    requests: tuple[tuple[str, int], ...]
    nonzero_cpu: int
    nonzero_memory: int
    nodes: NodeQuery = ANYWHERE
    preferred_nodes: tuple[WeightedNodeTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    ports: tuple[HostPort, ...] = ()
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    preferred_pods: tuple[WeightedPodTerm, ...] = ()
    spread: tuple[SpreadRule, ...] = ()
    claims: tuple[str, ...] = ()
    ephemeral_claims: frozenset[str] = frozenset()  # the claims of generic ephemeral volumes
    disks: tuple[InlineDisk, ...] = ()
    inline_volumes: tuple[Attachment, ...] = ()
    images: tuple[str, ...] = ()
    features: frozenset[str] = frozenset()
    owner_uid: str = ""
    # Shapes are keys of columns and caches, looked up for every pod that changes.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        values = (getattr(self, one.name) for one in fields(self) if one.compare)
        object.__setattr__(self, "_hash", hash(tuple(values)))

    def __hash__(self) -> int:
        return self._hash

    def terms(self) -> Iterator[PodTerm]:
        """Every affinity term of the pod, required and preferred."""
        yield from self.affinity
        yield from self.anti_affinity
        yield from (preferred.term for preferred in self.preferred_pods)


class CompiledPod(Struct, frozen=True, gc=False):
    """A pod as the core uses it: the object, its footprint, its shape, and its problems.

    A Struct, since there is one for each pod, and a Struct is made in C.
    """

    pod: Pod
    weight: Footprint
    shape: Shape
    problems: tuple[Problem, ...]
