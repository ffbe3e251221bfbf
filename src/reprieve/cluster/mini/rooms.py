"""Whether a pod fits its node by the kubelet's own count: what the node offers, less what runs there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from reprieve.cluster.mini.history import Key
from reprieve.model.footprint import footprint
from reprieve.model.objects import Node, Pod, ref_of
from reprieve.model.resources import CPU, PODS, STANDARD, Amounts, Problems, node_capacity


@dataclass(frozen=True, slots=True)
class Shortage:
    resource: str
    asked: int
    used: int
    offered: int

    @property
    def reason(self) -> str:
        return f"OutOf{self.resource}"

    def __str__(self) -> str:
        unit = " milli-cores" if self.resource == CPU else ""
        return (
            f"the node is short of {self.resource}: "
            f"{self.asked} asked, {self.used} of {self.offered}{unit} in use"
        )


def weight_of(pod: Pod) -> Amounts:
    problems = Problems(ref_of(pod))
    return {**footprint(pod, problems).charged, PODS: 1}


@dataclass(slots=True)
class Room:
    """One node: what it offers (None while there is no such node), and what each pod on it is charged.

    A pod that was not admitted yet, or has ended, is a guest that is charged nothing.
    """

    offered: Amounts | None = None
    guests: dict[Key, Amounts] = field(default_factory=dict)
    _used: Amounts = field(default_factory=dict)

    def offer(self, node: Node) -> None:
        self.offered = node_capacity(node, Problems(ref_of(node)))

    def shortage(self, weight: Mapping[str, int]) -> Shortage | None:
        return next(self._shortages(weight), None)

    def _shortages(self, weight: Mapping[str, int]) -> Iterator[Shortage]:
        for resource in sorted(weight, key=_kubelets_order):
            asked, used = weight[resource], self._used.get(resource, 0)
            offered = (self.offered or {}).get(resource, 0)
            if asked and used + asked > offered:
                yield Shortage(resource, asked, used, offered)

    def charge(self, key: Key, weight: Amounts) -> None:
        self.release(key)
        self.guests[key] = weight
        for resource, amount in weight.items():
            self._used[resource] = self._used.get(resource, 0) + amount

    def release(self, key: Key) -> None:
        for resource, amount in self.guests.pop(key, {}).items():
            self._used[resource] -= amount


def _kubelets_order(resource: str) -> tuple[bool, int, str]:
    """The number of pods is counted first, then the standard resources, then the rest by name."""
    standard = resource in STANDARD
    return resource != PODS, STANDARD.index(resource) if standard else len(STANDARD), resource
