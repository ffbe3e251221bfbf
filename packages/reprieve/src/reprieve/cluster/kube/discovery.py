"""Discovery: which of the kinds that we read a server has, and in which version."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.kube.client import Channel
from reprieve.cluster.kube.requests import KubeRequest, NoAnswerError, RefusedError
from reprieve.cluster.kube.rest_mapping import CANDIDATES, RestMapping, root_of


class _Resource(msgspec.Struct, frozen=True):
    name: str
    kind: str


class _Resources(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


_RESOURCES = msgspec.json.Decoder(_Resources)


class Discovery:
    """``candidates``: by kind, where it may be, preferred first."""

    def __init__(
        self, connection: Channel, candidates: Mapping[str, tuple[RestMapping, ...]] = CANDIDATES
    ) -> None:
        self._connection = connection
        self._candidates = candidates
        self._served: dict[str, frozenset[str]] = {}
        self._found: dict[str, RestMapping] = {}
        self._lock = asyncio.Lock()

    async def find(self, kind: str) -> RestMapping | None:
        """The kind in the preferred version that the server has; None if it has none.

        NoAnswerError or RefusedError if discovery fails.
        """
        for mapping in self._candidates.get(kind, ()) if kind not in self._found else ():
            if mapping.plural in await self._plurals(mapping.api_version):
                self._found[kind] = mapping
                break
        return self._found.get(kind)

    def forget(self, kind: str) -> None:
        """Makes the next ``find`` query the server: upgrades and CRDs add versions and remove them."""
        self._found.pop(kind, None)
        for mapping in self._candidates[kind]:
            self._served.pop(mapping.api_version, None)

    async def _plurals(self, api_version: str) -> frozenset[str]:
        async with self._lock:  # every reflector asks at the start: one request per version is enough
            if api_version not in self._served:
                self._served[api_version] = await self._query(api_version)
            return self._served[api_version]

    async def _query(self, api_version: str) -> frozenset[str]:
        response = await self._connection.send(KubeRequest("GET", root_of(api_version)))
        if response.status == HTTPStatus.NOT_FOUND:
            return frozenset()
        if not response.is_success:
            raise RefusedError(response)
        try:
            listed = _RESOURCES.decode(response.body)
        except UNDECODABLE as error:
            raise NoAnswerError(
                f"discovery of {api_version} failed: the response is no APIResourceList"
            ) from error
        return frozenset(resource.name for resource in listed.resources)
