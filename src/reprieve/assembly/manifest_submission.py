"""How are manifests created in a cluster over its API? One POST for each object, in their order.

Which path a kind has is discovered. What is wrong with an object is the server's own sentence.
"""

import os
from collections.abc import Iterable
from http import HTTPStatus

import msgspec

from reprieve.cluster.kube import client
from reprieve.cluster.kube.auth import find_access
from reprieve.cluster.kube.client import Connection, NoAnswerError
from reprieve.cluster.kube.kubeconfig import AccessError
from reprieve.cluster.kube.requests import KubeRequest
from reprieve.model.json import Json


class SubmissionError(Exception):
    """Why an object was not created, as a sentence. ``created``: those before it, by kind and name."""

    def __init__(self, sentence: str, created: Iterable[str] = ()) -> None:
        super().__init__(sentence)
        self.created = tuple(created)


async def submit_manifests(kubeconfig: str, manifests: Iterable[Json]) -> list[str]:
    """What was created, as in Pod/default/web; raises SubmissionError at the first that is not."""
    created: list[str] = []
    try:
        access = find_access(kubeconfig, "", os.environ)
        async with client.connected(access) as connection:
            for body in manifests:
                created.append(await _create(connection, body, created))
    except (AccessError, NoAnswerError) as error:
        raise SubmissionError(str(error), created) from error
    return created


async def _create(connection: Connection, body: Json, created: list[str]) -> str:
    meta = body.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    version, kind = str(body.get("apiVersion", "")), str(body.get("kind", ""))
    resource = await _resource(connection, version, kind)
    if resource is None:
        raise SubmissionError(
            f"the server does not know {kind or 'an object'} of {version or 'no apiVersion'}", created
        )
    namespace = str(meta.get("namespace") or "default") if resource.namespaced else ""
    scope = f"/namespaces/{namespace}" if namespace else ""
    path = f"{_root(version)}{scope}/{resource.name}"
    response = await connection.send(KubeRequest("POST", path, body=msgspec.json.encode(body)))
    if not response.is_success:
        raise SubmissionError(response.message, created)
    stored = response.object.get("metadata")
    name = stored.get("name") if isinstance(stored, dict) else None
    return "/".join(filter(None, (kind, namespace, str(name or meta.get("name", "")))))


class _Resource(msgspec.Struct, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False


class _ResourceList(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


async def _resource(connection: Connection, version: str, kind: str) -> _Resource | None:
    if not version.replace("/", "").replace(".", "").replace("-", "").isalnum():
        return None
    response = await connection.send(KubeRequest("GET", _root(version)))
    if response.status == HTTPStatus.NOT_FOUND or not response.is_success:
        return None
    try:
        found = msgspec.json.decode(response.body, type=_ResourceList).resources
    except msgspec.MsgspecError:
        return None
    return next((one for one in found if one.kind == kind and "/" not in one.name), None)
