"""Handlers of create, update, patch and apply. They validate everything before they write."""

from dataclasses import replace as replaced
from typing import Any

from reprieve.cluster.admission.defaults import default
from reprieve.cluster.api.values import without_nulls
from reprieve.model.json import Json
from reprieve_minicluster.admission import create_admitted
from reprieve_minicluster.auth.authentication import UserInfo
from reprieve_minicluster.auth.authorizer import GROUP, RbacAuthorizer, binding_of, role_of
from reprieve_minicluster.auth.policy_rules import EVERYTHING, PolicyRule, RequestAttributes, uncovered
from reprieve_minicluster.controllers.content_deletion import released
from reprieve_minicluster.errors import ApiError, bad_request, conflict, invalid, not_found
from reprieve_minicluster.kinds import BY_NAME, NAMESPACE_FINALIZER, peek
from reprieve_minicluster.kinds.conversion import normalized
from reprieve_minicluster.rest.api_call import ApiCall
from reprieve_minicluster.rest.authorization import attributes_of, authorize, forbidden
from reprieve_minicluster.rest.field_validation import ValidatedBody, validated, validated_patch
from reprieve_minicluster.rest.http_messages import ApiResponse, answer
from reprieve_minicluster.rest.patches import APPLY, Change, change_of
from reprieve_minicluster.rest.query_parameters import FieldValidation, forbidden_parameter
from reprieve_minicluster.rest.request_bodies import as_object, from_yaml, media_type, read_object
from reprieve_minicluster.rest.routes import ResourcePath, with_namespace, with_type_meta
from reprieve_minicluster.store import Part, Stored, check_preconditions, parsed, without_status
from reprieve_minicluster.store.metadata import expected_version, metadata_of
from reprieve_minicluster.webhooks.conversion import converted, converted_to_storage


def create(call: ApiCall) -> ApiResponse:
    return _create(call, _read(call))


def _create(call: ApiCall, read: ValidatedBody) -> ApiResponse:
    place, api = call.place, call.chosen
    body = normalized(place.kind, place.api_version, with_namespace(place, read.body))
    if metadata_of(body).get("resourceVersion"):
        raise bad_request("metadata.resourceVersion must not be set on objects to be created")
    sent = without_status(place.kind, body)
    check_escalation(api.authorizer, call.request.user, place, sent)
    admitted = call.admit_new(sent)
    owners = call.ownership.of_new(lambda: admitted if place.kind.custom else _with_defaults(call, sent))
    return answer(call.serializer.one(created(call, admitted, owners)), 201, read.warnings)


def _with_defaults(call: ApiCall, sent: Json) -> Json:
    """What its creator owns: what the server generates beyond defaults, as the selector of a Job, has no
    owner. A later apply that does not name it would remove it."""
    body: Json = without_nulls(sent)
    default(body, call.place.version, call.api.features)
    return body


def authorize_creation(call: ApiCall) -> None:
    """An update or apply that creates its object needs the verb create, too."""
    attributes = replaced(attributes_of(call.place, call.request), verb="create")
    authorize(call.api.authorizer, call.request.user, attributes)


def _read(call: ApiCall) -> ValidatedBody:
    sent = read_object(call.request)
    if sent.get("metadata") is None:
        sent = {**sent, "metadata": {}}
    body = with_type_meta(call.place, sent)
    return validated(call.place, call.request, call.query.field_validation, body)


def created(call: ApiCall, admitted: Json, owners: list[Json]) -> Stored:
    """``owners``: its managedFields."""
    place = call.place
    form = converted_to_storage(place.kind, place.api_version, admitted, call.webhooks)
    return create_admitted(call.chosen.store, place.kind.resource, form, owners)


def replace(call: ApiCall) -> ApiResponse:
    read = _read(call)
    if call.place.kind.upserts and not call.place.part and call.api.store.find(call.place.key) is None:
        authorize_creation(call)
        return _create(call, read)
    if not call.place.kind.blind and not expected_version(metadata_of(read.body)):
        raise invalid(call.place.kind.kind, "metadata.resourceVersion", "must be specified for an update")
    return answer(call.serializer.one(written(call, lambda _: read.body)), 200, read.warnings)


