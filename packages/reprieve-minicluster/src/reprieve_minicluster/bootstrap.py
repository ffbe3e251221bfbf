"""The initial content of a cluster: system namespaces, priority classes, roles, and nodes from templates."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from reprieve.cluster.admission.admission_plugins import DEFAULT_CLASS
from reprieve.cluster.admission.features import ALL_FEATURES, Features
from reprieve.cluster.admission.priority_classes import SYSTEM_CLASSES
from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import UserInfo
from reprieve_minicluster.auth.bootstrap_policy import default_roles
from reprieve_minicluster.controllers.namespace_controller import SYSTEM_NAMESPACES
from reprieve_minicluster.controllers.selection import ALL_CONTROLLERS
from reprieve_minicluster.kinds import peek, section

LOOPBACK = "127.0.0.1"
# Clients that validate responses require all of these fields.
_NODE_INFO = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "simulated://1",
    "kernelVersion": "simulated",
    "kubeProxyVersion": "",
    "kubeletVersion": "v1.37.0-simulated",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "simulated",
    "systemUUID": "",
}
_NAME_LABEL = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """How to start a cluster. Nodes use ``templates`` round-robin. Port 0 means any free port.

    ``snapshot``: the text of a snapshot to restore. ``users``: users that get tokens besides the admin.
    ``job_seconds``: how long pods of Jobs run that do not say; None for ever.
    ``features``: what its API server serves. ``controllers``: the names of the controllers that run.
    ``progress``: called with how many objects of the snapshot are restored, and how many there are.
    ``data_dir``: where its state is stored. A cluster that exists there continues, with the nodes that it
    has.
    """

    templates: Sequence[Json]
    nodes: int
    kubeconfig: Path
    host: str = LOOPBACK
    port: int = 0
    speed: float = 1.0
    data_dir: Path | None = None
    snapshot: str = ""
    users: Sequence[UserInfo] = ()
    features: Features = ALL_FEATURES
    job_seconds: float | None = None
    controllers: frozenset[str] = ALL_CONTROLLERS
    progress: Callable[[int, int], None] = lambda _done, _all: None


def standard_objects() -> list[Json]:
    namespaces: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {_NAME_LABEL: name}}}
        for name in SYSTEM_NAMESPACES
    ]
    return [*namespaces, *_system_classes(), *default_roles()]


def default_storage_class() -> Json:
    """The class of claims that name none: the volume is made where the scheduler places the pod."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "standard", "annotations": {DEFAULT_CLASS: "true"}},
        "provisioner": "reprieve.dev/simulated",
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def known_authorities(clients: str, for_proxies: str) -> Json:
    """The ConfigMap from which servers such as a scheduler learn which CAs to trust, as PEM.

    ``for_proxies``: a client with a certificate of this CA can act as any user, so pass a CA that has signed
    none.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {
            "client-ca-file": clients,
            "requestheader-client-ca-file": for_proxies,
            "requestheader-allowed-names": "[]",
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        },
    }


def api_server_service(port: int) -> Json:
    """The Service by which pods reach the API server; clients learn its address family from it."""
    address = "10.96.0.1"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": address,
            "clusterIPs": [address],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
            "sessionAffinity": "None",
            "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
        },
    }


def _system_classes() -> list[Json]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": found.name},
            "value": found.value,
            "preemptionPolicy": "PreemptLowerPriority",
            "description": "Used for system critical pods that must run in the cluster.",
        }
        for found in SYSTEM_CLASSES.values()
    ]


def nodes_of(templates: Sequence[Json], count: int) -> list[Json]:
    """Nodes that use the templates round-robin, named after them."""
    return [_node(templates[n % len(templates)], n // len(templates)) for n in range(count)]


def _node(template: Json, number: int) -> Json:
    node = deepcopy(template)
    meta = section(node, "metadata")
    name = f"{meta.get('name') or 'node'}-{number}"
    meta["name"] = name
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    section(meta, "labels").update(labels)
    status = section(node, "status")
    status["nodeInfo"] = {**_NODE_INFO, **peek(status, "nodeInfo")}
    return node
