"""Credentials and TLS for requests to an API server, and the proxy that leads to it.

Files and exec plugins are read again from time to time, so that credentials can be rotated. The server's
certificate is verified unless the kubeconfig says insecure-skip-tls-verify.
"""

import asyncio
import base64
import ipaddress
import json
import logging
import os
import ssl
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf
from pathlib import Path
from urllib.parse import quote, urlsplit

import msgspec

from reprieve.cluster.kube.kubeconfig import (
    AccessError,
    ExecPlugin,
    KubeconfigCluster,
    KubeconfigUser,
    Login,
    authority_of,
    content,
    find_login,
    given,
)
from reprieve.model.formatting import quoted
from reprieve.model.moment import Moment

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_TIMEOUT_SECONDS = 60.0  # plugins call remote services, and some prompt a person
_LONGEST_STDERR = 300  # characters of its stderr in our error


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Credential(msgspec.Struct, frozen=True, rename="camel"):
    kind: str
    api_version: str
    status: _Status | None = None


@dataclass(frozen=True, slots=True)
class Credential:
    """``expires``: Unix time; None for never. Certificates are PEM."""

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires: float | None = None

    def is_valid(self, wall: float) -> bool:
        return self.expires is None or wall < self.expires


async def run_plugin(
    plugin: ExecPlugin, cluster: KubeconfigCluster, environ: Mapping[str, str]
) -> Credential:
    """Run the command; its ExecCredential is used until it expires.

    AccessError if the command fails or does not print one.
    """
    _check(plugin)
    output = await _run(plugin, {**environ, **_variables(plugin, cluster)})
    return parse_credential(plugin, output)


def _check(plugin: ExecPlugin) -> None:
    if plugin.api_version not in _VERSIONS:
        expected = " or ".join(_VERSIONS)
        raise AccessError(f"exec: apiVersion: expected {expected}, got {quoted(plugin.api_version)}")
    if plugin.interactive_mode not in ("Never", "IfAvailable", "Always"):
        got = quoted(plugin.interactive_mode)
        raise AccessError(f"exec: interactiveMode: expected Never, IfAvailable or Always, got {got}")
    if plugin.interactive_mode == "Always" and not _has_terminal():
        raise AccessError(f"exec: {plugin.command} has interactiveMode Always, and there is no terminal")


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _is_interactive(plugin: ExecPlugin) -> bool:
    return plugin.interactive_mode != "Never" and _has_terminal()


def _variables(plugin: ExecPlugin, cluster: KubeconfigCluster) -> dict[str, str]:
    spec: dict[str, object] = {"interactive": _is_interactive(plugin)}
    if plugin.provide_cluster_info:
        spec["cluster"] = _described(cluster)
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    own = {variable.name: variable.value for variable in plugin.env or ()}
    return {**own, "KUBERNETES_EXEC_INFO": json.dumps(info)}


def _described(cluster: KubeconfigCluster) -> dict[str, object]:
    described = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority_of(cluster)).decode(),
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
        "config": cluster.exec_config(),
    }
    return {name: value for name, value in described.items() if value}


