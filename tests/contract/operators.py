"""An administrator with all permissions, over HTTP."""

from dataclasses import dataclass

import msgspec

from reprieve.cluster.kube.client import Connection
from reprieve.cluster.kube.requests import STRATEGIC, KubeRequest, KubeResponse
from reprieve.cluster.kube.rest_mapping import RestMapping
from reprieve.model.json import Json

PLACES = {
    place.kind: place
    for place in (
        RestMapping("Namespace", "namespaces", "v1", namespaced=False),
        RestMapping("Node", "nodes", "v1", namespaced=False),
        RestMapping("Pod", "pods", "v1"),
        RestMapping("PersistentVolume", "persistentvolumes", "v1", namespaced=False),
        RestMapping("PersistentVolumeClaim", "persistentvolumeclaims", "v1"),
        RestMapping("Event", "events", "v1"),
        RestMapping("Lease", "leases", "coordination.k8s.io/v1"),
        RestMapping("ConfigMap", "configmaps", "v1"),
        RestMapping("Role", "roles", "rbac.authorization.k8s.io/v1"),
        RestMapping("RoleBinding", "rolebindings", "rbac.authorization.k8s.io/v1"),
        RestMapping("ClusterRole", "clusterroles", "rbac.authorization.k8s.io/v1", namespaced=False),
        RestMapping(
            "ClusterRoleBinding", "clusterrolebindings", "rbac.authorization.k8s.io/v1", namespaced=False
        ),
        RestMapping("PriorityClass", "priorityclasses", "scheduling.k8s.io/v1", namespaced=False),
        RestMapping("ResourceSlice", "resourceslices", "resource.k8s.io/v1", namespaced=False),
        RestMapping("PodGroup", "podgroups", "scheduling.k8s.io/v1beta1"),
        RestMapping("ServiceAccount", "serviceaccounts", "v1"),
        RestMapping("Deployment", "deployments", "apps/v1"),
        RestMapping("Job", "jobs", "batch/v1"),
        RestMapping("PodDisruptionBudget", "poddisruptionbudgets", "policy/v1"),
    )
}


@dataclass(frozen=True)
class HttpOperator:
    connection: Connection

    async def create(self, body: Json) -> Json:
        """A server leaves the status of what is created alone, except for nodes."""
        place = PLACES[body["kind"]]
        path = place.path(body["metadata"].get("namespace", ""))
        return await self._sent(KubeRequest("POST", path, (), msgspec.json.encode(body)))

    async def patch(self, kind: str, namespace: str, name: str, patch: Json, part: str = "") -> Json:
        path = PLACES[kind].path(namespace, name, part)
        return await self._sent(KubeRequest("PATCH", path, (), msgspec.json.encode(patch), STRATEGIC))

    async def patch_status(self, kind: str, namespace: str, name: str, status: Json) -> Json:
        """Lists that have keys are merged by them."""
        return await self.patch(kind, namespace, name, {"status": status}, "status")

    async def delete(self, kind: str, namespace: str, name: str) -> None:
        options = msgspec.json.encode({"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
        await self._sent(KubeRequest("DELETE", PLACES[kind].path(namespace, name), (), options))

    async def read(self, kind: str, namespace: str, name: str) -> Json | None:
        response = await self.connection.send(KubeRequest("GET", PLACES[kind].path(namespace, name)))
        return None if response.status == 404 else _object(response)

    async def list(self, kind: str, namespace: str) -> list[Json]:
        found = await self._sent(KubeRequest("GET", PLACES[kind].path(namespace)))
        items: list[Json] = found["items"]
        return items

    async def _sent(self, request: KubeRequest) -> Json:
        return _object(await self.connection.send(request))


def _object(response: KubeResponse) -> Json:
    assert response.is_success, response.message
    return response.object
