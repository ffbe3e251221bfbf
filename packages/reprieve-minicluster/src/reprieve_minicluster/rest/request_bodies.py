"""Decoding of request bodies into JSON values: from JSON, YAML, and for some kinds protobuf."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE, fault_of
from reprieve.cluster.api.documents import Unparsed, documents
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, bad_request, too_large
from reprieve_minicluster.rest.http_messages import JSON, ApiRequest, check_depth
from reprieve_minicluster.rest.protobuf import PROTOBUF, from_protobuf

YAML = ("application/yaml", "application/x-yaml", "text/yaml")
LARGEST = 3 * 1024 * 1024
# PyYAML takes a hundred times as long as the JSON decoder: so long that other requests would notice.
LARGEST_YAML = 1024 * 1024
_MOST_YAML_VALUES = 50_000
_MOST_YAML_DOCUMENTS = 100  # empty ones do not count as a second document, but take their time


def media_type(request: ApiRequest) -> str:
    return request.content_type.partition(";")[0].strip().lower() or JSON


def read_object(request: ApiRequest) -> Json:
    return as_object(read_value(request.body, media_type(request)))


def read_value(body: bytes, media: str) -> object:
    if media == JSON:
        return from_json(body)
    if media in YAML:
        return from_yaml(body)
    if media == PROTOBUF:
        return from_protobuf(body)
    raise unsupported_media(media)


def unsupported_media(media: str, *others: str) -> ApiError:
    served = ", ".join(others or (JSON, YAML[0]))
    return ApiError(415, "UnsupportedMediaType", f"the body is of type {media}; expected one of {served}")


def as_object(value: object) -> Json:
    if not isinstance(value, dict):
        raise bad_request("the body of the request must be an object")
    return value


def from_json(body: bytes) -> object:
    try:
        value = msgspec.json.decode(body)
    except UNDECODABLE as error:
        raise bad_request(f"the body of the request: {fault_of(error).expected}") from error
    check_depth(value)
    return value


def from_yaml(body: bytes) -> object:
    """One document. Values that JSON cannot represent are refused, or become strings as in Kubernetes."""
    if len(body) > LARGEST_YAML and not body.lstrip().startswith(
        b"{"
    ):  # JSON is YAML too, and parsed as JSON
        raise too_large(f"a body in YAML is limited to {LARGEST_YAML} bytes, got {len(body)}: send JSON")
    if body.count(b"\n---") > _MOST_YAML_DOCUMENTS:
        raise bad_request("the body of the request: expected one document, got many")
    try:
        found = list(documents(body.decode(), LARGEST, _MOST_YAML_VALUES))
    except UnicodeDecodeError as error:
        raise bad_request("the body of the request: expected YAML in UTF-8") from error
    if len(found) != 1:
        raise bad_request(f"the body of the request: expected one document, got {len(found)}")
    if isinstance(found[0], Unparsed):
        raise bad_request(f"the body of the request: {found[0].expected}")
    try:
        return from_json(msgspec.json.encode(found[0]))
    except (TypeError, ValueError, RecursionError) as error:
        raise bad_request(f"the body of the request cannot be written as JSON: {error}") from error


def repeated_fields(body: bytes, media: str) -> tuple[str, ...]:
    """The paths of fields that an object in the body has twice; the last value wins."""
    if media != JSON:
        return ()
    found: list[tuple[dict[str, object], list[str]]] = []

    def look(pairs: list[tuple[str, object]]) -> dict[str, object]:
        result = dict(pairs)
        if len(result) < len(pairs):
            times = Counter(name for name, _ in pairs)
            found.append((result, [name for name in times if times[name] > 1]))
        return result

    whole = json.loads(body, object_pairs_hook=look)
    # Objects by identity: all of them are alive, in the list.
    repeated = {id(result): names for result, names in found}
    return tuple(_paths(whole, "", repeated)) if repeated else ()


def _paths(value: object, path: str, repeated: Mapping[int, list[str]]) -> Iterator[str]:
    if isinstance(value, dict):
        prefix = f"{path}." if path else ""
        yield from (f"{prefix}{name}" for name in repeated.get(id(value), ()))
        for name, below in value.items():
            yield from _paths(below, f"{prefix}{name}", repeated)
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _paths(below, f"{path}[{number}]", repeated)
