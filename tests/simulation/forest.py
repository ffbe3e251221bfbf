"""Crowded clusters into which trees of groups come as well, drawn from a seed."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

from reprieve.model.json import Json
from reprieve.scheduler.demand_key import by_itself
from reprieve.scheduler.settings import Settings
from tests.simulation.acts import Act, Apply, DeleteGroup, LoseTree
from tests.simulation.crowd import PRIORITIES, crowd, settings_of
from tests.simulation.objects import HOST, ZONE, pod, pod_spec
from tests.simulation.scenario import TROUBLED_SECONDS, USUAL, Scenario


def forest(seed: int) -> Scenario:
    rng, crowded = Random(f"forest {seed}"), crowd(seed)
    trees = [_Tree(rng, f"t{i}") for i in range(rng.choice((1, 2, 3)))]
    acts = [timed for tree in trees for timed in tree.acts()]
    return replace(crowded, troubles=(*crowded.troubles, *acts))


def forest_settings_of(seed: int) -> Settings:
    """As in a crowd, but never pod by pod: then there are no trees."""
    settings = settings_of(seed)
    return USUAL if settings.demand_of_pod is by_itself else settings


@dataclass(slots=True)
class _Tree:
    rng: Random
    name: str
    groups: list[Json] = field(default_factory=list)
    pods: list[Json] = field(default_factory=list)
    priority: int = 0

    def acts(self) -> Iterator[tuple[float, Act]]:
        """Groups and pods come in any order; a group may be deleted, and one of the same name may come."""
        rng, self.priority = self.rng, self.rng.choice(PRIORITIES)
        self._composite(self.name, "", rng.choice((1, 1, 2)))
        begin = rng.choice((0.0, rng.uniform(0, TROUBLED_SECONDS * 0.8)))
        for thing in (*self.groups, *self.pods):
            yield begin + rng.choice((0.0, 0.0, 0.0, rng.uniform(0, 5))), Apply((thing,))
        if not rng.randrange(4):
            group, at = rng.choice(self.groups), rng.uniform(begin, TROUBLED_SECONDS)
            yield at, DeleteGroup(group["metadata"]["name"], group["kind"])
            yield at + rng.uniform(0.1, 10), Apply((group,))
        if not rng.randrange(3):
            around = rng.choice([group for group in self.groups if group["kind"] == "CompositePodGroup"])
            gone = rng.choice((0.1, rng.uniform(0.5, 20)))
            yield begin, LoseTree(around, rng.uniform(5, 30), rng.random() < 0.6, gone)

    def _composite(self, name: str, parent: str, levels: int) -> None:
        children = self.rng.randint(1, 3)
        least = self.rng.randint(0, children)
        policy: Json = {"gang": {"minGroupCount": least}} if least else {"basic": {}}
        self.groups.append(self._group("CompositePodGroup", name, parent, policy, (ZONE,)))
        for i in range(children):
            grow = self._composite if levels > 1 and self.rng.randrange(2) else self._leaf
            grow(f"{name}-{i}", name, levels - 1)

    def _leaf(self, name: str, parent: str, _: int) -> None:
        size = self.rng.randint(1, 3)
        least = self.rng.randint(0, size)
        policy: Json = {"gang": {"minCount": least}} if least else {"basic": {}}
        self.groups.append(self._group("PodGroup", name, parent, policy, (ZONE, HOST)))
        drain = self.rng.choice((0, 3, 10))
        spec = pod_spec(
            self.rng.choice(("1", "1", "2", "3")),
            priority=self.priority,
            terminationGracePeriodSeconds=drain,
            schedulingGroup={"podGroupName": name},
        )
        self.pods.extend(pod(f"{name}-{i}", spec) for i in range(size))

    def _group(self, kind: str, name: str, parent: str, policy: Json, keys: tuple[str, ...]) -> Json:
        spec: Json = {
            "priority": self.priority,
            "schedulingPolicy": policy,
            "disruptionMode": {self.rng.choice(("all", "single")): {}},
            "workloadRef": {"workloadName": self.name, "templateName": name},
        }
        if parent:
            spec["parentCompositePodGroupName"] = parent
        if not self.rng.randrange(4):
            spec["schedulingConstraints"] = {"topology": [{"key": self.rng.choice(keys)}]}
        meta = {"name": name, "namespace": "default"}
        return {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": kind, "metadata": meta, "spec": spec}
