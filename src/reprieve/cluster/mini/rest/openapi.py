"""OpenAPI v3: enough for kubectl to know what it may send, and to explain the fields that Reprieve reads.

Schemas are made from the records into which objects are decoded. Other fields are accepted and kept, and are
not described.
"""

import re
from functools import cache
from inspect import getdoc
from typing import Any

import msgspec
from msgspec import inspect

from reprieve.cluster.api.codec import READERS
from reprieve.cluster.mini.kinds import Json, Kind, Status
from reprieve.cluster.mini.rest.discovery import RELEASE
from reprieve.cluster.mini.rest.patches import JSON_PATCH, MERGE_PATCH
from reprieve.cluster.mini.rest.routes import Catalogue
from reprieve.cluster.mini.spelling import in_client_words

_TITLE = "Kubernetes, as the mini cluster of Reprieve serves it"
_GVK = "x-kubernetes-group-version-kind"
_REF = "#/components/schemas/"
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_SPELLING = re.compile("^(Newer|Older|Oldest)(?=[A-Z])")
_ANY = {"x-kubernetes-preserve-unknown-fields": True}
_SIMPLE: dict[type, Json] = {
    inspect.StrType: {"type": "string"},
    inspect.IntType: {"type": "integer"},
    inspect.FloatType: {"type": "number"},
    inspect.BoolType: {"type": "boolean"},
    inspect.DateTimeType: {"type": "string", "format": "date-time"},
}


# --- version 2 -------------------------------------------------------------------------------------

# What clients ask for is no media type by the rules, and so what they get has a name of its own.
OLDER_ASKED = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
OLDER_GIVEN = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def older_document() -> Json:
    """A page without content: kubectl 1.28 insists on it and then goes by the newer one."""
    return {"swagger": "2.0", "info": {"title": _TITLE, "version": f"v{RELEASE}"}, "paths": {}}


