"""Admission before storage: every object that a client sends or a controller creates passes here.

Admission itself is in `reprieve.cluster.admission`; this module gives it the store and turns refusals into
API errors.
"""

from collections.abc import Iterator
from dataclasses import replace

from reprieve.cluster.admission.admission import (
    AdmissionAnswer,
    AdmissionRefusal,
    AdmissionRequest,
    Features,
    Operation,
    RefusalReason,
    admit,
    complete,
)
from reprieve.cluster.admission.admission_plugins import Lookup, namespace_lifecycle
from reprieve.cluster.admission.cel_rules import check_rules
from reprieve.cluster.admission.cel_values import CostBudget, CostError
from reprieve.cluster.admission.field_errors import At, ErrorType, FieldError
from reprieve.cluster.admission.quotas import (
    UsageChange,
    applies,
    charged,
    is_charged,
)
from reprieve.cluster.admission.structural_schemas import SchemaCheck, without_unknown_fields
from reprieve.cluster.admission.validation.metadata import (
    check_metadata,
    check_metadata_change,
    check_new_metadata,
)
from reprieve.cluster.api.names import dns_subdomain
from reprieve.cluster.api.values import name_of, part, text_in, without_nulls
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError, Cause
from reprieve_minicluster.kinds import BY_NAME, BY_RESOURCE, ResourceKind, StatusSubresource, peek
from reprieve_minicluster.kinds.conversion import to_storage_version
from reprieve_minicluster.pod_security import pod_refusal
from reprieve_minicluster.store import Key, Part, Store, Stored, parsed, without_status
from reprieve_minicluster.store.metadata import Identity, named
from reprieve_minicluster.webhooks.matching import ReviewedRequest
from reprieve_minicluster.webhooks.policies import is_mutated, is_reviewed, mutated, validate
from reprieve_minicluster.webhooks.reviews import RequestOrigin

SCHEMA_STEPS = 1_000_000  # for one request


def admit_custom(
    request: AdmissionRequest, kind: ResourceKind, schema: Json, lookup: Lookup
) -> AdmissionAnswer:
    check = SchemaCheck(CostBudget(SCHEMA_STEPS, "validation by the schema"))
    try:
        return _admitted_custom(request, kind, schema, lookup, check)
    except CostError as error:
        return (FieldError("", ErrorType.FORBIDDEN, None, str(error)),)


def _admitted_custom(
    request: AdmissionRequest, kind: ResourceKind, schema: Json, lookup: Lookup, check: SchemaCheck
) -> AdmissionAnswer:
    old = request.old or {}
    body, _ = without_unknown_fields(_started(request, kind, old), schema)
    body = check.defaulted(body, schema)
    if request.creates and kind.namespaced:
        refusal = namespace_lifecycle(text_in(part(body, "metadata"), "namespace"), lookup)
        if refusal is not None:
            return refusal
    return tuple(_errors(request, kind, schema, body, check)) or body


def _started(request: AdmissionRequest, kind: ResourceKind, old: Json) -> Json:
    if request.subresource == "status":
        return _with_status(old, request.new)
    meta = without_nulls(part(request.new, "metadata"))
    if kind.namespaced and not meta.get("namespace"):
        meta["namespace"] = request.namespace or "default"
    body = {**request.new, "apiVersion": request.api_version, "kind": request.kind, "metadata": meta}
    return _with_status(body, old) if kind.status is StatusSubresource.APART else body


def _with_status(body: Json, other: Json) -> Json:
    rest = {name: value for name, value in body.items() if name != "status"}
    return {**rest, "status": other["status"]} if "status" in other else rest


def _errors(
    request: AdmissionRequest, kind: ResourceKind, schema: Json, body: Json, check: SchemaCheck
) -> list[FieldError]:
    old = request.old or {}
    errors = _standing_errors(kind, schema, body, check)
    thing = At(body)
    meta = thing["metadata"]
    if request.creates:
        check_new_metadata(meta, dns_subdomain)
    else:
        known = _standing_errors(kind, schema, old, check) if errors else []
        errors = [error for error in errors if error not in known]
        check_metadata_change(meta, part(old, "metadata"))
    if not errors:
        # Rules are evaluated only for values of the right type.
        check_rules(thing, schema, old or None)
    return [*errors, *thing.errors]


def _standing_errors(kind: ResourceKind, schema: Json, body: Json, check: SchemaCheck) -> list[FieldError]:
    thing = At(body)
    check_metadata(thing["metadata"], dns_subdomain, kind.namespaced, is_custom=True)
    check.check(thing, schema)
    return thing.errors


# --- every kind -----------------------------------------------------------------------------------


