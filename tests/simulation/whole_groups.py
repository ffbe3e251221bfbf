"""Whether groups that go as a whole went as a whole: what their first eviction found is gone at the end."""

from collections.abc import Collection
from dataclasses import dataclass, field

from reprieve.model.effects import Target
from reprieve.model.groups import GroupKey, group_key
from reprieve.model.json import Json
from reprieve.model.objects import Pod, runs
from reprieve.model.pods import is_static
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.store import Key, Store, parsed
from tests.simulation.invariants import hold, pods_in

GROUPS = BY_NAME["PodGroup"].resource
NODES = BY_NAME["Node"].resource
EVENTS = BY_NAME["Event"].resource
INCOMPLETE = "PreemptionIncomplete"


@dataclass(slots=True)
class WholeGroups:
    """Believes what the API server holds. Kept over restarts of the scheduler."""

    store: Store
    begun: dict[tuple[GroupKey, str, str], set[str]] = field(default_factory=dict)  # and the uids of its pods

    def evicts(self, victim: Target, group: GroupKey, decision: str) -> None:
        """A pod of a group that goes as a whole is evicted: who has a node now is to be gone."""
        found = self.store.find(Key(GROUPS, *group))
        if found is not None:
            here = {pod.metadata.uid for pod in self._placed(group) if self._stays(pod)}
            self.begun.setdefault((group, found.uid, decision), here)

    def check_rest(self, refused: Collection[str]) -> None:
        """``refused``: the uids of pods whose deletion the API server refused for good.

        Only those may be left, if the group names them in its condition and in an event. A group that lost no
        pod is not left in part: all its evictions were refused, and it was released.
        """
        for (group, uid, decision), pods in self.begun.items():
            found = self.store.find(Key(GROUPS, *group))
            if found is None or found.uid != uid:
                continue
            staying = [p.metadata for p in self._placed(group) if p.metadata.uid in pods and self._stays(p)]
            left = {pod.name for pod in staying} if len(staying) < len(pods) else set()
            names = {p.metadata.name for p in self._placed(group) if p.metadata.uid in refused}
            left -= names & _named(parsed(found)) & self._announced(found.uid)
            hold(not left, f"{group[1]} was evicted as a whole for {decision}, and {sorted(left)} run on")

    def _announced(self, uid: str) -> set[str]:
        """Those that events on the group name."""
        events = map(parsed, self.store.list((EVENTS,)).items)
        told = [e for e in events if e["involvedObject"].get("uid") == uid and e["reason"] == INCOMPLETE]
        return {word for event in told for word in _words(event["message"])}

    def _placed(self, group: GroupKey) -> list[Pod]:
        return [pod for pod in pods_in(self.store) if pod.spec.node_name and group_key(pod) == group]

    def _stays(self, pod: Pod) -> bool:
        there = self.store.find(Key(NODES, "", pod.spec.node_name)) is not None
        leaves = pod.metadata.deletion_timestamp is not None
        return there and runs(pod) and not leaves and not is_static(pod.metadata)


def _named(group: Json) -> set[str]:
    """Those whose eviction was refused for good, as the group says."""
    conditions = group.get("status", {}).get("conditions", ())
    texts = [c["message"] for c in conditions if c["type"] == INCOMPLETE and c["status"] == "True"]
    return {word for text in texts for word in _words(text)}


def _words(text: str) -> set[str]:
    return {word.strip(",") for word in text.split()}
