"""Which demand is a pod part of, and what does a demand need as things stand?

Besides what the cluster shows, faults and evictions under way hold demands back. Nothing is decided here.
"""

from reprieve.model.effects import Target
from reprieve.model.groups import group_key, key_of
from reprieve.model.objects import Node, Pod, PodGroup
from reprieve.preemption.policy import Resizes
from reprieve.scheduler.demand_key import DemandKey, DemandKind
from reprieve.scheduler.demands import NotYet, Requester, WaitingGroup, priority_of, requester_of
from reprieve.scheduler.mirror.world import World
from reprieve.scheduler.plans.whole_units import WholeUnits
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.targets import pod_target


class DemandLookup:
    def __init__(self, settings: Settings, world: World, units: WholeUnits) -> None:
        self._settings = settings
        self._world = world
        self._units = units
        self.faults: dict[Target, str] = {}  # pods whose spec cannot be honoured

    def requester(self, key: DemandKey) -> Requester | NotYet | None:
        """The demand of this key as things stand; None if it needs nothing any more."""
        found = requester_of(self._world, key, self._settings.group_rules, self.resizes(key))
        if found is None or isinstance(found, NotYet):
            return found
        return self._held_back(found) or found

    def _held_back(self, requester: Requester) -> NotYet | None:
        key = requester.key
        faulty = [pod for pod in requester.pods if pod_target(pod.pod) in self.faults]
        if faulty and isinstance(requester, WaitingGroup):
            name = faulty[0].pod.metadata.name
            text = f"{key.object_kind} {key.namespace}/{key.name} waits for pod {name}, which is faulty"
            return NotYet(text, tuple(pod for pod in requester.pods if pod not in faulty))
        if faulty:
            return NotYet("")
        if self._world.is_ending(key.namespace):
            # The API server starts nothing there: a bind would fail, and evictions for it would be in vain.
            text = f"namespace {key.namespace} is being deleted, and nothing can start there"
            return NotYet(text, requester.pods)
        pods = requester.pods if key.kind is not DemandKind.RESIZE else ()
        groups = {group for pod in pods if (group := group_key(pod.pod)) is not None}
        held = next((group for group in sorted(groups) if self._units.is_being_preempted(group)), None)
        if held is not None:
            name = "/".join(held)
            text = f"PodGroup {name} is being preempted: its pods start when all preempted pods are gone"
            return NotYet(text, requester.pods)
        return None

    def priority(self, key: DemandKey) -> int:
        """The priority of a demand, whether or not it can be decided yet."""
        return priority_of(self._world, key, self._settings.group_rules)

    def demand_of(self, pod: Pod) -> DemandKey:
        """The demand that a waiting pod is part of."""
        return self._settings.demand_of_pod(pod, self._world.groups.tree())

    def is_ours(self, pod: Pod) -> bool:
        return pod.spec.scheduler_name in self._settings.profiles and not pod.metadata.deletion_timestamp

    # --- groups ---

    def pod_groups_of(self, key: DemandKey) -> list[PodGroup]:
        """The known PodGroups of a demand."""
        match key.kind:
            case DemandKind.GROUP:
                keys = [key.object]
            case DemandKind.TREE:
                keys = self._world.groups.tree().leaves(key.object)
            case _:
                keys = []
        return [group for group in map(self._world.groups.group, keys) if group is not None]

    def units_of(self, key: DemandKey) -> frozenset[str]:
        """The units that pods of a demand would be evicted with."""
        units = (self._units.unit_of(key_of(group)) for group in self.pod_groups_of(key))
        return frozenset(unit for unit in units if unit is not None)

    # --- resizes ---

    def resizes(self, key: DemandKey) -> Resizes | None:
        """How a resize of the pod of this name becomes a demand; None if it does not."""
        known = self._world.pod(key.object) if key.kind is DemandKind.RESIZE else None
        return self.resizes_of(known.pod) if known is not None else None

    def resizes_of(self, pod: Pod) -> Resizes | None:
        policy = self._settings.policies.get(pod.spec.scheduler_name)
        return policy.resizes if policy is not None else None

    def forbidden(self, key: DemandKey, pod: Pod, node: Node) -> str:
        """Why no pod would be evicted for a resize of a pod like this on a node like this."""
        resizes = self.resizes(key)
        return resizes.forbidden(pod, node) if resizes is not None else ""

    def only_node(self, key: DemandKey) -> str:
        """The only node that can help a demand; empty if any can."""
        known = self._world.pod(key.object) if key.kind is DemandKind.RESIZE else None
        return known.pod.spec.node_name if known is not None else ""
