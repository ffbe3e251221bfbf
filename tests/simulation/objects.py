"""The objects of simulated clusters, as JSON."""

from typing import Any

from reprieve.model.json import Json

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
OTHERS = (
    "example.com/others"  # taints the nodes of another scheduler, which is responsible for its pods there
)
RUN_SECONDS = "reprieve.dev/run-seconds"


def node(name: str, zone: str, cpu: int = 4, **spec: Any) -> Json:
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOST: name, ZONE: zone}},
        "spec": spec,
        "status": {"allocatable": {"cpu": str(cpu), "memory": "16Gi", "pods": "20"}},
    }


def foreign_node(name: str) -> Json:
    return node(name, "z", cpu=1000, taints=[{"key": OTHERS, "effect": "NoSchedule"}])


def pod(name: str, spec: Json, **meta: Any) -> Json:
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "default", **meta}, "spec": spec}


def pod_spec(cpu: str, **more: Any) -> Json:
    requests = {"cpu": cpu, "memory": "256Mi"}
    main: Json = {"name": "main", "image": "example/app:1", "resources": {"requests": requests}}
    if port := more.pop("host_port", 0):
        main["ports"] = [{"containerPort": 80, "hostPort": port}]
    return {"schedulerName": "reprieve", "containers": [main], **more}


def alone(app: str) -> Json:
    """Not on a node with another pod of the same app."""
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"alone": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread(app: str) -> list[Json]:
    return [
        {
            "maxSkew": 2,
            "topologyKey": ZONE,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": app}},
        }
    ]


def deployment(name: str, replicas: int, spec: Json, labels: dict[str, str]) -> Json:
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


def job(name: str, pods: int, at_once: int, seconds: int, spec: Json) -> Json:
    template = {
        "metadata": {"annotations": {RUN_SECONDS: str(seconds)}},
        "spec": {**spec, "restartPolicy": "Never"},
    }
    # Mishaps are not the job's fault: it tries for as long as it takes.
    counts = {"completions": pods, "parallelism": at_once, "backoffLimit": 1000}
    meta = {"name": name, "namespace": "default"}
    return {"kind": "Job", "metadata": meta, "spec": {**counts, "template": template}}


def a_group(name: str, priority: int, policy: Json, mode: str) -> Json:
    spec = {"priority": priority, "schedulingPolicy": policy, "disruptionMode": {mode: {}}}
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": meta, "spec": spec}


# --- volumes -------------------------------------------------------------------------------------

DRIVER = "csi.example.com"


def storage_class(name: str, provisioner: str) -> Json:
    body = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    return {"kind": "StorageClass", "metadata": {"name": name}, **body}


def csi_node(name: str) -> Json:
    """Volumes that are made for the node can be reached from its zone."""
    drivers = [{"name": DRIVER, "nodeID": name, "topologyKeys": [ZONE]}]
    return {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}


def claim(name: str, class_name: str) -> Json:
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "storageClassName": class_name,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def local_volume(name: str, host: str) -> Json:
    here = {"key": HOST, "operator": "In", "values": [host]}
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": "local",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}},
        },
    }


def volumes(*claims: str) -> list[Json]:
    return [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
