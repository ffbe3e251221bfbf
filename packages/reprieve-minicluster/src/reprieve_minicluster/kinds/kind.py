"""What the cluster knows of an API kind, as one record for discovery, tables, roles, selectors and writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from reprieve.cluster.admission.validation import Rules
from reprieve.cluster.api.values import items, part, text_in
from reprieve.model.json import Json
from reprieve.model.sized_cache import cached_by_text
from reprieve_minicluster.kinds.cells import AGE, NAME, TableColumn

NAMESPACE_FINALIZER = "kubernetes"
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


class GenerationRule(Enum):
    """Which changes raise the generation of an object."""

    NONE = "the kind has no generation"
    SPEC = "a change of the spec, and deletion"
    NOTES = "as SPEC, and a change of annotations, which Deployments copy to ReplicaSets"
    CONTENT = "a change of anything but metadata and the status subresource"


class StatusSubresource(Enum):
    """How clients write the status of a kind."""

    NONE = "the kind has no status subresource"
    APART = "a write of the object ignores the status, a write of the status all but metadata and status"
    REGISTERED = "as APART, but a new object may have a status, as a node that a kubelet registers"


class RoleAccess(Enum):
    """Which of the default roles grant it. Each role includes the rights of those before it."""

    NOBODY = "cluster-admin alone"
    VIEW = "view reads it"
    EDIT = "view reads it, edit writes it"
    EDITORS_ONLY = "edit reads and writes it"
    ADMINS_ONLY = "admin reads and writes it; of a review, admin may ask for it"
    EVERYBODY = "a review that every authenticated user may ask for"


@dataclass(frozen=True, slots=True)
class SelectableField:
    """A field that field selectors support. ``path``: where it is stored, if not under its name.

    ``absent``: its value where the object has none. ``otherwise``: the path of a field that counts instead.
    """

    name: str
    path: str = ""
    absent: str = ""
    otherwise: str = ""

    @property
    def stored(self) -> str:
        return self.path or self.name


@dataclass(frozen=True, slots=True, eq=False)
class Conversion:
    """How objects differ in an API version from how they are stored: both ways, as plain JSON values.

    ``stored`` also gets the object that is replaced, if any: fields that the version lacks survive.
    ``normalized``: the same object of this version, as admission expects it. ``fields``: stored names.
    """

    shown: Callable[[Json], Json]
    stored: Callable[[Json, Json | None], Json]
    normalized: Callable[[Json], Json] = lambda body: body
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class CustomKind:
    """What a CustomResourceDefinition adds. Printer columns and scale paths are by version.

    ``spec``: of the definition, as JSON. Schemas take many times as much memory when they are decoded, so
    only those in use are. ``webhook``: the configuration of the webhook that converts between versions; empty
    if they are alike.
    """

    singular: str
    list_kind: str
    categories: tuple[str, ...]
    spec: bytes
    columns: Mapping[str, tuple[TableColumn, ...]]
    scales: Mapping[str, Json]
    webhook: Json = field(default_factory=dict)

    def schema(self, version: str) -> Json:
        return _schemas_in(self.spec)[version]


@cached_by_text(entries=64, size=4 << 20)
def _schemas_in(spec: bytes) -> Mapping[str, Json]:
    """The schemas of a definition by version."""
    versions = items(msgspec.json.decode(spec), "versions")
    return {text_in(version, "name"): part(version, "schema", "openAPIV3Schema") for version in versions}


@dataclass(frozen=True, slots=True, eq=False)
class ResourceKind:
    """``versions``: the served API versions; the first is preferred, and the storage version.

    ``also``: API versions of other groups in which the same objects are served.
    ``conversions``: by served API version, where an object differs in more than its apiVersion.
    ``description``: for `kubectl explain`. ``columns``: those of `kubectl get`.
    ``short``: short names. ``shown_in_all``: whether the category "all" includes the kind.
    ``first_phase``, ``counts``: the phase, and the fields at zero, of an initial status.
    ``observed_generation``: whether its conditions have one.
    ``drains``: deletion is graceful: an object that runs goes only when its kubelet has stopped it.
    ``held_by``: finalizers that a deletion adds: a controller has to empty the object first.
    ``orphans``: deletion orphans dependents by default.
    ``selectable``: fields that field selectors support, besides name and namespace.
    ``merge_keys``: lists that a strategic merge patch merges item by item, by their paths.
    ``replaced_whole``: mappings that such a patch does not merge.
    ``controller``: the name under which its controller reports events, as in kube-controller-manager.
    ``asked``: a review: creating one is answered, and nothing is stored.
    ``parts``: subresources besides the status.
    ``blind``: whether an update may omit metadata.resourceVersion.
    ``upserts``: whether an update of an object that does not exist creates it.
    ``rules``: what admission checks, for a kind that `reprieve.cluster.admission` does not know.
    ``custom``: what a CustomResourceDefinition says; None for built-in kinds.
    """

    kind: str
    plural: str
    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    also: tuple[str, ...] = ()
    conversions: Mapping[str, Conversion] = field(default_factory=dict)
    namespaced: bool = True
    description: str = ""
    columns: tuple[TableColumn, ...] = (NAME, AGE)
    short: tuple[str, ...] = ()
    shown_in_all: bool = False
    access: RoleAccess = RoleAccess.NOBODY
    status: StatusSubresource = StatusSubresource.NONE
    generation: GenerationRule = GenerationRule.NONE
    first_phase: str = ""
    counts: tuple[str, ...] = ()
    observed_generation: bool = False
    drains: bool = False
    held_by: tuple[str, ...] = ()
    orphans: bool = False
    selectable: tuple[SelectableField, ...] = ()
    merge_keys: Mapping[str, str] = field(default_factory=dict)
    replaced_whole: tuple[str, ...] = ()
    controller: str = ""
    asked: bool = False
    parts: tuple[str, ...] = ()
    blind: bool = True
    upserts: bool = False
    rules: Rules | None = None
    custom: CustomKind | None = None

    @property
    def converted_by_webhook(self) -> bool:
        """Whether its versions differ in ways that only a webhook knows."""
        return self.custom is not None and bool(self.custom.webhook)

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return self.served[0]

    @property
    def singular(self) -> str:
        return self.custom.singular if self.custom is not None else self.kind.lower()

    @property
    def list_kind(self) -> str:
        return self.custom.list_kind if self.custom is not None else f"{self.kind}List"

    @property
    def categories(self) -> tuple[str, ...]:
        if self.custom is not None:
            return self.custom.categories
        return ("all",) if self.shown_in_all else ()

    @property
    def subresources(self) -> tuple[str, ...]:
        return self.parts if self.status is StatusSubresource.NONE else ("status", *self.parts)

    @property
    def served(self) -> tuple[str, ...]:
        """Every API version in which it is served."""
        own = (f"{self.group}/{version}" if self.group else version for version in self.versions)
        return (*own, *self.also)

    def columns_in(self, version: str) -> tuple[TableColumn, ...]:
        return self.columns if self.custom is None else self.custom.columns[version]


APART, REGISTERED = StatusSubresource.APART, StatusSubresource.REGISTERED
SPEC, NOTES, CONTENT = GenerationRule.SPEC, GenerationRule.NOTES, GenerationRule.CONTENT


def peek(body: Json, name: str) -> Json:
    """The object in a field, for reading; empty if the field has none."""
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def section(body: Json, name: str) -> Json:
    """The object in a field, for writing; created if the field has none."""
    found = body.get(name)
    if isinstance(found, dict):
        return found
    made: Json = {}
    body[name] = made
    return made


PRIMITIVE = ""  # items are plain values, each its own key

# Merge keys by path. The path of a nested list has no element for the item.
METADATA = {"ownerReferences": "uid", "finalizers": PRIMITIVE}
_CONTAINER = {
    "ports": "containerPort",
    "env": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
}
POD_SPEC = {
    "volumes": "name",
    "imagePullSecrets": "name",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "evictionResponders": "name",
    **{
        path: key
        for containers in ("containers", "initContainers", "ephemeralContainers")
        for path, key in {
            containers: "name",
            **{f"{containers}.{name}": key for name, key in _CONTAINER.items()},
        }.items()
    },
}


def under(prefix: str, keys: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}.{path}": key for path, key in keys.items()}


TEMPLATE = {**under("spec.template.metadata", METADATA), **under("spec.template.spec", POD_SPEC)}

# Lists that any object may have.
COMMON = {**under("metadata", METADATA), "status.conditions": "type"}
