"""Somebody with rights to everything, who speaks to an API server over HTTP."""

from dataclasses import dataclass
from typing import Any

import msgspec

from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.places import Place
from reprieve.cluster.kube.requests import MERGE, Request, Response

Json = dict[str, Any]

PLACES = {
    place.kind: place
    for place in (
        Place("Namespace", "namespaces", "v1", namespaced=False),
        Place("Node", "nodes", "v1", namespaced=False),
        Place("Pod", "pods", "v1"),
        Place("PersistentVolume", "persistentvolumes", "v1", namespaced=False),
        Place("PersistentVolumeClaim", "persistentvolumeclaims", "v1"),
        Place("Event", "events", "v1"),
        Place("Lease", "leases", "coordination.k8s.io/v1"),
        Place("Role", "roles", "rbac.authorization.k8s.io/v1"),
        Place("RoleBinding", "rolebindings", "rbac.authorization.k8s.io/v1"),
        Place("ClusterRole", "clusterroles", "rbac.authorization.k8s.io/v1", namespaced=False),
        Place("ClusterRoleBinding", "clusterrolebindings", "rbac.authorization.k8s.io/v1", namespaced=False),
        Place("PriorityClass", "priorityclasses", "scheduling.k8s.io/v1", namespaced=False),
    )
}


@dataclass(frozen=True)
class HttpOperator:
    connection: Connection

    async def create(self, body: Json) -> Json:
        """A server leaves the status of what is created alone, except for nodes."""
        place = PLACES[body["kind"]]
        path = place.path(body["metadata"].get("namespace", ""))
        return await self._sent(Request("POST", path, (), msgspec.json.encode(body)))

    async def patch_status(self, kind: str, namespace: str, name: str, status: Json) -> Json:
        path = PLACES[kind].path(namespace, name, "status")
        body = msgspec.json.encode({"status": status})
        return await self._sent(Request("PATCH", path, (), body, MERGE))

    async def delete(self, kind: str, namespace: str, name: str) -> None:
        options = msgspec.json.encode({"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        await self._sent(Request("DELETE", PLACES[kind].path(namespace, name), (), options))

    async def read(self, kind: str, namespace: str, name: str) -> Json | None:
        response = await self.connection.send(Request("GET", PLACES[kind].path(namespace, name)))
        return None if response.status == 404 else _object(response)

    async def list(self, kind: str, namespace: str) -> list[Json]:
        found = await self._sent(Request("GET", PLACES[kind].path(namespace)))
        items: list[Json] = found["items"]
        return items

    async def _sent(self, request: Request) -> Json:
        return _object(await self.connection.send(request))


def _object(response: Response) -> Json:
    assert response.is_success, response.message
    return response.object