def finalize(call: ApiCall) -> ApiResponse:
    """A terminating namespace goes when a namespace controller has removed its finalizer from the spec."""
    read = _read(call)
    left = peek(read.body, "spec").get("finalizers") or ()

    def finalized(old: Json) -> Json:
        if "deletionTimestamp" not in metadata_of(old) or NAMESPACE_FINALIZER in left:
            return read.body
        return released(read.body)

    return answer(call.serializer.one(written(call, finalized)), 200, read.warnings)


def patch(call: ApiCall) -> ApiResponse:
    if call.query.text("force"):
        raise forbidden_parameter("force", "may not be specified for non-apply patch")
    change = change_of(call.place.kind, media_type(call.request), call.request.body)
    warnings: list[str] = []

    def patched(old: Json) -> Json:
        new = with_type_meta(call.place, change(old))
        read = validated_patch(call.place, call.query.field_validation, new, old)
        warnings.extend(read.warnings)
        return read.body

    return answer(call.serializer.one(written(call, patched)), 200, tuple(warnings))


def written(call: ApiCall, change: Change, *, counts_owners: bool = True) -> Stored:
    """Change an object in the client's API version, admit it and store it.

    ``counts_owners``: whether managedFields follow from the change; otherwise the change includes them.
    """
    place, api = call.place, call.chosen
    stored = api.store.get(place.key)
    before = parsed(stored)
    old = converted(place.kind, place.api_version, before, call.webhooks)
    new = with_namespace(place, change(old))
    check_escalation(api.authorizer, call.request.user, place, new, old)
    meta = metadata_of(new)
    uid = meta.get("uid") or ""
    if call.request.method == "PATCH" and uid not in ("", stored.uid):
        # In an update the UID is a precondition; in a patch it is a change of the field.
        raise invalid(str(place.key), "metadata.uid", "the field is immutable")
    check_preconditions(stored, uid, expected_version(meta))
    admitted = call.admit_change(normalized(place.kind, place.api_version, new), old)
    form = converted_to_storage(place.kind, place.api_version, admitted, call.webhooks, before)
    owners = meta.get("managedFields")
    if counts_owners:
        owners = call.ownership.of_changed(admitted, old)
    return api.store.update(place.kind.resource, form, _part(place), owners)


def _part(place: ResourcePath) -> Part:
    return Part.STATUS if place.part in ("status", "approval") else Part.MAIN


# --- server-side apply ----------------------------------------------------------------------------


def patch_or_apply(call: ApiCall) -> ApiResponse:
    return apply(call) if media_type(call.request) == APPLY else patch(call)


def apply(call: ApiCall) -> ApiResponse:
    """Apply to an object; a missing one is created, which needs the verb create."""
    place = call.place
    wanted = _wanted(call)
    if place.part or call.api.store.find(place.key) is not None:
        return answer(
            call.serializer.one(written(call, lambda old: _put(call, wanted, old), counts_owners=False))
        )
    authorize_creation(call)
    meta = metadata_of(wanted)
    if meta.get("resourceVersion") or meta.get("uid"):
        raise conflict(
            str(place.key),
            "it does not exist, and the request names a uid or resourceVersion; leave them out to create it",
        )
    new = without_status(place.kind, normalized(place.kind, place.api_version, _put(call, wanted, None)))
    check_escalation(call.api.authorizer, call.request.user, place, new)
    admitted = call.admit_new(new)
    return answer(call.serializer.one(created(call, admitted, metadata_of(new)["managedFields"])), 201)


def _put(call: ApiCall, wanted: Json, there: Json | None) -> Json:
    return with_type_meta(call.place, call.ownership.put_on(wanted, there))


def _wanted(call: ApiCall) -> Json:
    """Unknown fields are always refused, whatever fieldValidation says: they cannot have owners."""
    body = _without_nulls(as_object(from_yaml(call.request.body)))
    for name in ("apiVersion", "kind"):
        if not body.get(name):
            raise bad_request(f"{name} must be set in an apply patch")
    body = with_type_meta(call.place, _named(call.place, body))
    validated(call.place, call.request, FieldValidation.STRICT, body)
    return with_namespace(call.place, body)


