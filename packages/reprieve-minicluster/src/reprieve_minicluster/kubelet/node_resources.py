"""Whether a pod fits its node by the kubelet's own count: allocatable resources less those of its pods."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reprieve.cluster.api.codec import Decoded, decode, decode_pod
from reprieve.model.footprint import Footprint, footprint
from reprieve.model.json import Json
from reprieve.model.objects import Node, Pod, ref_of
from reprieve.model.resources import CPU, PODS, STANDARD, Amounts, Problems, node_capacity
from reprieve_minicluster.kinds import peek
from reprieve_minicluster.store import Key


@dataclass(frozen=True, slots=True)
class Shortage:
    """``held``: what the requesting pod has already. ``used``: what the other pods have."""

    resource: str
    asked: int
    used: int
    offered: int
    held: int = 0

    @property
    def reason(self) -> str:
        return f"OutOf{self.resource}"

    @property
    def missing(self) -> int:
        return self.used + self.asked - self.offered

    def __str__(self) -> str:
        unit = " milli-cores" if self.resource == CPU else ""
        return (
            f"the node is short of {self.resource}: "
            f"{self.asked} requested, {self.used} of {self.offered}{unit} in use"
        )


def weight_of(weight: Footprint) -> Amounts:
    """What the node is charged for a pod: allocated or actual resources, not desired ones."""
    return {**weight.held, PODS: 1}


def footprint_of(pod: Pod) -> Footprint:
    return footprint(pod, Problems(ref_of(pod)))


def footprint_in(raw: bytes) -> Footprint | None:
    read = decode_pod(raw)
    return footprint_of(read.object) if isinstance(read, Decoded) else None


@dataclass(slots=True)
class NodeResources:
    """One node: what it offers (None while there is no such node), and what each pod on it is charged.

    A pod that is not admitted yet, or has ended, is charged nothing.
    """

    offered: Amounts | None = None
    pods: dict[Key, Amounts] = field(default_factory=dict)
    _used: Amounts = field(default_factory=dict)

    def shortages(self, key: Key, wanted: Mapping[str, int]) -> Iterator[Shortage]:
        """What a pod lacks to get these amounts. Only amounts that grow are checked."""
        has = self.pods.get(key, {})
        for resource in sorted(wanted, key=_kubelets_order):
            asked, held = wanted[resource], has.get(resource, 0)
            used = self._used.get(resource, 0) - held
            offered = (self.offered or {}).get(resource, 0)
            if asked > held and used + asked > offered:
                yield Shortage(resource, asked, used, offered, held)

    def charge(self, key: Key, weight: Amounts) -> None:
        self.release(key)
        self.pods[key] = weight
        for resource, amount in weight.items():
            self._used[resource] = self._used.get(resource, 0) + amount

    def release(self, key: Key) -> None:
        for resource, amount in self.pods.pop(key, {}).items():
            self._used[resource] -= amount


def offered_in(raw: bytes) -> Amounts:
    """Allocatable resources; a node that cannot be decoded offers nothing."""
    read = decode(raw)
    node = read.object if isinstance(read, Decoded) and isinstance(read.object, Node) else Node()
    return node_capacity(node, Problems(ref_of(node)))


def _kubelets_order(resource: str) -> tuple[bool, int, str]:
    """The number of pods first, then the standard resources, then the others by name."""
    standard = resource in STANDARD
    return resource != PODS, STANDARD.index(resource) if standard else len(STANDARD), resource


# --- extended resources ---------------------------------------------------------------------------


def offered_anew(status: Json, before: Json) -> Json | None:
    """The allocatable resources that follow from the capacity; None if they are so already.

    Only what comes to the capacity is added, and only what leaves it is removed: nodes may be described by
    their allocatable resources alone.
    """
    capacity, allocatable = peek(status, "capacity"), peek(status, "allocatable")
    come = {
        name: amount for name, amount in capacity.items() if _is_extended(name) and name not in allocatable
    }
    gone = {name for name in peek(before, "capacity") if _is_extended(name) and name not in capacity}
    if not come and not gone & allocatable.keys():
        return None
    return {name: amount for name, amount in {**allocatable, **come}.items() if name not in gone}


def _is_extended(name: str) -> bool:
    return "/" in name
