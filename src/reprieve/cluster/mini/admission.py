"""Admission before storage: every object that a client sends or a controller creates passes here.

Admission itself is in `cluster.apiserver`; this module gives it the store and turns refusals into API errors.
"""

from collections.abc import Iterator
from dataclasses import replace

from reprieve.cluster.apiserver.admission import (
    AdmissionRefusal,
    AdmissionRequest,
    Features,
    Operation,
    RefusalReason,
    admit,
)
from reprieve.cluster.apiserver.custom_resources import Definition, admit_custom
from reprieve.cluster.mini.conversion import to_storage_version
from reprieve.cluster.mini.errors import ApiError, Cause
from reprieve.cluster.mini.kinds import BY_NAME, BY_RESOURCE, peek
from reprieve.cluster.mini.metadata import named, uid_at
from reprieve.cluster.mini.resource_quota import charge
from reprieve.cluster.mini.store import Store, parsed
from reprieve.cluster.mini.stored_objects import Key
from reprieve.model.json import Json


class StoreLookup:
    """The other objects that admission reads."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self._store.find(Key(BY_NAME[kind].resource, namespace, name))
        return parsed(found) if found is not None else None

    def all(self, kind: str) -> Iterator[Json]:
        return map(parsed, self._store.list((BY_NAME[kind].resource,)).items)


def admitted(store: Store, resource: str, body: Json, features: Features) -> Json:
    """A new object as the store takes it; an ApiError when admission refuses it."""
    kind = BY_RESOURCE[resource]
    api_version = str(body.get("apiVersion") or kind.api_version)
    group, _, version = api_version.rpartition("/")
    namespace = str(peek(body, "metadata").get("namespace") or "")
    request = AdmissionRequest(
        Operation.CREATE, group, version, kind.kind, body, namespace=namespace, features=features
    )
    return to_storage_version(kind, api_version, admitted_request(store, request))


def admitted_request(store: Store, request: AdmissionRequest, definition: Definition | None = None) -> Json:
    """Admit the object of a request and charge it to quotas; it stays in the API version of the request.

    ``definition``: the CustomResourceDefinition of its kind, for custom kinds.
    """
    body = _admitted(store, request, definition)
    if definition is None and charge(store, request, body) and request.creates:
        # The charge took the resource version from which the UID of the object was derived.
        body = _admitted(store, request, definition)
    return body


def _admitted(store: Store, request: AdmissionRequest, definition: Definition | None) -> Json:
    if request.creates:
        request = replace(request, new=_with_identity(store, request))
    lookup = StoreLookup(store)
    answer = admit(request, lookup) if definition is None else admit_custom(request, definition, lookup)
    match answer:
        case dict():
            return answer
        case AdmissionRefusal(reason, sentence, cause):
            status = 404 if reason is RefusalReason.NOT_FOUND else 403
            named = (Cause(cause, sentence, "metadata.namespace"),) if cause else ()
            raise ApiError(status, reason.value, sentence, named)
        case errors:
            causes = tuple(Cause(error.reason.cause, error.message, error.path) for error in errors)
            raise _invalid(request, causes)


def _with_identity(store: Store, request: AdmissionRequest) -> Json:
    """The object with the UID and name that the store will give it: some objects refer to themselves."""
    meta, version = request.new.get("metadata"), store.version + 1
    if not isinstance(meta, dict):
        return request.new
    meta = {**meta, "uid": uid_at(version)}
    if not meta.get("name") and isinstance(meta.get("generateName"), str) and meta["generateName"]:
        meta = named(request.kind, meta, version)
    return {**request.new, "metadata": meta}


def _invalid(request: AdmissionRequest, causes: tuple[Cause, ...]) -> ApiError:
    name = str(request.name or peek(request.new, "metadata").get("name") or "")
    complaints = [f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes]
    listed = complaints[0] if len(complaints) == 1 else f"[{', '.join(complaints)}]"
    error = ApiError(422, "Invalid", f'{request.kind} "{name}" is invalid: {listed}', causes)
    error.name = name
    return error
