"""How a scheduler profile weighs and extends the rules; the defaults are those of kube-scheduler 1.37."""

from dataclasses import dataclass, field, fields
from enum import StrEnum

from msgspec import Struct

from reprieve.model.resources import CPU, MEMORY
from reprieve.model.selectors import ANYWHERE, NodeQuery
from reprieve.model.shape import WeightedNodeTerm


class Preference(StrEnum):
    """What a node can be preferred for, named as Kubernetes names the plugins."""

    RESOURCES = "NodeResourcesFit"
    BALANCE = "NodeResourcesBalancedAllocation"
    TAINTS = "TaintToleration"
    NODE_AFFINITY = "NodeAffinity"
    PODS = "InterPodAffinity"
    SPREAD = "PodTopologySpread"
    IMAGES = "ImageLocality"


class Strategy(StrEnum):
    LEAST_ALLOCATED = "LeastAllocated"
    MOST_ALLOCATED = "MostAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class ResourceWeight(Struct, frozen=True):
    """A Struct, as ShapePoint: both are parts of keys, and are hashed in C."""

    name: str
    weight: int = 1


class ShapePoint(Struct, frozen=True):
    """For RequestedToCapacityRatio: at this utilisation (percent) a node scores this much (0 to 10)."""

    utilization: int
    score: int


@dataclass(frozen=True, slots=True)
class DefaultSpread:
    """A spread constraint for pods that bring none of their own."""

    topology_key: str
    max_skew: int
    required: bool = False
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


HOSTNAME = "kubernetes.io/hostname"  # a label that tells nodes apart, as their names do
CPU_AND_MEMORY = (ResourceWeight(CPU), ResourceWeight(MEMORY))
SYSTEM_SPREAD = (
    DefaultSpread(HOSTNAME, 3),
    DefaultSpread("topology.kubernetes.io/zone", 5),
)
DEFAULT_WEIGHTS = (
    (Preference.RESOURCES, 1),
    (Preference.BALANCE, 1),
    (Preference.TAINTS, 3),
    (Preference.NODE_AFFINITY, 2),
    (Preference.PODS, 2),
    (Preference.SPREAD, 2),
    (Preference.IMAGES, 1),
)


@dataclass(frozen=True, slots=True)
class Profile:
    """A scheduler profile. Every decision looks up keys with one in them: its hash is computed once."""

    waived: frozenset[str] = frozenset()  # constraints that do not hold, by the names of their plugins
    weights: tuple[tuple[Preference, int], ...] = DEFAULT_WEIGHTS
    strategy: Strategy = Strategy.LEAST_ALLOCATED
    strategy_resources: tuple[ResourceWeight, ...] = CPU_AND_MEMORY
    strategy_shape: tuple[ShapePoint, ...] = ()
    balanced_resources: tuple[ResourceWeight, ...] = CPU_AND_MEMORY
    ignored_resources: frozenset[str] = frozenset()
    ignored_resource_groups: frozenset[str] = frozenset()
    added_node_affinity: NodeQuery = ANYWHERE
    added_preferred_nodes: tuple[WeightedNodeTerm, ...] = ()
    # Pods that require to be with the newcomer attract it a little, by this weight.
    hard_pod_affinity_weight: int = 1
    ignore_preferences_of_existing_pods: bool = False
    default_spread: tuple[DefaultSpread, ...] = SYSTEM_SPREAD
    # The built-in defaults count nodes without all topology labels too; a list of one's own does not.
    system_default_spread: bool = True
    planning_effort: int = 10_000  # how many placements the searches of one decision may evaluate
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = tuple(getattr(self, part.name) for part in fields(self) if part.compare)
        object.__setattr__(self, "_hash", hash(parts))

    def __hash__(self) -> int:
        return self._hash


DEFAULT_PROFILE = Profile()