def _named(place: ResourcePath, body: Json) -> Json:
    if not isinstance(body.get("metadata", {}), dict):
        return body
    return {**body, "metadata": {"name": place.name, **peek(body, "metadata")}}


def _without_nulls(value: Any) -> Any:
    """A null in an apply patch counts as absent."""
    match value:
        case dict():
            return {name: _without_nulls(one) for name, one in value.items() if one is not None}
        case list():
            return [_without_nulls(one) for one in value]
    return value


_COLLECTION = ("finalizers", "ownerReferences", "managedFields")
_ROLES = ("Role", "ClusterRole")


def check_escalation(
    authorizer: RbacAuthorizer, user: UserInfo, place: ResourcePath, new: Json, old: Json | None = None
) -> None:
    """An ApiError 403 if a role or binding would give rights that the user does not have.

    ``old``: the object before an update.
    """
    if user.is_admin or place.kind.group != GROUP or _gives_nothing(new, old):
        return
    if place.kind.kind in _ROLES:
        _check_role(authorizer, user, place, new, old or {})
    else:
        _check_binding(authorizer, user, place, new)


def _gives_nothing(new: Json, old: Json | None) -> bool:
    """Whether nothing changes but the fields by which objects are collected: a collector needs no rights."""
    return old is not None and _without_collection(new) == _without_collection(old)


def _without_collection(body: Json) -> Json:
    kept = {name: value for name, value in peek(body, "metadata").items() if name not in _COLLECTION}
    return {**body, "metadata": kept}


def _check_role(
    authorizer: RbacAuthorizer, user: UserInfo, place: ResourcePath, new: Json, old: Json
) -> None:
    may_escalate = RequestAttributes("escalate", GROUP, place.kind.plural, place.name, place.namespace)
    if authorizer.allows(user, may_escalate):
        return
    owned = authorizer.rules_of(user, place.namespace)
    role = role_of(new)
    missing = uncovered(role.rules, owned)
    if missing is not None:
        raise _refused(user, place, new, f"it grants rights that the user does not have: {_shown(missing)}")
    # Also without a new one: to remove it would freeze the rules that it has gathered so far.
    if (role.aggregates or role_of(old).aggregates) and uncovered(EVERYTHING, owned) is not None:
        raise _refused(user, place, new, "an aggregationRule needs the rights of cluster-admin")


def _check_binding(authorizer: RbacAuthorizer, user: UserInfo, place: ResourcePath, new: Json) -> None:
    ref = binding_of(new).role_ref
    if ref.kind not in _ROLES:
        return  # validation refuses it
    resource = BY_NAME[ref.kind].plural
    if authorizer.allows(user, RequestAttributes("bind", GROUP, resource, ref.name, place.namespace)):
        return
    role = authorizer.role(ref, place.namespace)
    if role is None:
        # A binding to a role that is created later would give rights without any check.
        raise not_found(f'{resource}.{GROUP} "{ref.name}"')
    missing = uncovered(role.rules, authorizer.rules_of(user, place.namespace))
    if missing is not None:
        raise _refused(user, place, new, f"it grants rights that the user does not have: {_shown(missing)}")


def _refused(user: UserInfo, place: ResourcePath, new: Json, why: str) -> ApiError:
    verb, name = ("update", place.name) if place.name else ("create", peek(new, "metadata").get("name"))
    change = RequestAttributes(verb, GROUP, place.kind.plural, str(name or ""), place.namespace)
    return forbidden(user, change, f": {why}")


def _shown(rule: PolicyRule) -> str:
    verb = rule.verbs[0]
    if rule.non_resource_urls:
        return f"{verb} {rule.non_resource_urls[0]}"
    group = f".{rule.api_groups[0]}" if rule.api_groups[0] else ""
    name = f' "{rule.resource_names[0]}"' if rule.resource_names else ""
    return f"{verb} {rule.resources[0]}{group}{name}"
