"""Which of the kinds that we look for a server has, and in which version."""

import asyncio
from http import HTTPStatus

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.kube.client import Channel, NoAnswerError, RefusedError
from reprieve.cluster.kube.requests import Request
from reprieve.cluster.kube.rest_mapping import CANDIDATES, Place, root_of


class _Resource(msgspec.Struct, frozen=True):
    name: str
    kind: str


class _Resources(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


_RESOURCES = msgspec.json.Decoder(_Resources)


class Discovery:
    def __init__(self, connection: Channel) -> None:
        self._connection = connection
        self._served: dict[str, frozenset[str]] = {}
        self._found: dict[str, Place] = {}
        self._asking = asyncio.Lock()

    async def find(self, kind: str) -> Place | None:
        """Where the kind is served, in the best version that both sides speak; None if it is nowhere.

        NoAnswerError or RefusedError if that cannot be learned.
        """
        for place in CANDIDATES.get(kind, ()) if kind not in self._found else ():
            if place.plural in await self._plurals(place.api_version):
                self._found[kind] = place
                break
        return self._found.get(kind)

    def forget(self, kind: str) -> None:
        """Asks for it again next time: a server may learn new versions, and lose old ones."""
        self._found.pop(kind, None)
        for place in CANDIDATES[kind]:
            self._served.pop(place.api_version, None)

    async def _plurals(self, api_version: str) -> frozenset[str]:
        async with self._asking:  # many want to know the same at once
            if api_version not in self._served:
                self._served[api_version] = await self._ask(api_version)
            return self._served[api_version]

    async def _ask(self, api_version: str) -> frozenset[str]:
        response = await self._connection.send(Request("GET", root_of(api_version)))
        if response.status == HTTPStatus.NOT_FOUND:
            return frozenset()
        if not response.is_success:
            raise RefusedError(response)
        try:
            listed = _RESOURCES.decode(response.body)
        except UNDECODABLE as error:
            raise NoAnswerError(f"the server does not tell what it has of {api_version}") from error
        return frozenset(resource.name for resource in listed.resources)
