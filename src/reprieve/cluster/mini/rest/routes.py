"""What a path means: a resource of the API, or one of the pages about the API itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import BY_NAME, KINDS, Kind, Status

HEALTH = ("healthz", "livez", "readyz")


@dataclass(frozen=True, slots=True)
class Place:
    """A collection, an object, or a part of one, in the spelling of one API version."""

    kind: Kind
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
class Page:
    """A page about the API: the steps of its path."""

    steps: tuple[str, ...]


# API version: its kinds by their plural.
SERVED: Mapping[str, Mapping[str, Kind]] = {
    version: {kind.plural: kind for kind in KINDS if version in kind.served}
    for version in dict.fromkeys(version for kind in KINDS for version in kind.served)
}
GROUPS: Mapping[str, tuple[str, ...]] = {
    group: tuple(v for v in SERVED if v.rpartition("/")[0] == group)
    for group in dict.fromkeys(version.rpartition("/")[0] for version in SERVED)
}


def parts_of(kind: Kind) -> tuple[str, ...]:
    return kind.parts if kind.status is Status.NONE else ("status", *kind.parts)


def route(path: str) -> Place | Page:
    """An ApiError 404 for a path that leads nowhere."""
    steps = tuple(unquote(step) for step in path.split("/") if step)
    match steps:
        case ("api", version, *rest) if rest and version in SERVED:
            return _place(version, rest)
        case ("apis", group, version, *rest) if rest and f"{group}/{version}" in SERVED:
            return _place(f"{group}/{version}", rest)
    return Page(steps)


def lost() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def _place(api_version: str, steps: list[str]) -> Place:
    match steps:
        case ["namespaces", namespace, "bindings"] if api_version == "v1":
            # An older way to bind: the body tells which pod is meant.
            return Place(BY_NAME["Pod"], api_version, namespace, part="binding")
        case ["namespaces", namespace, plural, *rest] if plural not in ("status", "finalize"):
            return _item(api_version, plural, rest, namespace)
        case [plural, *rest]:
            return _item(api_version, plural, rest)
    raise lost()


def _item(api_version: str, plural: str, rest: list[str], namespace: str = "") -> Place:
    """Objects in namespaces are named together with theirs; a collection may be that of all."""
    kind = SERVED[api_version].get(plural)
    if kind is None or len(rest) > 2:
        raise lost()
    if bool(namespace) != kind.namespaced and (namespace or rest):
        raise lost()
    name, part = (*rest, "", "")[:2]
    if part and part not in parts_of(kind):
        raise lost()
    return Place(kind, api_version, namespace, name, part)
