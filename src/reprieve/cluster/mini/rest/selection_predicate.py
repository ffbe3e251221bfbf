"""Label and field selectors of a request as a predicate on stored objects; it decodes only what they name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec

from reprieve.cluster.mini.conversion import stored_field
from reprieve.cluster.mini.errors import bad_request
from reprieve.cluster.mini.kinds import ResourceKind
from reprieve.cluster.mini.rest.query_parameters import Query
from reprieve.cluster.mini.rest.routes import ResourcePath
from reprieve.cluster.mini.rest.selectors import (
    SelectorRequirements,
    all_hold,
    field_requirements,
    label_requirements,
)
from reprieve.cluster.mini.stored_objects import Stored

_LABELS = "metadata.labels"
_KEYED = ("metadata.name", "metadata.namespace")
_ALIASES = {
    "status.successful": "status.succeeded",
    "spec.host": "spec.nodeName",
    "source": "source.component",
}
# Where to look instead if the field is empty.
_FALLBACKS = {"source.component": "reportingComponent"}
# The value of a missing field, if not empty.
_ABSENT = {
    "spec.hostNetwork": "false",
    "spec.unschedulable": "false",
    "status.replicas": "0",
    "status.succeeded": "0",
}


@dataclass(frozen=True, slots=True)
class SelectionPredicate:
    """``keyed``: requirements on name and namespace, which need no decoding."""

    namespace: str
    keyed: SelectorRequirements
    fields: SelectorRequirements
    labels: SelectorRequirements

    @property
    def matches_all(self) -> bool:
        return not (self.keyed or self.fields or self.labels)

    def matches(self, stored: Stored) -> bool:
        key = stored.key
        if self.namespace and key.namespace != self.namespace:
            return False
        names = {"metadata.name": key.name, "metadata.namespace": key.namespace}
        if not all_hold(self.keyed, names):
            return False
        return not (self.fields or self.labels) or self._matches_content(stored)

    def _matches_content(self, stored: Stored) -> bool:
        named = tuple(requirement.name for requirement in self.fields)
        paths = (*named, *(_FALLBACKS[path] for path in named if path in _FALLBACKS))
        content = _read(stored, (*paths, _LABELS) if self.labels else paths)
        if not all_hold(self.labels, _texts(content.get(_LABELS))):
            return False
        texts = {path: _text(path, content.get(path)) for path in paths}
        return all_hold(self.fields, {p: texts[p] or texts.get(_FALLBACKS.get(p, ""), "") for p in named})


def predicate_of(place: ResourcePath, query: Query) -> SelectionPredicate:
    fields = []
    for requirement in field_requirements(query.text("fieldSelector")):
        path = stored_field(place.api_version, requirement.name)
        path = _ALIASES.get(path, path)
        if path not in _KEYED and path not in {_ALIASES.get(p, p) for p in place.kind.selectable}:
            raise bad_request(f"field label not supported: {requirement.name!r}: {_choices(place.kind)}")
        fields.append(replace(requirement, name=path))
    return SelectionPredicate(
        namespace=place.namespace,
        keyed=tuple(r for r in fields if r.name in _KEYED),
        fields=tuple(r for r in fields if r.name not in _KEYED),
        labels=label_requirements(query.text("labelSelector")),
    )


def _choices(kind: ResourceKind) -> str:
    return f"{kind.plural} can be selected by {', '.join((*_KEYED, *kind.selectable))}"


def _texts(labels: object) -> dict[str, str]:
    return {k: v for k, v in labels.items() if isinstance(v, str)} if isinstance(labels, dict) else {}


def _text(path: str, value: object) -> str:
    match value:
        case None:
            return _ABSENT.get(path, "")
        case bool():
            return str(value).lower()
        case str() | int():
            return str(value)
    return ""


# --- decoding selected fields ----------------------------------------------------------------------


def _read(stored: Stored, paths: tuple[str, ...]) -> Mapping[str, Any]:
    """The values at the paths. Values of an object that cannot be decoded count as missing."""
    decoder, takers = _projection(paths)
    try:
        seen = decoder.decode(stored.raw)
    except msgspec.ValidationError:
        return {}
    return {path: take(seen) for path, take in takers.items()}


@lru_cache(maxsize=256)
def _projection(paths: tuple[str, ...]) -> tuple[msgspec.json.Decoder[Any], dict[str, Callable[[Any], Any]]]:
    tree: dict[str, Any] = {}
    for path in paths:
        branch = tree
        for step in path.split("."):
            branch = branch.setdefault(step, {})
    shape = _shape("Seen", tree)
    return msgspec.json.Decoder(shape), {path: _taker(path) for path in paths}


def _shape(name: str, tree: dict[str, Any]) -> Any:
    """A struct with only the fields of the tree; None stands for a missing one."""
    fields = [(step, _shape(step, below) | None if below else Any, None) for step, below in tree.items()]
    return msgspec.defstruct(name, fields)


def _taker(path: str) -> Callable[[Any], Any]:
    steps = path.split(".")

    def take(seen: Any) -> Any:
        for step in steps:
            seen = getattr(seen, step, None)
        return seen

    return take
