"""Which server, with which credentials: kubeconfig files as kubectl reads them, and a pod's service account.

Several files are merged: of entries with the same name the first one counts. Paths in a file are relative to
it. Files that an entry names are read only when their content is needed.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from reprieve.cluster.api.compression import DamagedFileError, read_file
from reprieve.cluster.api.decode_errors import fault_of
from reprieve.cluster.api.documents import Unparsed, documents
from reprieve.model.formatting import quoted

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_replace = msgspec.structs.replace


class AccessError(Exception):
    """There are no usable credentials, or no server; the message says why."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Fields of kubectl that have no meaning here are ignored."""


class Extension(_Entry, frozen=True):
    name: str = ""
    extension: Any = None


class KubeconfigCluster(_Entry, frozen=True):
    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: tuple[Extension, ...] | None = None

    def exec_config(self) -> object:
        """The extension that is passed to exec plugins."""
        return next((e.extension for e in self.extensions or () if e.name == _EXEC_EXTENSION), None)


class EnvVar(msgspec.Struct, frozen=True):
    name: str
    value: str = ""


class ExecPlugin(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    command: str
    api_version: str
    args: tuple[str, ...] | None = None
    env: tuple[EnvVar, ...] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class KubeconfigUser(_Entry, frozen=True):
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    username: str = ""
    password: str = ""
    impersonate: str = msgspec.field(name="as", default="")
    as_uid: str = ""
    as_groups: tuple[str, ...] | None = None
    as_user_extra: dict[str, tuple[str, ...]] | None = None
    exec: ExecPlugin | None = None
    auth_provider: Any = None


class KubeconfigContext(_Entry, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Entry, frozen=True):
    name: str
    cluster: KubeconfigCluster = KubeconfigCluster()


class _NamedUser(_Entry, frozen=True):
    name: str
    user: KubeconfigUser = KubeconfigUser()


class _NamedContext(_Entry, frozen=True):
    name: str
    context: KubeconfigContext = KubeconfigContext()


class _File(_Entry, frozen=True):
    clusters: tuple[_NamedCluster, ...] | None = None
    users: tuple[_NamedUser, ...] | None = None
    contexts: tuple[_NamedContext, ...] | None = None
    current_context: str = ""


@dataclass(frozen=True, slots=True)
class Login:
    """A cluster, and a user for it."""

    cluster: KubeconfigCluster
    user: KubeconfigUser
    namespace: str = "default"


# --- which files ---------------------------------------------------------------------------------


def find_login(explicit: str, context: str, environ: Mapping[str, str], server: str = "") -> Login:
    """Looks where kubectl looks: the file named by a flag, $KUBECONFIG, ~/.kube/config, and last the service
    account of a pod. AccessError if there is nothing.

    ``server``: overrides the one of a file that a flag names; without such a file, no kubeconfig is read.
    """
    if server and not _is_address(server):
        raise AccessError(f"--master: expected an http or https URL, got {quoted(server)}")
    if server and not explicit:
        return Login(KubeconfigCluster(server=server), KubeconfigUser())
    files = [Path(explicit)] if explicit else _usual_files(environ)
    read = [_read(file, needed=bool(explicit)) for file in files]
    merged = _merged([file for file in read if file is not None])
    if merged.current_context or context:
        where = ", ".join(str(path) for path, file in zip(files, read, strict=True) if file is not None)
        return _login(merged, context or merged.current_context, server, where)
    if explicit:
        raise AccessError(f"{explicit}: current-context: required, unless --context names a context")
    inside = in_cluster(environ)
    if inside is None:
        looked = ", ".join(map(str, files))
        raise AccessError(
            f"no cluster is configured: there is no current-context in {looked}, and this is not a pod; "
            "name a kubeconfig with --kubeconfig or KUBECONFIG"
        )
    return inside


def _usual_files(environ: Mapping[str, str]) -> list[Path]:
    listed = [part for part in environ.get("KUBECONFIG", "").split(":") if part]
    if listed:
        return list(map(Path, dict.fromkeys(listed)))
    return [Path(environ.get("HOME", "/")) / ".kube" / "config"]


def in_cluster(environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Login | None:
    """The service account of the pod that this process runs in; None if it runs in none."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    token, authority, namespace = folder / "token", folder / "ca.crt", folder / "namespace"
    if not host or not port or not token.exists():
        return None
    cluster = KubeconfigCluster(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        certificate_authority=str(authority) if authority.exists() else "",
    )
    name = namespace.read_text().strip() if namespace.exists() else "default"
    return Login(cluster, KubeconfigUser(token_file=str(token)), name)


# --- what they contain ---------------------------------------------------------------------------


def _read(path: Path, *, needed: bool) -> _File | None:
    """None if the file is optional and does not exist."""
    found: object = None
    try:
        found = _document(path)
        file = msgspec.convert(_without_nulls(found) or {}, _File)
    except FileNotFoundError as error:
        if needed:
            raise AccessError(f"{path}: cannot be read: {str(error.strerror).lower()}") from error
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise AccessError(f"{path}: cannot be read: {reason}") from error
    except DamagedFileError as error:
        raise AccessError(f"{path}: {error}") from error
    except msgspec.ValidationError as error:
        raise AccessError(f"{path}: {_sentence(error, found)}") from error
    return _File(
        clusters=tuple(_replace(c, cluster=_absolute(c.cluster, path)) for c in file.clusters or ()),
        users=tuple(_replace(u, user=_with_command(_absolute(u.user, path), path)) for u in file.users or ()),
        contexts=file.contexts,
        current_context=file.current_context,
    )


def _without_nulls(value: object) -> object:
    """A null field is an absent field."""
    match value:
        case dict():
            return {key: _without_nulls(part) for key, part in value.items() if part is not None}
        case list():
            return [_without_nulls(part) for part in value]
        case _:
            return value


def _sentence(error: msgspec.ValidationError, found: object) -> str:
    where, expected = fault_of(error, found)
    return f"{where}: {expected}" if where else "expected a kubeconfig, which is a mapping"


_EntryT = TypeVar("_EntryT", KubeconfigCluster, KubeconfigUser)
_PATHS = ("certificate_authority", "client_certificate", "client_key", "token_file")


def _absolute(entry: _EntryT, file: Path) -> _EntryT:
    """Make the paths absolute."""
    paths = {name: getattr(entry, name, "") for name in _PATHS}
    return _replace(entry, **{name: str(file.parent / path) for name, path in paths.items() if path})


def _with_command(user: KubeconfigUser, file: Path) -> KubeconfigUser:
    """A command without a slash is looked up in PATH."""
    if user.exec is None or "/" not in user.exec.command:
        return user
    return _replace(user, exec=_replace(user.exec, command=str(file.parent / user.exec.command)))


def _merged(files: Sequence[_File]) -> _File:
    """Lookups by name take the first match, so that earlier files win."""
    return _File(
        clusters=tuple(entry for file in files for entry in file.clusters or ()),
        users=tuple(entry for file in files for entry in file.users or ()),
        contexts=tuple(entry for file in files for entry in file.contexts or ()),
        current_context=next((file.current_context for file in files if file.current_context), ""),
    )


def _login(config: _File, name: str, server: str, files: str) -> Login:
    """``files``: where the configuration was read, for errors."""
    context = next((c.context for c in config.contexts or () if c.name == name), None)
    if context is None:
        known = ", ".join(dict.fromkeys(c.name for c in config.contexts or ()))
        expected = f"expected one of {known}" if known else "expected a file with contexts"
        raise AccessError(f"{files}: context: {expected}, got {quoted(name)}")
    where = f"{files}: context {quoted(name)}"
    cluster = next((c.cluster for c in config.clusters or () if c.name == context.cluster), None)
    if cluster is None:
        raise AccessError(f"{where}: cluster: there is no cluster {quoted(context.cluster)}")
    if server:
        cluster = _replace(cluster, server=server, tls_server_name="")
    user = next((u.user for u in config.users or () if u.name == context.user), None)
    if user is None and context.user:
        raise AccessError(f"{where}: user: there is no user {quoted(context.user)}")
    _check(cluster, user or KubeconfigUser(), where)
    login = Login(cluster, user or KubeconfigUser(), context.namespace or "default")
    return login if cluster.server.startswith("https://") else _without_secrets(login)


def _without_secrets(login: Login) -> Login:
    """Secrets are never sent over plain http; kubectl does the same."""
    user = login.user
    impersonating = KubeconfigUser(
        impersonate=user.impersonate,
        as_uid=user.as_uid,
        as_groups=user.as_groups,
        as_user_extra=user.as_user_extra,
    )
    return replace(login, user=impersonating)


def _check(cluster: KubeconfigCluster, user: KubeconfigUser, where: str) -> None:
    if not _is_address(cluster.server):
        raise AccessError(f"{where}: server: expected an http or https URL, got {quoted(cluster.server)}")
    authority = cluster.certificate_authority or cluster.certificate_authority_data
    if cluster.insecure_skip_tls_verify and authority:
        raise AccessError(f"{where}: insecure-skip-tls-verify and certificate-authority exclude each other")
    if user.auth_provider is not None:
        raise AccessError(f"{where}: auth-provider: not supported: use an exec plugin instead")
    if user.token and (user.username or user.password):
        raise AccessError(f"{where}: token and username/password exclude each other")
    if not user.impersonate and (user.as_uid or user.as_groups or user.as_user_extra):
        raise AccessError(f"{where}: as-uid, as-groups and as-user-extra need as")


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port, or unbalanced brackets
        return False


# --- certificates and keys, inline or in files -----------------------------------------------------


def authority_of(cluster: KubeconfigCluster) -> bytes:
    """Read the CAs as PEM; empty for the system's."""
    return given(cluster.certificate_authority_data, cluster.certificate_authority, "certificate-authority")


def given(data: str, path: str, field: str) -> bytes:
    """Inline data wins over a file."""
    if data:
        return _decoded(data, f"{field}-data")
    return content(path, field) if path else b""


def _document(path: Path) -> object:
    """What the file says; None if it is empty."""
    found = list(documents(read_file(path).decode()))
    if len(found) > 1:
        raise AccessError(f"{path}: expected one document, got {len(found)}")
    for document in found:
        if isinstance(document, Unparsed):
            raise AccessError(f"{path}: {document.expected}")
        return document
    return None


def content(path: str, field: str) -> bytes:
    try:
        return read_file(Path(path))
    except OSError as error:
        raise AccessError(f"{field}: {path}: cannot be read: {str(error.strerror).lower()}") from error
    except DamagedFileError as error:
        raise AccessError(f"{field}: {path}: {error}") from error


def _decoded(data: str, field: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise AccessError(f"{field}: expected base64") from error
