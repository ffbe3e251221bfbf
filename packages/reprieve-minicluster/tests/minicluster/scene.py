"""A mini cluster with a manual clock: a store, kubelets and controllers."""

from collections.abc import Callable, Iterable
from math import inf
from typing import Any

from reprieve.cluster.admission.features import DEFAULT_FEATURES, Features
from reprieve.model.json import Json
from reprieve_minicluster.controllers import ControllerManager
from reprieve_minicluster.controllers.garbage_collector import GarbageCollector
from reprieve_minicluster.controllers.resource_quota import ResourceQuotaController
from reprieve_minicluster.kinds import BY_NAME, StatusSubresource
from reprieve_minicluster.kubelet import Kubelets
from reprieve_minicluster.store import Key, Part, Store, parsed

NOON = 1_767_268_800.25  # 2026-01-01T12:00:00.25Z


class HandClock:
    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Scene:
    def __init__(self, features: Features = DEFAULT_FEATURES) -> None:
        self.clock = HandClock()
        self.store = Store(self.clock)
        self.kubelets = Kubelets(self.store, self.clock)
        self.controllers = ControllerManager(self.store, features=features)
        self.cascade = GarbageCollector(self.store)
        self.quotas = ResourceQuotaController(self.store)

    def add(self, *bodies: Json) -> None:
        for body in bodies:
            kind = BY_NAME[body["kind"]]
            made = self.store.create(kind.resource, body)
            if kind.status is not StatusSubresource.NONE and "status" in body:
                self.write(made.key, status=body["status"])

    def write(self, key: Key, **parts: Json) -> None:
        """Replaces whole parts of an object."""
        part = Part.STATUS if "status" in parts else Part.MAIN
        self.store.patch(key, lambda body: {**body, **parts}, part)

    def change(self, key: Key, change: Callable[[Json], None]) -> None:
        def changed(body: Json) -> Json:
            change(body)
            return body

        self.store.patch(key, changed, Part.MAIN)

    def read(self, key: Key) -> Json:
        return parsed(self.store.get(key))

    def all(self, resource: str) -> list[Json]:
        return [parsed(item) for item in self.store.list((resource,)).items]

    def pass_time(self, seconds: float) -> None:
        """Everything that falls due within these seconds happens, at its moment."""
        end = self.clock.now + seconds
        while (at := min(self._settled(), default=inf)) <= end:
            self.clock.now = max(self.clock.now, at)
        self.clock.now = end

    def _settled(self) -> list[float]:
        """Steps until nothing changes any more; when something will be due."""
        version = -1
        moments: Iterable[float | None] = ()
        while version != self.store.version:
            version = self.store.version
            inhabitants = (self.kubelets, self.controllers, self.cascade, self.quotas)
            moments = [one.step() for one in inhabitants]
        return [moment for moment in moments if moment is not None]


def node(name: str = "n1", **allocatable: str) -> Json:
    offered = {"cpu": "4", "memory": "8Gi", "pods": "110", **allocatable}
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": offered}}


def pod(name: str, on: str = "", cpu: str = "1", **meta: Any) -> Json:
    spec: Json = {"containers": [container(cpu)]}
    if on:
        spec["nodeName"] = on
    return {"kind": "Pod", "metadata": {"name": name, "namespace": "default", **meta}, "spec": spec}


def container(cpu: str = "1") -> Json:
    return {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": cpu}}}


def template(app: str = "web", image: str = "example/app:1", **annotations: str) -> Json:
    return {
        "metadata": {"labels": {"app": app}, "annotations": annotations},
        "spec": {"containers": [{**container(), "image": image}]},
    }


def pod_key(name: str) -> Key:
    return Key("pods", "default", name)


def condition(body: Json, kind: str) -> Json | None:
    found = [c for c in body["status"].get("conditions", ()) if c["type"] == kind]
    return found[0] if found else None
