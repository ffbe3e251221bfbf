"""Credentials from an exec plugin: the command is run, and its ExecCredential is used until it expires."""

import asyncio
import base64
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from reprieve.cluster.kube.kubeconfig import AccessError, ExecPlugin, KubeconfigCluster, authority_of
from reprieve.model.formatting import quoted

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

    def is_valid(self, now: float) -> bool:
        return self.expires is None or now < self.expires


async def run_plugin(
    plugin: ExecPlugin, cluster: KubeconfigCluster, environ: Mapping[str, str]
) -> Credential:
    """AccessError if the command fails or does not print an ExecCredential."""
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
    """Without control sequences, which a terminal would execute."""
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
