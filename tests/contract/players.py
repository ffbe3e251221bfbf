"""Kubelets and controllers of an API server that has none, as far as the scenes of the demo need them.

A terminating pod is gone only when the test releases it, so that each state between can be checked. Nothing
is known here of the scheduler.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from reprieve.cluster.kube.rest_mapping import RestMapping
from reprieve.model.json import Json
from reprieve.model.resources import milli
from tests.contract.operators import PLACES, HttpOperator

BREATH_SECONDS = 0.1
RESIZING = "PodResizePending"


@dataclass
class Players:
    operator: HttpOperator
    namespaces: list[str] = field(default_factory=list)
    let_go: bool = False
    ended: set[str] = field(default_factory=set)  # names of pods whose work is done

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._play())
            yield
            task.cancel()

    async def _play(self) -> None:
        while True:
            pods = [
                pod for namespace in self.namespaces for pod in await self.operator.list("Pod", namespace)
            ]
            await self._nodes(pods)
            for namespace in self.namespaces:
                here = [pod for pod in pods if pod["metadata"]["namespace"] == namespace]
                await self._owners(namespace, here)
                await self._budgets(namespace, here)
            await asyncio.sleep(BREATH_SECONDS)

    # --- kubelets --------------------------------------------------------------------------------

    async def _nodes(self, pods: list[Json]) -> None:
        for node in await self.operator.list("Node", ""):
            name = node["metadata"]["name"]
            guests = [pod for pod in pods if pod["spec"].get("nodeName") == name and not is_over(pod)]
            for pod in guests:
                await self._serve(node, pod, guests)

    async def _serve(self, node: Json, pod: Json, guests: list[Json]) -> None:
        meta = pod["metadata"]
        if is_leaving(pod):
            if self.let_go:
                await self.operator.delete("Pod", meta["namespace"], meta["name"])
        elif pod["status"]["phase"] == "Pending":
            await self._report(pod, _started(pod))
        elif meta["name"] in self.ended:
            await self._report(pod, {"phase": "Succeeded"})
        elif _asked(pod) != _granted(pod):
            others = sum(_granted(guest) for guest in guests if guest is not pod)
            fits = others + _asked(pod) <= _cpu(node["status"]["allocatable"])
            if fits or not condition(pod, RESIZING):
                await self._report(pod, _resized(pod) if fits else _PUT_OFF)

    async def _report(self, pod: Json, status: Json) -> None:
        """Others write conditions, too: the server puts them together by their type."""
        meta = pod["metadata"]
        await self.operator.patch_status("Pod", meta["namespace"], meta["name"], status)

    # --- controllers -----------------------------------------------------------------------------

    async def _owners(self, namespace: str, pods: list[Json]) -> None:
        """A Deployment's pods are made here without a ReplicaSet: no check looks for it."""
        for kind, wanted in (("Deployment", "replicas"), ("Job", "completions")):
            for owner in await self.operator.list(kind, namespace):
                names = {f"{owner['metadata']['name']}-{n}" for n in range(owner["spec"][wanted])}
                for name in sorted(names - {pod["metadata"]["name"] for pod in pods}):
                    await self.operator.create(_made_by(PLACES[kind], owner, name))

    async def _budgets(self, namespace: str, pods: list[Json]) -> None:
        for budget in await self.operator.list("PodDisruptionBudget", namespace):
            labels = budget["spec"]["selector"]["matchLabels"].items()
            mine = [pod for pod in pods if labels <= pod["metadata"].get("labels", {}).items()]
            healthy = sum(condition(pod, "Ready") == "True" for pod in mine if not is_leaving(pod))
            needed = budget["spec"]["minAvailable"]
            status = {
                "currentHealthy": healthy,
                "desiredHealthy": needed,
                "expectedPods": len(mine),
                "disruptionsAllowed": max(0, healthy - needed),
                "observedGeneration": budget["metadata"]["generation"],
            }
            if not status.items() <= budget.get("status", {}).items():
                name = budget["metadata"]["name"]
                await self.operator.patch_status("PodDisruptionBudget", namespace, name, status)


# --- pods ----------------------------------------------------------------------------------------


def is_over(pod: Json) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def is_leaving(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def condition(thing: Json, kind: str, key: str = "status") -> str:
    """Empty if there is none."""
    found = thing.get("status", {}).get("conditions", ())
    return next((str(one.get(key, "")) for one in found if one["type"] == kind), "")


def _asked(pod: Json) -> int:
    return sum(_cpu(container["resources"].get("requests", {})) for container in pod["spec"]["containers"])


def _granted(pod: Json) -> int:
    return sum(_cpu(one.get("allocatedResources", {})) for one in pod["status"]["containerStatuses"])


def _cpu(amounts: Json) -> int:
    return milli(amounts.get("cpu", 0)) or 0


# --- what kubelets report ------------------------------------------------------------------------

_PUT_OFF = {"conditions": [{"type": RESIZING, "status": "True", "reason": "Deferred"}]}


def _started(pod: Json) -> Json:
    ready = [{"type": kind, "status": "True"} for kind in ("ContainersReady", "Ready")]
    return {"phase": "Running", "startTime": _now(), "conditions": ready, **_containers(pod)}


def _resized(pod: Json) -> Json:
    return {"conditions": [{"type": RESIZING, "$patch": "delete"}], **_containers(pod)}


def _containers(pod: Json) -> Json:
    """Each has what it asks for."""
    statuses = [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": pod["status"].get("startTime", _now())}},
            "allocatedResources": container["resources"].get("requests", {}),
            "resources": container["resources"],
        }
        for container in pod["spec"]["containers"]
    ]
    return {"containerStatuses": statuses}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- what controllers make -----------------------------------------------------------------------


def _made_by(place: RestMapping, owner: Json, name: str) -> Json:
    meta, template = owner["metadata"], owner["spec"]["template"]
    reference = {"apiVersion": place.api_version, "kind": place.kind, "controller": True}
    reference |= {"name": meta["name"], "uid": meta["uid"]}
    kept = {
        key: template["metadata"][key] for key in ("labels", "annotations") if key in template["metadata"]
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": meta["namespace"], "ownerReferences": [reference], **kept},
        "spec": template["spec"],
    }
