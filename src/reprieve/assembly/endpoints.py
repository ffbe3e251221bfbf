"""What a replica tells those who ask over HTTPS, on a port of its own: probes, metrics, configuration."""

import asyncio
import errno
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
from aiohttp import web

from reprieve import config
from reprieve.cluster.certificates import new_certificate
from reprieve.cluster.kube import client
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.reviews import Doorkeeper
from reprieve.config.writing import written
from reprieve.runtime.metrics import CONTENT_TYPE
from reprieve.runtime.pages import JSON, Page, Pages, Probe, application
from reprieve.runtime.readiness import Readiness
from reprieve.runtime.telemetry import Telemetry

_LOOK_AGAIN_SECONDS = 30.0  # at the files of a certificate
_LAST_ANSWERS_SECONDS = 2.0


class EndpointError(Exception):
    """Why nothing can be served, as a sentence."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``certificate``, ``key``: files; without them, a certificate that vouches for itself is made."""

    host: str = "0.0.0.0"
    port: int = 10259
    certificate: Path | None = None
    key: Path | None = None


@asynccontextmanager
async def served(
    endpoint: Endpoint,
    configured: config.Configuration,
    access: Access,
    telemetry: Telemetry,
    readiness: Readiness,
) -> AsyncIterator[int]:
    """For as long as the context is open; the port on which it is. An EndpointError if that cannot be."""
    pages: Pages = {
        "/healthz": Probe(readiness.alive),
        "/livez": Probe(readiness.alive),
        "/readyz": Probe(readiness.ready),
        "/metrics": Page(telemetry.text, CONTENT_TYPE),
        "/configz": Page(lambda: _configz(configured), JSON),
    }
    tls = _context(endpoint)
    # Its own connection: whoever asks for pages must not slow down scheduling.
    async with client.connected(access) as connection:
        door = Doorkeeper(connection)
        runner = web.AppRunner(
            application(pages, door.refusal), access_log=None, shutdown_timeout=_LAST_ANSWERS_SECONDS
        )
        await runner.setup()
        renewing = asyncio.create_task(_renew(tls, endpoint))
        try:
            await _listen(runner, endpoint, tls)
            yield int(runner.addresses[0][1])
        finally:
            renewing.cancel()
            await runner.cleanup()


def _configz(configured: config.Configuration) -> bytes:
    return msgspec.json.encode({"componentconfig": written(configured)})


async def _listen(runner: web.AppRunner, endpoint: Endpoint, tls: ssl.SSLContext) -> None:
    try:
        await web.TCPSite(runner, endpoint.host, endpoint.port, ssl_context=tls).start()
    except OSError as error:
        where = f"port {endpoint.port} of {endpoint.host}"
        if error.errno == errno.EADDRINUSE:
            raise EndpointError(f"{where} is in use: choose another with --secure-port") from error
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        raise EndpointError(f"{where} cannot be used: {reason}") from error


# --- TLS -----------------------------------------------------------------------------------------


def _context(endpoint: Endpoint) -> ssl.SSLContext:
    if endpoint.certificate is None or endpoint.key is None:
        return new_certificate(("localhost", "127.0.0.1")).context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load(context, endpoint.certificate, endpoint.key)
    return context


def _load(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    for option, path in (("--tls-cert-file", certificate), ("--tls-private-key-file", key)):
        if not os.access(path, os.R_OK):
            raise EndpointError(f"{option}: {path} cannot be read")
    try:
        context.load_cert_chain(certificate, key, password="")  # otherwise OpenSSL would ask on the terminal
    except (ssl.SSLError, OSError) as error:
        expected = f"expected a certificate and its key, as PEM, in {certificate} and {key}"
        raise EndpointError(f"--tls-cert-file, --tls-private-key-file: {expected}") from error


async def _renew(context: ssl.SSLContext, endpoint: Endpoint) -> None:
    """Certificates are exchanged while we run; those who connect from then on see the new one."""
    if endpoint.certificate is None or endpoint.key is None:
        return
    known = _changed_at(endpoint.certificate)
    while True:
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        seen = _changed_at(endpoint.certificate)
        if seen == known:
            continue
        try:
            _load(context, endpoint.certificate, endpoint.key)
            known = seen
        except EndpointError:
            continue  # somebody is writing these files right now


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
