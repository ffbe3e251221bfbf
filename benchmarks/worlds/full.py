"""A cluster without room: nodes of 4 cpu with four pods of 900m at priority 0.

Newcomers want 3000m a pod, at priority 1000, so that each of their pods evicts three. The variants show what
makes that harder.
"""

from collections.abc import Iterator

from benchmarks.worlds.objects import Json, container, group, pod

PODS_PER_NODE = 4
_ALL_PODS = 3600  # millicpu that they request together, on each node
_APPS = 997
_ANY_APP = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
_TOLERATION = "preemption-toleration.scheduling.x-k8s.io"


def cluster(nodes: int, variant: str = "", per_node: int = PODS_PER_NODE) -> Iterator[Json]:
    """With more pods on a node, each is smaller."""
    yield from empty_nodes(nodes)
    match variant:
        case "groups":
            yield from map(_group, range(nodes))
        case "tolerations":
            yield _tolerant_class()
        case "budgets":
            yield from map(_budget, range(100))
        case "all-budgets":
            yield from map(_budget, range(_APPS))
    for i in range(nodes * per_node):
        yield _running(i, nodes, variant, f"{_ALL_PODS // per_node}m")


def empty_nodes(nodes: int) -> Iterator[Json]:
    return map(_node, range(nodes))


def newcomers(name: str, pods: int, variant: str = "") -> Iterator[Json]:
    """A pod, or a gang of several, that no node has room for."""
    if pods > 1:
        yield gang(name, pods)
    for i in range(pods):
        made = _newcomer(f"{name}-{i}", variant)
        if pods > 1:
            made["spec"]["schedulingGroup"] = {"podGroupName": name}
        yield made


def growing(node: int) -> Json:
    """An important pod that runs there and wants more than there is, which the kubelet defers."""
    wanted, granted = container("3000m", None), container("100m", None)["resources"]
    pending = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    made = pod(f"grows-{node}", {"app": "high"}, {"nodeName": f"node-{node:05d}", "containers": [wanted]})
    made["spec"] |= {"schedulerName": "reprieve", "priority": 1000}
    given = {"name": "main", "allocatedResources": granted["requests"], "resources": granted}
    made["status"] |= {"conditions": [pending], "containerStatuses": [given]}
    return made


def gang(name: str, pods: int) -> Json:
    policy = {"gang": {"minCount": pods}}
    return group(name, {"priority": 1000, "schedulingPolicy": policy, "disruptionMode": {"single": {}}})


def _node(i: int) -> Json:
    labels = {"kubernetes.io/hostname": f"node-{i:05d}", "topology.kubernetes.io/zone": f"zone-{i % 3}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{i:05d}", "labels": labels},
        "status": {"allocatable": {"cpu": "4", "memory": "32Gi", "pods": "110"}},
    }


def _running(i: int, nodes: int, variant: str, cpu: str) -> Json:
    spec: Json = {"nodeName": f"node-{i % nodes:05d}", "containers": [container(cpu, None)]}
    spec["priority"] = i % 900 if variant == "priorities" else 0
    if variant == "tolerations" and i % 8 < 4:
        spec["priorityClassName"] = "tolerant"
    if variant == "groups":
        spec["schedulingGroup"] = {"podGroupName": f"group-{i // PODS_PER_NODE}"}
    thing = pod(f"low-{i}", {"app": f"app-{i % _APPS}"}, spec)
    thing["status"]["startTime"] = "2026-01-01T00:00:00Z"
    return thing


def _tolerant_class() -> Json:
    """Half of all pods are of it, and may not be evicted."""
    annotations = {
        f"{_TOLERATION}/minimum-preemptable-priority": "2000",
        f"{_TOLERATION}/toleration-seconds": "-1",
    }
    meta = {"name": "tolerant", "annotations": annotations}
    return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": 0}


def _group(i: int) -> Json:
    """Its pods run on four nodes."""
    policy: Json = {"basic": {}}
    return group(f"group-{i}", {"priority": 0, "schedulingPolicy": policy, "disruptionMode": {"all": {}}})


def _budget(i: int) -> Json:
    """It allows nothing. A hundred are for a tenth of all pods."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"budget-{i}", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": f"app-{i}"}}},
        "status": {"disruptionsAllowed": 0},
    }


def _newcomer(name: str, variant: str) -> Json:
    spec: Json = {"schedulerName": "reprieve", "priority": 1000, "containers": [container("3000m", None)]}
    match variant:
        case "spread":
            spec["topologySpreadConstraints"] = [_over_zones({"matchLabels": {"app": "high"}})]
        case "spread-all":
            spec["topologySpreadConstraints"] = [_over_zones(_ANY_APP)]
        case "anti-affinity":
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": _ANY_APP}
            required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            spec["affinity"] = {"podAntiAffinity": required}
    return {**pod(name, {"app": "high"}, spec), "status": {"phase": "Pending"}}


def _over_zones(among: Json) -> Json:
    rule = {"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {**rule, "labelSelector": among}
