"""Random full clusters: each newcomer is important, and must preempt or wait."""

import random
from dataclasses import dataclass, field

from hypothesis import strategies as st

from reprieve.model.annotations import DELETION_COST, DISRUPTION_COST
from reprieve.model.json import Json
from reprieve.model.snapshot import Snapshot, build
from tests.properties.random_company import budgets, namespaces
from tests.properties.random_pods import Surroundings, random_pod
from tests.properties.vocabulary import HOSTNAME, RACK, ZONE, chance
from tests.properties.worlds import decoded

ROOM_ONLY = frozenset({"ports"})
EVERYTHING = frozenset({"ports", "pods", "spread"})

NAMESPACE = "default"
_PRIORITIES = (-5, 0, 0, 10, 10, 100, 100, 400)
_SIZES = ("250m", "500m", "1", "1", "2")
_EPOCH = "2026-01-01T"


@dataclass(frozen=True, slots=True)
class Crowd:
    """A full cluster, and the pods that want to be in it: one, or several of one group."""

    objects: list[Json] = field(repr=False)
    newcomers: list[Json] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int = 5
    pods_per_node: int = 5
    newcomers: int = 4


USUAL = Size()


def random_crowd(
    rng: random.Random, features: frozenset[str] = ROOM_ONLY, size: Size = USUAL, *, gang: bool | None = None
) -> Crowd:
    """``gang`` chooses the newcomer: a gang, a single pod, or either."""
    nodes = [_node(rng, f"n{i}") for i in range(rng.randint(1, size.nodes))]
    names = [node["metadata"]["name"] for node in nodes]
    groups = _groups(rng)
    around = Surroundings(features=features, nodes=names, namespaces=[NAMESPACE])
    pods = [pod for node in nodes for pod in _inhabitants(rng, node, groups, around, size)]
    objects = [*nodes, *namespaces(rng, [NAMESPACE]), *groups, *pods, *_budgets(rng, pods)]
    if gang or (gang is None and chance(rng, 0.5)):
        group = _group(rng, "gang", priority=rng.choice((100, 400, 1000)))
        newcomers = _members(rng, group, around, size)
        return Crowd([*objects, group], newcomers)
    newcomer = _pod(rng, "newcomer", around, rng.choice(("1", "2", "3", "4")))
    newcomer["spec"]["priority"] = rng.choice((10, 100, 400, 1000))
    return Crowd(objects, [newcomer])


def _node(rng: random.Random, name: str) -> Json:
    labels = {HOSTNAME: name, ZONE: rng.choice(("z0", "z1"))}
    if chance(rng, 0.7):
        labels[RACK] = rng.choice(("r0", "r1"))
    allocatable = {
        "cpu": rng.choice(("2", "4", "6")),
        "memory": "32Gi",
        "pods": rng.choice(("3", "110", "110")),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": allocatable},
    }


# --- running pods --------------------------------------------------------------------------------


def _inhabitants(
    rng: random.Random, node: Json, groups: list[Json], around: Surroundings, size: Size
) -> list[Json]:
    """So many that little is left, and now and then more than the node has room for."""
    name, most = node["metadata"]["name"], int(node["status"]["allocatable"]["pods"])
    room, pods = 1000 * int(node["status"]["allocatable"]["cpu"]), list[Json]()
    while len(pods) < min(size.pods_per_node, most) and room > 0:
        is_last = len(pods) + 1 == size.pods_per_node and chance(rng, 0.97)
        pod = _pod(rng, f"{name}-p{len(pods)}", around, f"{room}m" if is_last else rng.choice(_SIZES))
        _settle(rng, pod, name, groups)
        if _millis(pod) <= room or chance(rng, 0.02):
            room -= _millis(pod)
            pods.append(pod)
    if groups and chance(rng, 0.05):
        stray = _pod(rng, f"{name}-stray", around, "1")
        _settle(rng, stray, "n-gone", groups)
        pods.append(stray)
    return pods


def _pod(rng: random.Random, name: str, around: Surroundings, cpu: str) -> Json:
    pod = random_pod(rng, name, around)
    spec = pod["spec"]
    spec.pop("priorityClassName")
    spec["containers"] = spec["containers"][:1]
    requests = {"cpu": cpu} if chance(rng, 0.95) else {}
    if chance(rng, 0.3):
        requests["memory"] = rng.choice(("1Gi", "12Gi"))
    spec["containers"][0]["resources"] = {"requests": requests}
    return pod


def _millis(pod: Json) -> int:
    cpu = pod["spec"]["containers"][0]["resources"]["requests"].get("cpu", "0")
    return int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)


