"""Random full clusters in which room is all: groups, gangs, budgets, tolerations, members of many sizes."""

import random
from dataclasses import dataclass, field

from reprieve.model.json import Json

_PRIORITIES = (0, 0, 100, 100, 200, 300)
_CPU = (500, 1000, 1000, 1500, 2000, 3000)
_MEMORY = (0, 0, 1024, 4096)


@dataclass(frozen=True, slots=True)
class CrowdedRoom:
    objects: list[Json] = field(repr=False)
    members: list[Json] = field(repr=False)
    needed: int


def crowded_room(seed: int, nodes: int, members: int) -> CrowdedRoom:
    rng = random.Random(seed)
    machines = [_node(rng, f"n{i:02}") for i in range(rng.randint(2, nodes))]
    groups = [_group(rng, f"g{i}") for i in range(rng.randint(0, len(machines)))]
    pods: list[Json] = []
    for machine in machines:
        pods += _inhabitants(rng, machine, groups, len(pods))
    count = rng.randint(2, members)
    needed = rng.randint(max(1, count - 2), count)
    newcomers = _members(rng, count)
    gang: Json = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "newcomer", "namespace": "default"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": needed}},
            "disruptionMode": {"single": {}},
            "priority": rng.choice((200, 1000, 1000)),
        },
    }
    for member in newcomers:
        member["spec"]["priority"] = gang["spec"]["priority"]
    budgets = [_budget(rng, f"b{i}") for i in range(rng.randint(0, 4))]
    classes = _classes(rng)
    for thing in (*groups, *pods) if rng.random() < 0.5 else ():
        if "schedulingGroup" not in thing["spec"] and rng.random() < 0.1:
            thing["spec"]["priorityClassName"] = rng.choice(classes)["metadata"]["name"]
    return CrowdedRoom([*machines, *classes, *groups, gang, *budgets, *pods], newcomers, needed)


def _classes(rng: random.Random) -> list[Json]:
    """They protect pods from gangs of priority 200, and one of them from those of 1000."""
    prefix = "preemption-toleration.scheduling.x-k8s.io"
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {
                "name": f"held-{i}",
                "annotations": {
                    f"{prefix}/minimum-preemptable-priority": str(minimum),
                    f"{prefix}/toleration-seconds": "-1",
                },
            },
            "value": rng.choice(_PRIORITIES),
        }
        for i, minimum in enumerate((500, 2000))
    ]


def _node(rng: random.Random, name: str) -> Json:
    room = {"cpu": rng.choice(("4", "8", "16")), "memory": rng.choice(("8Gi", "32Gi")), "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": {**room, "pods": rng.choice(("5", "110", "110"))}},
    }


def _group(rng: random.Random, name: str) -> Json:
    gang = {"gang": {"minCount": rng.randint(1, 4)}}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "schedulingPolicy": gang if rng.random() < 0.8 else {"basic": {}},
            "disruptionMode": {rng.choice(("single", "all", "all")): {}},
            "priority": rng.choice(_PRIORITIES),
        },
    }


def _inhabitants(rng: random.Random, node: Json, groups: list[Json], first: int) -> list[Json]:
    """Until the node is full, and now and then beyond."""
    has = node["status"]["allocatable"]
    cpu, memory, most = 1000 * int(has["cpu"]), 1024 * int(has["memory"][:-2]), int(has["pods"])
    pods: list[Json] = []
    while len(pods) < most:
        pod = _pod(rng, f"p{first + len(pods)}", rng.choice(_CPU), rng.choice(_MEMORY))
        cpu, memory = cpu - pod["cpu"], memory - pod["memory"]
        if (cpu < 0 or memory < 0) and rng.random() < 0.9:
            break
        pods.append(_settled(rng, pod["pod"], node["metadata"]["name"], groups))
        if cpu < 0 or memory < 0:
            break
    return pods


def _pod(rng: random.Random, name: str, cpu: int, memory: int) -> Json:
    asked = {"cpu": f"{cpu}m"} | ({"memory": f"{memory}Mi"} if memory else {})
    labels = {"app": f"a{rng.randrange(6)}"}
    containers = [{"name": "main", "image": "main", "resources": {"requests": asked}}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"containers": containers},
        "status": {"phase": "Pending"},
    }
    return {"pod": pod, "cpu": cpu, "memory": memory}


def _settled(rng: random.Random, pod: Json, node: str, groups: list[Json]) -> Json:
    pod["spec"] |= {"nodeName": node, "priority": rng.choice(_PRIORITIES)}
    pod["status"] = {"phase": "Running"}
    if groups and rng.random() < 0.6:
        group = rng.choice(groups)
        pod["spec"]["schedulingGroup"] = {"podGroupName": group["metadata"]["name"]}
        pod["spec"]["priority"] = group["spec"]["priority"]
    elif rng.random() < 0.5:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "rs", "controller": True}
        pod["metadata"]["ownerReferences"] = [owner]
    return pod


def _budget(rng: random.Random, name: str) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": f"a{rng.randrange(6)}"}}},
        "status": {"disruptionsAllowed": rng.choice((0, 0, 1, 2))},
    }


def _members(rng: random.Random, count: int) -> list[Json]:
    """Mostly of one size, as the pods of a template are."""
    sizes = [(rng.choice((1000, 2000, 3000, 4000)), rng.choice(_MEMORY)) for _ in range(3)]
    shapes = sizes[: rng.choice((1, 1, 1, 2, 3))]
    members = [_pod(rng, f"new{i:02}", *rng.choice(shapes))["pod"] for i in range(count)]
    for member in members:
        member["metadata"]["labels"] = {}
        member["spec"]["schedulingGroup"] = {"podGroupName": "newcomer"}
    return members
