"""From a CustomResourceDefinition to a kind that is served like any other."""

import re
from collections.abc import Iterable, Mapping

from reprieve.cluster.api.values import items, part, text_in, texts
from reprieve.cluster.mini.kinds import (
    BY_RESOURCE,
    CustomKind,
    GenerationRule,
    ResourceKind,
    StatusSubresource,
)
from reprieve.model.json import Json
from reprieve.supervision.mishaps import log_mishap

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def defined_kinds(definitions: Iterable[Json]) -> dict[str, ResourceKind]:
    """Custom kinds by resource type. If two definitions claim one name, the older is served; built-in
    kinds win over both."""
    found: dict[str, ResourceKind] = {}
    taken: set[tuple[str, str]] = set()
    for body in sorted(definitions, key=_age):
        try:
            kind = kind_of(body)
        except Exception as error:  # one definition must not keep the others from being served
            log_mishap(f"serving the kind of CustomResourceDefinition {_age(body)[1]}", error)
            continue
        name = (kind.group, kind.kind)
        if kind.versions and name not in taken and kind.resource not in BY_RESOURCE:
            taken.add(name)
            found[kind.resource] = kind
    return found


def _age(body: Json) -> tuple[str, str]:
    meta = part(body, "metadata")
    return text_in(meta, "creationTimestamp"), text_in(meta, "name")


def kind_of(body: Json) -> ResourceKind:
    """Admission has validated the definition."""
    spec, names = part(body, "spec"), part(body, "spec", "names")
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
        selectable=_selectable(versions),
        custom=CustomKind(
            singular=text_in(names, "singular") or text_in(names, "kind").lower(),
            list_kind=text_in(names, "listKind") or f"{text_in(names, 'kind')}List",
            categories=tuple(texts(names, "categories")),
            schemas={name: part(v, "schema", "openAPIV3Schema") for name, v in versions.items()},
            columns={name: tuple(items(v, "additionalPrinterColumns")) for name, v in versions.items()},
            scales=scales,
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