def _settle(rng: random.Random, pod: Json, node: str, groups: list[Json]) -> None:
    pod["spec"] |= {"nodeName": node, "priority": rng.choice(_PRIORITIES)}
    pod["status"] = {"phase": "Running"}
    if chance(rng, 0.9):
        pod["status"]["startTime"] = f"{_EPOCH}{rng.randrange(24):02}:{rng.randrange(60):02}:00Z"
    if chance(rng, 0.05):
        pod["metadata"]["deletionTimestamp"] = "2026-01-02T00:00:00Z"
    leaves = [group for group in groups if group["kind"] == "PodGroup"]
    if leaves and chance(rng, 0.5):
        _join(pod, rng.choice(leaves), groups)
    elif chance(rng, 0.03):
        pod["spec"]["schedulingGroup"] = {"podGroupName": "unheard-of"}


def _join(pod: Json, group: Json, groups: list[Json]) -> None:
    """Pods have the priority of the outermost group; others are not let in."""
    parents = {g["metadata"]["name"]: g for g in groups if g["kind"] == "CompositePodGroup"}
    root = parents.get(group["spec"].get("parentCompositePodGroupName"), group)
    pod["spec"]["schedulingGroup"] = {"podGroupName": group["metadata"]["name"]}
    pod["spec"]["priority"] = root["spec"]["priority"]
    # Of their own, so that the clusters are otherwise those that they would be without costs.
    own = random.Random(repr(pod))
    for name in (DISRUPTION_COST, DELETION_COST):
        if chance(own, 0.3):
            pod["metadata"].setdefault("annotations", {})[name] = own.choice(("-7", "0", "1", "50"))


def _groups(rng: random.Random) -> list[Json]:
    groups = [_group(rng, f"g{i}", rng.choice(_PRIORITIES)) for i in range(rng.choice((0, 1, 2, 3)))]
    if groups and chance(rng, 0.2):
        composite = _group(rng, "whole", rng.choice(_PRIORITIES)) | {"kind": "CompositePodGroup"}
        composite["apiVersion"] = "scheduling.k8s.io/v1alpha3"
        composite["spec"]["schedulingPolicy"] = {"gang": {"minGroupCount": 1}}
        for group in rng.sample(groups, rng.randint(1, len(groups))):
            group["spec"]["parentCompositePodGroupName"] = "whole"
            group["spec"]["workloadRef"] = {"workloadName": "w", "templateName": "t"}
        composite["spec"]["workloadRef"] = {"workloadName": "w", "templateName": "t"}
        groups.append(composite)
    return groups


def _group(rng: random.Random, name: str, priority: int) -> Json:
    gang = {"gang": {"minCount": rng.randint(1, 3)}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "schedulingPolicy": gang if chance(rng, 0.7) else {"basic": {}},
            "disruptionMode": {rng.choice(("single", "all")): {}},
            "priority": priority,
        },
    }


def _budgets(rng: random.Random, pods: list[Json]) -> list[Json]:
    found = budgets(rng, NAMESPACE)
    for budget in found:
        if pods and chance(rng, 0.2):
            name = rng.choice(pods)["metadata"]["name"]
            budget["status"]["disruptedPods"] = {name: f"{_EPOCH}00:00:00Z"}
    return found


# --- newcomers -----------------------------------------------------------------------------------


def _members(rng: random.Random, group: Json, around: Surroundings, size: Size) -> list[Json]:
    """Mostly of one size, as the pods of a template are."""
    count = rng.randint(1, size.newcomers)
    cpu, template = rng.choice(("1", "2", "3")), rng.getrandbits(32)
    group["spec"]["schedulingPolicy"] = {"gang": {"minCount": rng.randint(max(1, count - 1), count)}}
    if chance(rng, 0.2):
        group["spec"]["schedulingConstraints"] = {"topology": [{"key": rng.choice((ZONE, RACK))}]}
    alike = chance(rng, 0.6)
    members = []
    for i in range(count):
        source = random.Random(template) if alike else rng
        member = _pod(source, f"new-{i}", around, cpu if alike else rng.choice(_SIZES))
        member["spec"] |= {
            "priority": group["spec"]["priority"],
            "schedulingGroup": {"podGroupName": group["metadata"]["name"]},
        }
        members.append(member)
    return members


# --- as the core sees them -----------------------------------------------------------------------


def seeded_crowd(
    seed: int, features: frozenset[str] = ROOM_ONLY, size: Size = USUAL, gang: bool | None = None
) -> Crowd:
    return random_crowd(random.Random(seed), features, size, gang=gang)


def crowds(
    features: frozenset[str] = ROOM_ONLY, size: Size = USUAL, gang: bool | None = None
) -> st.SearchStrategy[Crowd]:
    """A failing example is printed as the seed that makes it."""
    seeds = st.integers(0, 2**32 - 1)
    return st.builds(seeded_crowd, seeds, st.just(features), st.just(size), st.just(gang))


def built(crowd: Crowd) -> tuple[Snapshot, tuple[int, ...]]:
    """The snapshot, and the rows of the newcomers."""
    snapshot = build([decoded(thing) for thing in (*crowd.objects, *crowd.newcomers)]).snapshot
    metas = [pod["metadata"] for pod in crowd.newcomers]
    return snapshot, tuple(snapshot.pods.rows[meta["namespace"], meta["name"]] for meta in metas)
