"""Whether a body can be read as the object it claims to be: types, fields nobody knows, fields said twice.

A value of the wrong type is always refused. A field that nobody knows, most often a word misspelt, is
refused, or dropped with a warning or without, as the client wants it.
"""

from dataclasses import dataclass

from reprieve.cluster.api import schema
from reprieve.cluster.api.schema import SchemaFinding, findings
from reprieve.cluster.apiserver import structural_schemas
from reprieve.cluster.apiserver.cel_rules import unread_rules
from reprieve.cluster.mini.custom import DEFINITIONS
from reprieve.cluster.mini.errors import ApiError, Cause, bad_request
from reprieve.cluster.mini.rest.bodies import media_type, repeated_fields
from reprieve.cluster.mini.rest.exchange import Request
from reprieve.cluster.mini.rest.query import FieldValidation
from reprieve.cluster.mini.rest.routes import Place
from reprieve.model.json import Json

_MOST_TOLD = 100


@dataclass(frozen=True, slots=True)
class Read:
    """What is known of an object, and the warnings that the client is given."""

    body: Json
    warnings: tuple[str, ...] = ()


def readable(place: Place, request: Request, mode: FieldValidation, body: Json) -> Read:
    """For an object that a client sent; an ApiError 400 if it is refused."""
    found = _findings(place, body)
    for finding in found:
        if finding.expected:
            raise bad_request(f"{_name(place)} cannot be handled as a {place.kind.kind}: {_told(finding)}")
    repeated = repeated_fields(request.body, media_type(request)) if mode is FieldValidation.STRICT else ()
    warnings = _judged(place, mode, [f'duplicate field "{n}"' for n in repeated], found)
    return Read(_known(place, body) if found else body, (*warnings, *_not_followed(place, body)))


def still_readable(place: Place, mode: FieldValidation, body: Json, old: Json) -> Read:
    """The same for what a patch has made of an object. What was wrong before is not the patch's fault."""
    found = _findings(place, body)
    if not found:
        return Read(body, _not_followed(place, body))
    known = set(_findings(place, old))
    fresh = [finding for finding in found if finding not in known]
    for finding in fresh:
        if finding.expected:
            cause = Cause("FieldValueTypeInvalid", _told(finding), finding.path)
            raise ApiError(
                422, "Invalid", f"{_name(place)} is invalid after the patch: {_told(finding)}", (cause,)
            )
    try:
        warnings = _judged(place, mode, [], fresh)
    except ApiError as error:
        cause = Cause("FieldValueInvalid", error.message, "patch")
        raise ApiError(422, "Invalid", error.message, (cause,)) from error
    return Read(_known(place, body), (*warnings, *_not_followed(place, body)))


def _not_followed(place: Place, body: Json) -> tuple[str, ...]:
    return tuple(unread_rules(body)) if place.kind.resource == DEFINITIONS else ()


def _known(place: Place, body: Json) -> Json:
    """Kinds of somebody's own are pruned where they are admitted."""
    return schema.pruned(place.api_version, place.kind.kind, body) if place.kind.custom is None else body


def _findings(place: Place, body: Json) -> list[SchemaFinding]:
    if place.kind.custom is None:
        return findings(place.api_version, place.kind.kind, body)
    _, unknown = structural_schemas.pruned(body, place.kind.custom.schemas[place.version])
    return [SchemaFinding(path) for path in unknown]


def _judged(
    place: Place, mode: FieldValidation, complaints: list[str], unknown: list[SchemaFinding]
) -> tuple[str, ...]:
    if mode is FieldValidation.IGNORE:
        return ()
    told = (*(f'unknown field "{finding.path}"' for finding in unknown), *complaints)
    if told and mode is FieldValidation.STRICT:
        raise bad_request(f"{_name(place)}: strict decoding error: {', '.join(told[:_MOST_TOLD])}")
    return told


def _name(place: Place) -> str:
    return f'{place.kind.kind} in version "{place.api_version}"'


def _told(finding: SchemaFinding) -> str:
    return f"{finding.path or 'the object'}: expected {finding.expected}, got {finding.got}"