class StoreLookup:
    """The other objects that admission reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self._store.find(Key(BY_NAME[kind].resource, namespace, name))
        return parsed(found) if found is not None else None

    def all(self, kind: str) -> Iterator[Json]:
        return map(parsed, self._store.list((BY_NAME[kind].resource,)).items)


def admitted(
    store: Store, resource: str, body: Json, features: Features, origin: RequestOrigin | None = None
) -> Json:
    """A new object as the store takes it; an ApiError when admission refuses it."""
    kind = BY_RESOURCE[resource]
    api_version = str(body.get("apiVersion") or kind.api_version)
    group, _, version = api_version.rpartition("/")
    namespace = str(peek(body, "metadata").get("namespace") or "")
    request = AdmissionRequest(
        Operation.CREATE,
        group,
        version,
        kind.kind,
        body,
        namespace=namespace,
        features=features,
    )
    return to_storage_version(kind, api_version, admitted_request(store, request, kind, origin))


def admitted_request(
    store: Store, request: AdmissionRequest, kind: ResourceKind, origin: RequestOrigin | None = None
) -> Json:
    """Admit the object of a request and charge it to quotas; it stays in the API version of the request.

    Webhooks and policies review it if its origin is known. A new object has the UID to store it with.
    """
    reviewed = _reviewed_request(request, kind) if origin is not None and is_reviewed(kind, store) else None
    if origin is not None and reviewed is not None:
        request = replace(request, new=_mutated(store, request, kind, reviewed, origin))
    identity = origin.identity if origin is not None else None
    if request.creates:
        request = replace(request, new=_with_identity(request, identity or Identity(store.version + 1)))
    body = _admitted(store, request, kind)
    if origin is not None and reviewed is not None:
        validate(replace(reviewed, new=body, name=reviewed.name or name_of(body)), origin)
    charge(store, request, kind, body)
    return body


def create_admitted(store: Store, resource: str, body: Json, owners: list[Json] | None = None) -> Stored:
    """Store a new object under the UID with which it was admitted."""
    return store.create(resource, body, owners, text_in(part(body, "metadata"), "uid"))


# --- reviews ---------------------------------------------------------------------------------------


def _reviewed_request(request: AdmissionRequest, kind: ResourceKind) -> ReviewedRequest:
    return ReviewedRequest(
        request.operation.value,
        kind,
        request.api_version,
        request.subresource,
        text_in(part(request.new, "metadata"), "namespace") or request.namespace if kind.namespaced else "",
        request.name or name_of(request.new),
        request.new,
        request.old,
    )


def _mutated(
    store: Store,
    request: AdmissionRequest,
    kind: ResourceKind,
    reviewed: ReviewedRequest,
    origin: RequestOrigin,
) -> Json:
    """The object as it was sent, or what webhooks have made of it: they see it with defaults."""
    if not is_mutated(reviewed, store):
        return request.new
    completed = replace(reviewed, new=_completed(store, request, kind))
    changed = mutated(completed, origin)
    if changed is completed or changed.new is None:
        return request.new
    return without_status(kind, changed.new) if request.creates else changed.new


def _completed(store: Store, request: AdmissionRequest, kind: ResourceKind) -> Json:
    if kind.custom is None:
        return complete(replace(request, rules=kind.rules), StoreLookup(store))
    schema = kind.custom.schema(request.version)
    body, _ = without_unknown_fields(_started(request, kind, request.old or {}), schema)
    try:
        defaulted: Json = SchemaCheck(CostBudget(SCHEMA_STEPS, "defaults of the schema")).defaulted(
            body, schema
        )
    except CostError:
        return body  # admission refuses it
    return defaulted


def _admitted(store: Store, request: AdmissionRequest, kind: ResourceKind) -> Json:
    lookup = StoreLookup(store)
    if kind.custom is None:
        answer = admit(replace(request, rules=kind.rules), lookup)
    else:
        answer = admit_custom(request, kind, kind.custom.schema(request.version), lookup)
    match answer:
        case dict():
            if request.creates and kind.kind == "Pod" and (refusal := pod_refusal(answer, lookup)):
                raise ApiError(403, "Forbidden", refusal)
            return answer
        case AdmissionRefusal(reason, sentence, cause):
            status = 404 if reason is RefusalReason.NOT_FOUND else 403
            named = (Cause(cause, sentence, "metadata.namespace"),) if cause else ()
            raise ApiError(status, reason.value, sentence, named)
        case errors:
            causes = tuple(Cause(error.reason.cause, error.message, error.path) for error in errors)
            raise _invalid(request, causes)


def _with_identity(request: AdmissionRequest, identity: Identity) -> Json:
    """The object with its UID and name: some objects refer to themselves."""
    meta = request.new.get("metadata")
    if not isinstance(meta, dict):
        return request.new
    meta = {**meta, "uid": identity.uid}
    if not meta.get("name") and isinstance(meta.get("generateName"), str) and meta["generateName"]:
        meta = named(request.kind, meta, identity)
    return {**request.new, "metadata": meta}


def _invalid(request: AdmissionRequest, causes: tuple[Cause, ...]) -> ApiError:
    name = str(request.name or peek(request.new, "metadata").get("name") or "")
    complaints = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    listed = complaints[0] if len(complaints) == 1 else f"[{', '.join(complaints)}]"
    error = ApiError(422, "Invalid", f'{request.kind} "{name}" is invalid: {listed}', causes)
    error.name = name
    return error


# --- quotas ---------------------------------------------------------------------------------------


QUOTAS = "resourcequotas"


def charge(store: Store, request: AdmissionRequest, kind: ResourceKind, body: Json) -> None:
    """Charge an object that is about to be stored to its quotas; an ApiError 403 if it would exceed one."""
    namespace = text_in(part(body, "metadata"), "namespace")
    if not kind.namespaced or kind.asked or kind.custom is not None:
        return
    change = UsageChange(kind.resource, body, request.old or {})
    if not is_charged(change, request.subresource):
        return
    charges: list[tuple[Stored, Json]] = []
    for stored in store.list((QUOTAS,), namespace).items:
        quota = parsed(stored)
        if applies(quota, kind.resource, body):
            answer = charged(quota, change)
            if isinstance(answer, str):
                name = text_in(part(body, "metadata"), "name")
                raise ApiError(403, "Forbidden", f'{kind.resource} "{name}" is forbidden: {answer}')
            charges.append((stored, answer))
    for stored, used in charges:
        write_quota_status(store, stored, {"used": used})


def write_quota_status(store: Store, quota: Stored, fields: Json) -> None:
    def change(body: Json) -> Json:
        return {**body, "status": {**part(body, "status"), **fields}}

    store.patch(quota.key, change, Part.STATUS, quota.uid)
