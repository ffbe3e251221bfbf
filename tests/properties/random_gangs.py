"""Random gangs whose members differ, and small clusters in which they just fit, or just do not."""

import random
from dataclasses import dataclass, field

from hypothesis import strategies as st

from reprieve.model.json import Json
from reprieve.model.snapshot import Snapshot, build
from tests.properties.random_pods import REQUIRED
from tests.properties.random_volumes import random_storage
from tests.properties.vocabulary import HOSTNAME, RACK, ZONE, chance, some
from tests.properties.worlds import decoded

ROOM = frozenset({"node"})
TIED = ROOM | {"ports", "apart", "together", "spread"}
STORED = TIED | {"volumes"}

NAMESPACE, GANG = "default", "gang"
PRIORITY = 10
_APPS = ("a", "b")


@dataclass(frozen=True, slots=True)
class GangWorld:
    """A cluster, and the pods of one gang that want to be in it."""

    objects: list[Json] = field(repr=False)
    members: list[Json] = field(repr=False)
    needed: int
    topology_key: str


def random_gang(rng: random.Random, features: frozenset[str], most: int = 4) -> GangWorld:
    """The sizes of most members are those of rooms in the cluster, so that only few arrangements will do."""
    nodes = [_node(rng, f"n{i}") for i in range(rng.randint(2, 4))]
    names = [node["metadata"]["name"] for node in nodes]
    storage = random_storage(rng, names, [NAMESPACE]) if "volumes" in features else None
    running = [_running(rng, f"{name}-p", name, features) for name in names if chance(rng, 0.3)]
    rooms = [room for node in nodes for room in _rooms(rng, node)]
    templates = [_spec(rng, names, features) for _ in range(rng.randint(1, 2))]
    claims = storage.claims[NAMESPACE] if storage is not None else []
    members = [
        _member(rng, f"m{i}", rng.choice(templates), room, claims)
        for i, room in enumerate(rng.sample(rooms, rng.randint(2, min(most, len(rooms)))))
    ]
    needed = len(members) if chance(rng, 0.5) else rng.randint(2, len(members))
    key = rng.choice((ZONE, RACK)) if chance(rng, 0.1) else ""
    objects = [*nodes, *running, _group(needed, key), *(storage.objects if storage is not None else [])]
    return GangWorld(objects, members, needed, key)


@dataclass(frozen=True, slots=True)
class _Room:
    node: str
    cpu: int


def _rooms(rng: random.Random, node: Json) -> list[_Room]:
    """A node in parts."""
    left, rooms = int(node["status"]["allocatable"]["cpu"]), list[_Room]()
    while left:
        rooms.append(_Room(node["metadata"]["name"], rng.randint(1, left)))
        left -= rooms[-1].cpu
    return rooms


def _node(rng: random.Random, name: str) -> Json:
    labels = {HOSTNAME: name, ZONE: rng.choice(("z0", "z1"))}
    if chance(rng, 0.7):
        labels[RACK] = rng.choice(("r0", "r1"))
    amounts = {"cpu": rng.choice("2345"), "memory": f"{rng.choice('2488')}Gi", "pods": rng.choice("2344")}
    taints = [{"key": "t", "effect": "NoSchedule"}] if chance(rng, 0.1) else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": amounts},
    }


def _group(needed: int, topology_key: str) -> Json:
    spec: Json = {"schedulingPolicy": {"gang": {"minCount": needed}}, "priority": PRIORITY}
    if topology_key:
        spec["schedulingConstraints"] = {"topology": [{"key": topology_key}]}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "PodGroup",
        "metadata": {"name": GANG, "namespace": NAMESPACE, "uid": GANG},
        "spec": spec,
    }


def _pod(name: str, labels: dict[str, str], spec: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": name, "labels": labels},
        "spec": {"schedulerName": "reprieve", **spec},
        "status": {"phase": "Pending"},
    }


def _running(rng: random.Random, name: str, node: str, features: frozenset[str]) -> Json:
    spec: Json = {"containers": [_container(1)], "nodeName": node, "priority": rng.choice((0, 0, 5, 90))}
    if "apart" in features and chance(rng, 0.2):
        spec["affinity"] = {"podAntiAffinity": {REQUIRED: [_term(rng)]}}
    return _pod(name, {"app": rng.choice(_APPS)}, spec) | {"status": {"phase": "Running"}}


def _member(rng: random.Random, name: str, template: Json, room: _Room, claims: list[str]) -> Json:
    """Of the template, as large as the room, and perhaps for the node that the room is on."""
    spec: Json = dict(template["spec"])
    spec["containers"] = [_container(room.cpu) | template["container"]]
    if chance(rng, 0.3):
        spec["nodeSelector"] = {HOSTNAME: room.node}
    if claims and chance(rng, 0.6):
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": rng.choice(claims)}}]
    grouped = {"priority": PRIORITY, "schedulingGroup": {"podGroupName": GANG}}
    return _pod(name, template["labels"], spec | grouped)


def _container(cpu: int) -> Json:
    return {"name": "c", "image": "tiny", "resources": {"requests": {"cpu": str(cpu), "memory": "1Gi"}}}


def _spec(rng: random.Random, nodes: list[str], features: frozenset[str]) -> Json:
    """What the members of one template have in common."""
    container: Json = {}
    affinity: dict[str, Json] = {}
    spec: Json = {"affinity": affinity}
    if chance(rng, 0.5):
        spec["tolerations"] = [{"operator": "Exists"}]
    if chance(rng, 0.3):
        values = some(rng, nodes, at_least=1, at_most=3)
        terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": values}]}]
        affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": terms}}
    if "ports" in features and chance(rng, 0.2):
        container["ports"] = [{"containerPort": 80, "hostPort": rng.choice((80, 81))}]
    if "apart" in features and chance(rng, 0.4):
        affinity["podAntiAffinity"] = {REQUIRED: [_term(rng)]}
    if "together" in features and chance(rng, 0.3):
        affinity["podAffinity"] = {REQUIRED: [_term(rng)]}
    if "spread" in features and chance(rng, 0.3):
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 1,
                "topologyKey": rng.choice((HOSTNAME, ZONE)),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": rng.choice(_APPS)}},
            }
        ]
    return {"labels": {"app": rng.choice(_APPS)}, "spec": spec, "container": container}


def _term(rng: random.Random) -> Json:
    selector = {"matchLabels": {"app": rng.choice(_APPS)}}
    return {"labelSelector": selector, "topologyKey": rng.choice((HOSTNAME, ZONE, RACK))}


# --- as the core sees them -----------------------------------------------------------------------


def seeded_gang(seed: int, features: frozenset[str] = STORED, most: int = 4) -> GangWorld:
    return random_gang(random.Random(seed), features, most)


def gangs(features: frozenset[str] = STORED, most: int = 4) -> st.SearchStrategy[GangWorld]:
    """A failing example is printed as the seed that makes it."""
    return st.builds(seeded_gang, st.integers(0, 2**32 - 1), st.just(features), st.just(most))


def built(world: GangWorld) -> tuple[Snapshot, tuple[int, ...]]:
    """The snapshot, and the rows of the members."""
    snapshot = build([decoded(thing) for thing in (*world.objects, *world.members)]).snapshot
    return snapshot, tuple(snapshot.pods.rows[NAMESPACE, pod["metadata"]["name"]] for pod in world.members)
