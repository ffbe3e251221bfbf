"""Credentials and TLS for requests to an API server.

Files and exec plugins are read again from time to time, so that credentials can be rotated. The server's
certificate is verified unless the kubeconfig says insecure-skip-tls-verify.
"""

import asyncio
import base64
import logging
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from urllib.parse import quote

from reprieve.cluster.kube.exec_credentials import Credential, run_plugin
from reprieve.cluster.kube.kubeconfig import (
    AccessError,
    KubeconfigCluster,
    KubeconfigUser,
    Login,
    authority_of,
    content,
    find_login,
    given,
)
from reprieve.cluster.kube.proxy_lookup import proxy_for

_log = logging.getLogger(__name__)

_REREAD_SECONDS = 60.0  # between reads of files
_RENEW_SECONDS = 10.0  # at least, between attempts to get better credentials
_NOTHING = Credential()


@dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """Headers for a request, and the TLS context if the server has TLS."""

    headers: tuple[tuple[str, str], ...] = ()
    tls: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class _Certificates:
    """As PEM; empty if there is none."""

    authority: bytes = b""
    certificate: bytes = b""
    key: bytes = b""


# Called for every request: host, method, status code of the response if there was one, seconds.
RequestObserver = Callable[[str, str, int | None, float], None]


class Access:
    """``clock``: Unix time. ``observer``: is called for every request."""

    def __init__(
        self, login: Login, environ: Mapping[str, str] | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.observer: RequestObserver = lambda host, method, code, seconds: None
        self.server = login.cluster.server.rstrip("/")
        self.server_name = login.cluster.tls_server_name
        self.proxy = proxy_for(login.cluster.server, login.cluster.proxy_url, environ or {})
        self._login = login
        self._environ = environ or {}
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._credential = _NOTHING
        self._from_plugin = False
        self._failure: AccessError | None = None  # the plugin's last
        self._failed_at = 0.0
        self._grant: Grant | None = None
        self._read_at = 0.0
        self._renewed_at = -_RENEW_SECONDS
        self._certificates: _Certificates | None = None
        self._tls: ssl.SSLContext | None = None

    async def grant(self) -> Grant:
        """AccessError if there are no usable credentials."""
        async with self._one_at_a_time:
            if self._grant is None or self._is_stale():
                self._grant = await self._new_grant()
            return self._grant

    def renew(self, refused: Grant) -> bool:
        """Called when the server answers 401 to a grant; returns whether another attempt may succeed."""
        if refused is not self._grant:
            return True  # a concurrent request has renewed it already
        if not self._can_change or self._clock() - self._renewed_at < _RENEW_SECONDS:
            return False
        self._renewed_at = self._clock()
        self._grant, self._from_plugin = None, False
        return True

    def recheck_files(self) -> None:
        """Called when a connection failed: the server's certificate or ours may have been rotated."""
        self._read_at = -inf

    @property
    def _can_change(self) -> bool:
        user = self._login.user
        return user.exec is not None or bool(user.token_file or user.client_certificate)

    def _is_stale(self) -> bool:
        now = self._clock()
        return now - self._read_at >= _REREAD_SECONDS or not self._credential.is_valid(now)

    async def _new_grant(self) -> Grant:
        await self._refresh_credential()
        self._read_at = self._clock()
        try:
            return self._build_grant()
        except AccessError as error:
            if self._grant is None:
                raise
            # A rotation may be half done: the old credentials are likely to work until it is.
            _log.warning("keeping the previous credentials: %s", error)
            return self._grant

    async def _refresh_credential(self) -> None:
        plugin = None if _has_static_credentials(self._login.user) else self._login.user.exec
        if plugin is None or (self._from_plugin and self._credential.is_valid(self._clock())):
            return
        if self._failure is not None and self._clock() - self._failed_at < _RENEW_SECONDS:
            raise self._failure  # the reflectors of all kinds come here; one run of the plugin is enough
        try:
            self._credential = await run_plugin(plugin, self._login.cluster, self._environ)
        except AccessError as error:
            self._failure, self._failed_at = error, self._clock()
            raise
        self._from_plugin, self._failure = True, None

    def _build_grant(self) -> Grant:
        headers = tuple(_headers(self._login.user, self._credential, is_first=self._grant is None))
        return Grant(headers, self._context() if self.server.startswith("https://") else None)

    def _context(self) -> ssl.SSLContext:
        """The same context while the certificates are the same: open connections are pooled by it."""
        cluster = self._login.cluster
        certificates = _certificates(cluster, self._login.user, self._credential)
        if self._tls is None or certificates != self._certificates:
            self._tls = _context(certificates, verify=not cluster.insecure_skip_tls_verify)
            self._certificates = certificates
        return self._tls


def find_access(explicit: str, context: str, environ: Mapping[str, str], server: str = "") -> Access:
    """``explicit``: the kubeconfig named by a flag, or empty; likewise the context and the server."""
    return Access(find_login(explicit, context, environ, server), environ)


# --- headers -------------------------------------------------------------------------------------


def _headers(user: KubeconfigUser, credential: Credential, *, is_first: bool) -> Iterator[tuple[str, str]]:
    if token := _token(user, credential, is_first=is_first):
        yield "Authorization", f"Bearer {token}"
    elif user.username or user.password:
        pair = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        yield "Authorization", f"Basic {pair}"
    if user.impersonate:
        yield "Impersonate-User", user.impersonate
    if user.as_uid:
        yield "Impersonate-Uid", user.as_uid
    for group in user.as_groups or ():
        yield "Impersonate-Group", group
    for name, values in (user.as_user_extra or {}).items():
        for value in values:
            yield f"Impersonate-Extra-{quote(name, safe='')}", value


def _has_static_credentials(user: KubeconfigUser) -> bool:
    """Then the exec plugin is not run, as with kubectl."""
    return bool(user.token or user.token_file or user.username or user.password) or bool(
        user.client_certificate or user.client_certificate_data
    )


def _token(user: KubeconfigUser, credential: Credential, *, is_first: bool) -> str:
    """tokenFile wins over token; if it cannot be read at the start, token is used."""
    if not user.token_file:
        return user.token or credential.token
    try:
        token = content(user.token_file, "tokenFile").decode(errors="replace").strip()
    except AccessError:
        if user.token and is_first:
            return user.token
        raise
    if not token and not user.token:
        raise AccessError(f"tokenFile: {user.token_file}: expected a token, got an empty file")
    return token or user.token


# --- TLS -----------------------------------------------------------------------------------------


def _certificates(cluster: KubeconfigCluster, user: KubeconfigUser, credential: Credential) -> _Certificates:
    certificate = given(user.client_certificate_data, user.client_certificate, "client-certificate")
    key = given(user.client_key_data, user.client_key, "client-key")
    if bool(certificate) != bool(key):
        raise AccessError("client-certificate and client-key: expected both or none")
    return _Certificates(authority_of(cluster), certificate or credential.certificate, key or credential.key)


def _context(certificates: _Certificates, *, verify: bool) -> ssl.SSLContext:
    try:
        authority = certificates.authority.decode("ascii") or None
        context = ssl.create_default_context(cadata=authority)
    except (ssl.SSLError, ValueError) as error:
        raise AccessError("certificate-authority: expected certificates as PEM") from error
    # CAs that clusters create for themselves often lack extensions that RFC 5280 in the strict reading needs.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificates.certificate:
        _load(context, certificates)
    return context


def _load(context: ssl.SSLContext, certificates: _Certificates) -> None:
    # Python loads keys from files only. Only this process can read the directory, and only for a moment.
    with tempfile.TemporaryDirectory(prefix="reprieve-") as directory:
        both = Path(directory) / "both.pem"
        both.touch(mode=0o600)
        both.write_bytes(certificates.key + b"\n" + certificates.certificate)
        try:
            context.load_cert_chain(both, password=_no_password)
        except (ssl.SSLError, OSError) as error:
            expected = "expected a certificate and its key, as PEM and not encrypted"
            raise AccessError(f"client-certificate and client-key: {expected}") from error


def _no_password() -> str:
    """Without this, OpenSSL prompts for one on the terminal."""
    return ""