async def _run(plugin: ExecPlugin, environ: Mapping[str, str]) -> bytes:
    stdin = None if _is_interactive(plugin) else asyncio.subprocess.DEVNULL
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command, *(plugin.args or ()), stdin=stdin, stdout=pipe, stderr=pipe, env=dict(environ)
        )
    except OSError as error:
        hint = f": {_printable(plugin.install_hint)}" if plugin.install_hint else ""
        why = os.strerror(error.errno) if error.errno else str(error)
        raise AccessError(f"exec: {plugin.command} cannot be run: {why}{hint}") from error
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            output, stderr = await process.communicate()
    except TimeoutError as error:
        raise AccessError(f"exec: {plugin.command} did not exit within {_TIMEOUT_SECONDS:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
    if process.returncode:
        why = _printable(stderr.decode(errors="replace"))[-_LONGEST_STDERR:] or "its stderr is empty"
        raise AccessError(f"exec: {plugin.command} exited with code {process.returncode}: {why}")
    return output


def _printable(text: str) -> str:
    """Strip control sequences, which a terminal would execute."""
    return "".join(sign if sign.isprintable() or sign.isspace() else "?" for sign in text).strip()


def parse_credential(plugin: ExecPlugin, output: bytes) -> Credential:
    where = f"exec: the output of {plugin.command}"
    try:
        credential = msgspec.json.decode(output, type=_Credential)
    except msgspec.MsgspecError as error:
        raise AccessError(f"{where}: expected an ExecCredential as JSON: {error}") from error
    if (credential.kind, credential.api_version) != ("ExecCredential", plugin.api_version):
        got = f"{credential.kind} of {credential.api_version}"
        raise AccessError(f"{where}: expected an ExecCredential of {plugin.api_version}, got {got}")
    status = credential.status or _Status()
    pair = (status.client_certificate_data, status.client_key_data)
    if not status.token and not all(pair):
        raise AccessError(f"{where}: expected a token, or a client certificate and its key")
    if any(pair) and not all(pair):
        raise AccessError(f"{where}: expected clientCertificateData and clientKeyData together")
    expires = status.expiration_timestamp
    return Credential(
        token=status.token,
        certificate=status.client_certificate_data.encode(),
        key=status.client_key_data.encode(),
        expires=expires.timestamp() if expires is not None else None,
    )


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
    """Certificates and key are PEM; empty if there is none."""

    authority: bytes = b""
    certificate: bytes = b""
    key: bytes = b""


# Called for every request: host, method, status code of the response if there was one, seconds.
RequestObserver = Callable[[str, str, int | None, float], None]


def _now() -> Moment:
    return Moment(time.time(), time.monotonic())


class Access:
    """``now``: credentials expire at a time of day. ``observer``: is called for every request."""

    def __init__(
        self, login: Login, environ: Mapping[str, str] | None = None, now: Callable[[], Moment] = _now
    ) -> None:
        self.observer: RequestObserver = lambda host, method, code, seconds: None
        self.server = login.cluster.server.rstrip("/")
        self.server_name = login.cluster.tls_server_name
        self.proxy = proxy_for(login.cluster.server, login.cluster.proxy_url, environ or {})
        self._login = login
        self._environ = environ or {}
        self._now = now
        self._one_at_a_time = asyncio.Lock()
        self._credential = _NOTHING
        self._from_plugin = False
        self._failure: AccessError | None = None  # the plugin's last
        self._failed_at = 0.0
        self._grant: Grant | None = None
        self._read_at = -inf
        self._renewed_at = -inf
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
        if not self._can_change or self._now().elapsed - self._renewed_at < _RENEW_SECONDS:
            return False
        self._renewed_at = self._now().elapsed
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
        now = self._now()
        return now.elapsed - self._read_at >= _REREAD_SECONDS or not self._credential.is_valid(now.wall)

    async def _new_grant(self) -> Grant:
        await self._refresh_credential()
        self._read_at = self._now().elapsed
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
        if plugin is None or (self._from_plugin and self._credential.is_valid(self._now().wall)):
            return
        if self._failure is not None and self._now().elapsed - self._failed_at < _RENEW_SECONDS:
            raise self._failure  # the reflectors of all kinds come here; one run of the plugin is enough
        try:
            self._credential = await run_plugin(plugin, self._login.cluster, self._environ)
        except AccessError as error:
            self._failure, self._failed_at = error, self._now().elapsed
            raise
        self._from_plugin, self._failure = True, None

    def _build_grant(self) -> Grant:
        headers = tuple(_headers(self._login.user, self._credential, is_first=self._grant is None))
        return Grant(headers, self._context() if self.server.startswith("https://") else None)

    def _context(self) -> ssl.SSLContext:
        """Make a new context only if certificates have changed: open connections are pooled by it."""
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
    """Keeps OpenSSL from prompting for one on the terminal."""
    return ""


# --- proxies ---------------------------------------------------------------------------------------


_SCHEMES = ("http", "https")
_PORTS = {"http": 80, "https": 443}


def proxy_for(server: str, configured: str, environ: Mapping[str, str]) -> str:
    """The URL of the proxy, or empty; ``configured`` wins over HTTPS_PROXY and NO_PROXY, read as in Go."""
    if configured:
        return _checked(configured, "proxy-url")
    parts = urlsplit(server)
    host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    name = f"{parts.scheme.upper()}_PROXY"
    proxy = environ.get(name) or environ.get(name.lower()) or ""
    excepted = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if not proxy or _is_local(host) or any(_excepts(entry, host, port) for entry in _entries(excepted)):
        return ""
    return _checked(proxy if "://" in proxy else f"http://{proxy}", name)


def _checked(proxy: str, where: str) -> str:
    try:
        parts = urlsplit(proxy)
        is_one = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port, or unbalanced brackets
        is_one = False
    if not is_one:
        raise AccessError(f"{where}: expected the http or https URL of a proxy")
    return proxy


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_local(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _entries(text: str) -> list[str]:
    return [entry for part in text.split(",") if (entry := part.strip().lower())]


def _excepts(entry: str, host: str, port: int) -> bool:
    """``entry``: ``*``, an address, a network or a domain, the last three perhaps with a port."""
    if entry == "*":
        return True
    if "/" in entry:
        return _is_in_network(entry, host)
    name, only = _split_port(entry)
    if only and only != port:
        return False
    address = _address(host)
    if address is not None:
        return _address(name) == address
    domain = name[1:] if name.startswith("*.") else name
    if domain.startswith("."):
        return host.endswith(domain)
    return host == domain or host.endswith(f".{domain}")


def _split_port(entry: str) -> tuple[str, int]:
    if _address(entry) is not None:
        return entry, 0
    name, _, port = entry.rpartition(":")
    if name and port.isascii() and port.isdigit():
        return name.strip("[]"), int(port)
    return entry.strip("[]"), 0


def _is_in_network(entry: str, host: str) -> bool:
    address = _address(host)
    try:
        return address is not None and address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return False
