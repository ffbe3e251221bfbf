"""Label and field selectors of a request as a predicate on stored objects; it decodes only what they name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import msgspec

from reprieve.cluster.api import selector_text
from reprieve.cluster.api.selector_text import (
    SelectorOperator,
    SelectorRequirement,
    SelectorRequirements,
    SelectorSyntaxError,
    all_hold,
)
from reprieve_minicluster.errors import bad_request
from reprieve_minicluster.kinds import ResourceKind, SelectableField
from reprieve_minicluster.kinds.conversion import stored_field
from reprieve_minicluster.rest.query_parameters import Query
from reprieve_minicluster.rest.routes import ResourcePath
from reprieve_minicluster.store import Stored

_LABELS = "metadata.labels"
_KEYED = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True, slots=True)
class SelectionPredicate:
    """``keyed``: requirements on name and namespace, which need no decoding."""

    namespace: str
    keyed: SelectorRequirements
    fields: SelectorRequirements
    labels: SelectorRequirements
    stored: Mapping[str, SelectableField]

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
        paths = tuple(path for f in self.stored.values() for path in (f.stored, f.otherwise) if path)
        content = _read(stored, (*paths, _LABELS) if self.labels else paths)
        if not all_hold(self.labels, _texts(content.get(_LABELS))):
            return False
        return all_hold(self.fields, {name: _text_of(field, content) for name, field in self.stored.items()})


def predicate_of(place: ResourcePath, query: Query) -> SelectionPredicate:
    known = {name: f for f in place.kind.selectable for name in (f.name, f.stored)}
    fields = []
    for requirement in field_requirements(query.text("fieldSelector")):
        name = stored_field(place.kind, place.api_version, requirement.name)
        if name not in _KEYED and name not in known:
            raise bad_request(f"field label not supported: {requirement.name!r}: {_choices(place.kind)}")
        fields.append(replace(requirement, name=name))
    selected = tuple(r for r in fields if r.name not in _KEYED)
    return SelectionPredicate(
        namespace=place.namespace,
        keyed=tuple(r for r in fields if r.name in _KEYED),
        fields=selected,
        labels=label_requirements(query.text("labelSelector")),
        stored={r.name: known[r.name] for r in selected},
    )


def _choices(kind: ResourceKind) -> str:
    names = {f.stored: f.name for f in reversed(kind.selectable)}  # of two names for one path, the first
    return f"{kind.plural} can be selected by {', '.join((*_KEYED, *reversed(names.values())))}"


def _texts(labels: object) -> dict[str, str]:
    return {k: v for k, v in labels.items() if isinstance(v, str)} if isinstance(labels, dict) else {}


def _text_of(field: SelectableField, content: Mapping[str, object]) -> str:
    found = _text(content.get(field.stored)) or (
        _text(content.get(field.otherwise)) if field.otherwise else ""
    )
    return field.absent if content.get(field.stored) is None and not found else found


def _text(value: object) -> str:
    match value:
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


# --- parsing --------------------------------------------------------------------------------------


__all__ = [
    "SelectorOperator",
    "SelectorRequirement",
    "SelectorRequirements",
    "all_hold",
    "field_requirements",
    "label_requirements",
]


def label_requirements(text: str) -> SelectorRequirements:
    try:
        return selector_text.label_requirements(text)
    except SelectorSyntaxError as error:
        raise bad_request(str(error)) from error


def field_requirements(text: str) -> SelectorRequirements:
    try:
        return selector_text.field_requirements(text)
    except SelectorSyntaxError as error:
        raise bad_request(str(error)) from error
