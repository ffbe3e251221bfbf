"""Random trees of groups whose members differ, and small clusters in which they just fit, or just do not."""

import random
from dataclasses import dataclass, field

from reprieve.model.json import Json
from reprieve.model.snapshot import Snapshot, build
from tests.properties.random_gangs import NAMESPACE, PRIORITY, random_gang
from tests.properties.vocabulary import RACK, ZONE, chance
from tests.properties.worlds import decoded

ROOT = "tree"


@dataclass(frozen=True, slots=True)
class TreeWorld:
    """A cluster, and the pods of one tree that want to be in it."""

    objects: list[Json] = field(repr=False)
    members: list[Json] = field(repr=False)


def seeded_tree(seed: int, features: frozenset[str], most: int = 5) -> TreeWorld:
    """The members of a random gang in one to three leaves, some of them below a middle level."""
    rng = random.Random(seed)
    gang = random_gang(rng, features, most)
    cluster = [thing for thing in gang.objects if thing["kind"] != "PodGroup"]
    middles = [f"m{i}" for i in range(rng.choice((0, 0, 1, 2)))]
    leaves = [f"g{i}" for i in range(rng.randint(1, 3))]
    parents = {leaf: rng.choice((ROOT, *middles)) for leaf in leaves}
    members = [_in_leaf(pod, rng.choice(leaves)) for pod in gang.members]
    inside = [*middles, *(leaf for leaf in leaves if parents[leaf] == ROOT)]
    groups = [_composite(rng, ROOT, "", len(inside))]
    groups += [_composite(rng, name, ROOT, [*parents.values()].count(name)) for name in middles]
    for leaf in leaves:
        size = sum(pod["spec"]["schedulingGroup"]["podGroupName"] == leaf for pod in members)
        groups.append(_leaf(rng, leaf, parents[leaf], size))
    return TreeWorld([*cluster, *groups], members)


def built_tree(world: TreeWorld) -> tuple[Snapshot, tuple[int, ...]]:
    """The snapshot, and the rows of the members."""
    snapshot = build([decoded(thing) for thing in (*world.objects, *world.members)]).snapshot
    return snapshot, tuple(snapshot.pods.rows[NAMESPACE, pod["metadata"]["name"]] for pod in world.members)


def _in_leaf(pod: Json, leaf: str) -> Json:
    return pod | {"spec": pod["spec"] | {"schedulingGroup": {"podGroupName": leaf}}}


def _composite(rng: random.Random, name: str, parent: str, children: int) -> Json:
    gang = {"gang": {"minGroupCount": rng.randint(1, max(1, children))}}
    return _group(rng, "CompositePodGroup", name, parent, gang if chance(rng, 0.8) else {"basic": {}})


def _leaf(rng: random.Random, name: str, parent: str, pods: int) -> Json:
    gang = {"gang": {"minCount": rng.randint(1, max(1, pods))}}
    return _group(rng, "PodGroup", name, parent, gang if chance(rng, 0.8) else {"basic": {}})


def _group(rng: random.Random, kind: str, name: str, parent: str, policy: Json) -> Json:
    spec: Json = {"schedulingPolicy": policy, "priority": PRIORITY}
    spec["workloadRef"] = {"workloadName": "w", "templateName": name}
    if parent:
        spec["parentCompositePodGroupName"] = parent
    if chance(rng, 0.25):
        spec["schedulingConstraints"] = {"topology": [{"key": rng.choice((ZONE, RACK))}]}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"{kind}-{name}"},
        "spec": spec,
    }
