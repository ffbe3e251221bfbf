"""What a path means: a resource of the API, or one of the pages about the API itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from reprieve.cluster.apiserver.features import Features, serves
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import BY_NAME, Kind, Status

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


@dataclass(frozen=True, eq=False, slots=True)
class Catalogue:
    """What is served. ``kinds``: by API version and plural. ``groups``: their API versions."""

    kinds: Mapping[str, Mapping[str, Kind]]
    groups: Mapping[str, tuple[str, ...]]


def catalogue_of(features: Features, kinds: Iterable[Kind]) -> Catalogue:
    """A kind behind a feature that is off is not there at all."""
    served = sorted(
        (kind for kind in kinds if kind.custom is not None or serves(features, kind.kind)),
        key=lambda kind: kind.custom is not None,
    )
    versions = dict.fromkeys(version for kind in served for version in kind.served)
    return Catalogue(
        kinds={v: {kind.plural: kind for kind in served if v in kind.served} for v in versions},
        groups={
            group: tuple(v for v in versions if v.rpartition("/")[0] == group)
            for group in dict.fromkeys(version.rpartition("/")[0] for version in versions)
        },
    )


def parts_of(kind: Kind) -> tuple[str, ...]:
    return kind.parts if kind.status is Status.NONE else ("status", *kind.parts)


def route(path: str, catalogue: Catalogue) -> Place | Page:
    """An ApiError 404 for a path that leads nowhere."""
    steps = tuple(unquote(step) for step in path.split("/") if step)
    match steps:
        case ("api", version, *rest) if rest and version in catalogue.kinds:
            return _place(catalogue, version, rest)
        case ("apis", group, version, *rest) if rest and f"{group}/{version}" in catalogue.kinds:
            return _place(catalogue, f"{group}/{version}", rest)
    return Page(steps)


def lost() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def _place(catalogue: Catalogue, api_version: str, steps: list[str]) -> Place:
    kinds = catalogue.kinds[api_version]
    match steps:
        case ["namespaces", namespace, "bindings"] if api_version == "v1":
            # An older way to bind: the body tells which pod is meant.
            return Place(BY_NAME["Pod"], api_version, namespace, part="binding")
        case ["namespaces", namespace, plural, *rest] if plural not in ("status", "finalize"):
            return _item(api_version, kinds.get(plural), rest, namespace)
        case [plural, *rest]:
            return _item(api_version, kinds.get(plural), rest)
    raise lost()


def _item(api_version: str, kind: Kind | None, rest: list[str], namespace: str = "") -> Place:
    """Objects in namespaces are named together with theirs; a collection may be that of all."""
    if kind is None or len(rest) > 2:
        raise lost()
    if bool(namespace) != kind.namespaced and (namespace or rest):
        raise lost()
    name, part = (*rest, "", "")[:2]
    if part and part not in parts_of(kind):
        raise lost()
    return Place(kind, api_version, namespace, name, part)
