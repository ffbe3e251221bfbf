"""Does an API server store an object of a kind that a CustomResourceDefinition defines, and in which form?

The schema decides which fields are kept, which defaults are added, and why the object is rejected. An
update is not rejected for errors that the stored object already had. What this may cost is limited.
"""

from dataclasses import dataclass

from reprieve.cluster.api.names import dns_subdomain
from reprieve.cluster.api.values import part, text_in, without_nulls
from reprieve.cluster.apiserver.admission import AdmissionAnswer, AdmissionRequest
from reprieve.cluster.apiserver.admission_plugins import Lookup, namespace_lifecycle
from reprieve.cluster.apiserver.cel_rules import check_rules
from reprieve.cluster.apiserver.cost import CostBudget, CostError
from reprieve.cluster.apiserver.field_errors import At, ErrorType, FieldError
from reprieve.cluster.apiserver.structural_schemas import SchemaCheck, pruned
from reprieve.cluster.apiserver.validation.metadata import (
    check_metadata,
    check_metadata_change,
    check_new_metadata,
)
from reprieve.model.json import Json

SCHEMA_STEPS = 1_000_000  # for one request


@dataclass(frozen=True, slots=True)
class Definition:
    """``status_apart``: whether status is a subresource."""

    schema: Json
    namespaced: bool
    status_apart: bool


def admit_custom(request: AdmissionRequest, definition: Definition, lookup: Lookup) -> AdmissionAnswer:
    check = SchemaCheck(CostBudget(SCHEMA_STEPS, "validation by the schema"))
    try:
        return _admitted(request, definition, lookup, check)
    except CostError as error:
        return (FieldError("", ErrorType.FORBIDDEN, None, str(error)),)


def _admitted(
    request: AdmissionRequest, definition: Definition, lookup: Lookup, check: SchemaCheck
) -> AdmissionAnswer:
    old = request.old or {}
    body, _ = pruned(_started(request, definition, old), definition.schema)
    body = check.defaulted(body, definition.schema)
    if request.creates and definition.namespaced:
        refusal = namespace_lifecycle(text_in(part(body, "metadata"), "namespace"), lookup)
        if refusal is not None:
            return refusal
    return tuple(_errors(request, definition, body, check)) or body


def _started(request: AdmissionRequest, definition: Definition, old: Json) -> Json:
    if request.subresource == "status":
        return _with_status(old, request.new)
    meta = without_nulls(part(request.new, "metadata"))
    if definition.namespaced and not meta.get("namespace"):
        meta["namespace"] = request.namespace or "default"
    body = {**request.new, "apiVersion": request.api_version, "kind": request.kind, "metadata": meta}
    return _with_status(body, old) if definition.status_apart else body


def _with_status(body: Json, other: Json) -> Json:
    rest = {name: value for name, value in body.items() if name != "status"}
    return {**rest, "status": other["status"]} if "status" in other else rest


def _errors(
    request: AdmissionRequest, definition: Definition, body: Json, check: SchemaCheck
) -> list[FieldError]:
    old = request.old or {}
    errors = _standing_errors(definition, body, check)
    thing = At(body)
    meta = thing["metadata"]
    if request.creates:
        check_new_metadata(meta, dns_subdomain)
    else:
        known = _standing_errors(definition, old, check) if errors else []
        errors = [error for error in errors if error not in known]
        check_metadata_change(meta, part(old, "metadata"))
    if not errors:
        # Rules are evaluated only for values of the right type.
        check_rules(thing, definition.schema, old or None)
    return [*errors, *thing.errors]


def _standing_errors(definition: Definition, body: Json, check: SchemaCheck) -> list[FieldError]:
    thing = At(body)
    check_metadata(thing["metadata"], dns_subdomain, definition.namespaced)
    check.check(thing, definition.schema)
    return thing.errors
