"""From a CustomResourceDefinition to a kind that is served like any other."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import msgspec

from reprieve.cluster.api.values import items, part, text_in, texts
from reprieve.model.json import Json
from reprieve.model.objects import Record
from reprieve.model.sized_cache import cached_by_text
from reprieve.supervision.supervisor import log_mishap
from reprieve_minicluster.kinds import (
    BY_RESOURCE,
    CustomKind,
    GenerationRule,
    ResourceKind,
    SelectableField,
    StatusSubresource,
)
from reprieve_minicluster.kinds.cells import AGE, NAME, Cell, TableColumn, age

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class _Metadata(Record, frozen=True):
    creation_timestamp: Any = None


class _Head(Record, frozen=True):
    metadata: _Metadata
    spec: msgspec.Raw = msgspec.Raw(b"{}")


_decode_head = msgspec.json.Decoder(_Head).decode
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


@dataclass(frozen=True, slots=True)
class _Definition:
    """``age``: of two definitions that claim one name, the smaller one is served."""

    spec: bytes
    age: tuple[str, str]
    kind: ResourceKind | None


class DefinedKinds:
    """The kinds of all stored definitions. A definition is read when its spec changes, and only then."""

    def __init__(self) -> None:
        self._known: dict[str, _Definition] = {}

    def put(self, name: str, definition: bytes) -> bool:
        """Whether anything changes in the kinds."""
        head = _decode_head(definition)
        spec = bytes(head.spec)
        known = self._known.get(name)
        if known is not None and known.spec == spec:
            return False
        try:
            kind = kind_of(spec)
        except Exception as error:  # one definition must not keep the others from being served
            log_mishap(f"serving the kind of CustomResourceDefinition {name}", error)
            kind = None
        self._known[name] = _Definition(spec, (str(head.metadata.creation_timestamp), name), kind)
        return True

    def remove(self, name: str) -> None:
        self._known.pop(name, None)

    def served(self) -> dict[str, ResourceKind]:
        """By resource type. If two definitions claim one name, the older is served; built-in kinds win over
        both."""
        found: dict[str, ResourceKind] = {}
        taken: set[tuple[str, str]] = set()
        for definition in sorted(self._known.values(), key=attrgetter("age")):
            kind = definition.kind
            if kind is None or not kind.versions or kind.resource in BY_RESOURCE:
                continue
            if (kind.group, kind.kind) not in taken:
                taken.add((kind.group, kind.kind))
                found[kind.resource] = kind
        return found


def kind_of(encoded: bytes) -> ResourceKind:
    """``encoded``: the spec of a definition, which admission has validated."""
    spec: Json = msgspec.json.decode(encoded)
    names = part(spec, "names")
    versions = {text_in(v, "name"): v for v in items(spec, "versions") if v.get("served") is True}
    ordered = sorted(versions, key=lambda name: (versions[name].get("storage") is not True, _priority(name)))
    has_status = any("status" in part(v, "subresources") for v in versions.values())
    scales = {name: part(v, "subresources", "scale") for name, v in versions.items()}
    return ResourceKind(
        text_in(names, "kind"),
        text_in(names, "plural"),
        text_in(spec, "group"),
        tuple(ordered),
        namespaced=spec.get("scope") == "Namespaced",
        short=tuple(texts(names, "shortNames")),
        shown_in_all="all" in texts(names, "categories"),
        status=StatusSubresource.APART if has_status else StatusSubresource.NONE,
        generation=GenerationRule.CONTENT,
        parts=("scale",) if any(scales.values()) else (),
        selectable=tuple(map(SelectableField, _selectable(versions))),
        custom=CustomKind(
            singular=text_in(names, "singular") or text_in(names, "kind").lower(),
            list_kind=text_in(names, "listKind") or f"{text_in(names, 'kind')}List",
            categories=tuple(texts(names, "categories")),
            spec=encoded,
            columns={
                name: printed_columns(items(v, "additionalPrinterColumns")) for name, v in versions.items()
            },
            scales=scales,
            webhook=part(spec, "conversion", "webhook"),
        ),
    )


def _selectable(versions: Mapping[str, Json]) -> tuple[str, ...]:
    paths = (
        text_in(f, "jsonPath").lstrip(".") for v in versions.values() for f in items(v, "selectableFields")
    )
    return tuple(dict.fromkeys(paths))


def _priority(version: str) -> tuple[int, int, int, str]:
    """Kubernetes' order of versions: stable, beta, alpha, and within each the newest first."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return 3, 0, 0, version
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return stage, -int(found[1]), -int(found[3] or 0), version


# --- columns --------------------------------------------------------------------------------------


def printed_columns(wanted: Iterable[Json]) -> tuple[TableColumn, ...]:
    return (NAME, *(map(_column, wanted) if wanted else (AGE,)))


def _column(wanted: Json) -> TableColumn:
    path, kind = str(wanted.get("jsonPath")), str(wanted.get("type"))

    def read(body: Json, now: float) -> Cell:
        return _cell(first_at(body, path), kind, now)

    wide = (wanted.get("priority") or 0) > 0
    return TableColumn(str(wanted.get("name")), read, wide, kind, str(wanted.get("format") or ""))


def _cell(value: object, kind: str, now: float) -> Cell:
    match value:
        case None:
            return ""
        case str() if kind == "date":
            return age(value, now)
        case bool():
            return str(value).lower()
        case str() | int():
            return value
    return msgspec.json.encode(value).decode()


# --- JSONPath -------------------------------------------------------------------------------------


_STEP = re.compile(
    r"\.(?P<field>(?:[^.\[\]\\'\"]|\\.)+)"
    r"|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
    r"|\[(?P<index>-?\d{1,6}|\*)\]"
    r"|\[\?\(\s*@\.(?P<name>[\w.-]+)\s*==\s*(?P<value>\"[^\"]*\"|'[^']*'|[\w.-]+)\s*\)\]"
)
Step = Callable[[Any], Iterator[Any]]


@cached_by_text(entries=256, size=1 << 20)
def steps_of(path: str) -> tuple[Step, ...] | None:
    """None for a path that is not supported."""
    steps: list[Step] = []
    position = 0
    while position < len(path):
        found = _STEP.match(path, position)
        if found is None:
            return None
        steps.append(_step(found))
        position = found.end()
    return tuple(steps) if steps else None


def _step(found: re.Match[str]) -> Step:
    if (index := found["index"]) is not None:
        return lambda value: _indexed(value, index)
    if (name := found["name"]) is not None:
        wanted = found["value"].strip("'\"")
        return lambda value: _matching(value, name, wanted)
    field = found["quoted"] or re.sub(r"\\(.)", r"\1", found["field"])
    return lambda value: _value_of(value, field)


def _value_of(value: Any, name: str) -> Iterator[Any]:
    if isinstance(value, dict) and name in value:
        yield value[name]


def _indexed(value: Any, index: str) -> Iterator[Any]:
    if not isinstance(value, list):
        return
    if index == "*":
        yield from value
    elif -len(value) <= int(index) < len(value):
        yield value[int(index)]


def _matching(value: Any, name: str, wanted: str) -> Iterator[Any]:
    for item in value if isinstance(value, list) else ():
        found: Any = item
        for step in name.split("."):
            found = found.get(step) if isinstance(found, dict) else None
        if found is not None and str(found) == wanted:
            yield item


def first_at(body: Any, path: str) -> Any:
    """The first value at a path; None if there is none."""
    found = [body]
    for step in steps_of(path) or ():
        found = [below for value in found for below in step(value)]
    return found[0] if found else None
