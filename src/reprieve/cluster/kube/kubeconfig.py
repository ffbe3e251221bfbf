"""Which cluster, and as whom: kubeconfig files as kubectl reads them, and what a pod finds in itself.

Several files are one: of things with the same name, the first one counts. Paths in a file are meant from
where the file is. Files that it names are read only when somebody asks for what is in them.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
import yaml

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_replace = msgspec.structs.replace
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class AccessError(Exception):
    """There is no way in, for the reason that it says."""


class _Entry(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """What kubectl knows more of is passed over."""


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
        """What is meant for the plugin of whoever uses this cluster."""
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
    """One cluster, and one user of it."""

    cluster: KubeconfigCluster
    user: KubeconfigUser
    namespace: str = "default"


# --- which files ---------------------------------------------------------------------------------


def find_login(explicit: str, context: str, environ: Mapping[str, str], server: str = "") -> Login:
    """As kubectl finds it: the file that was named, those of $KUBECONFIG, the one in the home directory, and
    last what a pod finds in itself. An AccessError if there is nothing.

    ``server``: counts more than that of a file that was named, and without one it is all there is.
    """
    if server and not _is_address(server):
        raise AccessError(f"the server: expected an address with http or https, got {server!r}")
    if server and not explicit:
        return Login(KubeconfigCluster(server=server), KubeconfigUser())
    files = [Path(explicit)] if explicit else _usual_files(environ)
    read = [_read(file, needed=bool(explicit)) for file in files]
    merged = _merged([file for file in read if file is not None])
    if merged.current_context or context:
        return _login(merged, context or merged.current_context, server)
    if explicit:
        raise AccessError(f"{explicit}: current-context is not set: expected the name of a context")
    inside = in_cluster(environ)
    if inside is None:
        looked = ", ".join(map(str, files))
        raise AccessError(
            f"no kubeconfig says which cluster is meant; looked at {looked}, and this is no pod"
        )
    return inside


def _usual_files(environ: Mapping[str, str]) -> list[Path]:
    listed = [part for part in environ.get("KUBECONFIG", "").split(":") if part]
    if listed:
        return list(map(Path, dict.fromkeys(listed)))
    return [Path(environ.get("HOME", "/")) / ".kube" / "config"]


def in_cluster(environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Login | None:
    """What a pod that runs in the cluster is given; None if this is none."""
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


# --- what they say -------------------------------------------------------------------------------


def _read(path: Path, *, needed: bool) -> _File | None:
    """None if it is not there, and need not be."""
    try:
        found = yaml.load(path.read_text(), Loader=_LOADER)
        file = msgspec.convert(_without_nulls(found) or {}, _File)
    except FileNotFoundError as error:
        if needed:
            raise AccessError(f"{path} cannot be read: {error.strerror}") from error
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise AccessError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where is not None else ""
        raise AccessError(f"{path}{line}: expected YAML") from error
    except msgspec.ValidationError as error:
        raise AccessError(f"{path}: {_sentence(error)}") from error
    return _File(
        clusters=tuple(_replace(c, cluster=_placed(c.cluster, path)) for c in file.clusters or ()),
        users=tuple(_replace(u, user=_with_command(_placed(u.user, path), path)) for u in file.users or ()),
        contexts=file.contexts,
        current_context=file.current_context,
    )


def _without_nulls(value: object) -> object:
    """What is null is not there."""
    match value:
        case dict():
            return {key: _without_nulls(part) for key, part in value.items() if part is not None}
        case list():
            return [_without_nulls(part) for part in value]
        case _:
            return value


def _sentence(error: msgspec.ValidationError) -> str:
    """msgspec tells what was expected, and then where: people want to know where first."""
    expected, _, path = str(error).partition(" - at `")
    where = path.rstrip("`").removeprefix("$.").removeprefix("$")
    said = expected[:1].lower() + expected[1:]
    return f"{where}: {said}" if where else "expected a kubeconfig, a mapping"


_Place = TypeVar("_Place", KubeconfigCluster, KubeconfigUser)
_PATHS = ("certificate_authority", "client_certificate", "client_key", "token_file")


def _placed(entry: _Place, file: Path) -> _Place:
    """With paths from the root."""
    paths = {name: getattr(entry, name, "") for name in _PATHS}
    return _replace(entry, **{name: str(file.parent / path) for name, path in paths.items() if path})


def _with_command(user: KubeconfigUser, file: Path) -> KubeconfigUser:
    """A command is found on the PATH, unless it says where it is."""
    if user.exec is None or "/" not in user.exec.command:
        return user
    return _replace(user, exec=_replace(user.exec, command=str(file.parent / user.exec.command)))


def _merged(files: Sequence[_File]) -> _File:
    """Whoever looks for a name finds the first."""
    return _File(
        clusters=tuple(entry for file in files for entry in file.clusters or ()),
        users=tuple(entry for file in files for entry in file.users or ()),
        contexts=tuple(entry for file in files for entry in file.contexts or ()),
        current_context=next((file.current_context for file in files if file.current_context), ""),
    )


def _login(config: _File, name: str, server: str) -> Login:
    context = next((c.context for c in config.contexts or () if c.name == name), None)
    if context is None:
        known = ", ".join(c.name for c in config.contexts or ()) or "none"
        raise AccessError(f"there is no context {name!r} in the kubeconfig; it has {known}")
    cluster = next((c.cluster for c in config.clusters or () if c.name == context.cluster), None)
    if cluster is None:
        raise AccessError(f"context {name!r}: there is no cluster {context.cluster!r} in the kubeconfig")
    if server:
        cluster = _replace(cluster, server=server, tls_server_name="")
    user = next((u.user for u in config.users or () if u.name == context.user), None)
    if user is None and context.user:
        raise AccessError(f"context {name!r}: there is no user {context.user!r} in the kubeconfig")
    _check(cluster, user or KubeconfigUser(), name)
    login = Login(cluster, user or KubeconfigUser(), context.namespace or "default")
    return login if cluster.server.startswith("https://") else _without_secrets(login)


def _without_secrets(login: Login) -> Login:
    """Where everybody could listen, nothing secret is said; kubectl does the same."""
    user = login.user
    as_whom = KubeconfigUser(
        impersonate=user.impersonate,
        as_uid=user.as_uid,
        as_groups=user.as_groups,
        as_user_extra=user.as_user_extra,
    )
    return replace(login, user=as_whom)


def _check(cluster: KubeconfigCluster, user: KubeconfigUser, context: str) -> None:
    where = f"context {context!r}"
    if not _is_address(cluster.server):
        raise AccessError(f"{where}: server: expected an address with http or https, got {cluster.server!r}")
    authority = cluster.certificate_authority or cluster.certificate_authority_data
    if cluster.insecure_skip_tls_verify and authority:
        raise AccessError(f"{where}: insecure-skip-tls-verify excludes a certificate-authority")
    if user.auth_provider is not None:
        raise AccessError(f"{where}: auth-provider is not supported: expected an exec plugin in its place")
    if user.token and (user.username or user.password):
        raise AccessError(f"{where}: token excludes username and password")
    if not user.impersonate and (user.as_uid or user.as_groups or user.as_user_extra):
        raise AccessError(f"{where}: as-uid, as-groups and as-user-extra: expected as, too")


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is no number, or the brackets are not in order
        return False


# --- what stands in it, or in a file that it names -------------------------------------------------


def authority_of(cluster: KubeconfigCluster) -> bytes:
    """As PEM; nothing if it is whom the system trusts."""
    return given(cluster.certificate_authority_data, cluster.certificate_authority, "certificate-authority")


def given(data: str, path: str, field: str) -> bytes:
    """What stands in the kubeconfig itself counts before a file."""
    if data:
        return _decoded(data, f"{field}-data")
    return content(path, field) if path else b""


def content(path: str, field: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise AccessError(f"{field}: {path} cannot be read: {error.strerror}") from error


def _decoded(data: str, field: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise AccessError(f"{field}: expected base64") from error
