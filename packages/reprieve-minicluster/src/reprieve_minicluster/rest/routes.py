"""Routing: which resource, or which non-resource path, a URL path names."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from reprieve.cluster.admission.features import Features, serves
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, bad_request
from reprieve_minicluster.kinds import BY_NAME, ResourceKind
from reprieve_minicluster.store import Key
from reprieve_minicluster.store.metadata import metadata_of

HEALTH = ("healthz", "livez", "readyz")


@dataclass(frozen=True, slots=True)
class ResourcePath:
    """A collection, an object, or a subresource (``part``), in one API version."""

    kind: ResourceKind
    api_version: str
    namespace: str = ""
    name: str = ""
    part: str = ""

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @property
    def key(self) -> Key:
        return Key(self.kind.resource, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class NonResourcePath:
    """A path that is not a resource, as its segments."""

    steps: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Catalogue:
    """The served kinds. ``kinds``: by API version and plural. ``groups``: their API versions."""

    kinds: Mapping[str, Mapping[str, ResourceKind]]
    groups: Mapping[str, tuple[str, ...]]


def catalogue_of(features: Features, kinds: Iterable[ResourceKind]) -> Catalogue:
    """Kinds of features that are off are not served."""
    served = sorted(
        (kind for kind in kinds if kind.custom is not None or serves(features, kind.kind)),
        key=lambda kind: kind.custom is not None,
    )
    found: dict[str, dict[str, ResourceKind]] = {}
    groups: dict[str, list[str]] = {}
    for kind in served:
        for version in kind.served:
            if version not in found:
                groups.setdefault(version.rpartition("/")[0], []).append(version)
            found.setdefault(version, {})[kind.plural] = kind
    return Catalogue(found, {group: tuple(versions) for group, versions in groups.items()})


def route(path: str, catalogue: Catalogue) -> ResourcePath | NonResourcePath:
    """An ApiError 404 for an unknown resource or subresource."""
    steps = tuple(unquote(step) for step in path.split("/") if step)
    match steps:
        case ("api", version, *rest) if rest and version in catalogue.kinds:
            return _place(catalogue, version, rest)
        case ("apis", group, version, *rest) if rest and f"{group}/{version}" in catalogue.kinds:
            return _place(catalogue, f"{group}/{version}", rest)
    return NonResourcePath(steps)


def path_not_found() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def _place(catalogue: Catalogue, api_version: str, steps: list[str]) -> ResourcePath:
    kinds = catalogue.kinds[api_version]
    match steps:
        case ["namespaces", namespace, "bindings"] if api_version == "v1":
            # The deprecated bindings resource: the body names the pod.
            return ResourcePath(BY_NAME["Pod"], api_version, namespace, part="binding")
        case ["namespaces", namespace, plural, *rest] if plural not in ("status", "finalize"):
            return _item(api_version, kinds.get(plural), rest, namespace)
        case [plural, *rest]:
            return _item(api_version, kinds.get(plural), rest)
    raise path_not_found()


def _item(api_version: str, kind: ResourceKind | None, rest: list[str], namespace: str = "") -> ResourcePath:
    """A namespaced object needs its namespace; a collection may span all namespaces."""
    if kind is None or len(rest) > 2:
        raise path_not_found()
    if bool(namespace) != kind.namespaced and (namespace or rest):
        raise path_not_found()
    name, part = (*rest, "", "")[:2]
    if part and part not in kind.subresources:
        raise path_not_found()
    return ResourcePath(kind, api_version, namespace, name, part)


# --- whether a body matches its URL ---------------------------------------------------------------


def with_type_meta(place: ResourcePath, body: Json) -> Json:
    """The body with the kind and API version of the URL; an ApiError 400 if it has others."""
    check_type(body, place.api_version, place.kind.kind)
    return {**body, "apiVersion": place.api_version, "kind": place.kind.kind}


def check_type(body: Json, api_version: str, kind: str) -> None:
    said_version, said_kind = body.get("apiVersion"), body.get("kind")
    if said_version not in (None, "", api_version):
        raise bad_request(
            f"the API version in the data ({said_version}) does not match the expected ({api_version})"
        )
    if said_kind not in (None, "", kind):
        raise bad_request(f"the kind in the data ({said_kind}) does not match the expected ({kind})")


def with_namespace(place: ResourcePath, body: Json) -> Json:
    """The body with the namespace of the URL; an ApiError 400 if it has another name or namespace.

    A namespace in a cluster-scoped object is dropped.
    """
    meta = metadata_of(body)
    if place.name and meta.get("name") != place.name:
        raise bad_request(
            f"the name of the object ({meta.get('name')}) does not match the name on the URL ({place.name})"
        )
    if not place.kind.namespaced:
        return {**body, "metadata": {name: value for name, value in meta.items() if name != "namespace"}}
    said = meta.get("namespace")
    if said and said != place.namespace:
        raise bad_request(
            f"the namespace of the provided object ({said}) does not match the namespace "
            f"sent on the request ({place.namespace})"
        )
    return {**body, "metadata": {**meta, "namespace": place.namespace}}
