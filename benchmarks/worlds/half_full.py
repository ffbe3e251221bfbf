"""A cluster with room: half full, in three zones, with a bit of everything.

Ten pods a node, in four priorities and 50 apps; some nodes have GPUs, taints, or are cordoned.
"""

from collections.abc import Iterator

from benchmarks.worlds.objects import Json, container, pod

PODS_PER_NODE = 10
_APPS = 50
TEMPLATES = 20


def cluster(nodes: int) -> Iterator[Json]:
    """Kubernetes objects as JSON values."""
    for i in range(nodes):
        yield _node(i)
    for i in range(nodes * PODS_PER_NODE):
        yield running_pod(i, f"node-{i % nodes:05d}")
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"tier": "web"}},
    }
    yield from _bound_volume()


def _node(i: int) -> Json:
    name = f"node-{i:05d}"
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/zone": f"zone-{i % 3}",
        "disk": "ssd" if i % 2 else "hdd",
    }
    taints = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}] if i % 20 == 7 else []
    allocatable = {
        "cpu": "16",
        "memory": "64Gi",
        "pods": "110",
        "example.com/gpu": "8" if i % 10 == 3 else "0",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints, "unschedulable": i % 50 == 11},
        "status": {"allocatable": allocatable},
    }


def running_pod(i: int, node: str) -> Json:
    app = f"app-{i % _APPS}"
    spec: Json = {"nodeName": node, "priority": i % 4 * 100, "containers": [container("500m", "2Gi")]}
    if i % _APPS == 7:
        spec["affinity"] = {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_own_host(app)]}
        }
    return pod(f"{app}-{i}", {"app": app, "tier": "web" if i % _APPS < 5 else "batch"}, spec)


def arriving_pod(i: int, templates: int = TEMPLATES) -> Json:
    """A small pod that waits for a node, from one of some templates."""
    template = i % templates
    spec = {
        "schedulerName": "reprieve",
        "priority": 0,
        "containers": [container(f"{10 + template}m", f"{32 + template}Mi")],
    }
    made = pod(f"new-{i:05}", {"app": f"new-{template}"}, spec)
    return {**made, "status": {"phase": "Pending"}}


def _own_host(app: str) -> Json:
    return {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}


def _bound_volume() -> Iterator[Json]:
    in_zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-1"]}
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "volume"},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": "default", "name": "data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [in_zone]}]}},
        },
        "status": {"phase": "Bound"},
    }
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "namespace": "default",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {"volumeName": "volume", "accessModes": ["ReadWriteOnce"], "storageClassName": ""},
        "status": {"phase": "Bound"},
    }
