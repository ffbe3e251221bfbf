"""Which certificate do our pages show, and which client certificates do they accept?

Both may change while we run: every new connection uses the newest valid ones.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakKeyDictionary

from reprieve.cluster.api.compression import DamagedFileError, read_file
from reprieve.cluster.certificates import (
    Certificate,
    CertificateSubject,
    new_certificate,
    server_context,
    subject_of,
)

_log = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS = 30.0  # between reads of files
_ASK_AGAIN_SECONDS = 60.0  # between requests to the cluster
_OUR_NAMES = ("localhost", "127.0.0.1")


class EndpointError(Exception):
    """Why the pages cannot be served, as a sentence."""


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """``own``: our certificate and its key; without them, a self-signed one is made.
    ``clients``: the authorities that sign client certificates."""

    own: tuple[Path, Path] | None = None
    clients: Path | None = None


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """Options of TLS. ``ciphers``: those allowed in TLS 1.2; None for the defaults of OpenSSL."""

    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    ciphers: Sequence[str] | None = None


NO_FILES, DEFAULT_TLS = CertificateFiles(), TlsOptions()


class Trust:
    """``context`` is for the listener. Raises EndpointError if the files are invalid."""

    def __init__(self, files: CertificateFiles, tls: TlsOptions) -> None:
        self._files = files
        self._made_up = new_certificate(_OUR_NAMES)  # used if no file is given
        self._accepted = b""  # authorities of clients that were read from the cluster
        self._verified_by: WeakKeyDictionary[ssl.SSLContext, bytes] = WeakKeyDictionary()
        self._complaint = ""
        self._tls = tls
        self.context = _with_options(server_context(), tls)
        # The certificate is chosen for every connection, whatever server name the client sends.
        self.context.sni_callback = self._choose
        self._known = self._read()
        self._newest = self._made(self._known)

    def client_subject(self, connection: ssl.SSLObject | None) -> CertificateSubject | None:
        """The subject of a client certificate, if still trusted: a connection may outlive the trust."""
        if connection is None or self._verified_by.get(connection.context) != self._trusted(self._known):
            return None
        return subject_of(connection.getpeercert())

    def reread_files(self) -> None:
        """Reads the files again. Logs an error once, and keeps the last valid certificates."""
        try:
            found = self._read()
            if found != self._known:
                self._newest, self._known = self._made(found), found
                _log.info("the certificates of the port have changed: new connections use them")
            self._complaint = ""
        except EndpointError as error:
            if str(error) != self._complaint:
                _log.warning("keeping the previous certificates of the port: %s", error)
            self._complaint = str(error)

    def trust_clients_of(self, clients: bytes) -> None:
        """Trusts clients whose certificates these authorities, as PEM, have signed; a file takes precedence.

        Raises EndpointError if they are no certificates, and then changes nothing.
        """
        if clients != self._accepted:
            before, self._accepted = self._accepted, clients
            try:
                self._newest = self._made(self._known)
            except EndpointError:
                self._accepted = before
                raise

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._newest

    # --- files ---

    def _read(self) -> tuple[Certificate, bytes]:
        files = self._files
        clients = _bytes_of("--client-ca-file", files.clients) if files.clients is not None else b""
        if files.own is None:
            return self._made_up, clients
        certificate, key = files.own
        shown = _bytes_of("--tls-cert-file", certificate), _bytes_of("--tls-private-key-file", key)
        return Certificate(*shown), clients

    def _made(self, found: tuple[Certificate, bytes]) -> ssl.SSLContext:
        shown, trusted = found[0], self._trusted(found)
        try:
            server_context(trusted)
        except (ssl.SSLError, ValueError) as error:
            where = "--client-ca-file" if found[1] else "client authorities in the cluster"
            raise EndpointError(f"{where}: expected certificates of authorities, as PEM") from error
        try:
            made = _with_options(shown.context(trusted), self._tls)
        except (ssl.SSLError, OSError) as error:
            where = " and ".join(map(str, self._files.own or ()))
            expected = f"expected a certificate and its key, as PEM, in {where}"
            raise EndpointError(f"--tls-cert-file, --tls-private-key-file: {expected}") from error
        # Without authorities to verify it, no client is asked for a certificate.
        self.context.verify_mode = made.verify_mode
        self._verified_by[made] = trusted
        return made

    def _trusted(self, found: tuple[Certificate, bytes]) -> bytes:
        return found[1] or self._accepted


def _bytes_of(option: str, path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError as error:
        raise EndpointError(f"{option}: {path}: cannot be read: {str(error.strerror).lower()}") from error
    except DamagedFileError as error:
        raise EndpointError(f"{option}: {path}: {error}") from error


def _with_options(context: ssl.SSLContext, tls: TlsOptions) -> ssl.SSLContext:
    context.minimum_version = tls.minimum
    if tls.ciphers is not None:
        try:
            context.set_ciphers(":".join(tls.ciphers))
        except ssl.SSLError as error:
            raise EndpointError("--tls-cipher-suites: expected suites that OpenSSL has") from error
    return context


# --- while we run ----------------------------------------------------------------------------------


async def keep_rereading_files(trust: Trust) -> None:
    while True:
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        trust.reread_files()


async def keep_fetching_authorities(trust: Trust, ask: Callable[[], Awaitable[bytes]]) -> None:
    """``ask`` raises EndpointError if the authorities cannot be read. Until they can, tokens count, and the
    authorities that were read before."""
    told = ""
    while True:
        try:
            trust.trust_clients_of(await ask())
            told = ""
        except EndpointError as error:
            if str(error) != told:
                _log.warning("client certificates cannot be verified, only tokens: %s", error)
            told = str(error)
        await asyncio.sleep(_ASK_AGAIN_SECONDS)
