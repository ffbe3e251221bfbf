"""Random small full clusters, and something important that wants room: a pod, a gang, a tree or a resize.

What runs is made of few priorities, so that plans differ by what they stop: pods alone, gangs, trees of
groups, each evicted pod by pod or whole. Every third world has constraints between pods.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from reprieve.model.json import Json
from tests.properties.vocabulary import HOSTNAME, ZONE, chance

KINDS = ("pod", "gang", "tree", "resize")
NOW = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
NEWCOMER = "newcomer"

_LEVELS = ((10,), (10,), (10,), (10, 10, 20), (0, 10, 100))
_TREES: tuple[tuple[str, ...], ...] = ((), ("root",), ("root",), ("root", "middle"))
_CPU = (500, 1000, 1000, 2000, 3000)
_IMPORTANT = 1000


@dataclass(frozen=True, slots=True)
class _Size:
    nodes: int
    cpu: tuple[int, ...]
    members: int


# In the first, every plan can be tried.
_SIZES = (_Size(3, (3, 4, 6), 3), _Size(4, (4, 6, 8), 4), _Size(6, (8, 12), 6))


@dataclass(frozen=True, slots=True)
class PreemptionWorld:
    kind: str
    objects: list[Json] = field(repr=False)
    newcomers: tuple[str, ...]  # pods among the objects
    is_tied: bool  # pods mind others beyond the room that these take
    everybody: bool  # a group wants room for all of its pods, and not only for those that it needs


def seeded_world(seed: int) -> PreemptionWorld:
    rng = random.Random(seed)
    kind, is_tied = KINDS[seed % len(KINDS)], chance(rng, 1 / 3)
    size = rng.choice(_SIZES)
    nodes = [_node(rng, f"n{i}", size) for i in range(rng.randint(1, size.nodes))]
    levels = rng.choice(_LEVELS)
    groups = [*_groups(rng, levels)]
    pods = [pod for node in nodes for pod in _inhabitants(rng, node, groups, levels)]
    asking = [*_asking(rng, kind, nodes, size.members)]
    if is_tied:
        tied = [pod for pod in (*pods, *asking) if pod["kind"] == "Pod" and chance(rng, 0.3)]
        for pod in tied:
            _tie(rng, pod)
    newcomers = tuple(thing["metadata"]["name"] for thing in asking if thing["kind"] == "Pod")
    if kind == "resize":
        asking = _on_a_full_node(rng, asking[0], nodes, pods)
    objects = [*nodes, *groups, *pods, *asking, *_budgets(rng)]
    return PreemptionWorld(kind, objects, newcomers, is_tied, everybody=chance(rng, 0.25))


def _thing(version: str, kind: str, name: str, **rest: Json) -> Json:
    meta = {"name": name, "uid": f"{kind}-{name}"} | ({} if kind == "Node" else {"namespace": "default"})
    return {"apiVersion": version, "kind": kind, "metadata": meta, **rest}


def _node(rng: random.Random, name: str, size: _Size) -> Json:
    has = {"cpu": str(rng.choice(size.cpu)), "memory": "32Gi", "pods": rng.choice(("4", "110"))}
    node = _thing("v1", "Node", name, status={"allocatable": has})
    node["metadata"]["labels"] = {HOSTNAME: name, ZONE: rng.choice(("z0", "z1"))}
    return node


# --- what runs -----------------------------------------------------------------------------------


def _groups(rng: random.Random, levels: tuple[int, ...]) -> Iterator[Json]:
    """Leaves, and perhaps a tree of two or three levels around some of them."""
    leaves = [f"g{i}" for i in range(rng.choice((0, 2, 3, 4, 5)))]
    composites = rng.choice(_TREES) if len(leaves) > 1 else ()
    parents = {"middle": "root"} | {leaf: rng.choice(("", *composites)) for leaf in leaves}
    priorities = {name: rng.choice(levels) for name in (*leaves, *composites)}
    for name in composites:
        inside = sum(parent == name for one, parent in parents.items() if one in (*leaves, *composites))
        policy = {"minGroupCount": rng.randint(1, max(1, inside))}
        yield _group(rng, name, policy, priorities["root"], parents.get(name, ""))
    for name in leaves:
        priority = priorities["root"] if parents[name] else priorities[name]
        policy = {"minCount": rng.randint(1, 3)}
        yield _group(rng, name, policy, priority, parents[name])


def _group(rng: random.Random, name: str, policy: dict[str, int], priority: int, parent: str = "") -> Json:
    spec: Json = {
        "schedulingPolicy": {"gang": policy} if chance(rng, 0.8) else {"basic": {}},
        "disruptionMode": {rng.choice(("single", "single", "single", "all")): {}},
        "priority": priority,
        "workloadRef": {"workloadName": "w", "templateName": name},
    }
    if parent:
        spec["parentCompositePodGroupName"] = parent
    kind = "CompositePodGroup" if "minGroupCount" in policy else "PodGroup"
    return _thing("scheduling.k8s.io/v1alpha3", kind, name, spec=spec)


def _inhabitants(
    rng: random.Random, node: Json, groups: list[Json], levels: tuple[int, ...]
) -> Iterator[Json]:
    """Until little room is left."""
    has = node["status"]["allocatable"]
    left, leaves = 1000 * int(has["cpu"]), [group for group in groups if group["kind"] == "PodGroup"]
    for i in range(min(10, int(has["pods"]))):
        cpu = min(rng.choice(_CPU), left)
        if not cpu:
            return
        pod = _pod(rng, f"{node['metadata']['name']}-p{i}", node, cpu)
        _settle(rng, pod, node, rng.choice(levels))
        if leaves and chance(rng, 0.75):
            group = rng.choice(leaves)
            _join(pod, group)
        elif chance(rng, 0.5):
            owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "rs"}
            pod["metadata"]["ownerReferences"] = [owner | {"controller": True}]
        left -= cpu
        yield pod


def _pod(rng: random.Random, name: str, node: Json, cpu: int) -> Json:
    """Some can only be in the zone of a node."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": f"{cpu}m"}}}
    pod = _thing("v1", "Pod", name, spec={"containers": [container]}, status={"phase": "Pending"})
    pod["metadata"] |= {"labels": {}, "annotations": {}}
    if chance(rng, 0.1):
        pod["spec"]["nodeSelector"] = {ZONE: node["metadata"]["labels"][ZONE]}
    return pod


