"""A large cluster in the store of the mini cluster: nodes of 16 cpu, and pods of 500m that run on them."""

import inspect
import time
from typing import Any

from benchmarks.product import find
from benchmarks.worlds.objects import Json

NODES, PODS = 5_000, 50_000


def new_pod(number: int) -> Json:
    main = {
        "name": "main",
        "image": "example.com/team/app:1.2.3",
        "command": ["/bin/app", "--serve"],
        "env": [{"name": "SHARD", "value": str(number)}],
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
        "ports": [{"containerPort": 8080}],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"app-{number}", "labels": {"app": f"app-{number % 100}", "tier": "web"}},
        "spec": {"containers": [main], "schedulerName": "reprieve"},
    }


def store_on(backend: Any) -> Any:
    """A store that writes to a backend as well; the parameter has had another name before."""
    store = find("Store")
    name = "backend" if "backend" in inspect.signature(store).parameters else "disk"
    return store(time.time, **{name: backend})


def fill(store: Any, nodes: int, pods: int) -> None:
    admitted, features = find("admitted"), find("ALL_FEATURES")
    for node in find("nodes_of")([find("SHAPES")["cpu16"]], nodes):
        store.create("nodes", admitted(store, "nodes", node, features))
    template = admitted(store, "pods", new_pod(0), features)
    for number in range(pods):
        spec = {**template["spec"], "nodeName": f"cpu-{number % nodes}"}
        store.create("pods", {**template, "metadata": new_pod(number)["metadata"], "spec": spec})
