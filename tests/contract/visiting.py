"""The pages of a replica, served in virtual time, and their clients."""

import asyncio
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from reprieve.assembly.endpoints import (
    DEFAULT_REVIEWS,
    Observers,
    ReviewOptions,
    ReviewServers,
    ServingEndpoint,
    serve_endpoints,
)
from reprieve.cluster.certificates import Certificate
from reprieve.config import default_configuration
from reprieve.page.live import PictureFeed
from reprieve.runtime.readiness import Readiness
from reprieve.runtime.recent_decisions import RecentDecisions
from reprieve_minicluster.virtual_time import clock, run
from tests.contract.http import MiniOperator, living_cluster

HERE = "127.0.0.1"
SOMEWHERE = ServingEndpoint(HERE, 0)


@dataclass(frozen=True)
class Visitor:
    session: aiohttp.ClientSession
    port: int
    readiness: Readiness
    operator: MiniOperator
    recent: RecentDecisions
    feed: PictureFeed

    async def get(self, path: str, token: str = "", own: Certificate | None = None) -> tuple[int, str]:
        """Over a connection of its own."""
        return await self.get_over(blind(own), path, token)

    async def get_over(self, tls: ssl.SSLContext, path: str, token: str = "") -> tuple[int, str]:
        """Over a connection that is reused for the same context."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = f"https://{HERE}:{self.port}{path}"
        async with self.session.get(url, headers=headers, ssl=tls) as response:
            return response.status, await response.text()

    async def shown(self) -> bytes:
        """The certificate that a new connection receives."""
        _, writer = await asyncio.open_connection(HERE, self.port, ssl=blind(None))
        shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return ssl.DER_cert_to_PEM_cert(shown).encode()

    async def spoken(self, version: ssl.TLSVersion) -> str:
        """The cipher on which both sides agree in that version."""
        context = blind(None)
        context.maximum_version = context.minimum_version = version
        _, writer = await asyncio.open_connection(HERE, self.port, ssl=context)
        cipher: tuple[str, str, int] = writer.get_extra_info("cipher")
        writer.close()
        return cipher[0]


def blind(own: Certificate | None) -> ssl.SSLContext:
    """Trusts every server, is new for each request, and sends the certificate it was given."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if own is not None:
        with tempfile.NamedTemporaryFile() as both:
            both.write(own.key + own.certificate)
            both.flush()
            context.load_cert_chain(both.name)
    return context


def pages(
    operator: MiniOperator,
    endpoint: ServingEndpoint,
    observers: Observers,
    review_options: ReviewOptions = DEFAULT_REVIEWS,
) -> AbstractAsyncContextManager[int]:
    reviews = ReviewServers(operator.access, operator.access, review_options)
    return serve_endpoints(endpoint, default_configuration(), reviews, observers)


@asynccontextmanager
async def visitor(endpoint: ServingEndpoint = SOMEWHERE) -> AsyncIterator[Visitor]:
    observers = Observers()
    async with (
        living_cluster(clock) as operator,
        aiohttp.ClientSession() as session,
        pages(operator, endpoint, observers) as port,
    ):
        yield Visitor(session, port, observers.readiness, operator, observers.recent, observers.feed)


def visited(visit: Callable[[Visitor], Awaitable[None]], endpoint: ServingEndpoint = SOMEWHERE) -> None:
    async def main() -> None:
        async with visitor(endpoint) as one:
            await visit(one)

    run(main())


def write(folder: Path, certificate: Certificate) -> tuple[Path, Path]:
    both = folder / "tls.crt", folder / "tls.key"
    both[0].write_bytes(certificate.certificate)
    both[1].write_bytes(certificate.key)
    return both
