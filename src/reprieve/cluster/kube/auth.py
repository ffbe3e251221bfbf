"""Who we are to an API server, and whether it is the one that we mean: headers and TLS for each request.

Whatever comes from files or from a plugin is looked at again from time to time, so that it can be rotated.
Nothing is ever less than verified unless the kubeconfig says so.
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

_LOOK_AGAIN_SECONDS = 60.0  # at files
_RENEW_SECONDS = 10.0  # at least between two attempts to get better credentials
_NOTHING = Credential()


@dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """What goes with a request: headers, and the TLS settings if there is TLS."""

    headers: tuple[tuple[str, str], ...] = ()
    tls: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class _Certificates:
    """As PEM; what is empty is not there."""

    authority: bytes = b""
    certificate: bytes = b""
    key: bytes = b""


# Is told of every request: the host, the method, the code of the answer if there was one, and the seconds.
RequestObserver = Callable[[str, str, int | None, float], None]


class Access:
    """``clock``: the time of day, in seconds since 1970. ``onlooker``: learns how the server answers."""

    def __init__(
        self, login: Login, environ: Mapping[str, str] | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.onlooker: RequestObserver = lambda host, method, code, seconds: None
        self.server = login.cluster.server.rstrip("/")
        self.server_name = login.cluster.tls_server_name
        self.proxy = proxy_for(login.cluster.server, login.cluster.proxy_url, environ or {})
        self._login = login
        self._environ = environ or {}
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._credential = _NOTHING
        self._asked = False  # whether a plugin gave the credential
        self._failure: AccessError | None = None  # of a plugin, and when
        self._failed_at = 0.0
        self._grant: Grant | None = None
        self._looked_at = 0.0
        self._renewed_at = -_RENEW_SECONDS
        self._certificates: _Certificates | None = None
        self._tls: ssl.SSLContext | None = None

    async def grant(self) -> Grant:
        """An AccessError if nothing can be granted."""
        async with self._one_at_a_time:
            if self._grant is None or self._is_stale():
                self._grant = await self._granted_anew()
            return self._grant

    def renew(self, refused: Grant) -> bool:
        """Told that a server did not accept a grant; whether another try may end better."""
        if refused is not self._grant:
            return True
        if not self._can_change or self._clock() - self._renewed_at < _RENEW_SECONDS:
            return False
        self._renewed_at = self._clock()
        self._grant, self._asked = None, False
        return True

    def doubt(self) -> None:
        """Told that a connection broke: perhaps somebody has another certificate, and so the files, too."""
        self._looked_at = -inf

    @property
    def _can_change(self) -> bool:
        user = self._login.user
        return user.exec is not None or bool(user.token_file or user.client_certificate)

    def _is_stale(self) -> bool:
        now = self._clock()
        return now - self._looked_at >= _LOOK_AGAIN_SECONDS or not self._credential.is_valid(now)

    async def _granted_anew(self) -> Grant:
        await self._ask()
        self._looked_at = self._clock()
        try:
            return self._made()
        except AccessError as error:
            if self._grant is None:
                raise
            # Perhaps somebody is writing these files right now. What was good a minute ago may still be.
            _log.warning("going on with the credentials from before: %s", error)
            return self._grant

    async def _ask(self) -> None:
        plugin = None if _has_more(self._login.user) else self._login.user.exec
        if plugin is None or (self._asked and self._credential.is_valid(self._clock())):
            return
        if self._failure is not None and self._clock() - self._failed_at < _RENEW_SECONDS:
            raise self._failure  # many want to get in, and one attempt is enough
        try:
            self._credential = await run_plugin(plugin, self._login.cluster, self._environ)
        except AccessError as error:
            self._failure, self._failed_at = error, self._clock()
            raise
        self._asked, self._failure = True, None

    def _made(self) -> Grant:
        headers = tuple(_headers(self._login.user, self._credential, is_first=self._grant is None))
        return Grant(headers, self._context() if self.server.startswith("https://") else None)

    def _context(self) -> ssl.SSLContext:
        """The same one for as long as certificates are the same: connections depend on it."""
        cluster = self._login.cluster
        certificates = _certificates(cluster, self._login.user, self._credential)
        if self._tls is None or certificates != self._certificates:
            self._tls = _context(certificates, verify=not cluster.insecure_skip_tls_verify)
            self._certificates = certificates
        return self._tls


def find_access(explicit: str, context: str, environ: Mapping[str, str], server: str = "") -> Access:
    """``explicit``: the kubeconfig that was named, if any; likewise the context, and the server."""
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


def _has_more(user: KubeconfigUser) -> bool:
    """Whoever has something of his own to show does not ask a plugin."""
    return bool(user.token or user.token_file or user.username or user.password) or bool(
        user.client_certificate or user.client_certificate_data
    )


def _token(user: KubeconfigUser, credential: Credential, *, is_first: bool) -> str:
    """A file counts before what was written down when it was made, unless it was never there."""
    if not user.token_file:
        return user.token or credential.token
    try:
        token = content(user.token_file, "tokenFile").decode(errors="replace").strip()
    except AccessError:
        if user.token and is_first:
            return user.token
        raise
    if not token and not user.token:
        raise AccessError(f"tokenFile: {user.token_file} is empty")
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
    # Authorities that clusters make for themselves often lack what the strict reading of the rules wants.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificates.certificate:
        _load(context, certificates)
    return context


def _load(context: ssl.SSLContext, certificates: _Certificates) -> None:
    # Python reads keys from files only. The directory is ours alone, and gone at once.
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
    """Otherwise OpenSSL would ask for one on the terminal."""
    return ""
