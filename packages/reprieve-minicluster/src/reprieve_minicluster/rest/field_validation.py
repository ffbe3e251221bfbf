"""Field validation of a body against its schema: types, unknown fields, duplicate fields.

A value of the wrong type is always refused. Unknown and duplicate fields are refused, or dropped with or
without a warning, as the parameter ``fieldValidation`` says.
"""

from dataclasses import dataclass

from reprieve.cluster.admission import structural_schemas
from reprieve.cluster.admission.cel_rules import unread_rules
from reprieve.cluster.admission.validation.metadata import plain_finalizers
from reprieve.cluster.api import schema
from reprieve.cluster.api.schema import SchemaFinding, findings
from reprieve.cluster.api.values import part
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, Cause, bad_request
from reprieve_minicluster.kinds.custom import DEFINITIONS
from reprieve_minicluster.rest.http_messages import ApiRequest
from reprieve_minicluster.rest.query_parameters import FieldValidation
from reprieve_minicluster.rest.request_bodies import media_type, repeated_fields
from reprieve_minicluster.rest.routes import ResourcePath
from reprieve_minicluster.store.metadata import without_duplicate_owners
from reprieve_minicluster.webhooks.admission import GROUP
from reprieve_minicluster.webhooks.policies import unread_expressions

_MOST_LISTED = 100
# In the words of kube-apiserver.
_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, "
    "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)

_PLAIN_FINALIZER = (
    'metadata.finalizers: "{}": prefer a domain-qualified finalizer name including a path (/) to avoid '
    "accidental conflicts with other finalizer writers"
)


@dataclass(frozen=True, slots=True)
class ValidatedBody:
    """The known fields of an object, and warnings for the client."""

    body: Json
    warnings: tuple[str, ...] = ()


def validated(place: ResourcePath, request: ApiRequest, mode: FieldValidation, body: Json) -> ValidatedBody:
    """Validate an object that a client sent; an ApiError 400 if it is refused."""
    found = _findings(place, body)
    for finding in found:
        if finding.expected:
            raise bad_request(
                f"{_name(place)} cannot be handled as a {place.kind.kind}: {_described(finding)}"
            )
    repeated = repeated_fields(request.body, media_type(request)) if mode is FieldValidation.STRICT else ()
    warnings = _warnings(place, mode, [f'duplicate field "{n}"' for n in repeated], found)
    return _finished(place, _pruned(place, body) if found else body, warnings)


def validated_patch(place: ResourcePath, mode: FieldValidation, body: Json, old: Json) -> ValidatedBody:
    """Validate the result of a patch. Errors that the object had before do not count."""
    found = _findings(place, body)
    if not found:
        return _finished(place, body)
    known = set(_findings(place, old))
    fresh = [finding for finding in found if finding not in known]
    for finding in fresh:
        if finding.expected:
            cause = Cause("FieldValueTypeInvalid", _described(finding), finding.path)
            raise ApiError(
                422, "Invalid", f"{_name(place)} is invalid after the patch: {_described(finding)}", (cause,)
            )
    try:
        warnings = _warnings(place, mode, [], fresh)
    except ApiError as error:
        cause = Cause("FieldValueInvalid", error.message, "patch")
        raise ApiError(422, "Invalid", error.message, (cause,)) from error
    return _finished(place, _pruned(place, body), warnings)


def _finished(place: ResourcePath, body: Json, warnings: tuple[str, ...] = ()) -> ValidatedBody:
    body, duplicates = without_duplicate_owners(body)
    if duplicates:
        warnings = (*warnings, _DUPLICATE_OWNERS.format(", ".join(duplicates)))
    return ValidatedBody(
        body, (*warnings, *_unread_rule_warnings(place, body), *_finalizer_warnings(place, body))
    )


def check_types(api_version: str, kind: str, body: Json) -> None:
    """An ApiError 400 for a value of the wrong type, in a body that is not the object of the URL."""
    wrong = next((finding for finding in findings(api_version, kind, body) if finding.expected), None)
    if wrong is not None:
        raise bad_request(f'{kind} in version "{api_version}" cannot be handled: {_described(wrong)}')


def _unread_rule_warnings(place: ResourcePath, body: Json) -> tuple[str, ...]:
    if place.kind.group == GROUP:
        return tuple(unread_expressions(body))
    return tuple(unread_rules(body)) if place.kind.resource == DEFINITIONS else ()


def _finalizer_warnings(place: ResourcePath, body: Json) -> tuple[str, ...]:
    """Custom resources may have finalizers without a domain, which every other kind refuses."""
    plain = plain_finalizers(part(body, "metadata")) if place.kind.custom is not None else ()
    return tuple(_PLAIN_FINALIZER.format(name) for name in plain[:_MOST_LISTED])


def _pruned(place: ResourcePath, body: Json) -> Json:
    """Drop unknown fields; admission prunes custom kinds."""
    return (
        schema.known_fields_of(place.api_version, place.kind.kind, body)
        if place.kind.custom is None
        else body
    )


def _findings(place: ResourcePath, body: Json) -> list[SchemaFinding]:
    if place.kind.custom is None:
        return findings(place.api_version, place.kind.kind, body)
    _, unknown = structural_schemas.without_unknown_fields(body, place.kind.custom.schema(place.version))
    return [SchemaFinding(path) for path in unknown]


def _warnings(
    place: ResourcePath, mode: FieldValidation, complaints: list[str], unknown: list[SchemaFinding]
) -> tuple[str, ...]:
    if mode is FieldValidation.IGNORE:
        return ()
    found = (*(f'unknown field "{finding.path}"' for finding in unknown), *complaints)
    if found and mode is FieldValidation.STRICT:
        raise bad_request(f"{_name(place)}: strict decoding error: {', '.join(found[:_MOST_LISTED])}")
    return found


def _name(place: ResourcePath) -> str:
    return f'{place.kind.kind} in version "{place.api_version}"'


def _described(finding: SchemaFinding) -> str:
    return f"{finding.path or 'the object'}: expected {finding.expected}, got {finding.got}"