def older_document_in_protobuf() -> bytes:
    info = _text(1, _TITLE) + _text(2, f"v{RELEASE}")
    return _text(1, "2.0") + _field(2, info)


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message; everything here is shorter than 128 bytes."""
    return bytes((number << 3 | 2, len(content))) + content


# --- version 3 -------------------------------------------------------------------------------------


def paths(catalogue: Catalogue) -> Json:
    prefixes = [_prefix(version) for version in catalogue.kinds]
    return {"paths": {prefix[1:]: {"serverRelativeURL": f"/openapi/v3{prefix}"} for prefix in prefixes}}


@cache
def document(catalogue: Catalogue, api_version: str) -> bytes:
    schemas: dict[str, Json] = {}
    served = catalogue.kinds[api_version].values()
    for kind in served:
        schemas[_name(api_version, kind)] = _of_kind(api_version, kind, schemas)
    return msgspec.json.encode(
        {
            "openapi": "3.0.0",
            "info": {"title": _TITLE, "version": f"v{RELEASE}"},
            "paths": {path: item for kind in served for path, item in _of_paths(api_version, kind).items()},
            "components": {"schemas": schemas},
        }
    )


def _prefix(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _name(api_version: str, kind: Kind) -> str:
    return f"{api_version.replace('/', '.')}.{kind.kind}"


def _gvk(api_version: str, kind: Kind) -> Json:
    group, _, version = api_version.rpartition("/")
    return {"group": group, "version": version, "kind": kind.kind}


# --- paths -----------------------------------------------------------------------------------------


def _of_paths(api_version: str, kind: Kind) -> dict[str, Json]:
    scope = "/namespaces/{namespace}" if kind.namespaced else ""
    base = f"{_prefix(api_version)}{scope}/{kind.plural}"
    return {
        base: {"get": _operation(api_version, kind, "list"), "post": _operation(api_version, kind, "post")},
        f"{base}/{{name}}": {
            action: _operation(api_version, kind, action) for action in ("get", "put", "patch", "delete")
        },
    }


def _operation(api_version: str, kind: Kind, action: str) -> Json:
    """Strategic merge patches are served, but not told of: kubectl knows the merge keys of itself."""
    body = {"schema": {"$ref": _REF + _name(api_version, kind)}}
    operation: Json = {
        "operationId": f"{action}{api_version.title().replace('/', '').replace('.', '')}{kind.kind}",
        "x-kubernetes-action": action,
        _GVK: _gvk(api_version, kind),
        "responses": {"200": {"description": "OK", "content": {"application/json": body}}},
    }
    if action in ("post", "put", "patch"):
        operation["parameters"] = [_parameter("dryRun"), _parameter("fieldValidation")]
    if action == "patch":
        operation["requestBody"] = {
            "content": {media: {"schema": _ANY} for media in (JSON_PATCH, MERGE_PATCH)}
        }
    return operation


def _parameter(name: str) -> Json:
    return {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}


# --- schemas ---------------------------------------------------------------------------------------


def _of_kind(api_version: str, kind: Kind, schemas: dict[str, Json]) -> Json:
    reader = READERS.get((api_version, kind.kind))
    described = _properties(reader.decoder.type, schemas) if reader is not None else {}
    content = in_client_words(api_version, kind.content)
    wanted = content if kind.status is Status.NONE else (*content, "status")
    properties = {name: described.get(name, _OPEN if name in ("spec", "status") else _ANY) for name in wanted}
    return {
        "type": "object",
        "description": f"{kind.kind}. Only the fields that Reprieve reads are described; others are kept.",
        "properties": {
            "apiVersion": {"type": "string", "description": f"Always {api_version}."},
            "kind": {"type": "string", "description": f"Always {kind.kind}."},
            "metadata": described.get("metadata") or _metadata(schemas),
            **properties,
        },
        _GVK: [_gvk(api_version, kind)],
    }


def _metadata(schemas: dict[str, Json]) -> Json:
    pods: Json = _properties(READERS["v1", "Pod"].decoder.type, schemas)["metadata"]
    return pods


def _properties(record: Any, schemas: dict[str, Json]) -> dict[str, Json]:
    info = inspect.type_info(record)
    return _fields(info, schemas) if isinstance(info, inspect.StructType) else {}


def _fields(info: inspect.StructType, schemas: dict[str, Json]) -> dict[str, Json]:
    """Without those that only another version's spelling has."""
    return {
        field.encode_name: _schema(field.type, schemas)
        for field in info.fields
        if not isinstance(field.type, inspect.NoneType)
    }


def _schema(info: inspect.Type, schemas: dict[str, Json]) -> Json:
    match info:
        case inspect.StructType():
            return _referred(info, schemas)
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType():
            return {"type": "array", "items": _schema(info.item_type, schemas)}
        case inspect.DictType():
            return {"type": "object", "additionalProperties": _schema(info.value_type, schemas)}
        case inspect.UnionType():
            return _union([t for t in info.types if not isinstance(t, inspect.NoneType)], schemas)
        case inspect.EnumType():
            return {"type": "string", "enum": [str(member.value) for member in info.cls]}
    return _SIMPLE.get(type(info), _ANY)


def _union(types: list[inspect.Type], schemas: dict[str, Json]) -> Json:
    """Of several types, text is the one in which the others can be written, too: quantities, for one."""
    text = next((t for t in types if isinstance(t, inspect.StrType)), None)
    return _schema(text or types[0], schemas) if types else _ANY


def _referred(info: inspect.StructType, schemas: dict[str, Json]) -> Json:
    """Each record once, also one that holds itself."""
    if not info.fields:
        return {"type": "object", "description": "Only whether it is there is read."}
    name = "dev.reprieve." + _SPELLING.sub("", info.cls.__name__)
    if name not in schemas:
        schemas[name] = {}
        schemas[name] = {
            "type": "object",
            "description": _told(info.cls),
            "properties": _fields(info, schemas),
        }
    # In OpenAPI 3.0 what stands beside a reference is ignored, unless it is wrapped.
    return {"description": schemas[name].get("description", ""), "allOf": [{"$ref": _REF + name}]}


def _told(record: type) -> str:
    """What the record says of itself; not what it inherits."""
    own = record.__dict__.get("__doc__")
    return (
        (getdoc(record) or "").splitlines()[0] if own else f"The fields of a {record.__name__} that are read."
    )