def _settle(rng: random.Random, pod: Json, node: Json, priority: int) -> None:
    pod["spec"] |= {"nodeName": node["metadata"]["name"], "priority": priority}
    pod["status"] = {"phase": "Running", "startTime": f"2026-01-01T{rng.randrange(12):02}:00:00Z"}
    pod["metadata"]["labels"] = {"app": rng.choice("abc")}
    if chance(rng, 0.15):
        saved = f"2026-01-01T23:{rng.randrange(60):02}:00Z"
        pod["metadata"]["annotations"] = {"reprieve.dev/last-checkpoint": saved}


def _join(pod: Json, group: Json) -> None:
    pod["spec"]["schedulingGroup"] = {"podGroupName": group["metadata"]["name"]}
    pod["spec"]["priority"] = group["spec"]["priority"]


def _budgets(rng: random.Random) -> Iterator[Json]:
    for i in range(rng.choice((0, 0, 1, 2))):
        spec = {"selector": {"matchLabels": {"app": rng.choice("abc")}}}
        status = {"disruptionsAllowed": rng.choice((0, 0, 1))}
        yield _thing("policy/v1", "PodDisruptionBudget", f"b{i}", spec=spec, status=status)


def _tie(rng: random.Random, pod: Json) -> None:
    """It avoids others on its node or in its zone, or needs a port for itself."""
    if chance(rng, 0.3):
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        return
    selector = {"matchLabels": {"app": rng.choice("abc")}}
    term = {"labelSelector": selector, "topologyKey": rng.choice((HOSTNAME, HOSTNAME, ZONE))}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    pod["spec"]["affinity"] = {"podAntiAffinity": required}


# --- what wants room -----------------------------------------------------------------------------


def _asking(rng: random.Random, kind: str, nodes: list[Json], most: int) -> Iterator[Json]:
    largest = max(int(node["status"]["allocatable"]["cpu"]) for node in nodes)
    # What needs a whole node leaves no choice there.
    most_cpu = max(2, largest // rng.choice((2, 2, 3) if kind == "pod" else (1, 2, 2)))
    sizes = rng.choices(range(1, most_cpu + 1), k=2)
    if kind in ("pod", "resize"):
        yield _newcomer(rng, NEWCOMER, nodes, 1000 * sizes[0])
        return
    count = rng.randint(1, most)
    leaves = [NEWCOMER] if kind == "gang" else [f"{NEWCOMER}-a", f"{NEWCOMER}-b"]
    members = {leaf: count if kind == "gang" else rng.randint(1, most // 2 + 1) for leaf in leaves}
    if kind == "tree":
        root = {"minGroupCount": rng.choice((1, 2, 2))}
        yield _important(rng, f"{NEWCOMER}-root", root)
    for leaf, pods in members.items():
        policy = {"minCount": rng.randint(max(1, pods - 1), pods)}
        yield _important(rng, leaf, policy, f"{NEWCOMER}-root" if kind == "tree" else "")
        for i in range(pods):
            pod = _newcomer(rng, f"{leaf}-{i}", nodes, 1000 * sizes[0 if chance(rng, 0.8) else 1])
            pod["spec"]["schedulingGroup"] = {"podGroupName": leaf}
            yield pod


def _important(rng: random.Random, name: str, policy: dict[str, int], parent: str = "") -> Json:
    group = _group(rng, name, policy, _IMPORTANT, parent)
    group["spec"]["schedulingPolicy"] = {"gang": policy}
    if not parent and chance(rng, 0.2):
        group["spec"]["schedulingConstraints"] = {"topology": [{"key": ZONE}]}
    return group


def _newcomer(rng: random.Random, name: str, nodes: list[Json], cpu: int) -> Json:
    pod = _pod(rng, name, rng.choice(nodes), cpu)
    pod["spec"]["priority"] = _IMPORTANT
    pod["metadata"]["labels"] = {"app": "a"}
    return pod


def _on_a_full_node(rng: random.Random, pod: Json, nodes: list[Json], pods: list[Json]) -> list[Json]:
    """In place of a pod that runs there: it has what that pod had, and wants more. None: no pod runs."""
    if not pods:
        return [pod]
    before = pods.pop(rng.randrange(len(pods)))
    pod["spec"].pop("nodeSelector", None)
    has = before["spec"]["containers"][0]["resources"]
    wants = int(has["requests"]["cpu"][:-1]) + rng.choice((1000, 2000, 3000))
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": f"{wants}m"}}
    pod["spec"]["nodeName"] = before["spec"]["nodeName"]
    pending = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    granted = {"name": "c", "allocatedResources": has["requests"], "resources": has}
    pod["status"] = {**before["status"], "conditions": [pending], "containerStatuses": [granted]}
    if "schedulingGroup" in before["spec"] and chance(rng, 0.3):
        pod["spec"]["priority"] = before["spec"]["priority"]
        pod["spec"]["schedulingGroup"] = before["spec"]["schedulingGroup"]
    return [pod]
