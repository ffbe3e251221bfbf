"""Random requests: containers, init containers and sidecars, overhead, pod-level requests, resizes."""

import copy
import random

from reprieve.model.json import Json
from tests.properties.vocabulary import GPU, HUGEPAGES, chance, some

CPU = ("0", "50m", "100m", "0.25", "500m", "1", "12e-1", "2")
MEMORY = ("0", "64Mi", "100M", "256Mi", "1Gi", "1500000k")
MORE_CPU, MORE_MEMORY = ("3", "6", "8"), ("3Gi", "10Gi", "12G")


def random_requests(rng: random.Random) -> Json:
    requests: Json = {}
    if chance(rng, 0.7):
        requests["cpu"] = rng.choice(CPU)
    if chance(rng, 0.6):
        requests["memory"] = rng.choice(MEMORY)
    if chance(rng, 0.2):
        requests["ephemeral-storage"] = rng.choice(("100Mi", "2Gi"))
    if chance(rng, 0.08):
        requests[GPU] = rng.choice(("1", "2"))
    if chance(rng, 0.05) and requests.keys() & {"cpu", "memory"}:
        requests[HUGEPAGES] = rng.choice(("2Mi", "100Mi"))
    return requests


def container_resources(rng: random.Random) -> Json:
    """Devices and huge pages cannot be overcommitted: their limit is their request."""
    requests = random_requests(rng)
    limits = {name: amount for name, amount in requests.items() if name in (GPU, HUGEPAGES)}
    parts = {"requests": requests, "limits": limits}
    return {name: part for name, part in parts.items() if part}


def _small(rng: random.Random) -> Json:
    requests = {"cpu": "100m", "memory": "128Mi"}
    return {"requests": dict(some(rng, list(requests.items())))}


def add_pod_wide_resources(rng: random.Random, spec: Json) -> None:
    if chance(rng, 0.1):
        spec["overhead"] = {"cpu": "100m", "memory": "30Mi"}
    if chance(rng, 0.15):
        # Pods have more than their containers together, as the API server demands.
        requests = {"cpu": rng.choice(MORE_CPU), "memory": rng.choice(MORE_MEMORY)}
        spec["resources"] = {"requests": dict(some(rng, list(requests.items()), at_least=1))}
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            container["resources"] = _small(rng)


# --- what the node reports of a pod that is or was resized ----------------------------------------


def random_resize(rng: random.Random, pod: Json) -> None:
    """Statuses that differ from the spec, by container and sometimes for the pod as a whole."""
    status, spec = pod["status"], pod["spec"]
    status["containerStatuses"] = [_container_status(rng, c) for c in spec["containers"]]
    sidecars = [c for c in spec.get("initContainers", ()) if c.get("restartPolicy") == "Always"]
    if sidecars:
        status["initContainerStatuses"] = [_container_status(rng, c) for c in sidecars]
    if "resources" in spec:
        if chance(rng, 0.7):
            status["allocatedResources"] = _resized(rng, spec["resources"]["requests"])
        if chance(rng, 0.7):
            status["resources"] = {"requests": _resized(rng, spec["resources"]["requests"])}
    if chance(rng, 0.6):
        condition = {"type": "PodResizePending", "status": "True"}
        status["conditions"].append(condition | {"reason": rng.choice(("Deferred", "Infeasible"))})


def _container_status(rng: random.Random, container: Json) -> Json:
    """A node that has only just started the pod reports nothing yet, or not everything."""
    status: Json = {"name": container["name"], "ready": True, "restartCount": 0}
    requests = container.get("resources", {}).get("requests", {})
    if chance(rng, 0.8):
        status["allocatedResources"] = _resized(rng, requests)
    if chance(rng, 0.8):
        status["resources"] = {"requests": _resized(rng, requests)}
    return status


def _resized(rng: random.Random, requests: Json) -> Json:
    """Only cpu and memory can be resized."""
    resized = copy.deepcopy(requests)
    for name, amounts in (("cpu", CPU), ("memory", MEMORY)):
        if name in resized and chance(rng, 0.5):
            resized[name] = rng.choice(amounts)
    return resized
