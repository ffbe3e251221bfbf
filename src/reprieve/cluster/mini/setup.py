"""What a new cluster is to be like: how many nodes of which shape, and what every cluster begins with."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from reprieve.cluster.apiserver.priority_classes import SYSTEM_CLASSES
from reprieve.cluster.mini.kinds import peek, section
from reprieve.cluster.mini.namespaces import STANDARD
from reprieve.cluster.mini.rights.defaults import default_roles
from reprieve.cluster.mini.rights.users import User
from reprieve.model.json import Json

LOOPBACK = "127.0.0.1"
# Clients that check what they get want to have all of it.
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
    """The nodes are made after ``templates`` in turn. Port 0 is any that is free.

    ``snapshot``: the text of what it begins with. ``users``: who else gets a token.
    ``data_dir``: where it is kept. One that is there already goes on as it was, with the nodes that it has.
    """

    templates: Sequence[Json]
    nodes: int
    kubeconfig: Path
    host: str = LOOPBACK
    port: int = 0
    speed: float = 1.0
    data_dir: Path | None = None
    snapshot: str = ""
    users: Sequence[User] = ()


def standard_objects() -> list[Json]:
    namespaces: list[Json] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {_NAME_LABEL: name}}}
        for name in STANDARD
    ]
    return [*namespaces, *_system_classes(), *default_roles()]


def known_authorities(clients: str, for_proxies: str) -> Json:
    """Where servers beside this one, such as a scheduler, look whom to trust, as PEM.

    ``for_proxies``: those may speak for everybody, so it had better be one that has signed nothing.
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


def _system_classes() -> list[Json]:
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": found.name},
            "value": found.value,
            "preemptionPolicy": "PreemptLowerPriority",
            "description": "for what the cluster itself needs",
        }
        for found in SYSTEM_CLASSES.values()
    ]


def _shape(name: str, **resources: str) -> Json:
    offered = {**resources, "ephemeral-storage": "1Ti", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name[:3], "labels": {"node.kubernetes.io/instance-type": name}},
        "status": {"capacity": offered, "allocatable": offered},
    }


SHAPES: Mapping[str, Json] = {
    "gpu8": _shape("gpu8", **{"cpu": "96", "memory": "768Gi", "nvidia.com/gpu": "8"}),
    "cpu16": _shape("cpu16", cpu="16", memory="64Gi"),
}


def nodes_of(templates: Sequence[Json], count: int) -> list[Json]:
    """So many nodes, made after the templates in turn and named after them."""
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
