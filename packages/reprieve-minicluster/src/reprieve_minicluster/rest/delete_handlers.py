"""Handlers of deletions, and their DeleteOptions: the body of a request, or its query parameters."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TypeVar

from reprieve.model.json import Json
from reprieve_minicluster.controllers.content_deletion import (
    SYSTEM_NAMESPACES,
)
from reprieve_minicluster.controllers.garbage_collector import FOREGROUND, ORPHAN
from reprieve_minicluster.errors import ApiError, Cause, bad_request
from reprieve_minicluster.kinds import ResourceKind, section
from reprieve_minicluster.rest.api_call import ApiCall
from reprieve_minicluster.rest.http_messages import (
    ApiRequest,
    ApiResponse,
    Batched,
    answer,
    status_subject,
    success,
)
from reprieve_minicluster.rest.query_parameters import Query, unsupported
from reprieve_minicluster.rest.request_bodies import read_object
from reprieve_minicluster.rest.selection import predicate_of
from reprieve_minicluster.store import Part, Store, Stored, check_preconditions
from reprieve_minicluster.webhooks.calls import UnansweredError, WebhookCall
from reprieve_minicluster.webhooks.policies import is_reviewed

T = TypeVar("T")

_POLICIES = ("Background", "Foreground", "Orphan")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """``policy``: the propagation policy; empty for the default of the kind."""

    grace: int | None = None
    policy: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False

    def held_by(self, kind: ResourceKind) -> tuple[str, ...]:
        """The finalizers that the deletion adds, for controllers that must act before the object goes."""
        if kind.held_by:
            return kind.held_by
        match self.policy or ("Orphan" if kind.orphans else "Background"):
            case "Foreground":
                return (FOREGROUND,)
            case "Orphan":
                return (ORPHAN,)
        return ()


def delete_options_of(request: ApiRequest, query: Query) -> DeleteOptions:
    options = read_object(request) if request.body else {}
    return delete_options_from(options, query)


def delete_options_from(options: Json, query: Query) -> DeleteOptions:
    """The body wins over query parameters."""
    if options.get("kind") not in (None, "", "DeleteOptions"):
        raise bad_request(f"the body of a delete request must be DeleteOptions, not {options['kind']!r}")
    conditions = _typed(options, "preconditions", dict) or {}
    grace = _typed(options, "gracePeriodSeconds", int)
    if grace is not None and not -(2**63) <= grace < 2**63:
        raise bad_request(f"gracePeriodSeconds in DeleteOptions must be an integer of 64 bits, not {grace}")
    return DeleteOptions(
        grace=query.number("gracePeriodSeconds") if grace is None else grace,
        policy=_policy(options, query),
        uid=_typed(conditions, "uid", str) or "",
        version=_typed(conditions, "resourceVersion", str) or "",
        dry_run=_is_dry_run(options) or query.is_dry_run,
    )


def _policy(options: Json, query: Query) -> str:
    policy = _typed(options, "propagationPolicy", str) or query.text("propagationPolicy")
    orphans = _typed(options, "orphanDependents", bool)
    if orphans is None and query.text("orphanDependents"):
        orphans = query.flag("orphanDependents")
    if policy and policy not in _POLICIES:
        raise unsupported("propagationPolicy", policy, _POLICIES)
    if policy and orphans is not None:
        cause = Cause(
            "FieldValueInvalid", "cannot be set together with orphanDependents", "propagationPolicy"
        )
        raise ApiError(422, "Invalid", f"DeleteOptions is invalid: {cause.field}: {cause.message}", (cause,))
    if orphans is None:
        return policy
    return "Orphan" if orphans else "Background"


def _is_dry_run(options: Json) -> bool:
    asked = _typed(options, "dryRun", list) or []
    if any(one != "All" for one in asked):
        raise unsupported("dryRun", asked, ("All",))
    return bool(asked)


def _typed(options: Json, name: str, kind: type[T]) -> T | None:
    value = options.get(name)
    if value is None:
        return None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise bad_request(f"{name} in DeleteOptions cannot be {value!r}")
    return value


# --- deleting -------------------------------------------------------------------------------------


_DELETIONS_IN_A_ROW = 100  # a few milliseconds; then other requests have their turn


def delete(call: ApiCall) -> ApiResponse:
    options = delete_options_of(call.request, call.query)
    store = call.api.dry_run().store if options.dry_run else call.api.store
    old = store.get(call.place.key)
    review_deletions(call, (old,))
    left = remove(store, old, options)
    if left is not None or call.place.kind.drains:
        return answer(call.serializer.one(left or old))
    return answer(success(status_subject(call.place.kind, old.key.name, old.uid)))


def delete_many(call: ApiCall) -> ApiResponse | Batched:
    options = delete_options_of(call.request, call.query)
    store = call.api.dry_run().store if options.dry_run else call.api.store
    items, extent = call.api.lists.list(call.place, call.query, predicate_of(call.place, call.query))
    for item in items:
        check_preconditions(item, options.uid, options.version)
    review_deletions(call, items)
    body = call.serializer.many(items, extent)

    def delete_in_batches() -> Generator[None, None, ApiResponse]:
        for number, item in enumerate(items, 1):
            found = store.find(item.key)
            # Between two batches another client may have deleted it, and even created another one.
            if found is not None and found.uid == item.uid:
                remove(store, item, options)
            if number % _DELETIONS_IN_A_ROW == 0:
                yield
        return answer(body)

    batched = Batched(delete_in_batches())
    return batched if len(items) > _DELETIONS_IN_A_ROW else batched.finished()


def review_deletions(call: ApiCall, items: Iterable[Stored]) -> None:
    """An ApiError if webhooks or policies refuse one of them; all webhooks are asked together."""
    calls: list[WebhookCall] = []
    for item in items if is_reviewed(call.place.kind, call.api.store) else ():
        try:
            call.reviewed("DELETE", None, call.serializer.value(item))
        except UnansweredError as asked:
            calls += asked.calls
    if calls:
        raise UnansweredError(calls)


def remove(store: Store, old: Stored, options: DeleteOptions) -> Stored | None:
    """The object if it waits for finalizers or its kubelet, or None when it is gone."""
    kind = store.kinds[old.key.resource]
    if kind.resource == "namespaces" and old.key.name in SYSTEM_NAMESPACES:
        raise ApiError(403, "Forbidden", f"{old.key} is forbidden: this namespace may not be deleted")
    left = store.delete(
        old.key, options.uid, options.version, grace=options.grace, held_by=options.held_by(kind)
    )
    if left is None or kind.resource != "namespaces":
        return left
    return store.patch(old.key, _terminating, Part.STATUS)


def _terminating(namespace: Json) -> Json:
    section(namespace, "status")["phase"] = "Terminating"
    return namespace
