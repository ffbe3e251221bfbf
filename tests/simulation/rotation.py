"""Credentials that are exchanged while they are in use: those of a server, those of its client, and the
authorities that vouch for either. Files are written in two goes, before the server changes or after it."""

import asyncio
from contextlib import AsyncExitStack
from enum import Enum
from pathlib import Path
from random import Random

from reprieve.cluster.certificates import Certificate, new_authority
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve_minicluster.auth.authentication import MASTERS, TokenIssuer
from reprieve_minicluster.auth.authentication import UserInfo as Person
from reprieve_minicluster.rest.http_server import HttpServer, ListenAddress
from tests.contract.issuing import client_certificate, server_certificate
from tests.contract.relay import Relay
from tests.simulation.chaos import SECRET, Chaos, MoodyFront, now

HERE = ("127.0.0.1",)


class Renewal(Enum):
    SERVER = "the server shows another certificate of the same authority"
    AUTHORITY = "another authority signs the server's certificate"
    CLIENT = "the client gets other credentials, and the old ones are rejected"
    CLIENT_AUTHORITY = "the same, and another authority signs clients' certificates"


_AUTHORITIES = (Renewal.AUTHORITY, Renewal.CLIENT_AUTHORITY)


class Credentials:
    """Those that count now, and the files in which the client finds its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority, self._clients = new_authority("server-ca"), new_authority("client-ca")
        self._vouched_before = b""  # the authority from before: a bundle has both
        self._server = server_certificate(self._authority, HERE)
        self._number = 0
        for name, content in self._files().items():
            (folder / name).write_bytes(content)

    @property
    def client(self) -> str:
        return f"reprieve-{self._number}"

    def endpoint(self) -> ListenAddress:
        return ListenAddress(tls=self._server.context(self._clients.certificate))

    def renew(self, renewal: Renewal) -> None:
        if renewal is Renewal.AUTHORITY:
            self._vouched_before, self._authority = self._authority.certificate, new_authority("server-ca")
        if renewal is Renewal.CLIENT_AUTHORITY:
            self._clients = new_authority("client-ca")
        if renewal in (Renewal.CLIENT, Renewal.CLIENT_AUTHORITY):
            self._number += 1
        else:
            self._server = server_certificate(self._authority, HERE)

    async def write(self, pause: float) -> None:
        """In place and in parts, so that a reader may see half of it."""
        for name, content in self._files().items():
            file = self._folder / name
            if file.read_bytes() != content:
                file.write_bytes(content[: len(content) // 2])
                await asyncio.sleep(pause)
                file.write_bytes(content)

    def _files(self) -> dict[str, bytes]:
        person = Person(self.client, (MASTERS,))
        shown = self._certificate_of(person)
        return {
            "ca.crt": self._vouched_before + self._authority.certificate,
            "client.crt": shown.certificate,
            "client.key": shown.key,
            "token": TokenIssuer(SECRET).token_of(person).encode(),
        }

    def _certificate_of(self, person: Person) -> Certificate:
        return client_certificate(self._clients, person.name, person.groups)

    def login(self, port: int, *, by_certificate: bool) -> Login:
        there = KubeconfigCluster(
            server=f"https://127.0.0.1:{port}", certificate_authority=str(self._folder / "ca.crt")
        )
        if not by_certificate:
            return Login(there, KubeconfigUser(token_file=str(self._folder / "token")))
        certificate, key = self._folder / "client.crt", self._folder / "client.key"
        return Login(there, KubeconfigUser(client_certificate=str(certificate), client_key=str(key)))


class RotatingServer:
    """Behind a relay: a new connection meets the server with the newest credentials."""

    def __init__(self, front: MoodyFront, credentials: Credentials, chaos: Chaos) -> None:
        self._front = front
        self._credentials = credentials
        self._chaos = chaos
        self._stack = AsyncExitStack()
        self.renewed = 0

    async def __aenter__(self) -> HttpServer:
        return await self._serve()

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def _serve(self) -> HttpServer:
        self._front.known = self._credentials.client
        return await self._stack.enter_async_context(HttpServer(self._front, self._credentials.endpoint()))

    async def renew_all(self, server: HttpServer, relay: Relay) -> None:
        """One after the other, until all is well for good."""
        rng = Random(f"{self._chaos.seed}/renewals")
        moments = sorted(rng.uniform(0, self._chaos.until - 15) for _ in range(rng.randrange(5)))
        for moment in moments:
            await asyncio.sleep(max(0.0, moment - now()))
            before, server = server, await self._renew(rng, relay)
            if rng.random() < 0.5:
                await before.stop()  # a restart; otherwise open connections stay
            self.renewed += 1

    async def _renew(self, rng: Random, relay: Relay) -> HttpServer:
        self._credentials.renew(rng.choice(list(Renewal)))
        gap, pause = rng.choice((0.0, rng.uniform(0, 5))), rng.choice((0.0, rng.uniform(0, 1)))
        is_told_first = rng.random() < 0.5
        if is_told_first:
            await self._credentials.write(pause)
            await asyncio.sleep(gap)
        server = await self._serve()
        relay.lead_to(server.port)
        if not is_told_first:
            await asyncio.sleep(gap)
            await self._credentials.write(pause)
        return server
