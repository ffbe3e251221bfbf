"""The handler of each method of a resource path, with reviews and watches. Discovery lists the same verbs."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass

import msgspec

from reprieve.cluster.api.values import texts
from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import AUDIENCES, UserInfo
from reprieve_minicluster.auth.policy_rules import RequestAttributes
from reprieve_minicluster.errors import ApiError, bad_request, invalid
from reprieve_minicluster.kinds import ResourceKind, peek
from reprieve_minicluster.rest.api_call import ApiCall, described
from reprieve_minicluster.rest.delete_handlers import delete, delete_many
from reprieve_minicluster.rest.field_validation import validated
from reprieve_minicluster.rest.http_messages import Answer, ApiResponse, Stream, answer, failure
from reprieve_minicluster.rest.listing import NOT_OLDER, check_reached, check_version
from reprieve_minicluster.rest.query_parameters import Query, forbidden_parameter
from reprieve_minicluster.rest.request_bodies import read_object
from reprieve_minicluster.rest.routes import ResourcePath, with_type_meta
from reprieve_minicluster.rest.selection import SelectionPredicate, predicate_of
from reprieve_minicluster.rest.serialization import ObjectSerializer
from reprieve_minicluster.rest.subresources import (
    create_binding,
    create_eviction,
    create_token,
    get_scale,
    patch_scale,
    replace_scale,
)
from reprieve_minicluster.rest.write_handlers import create, finalize, patch_or_apply, replace
from reprieve_minicluster.store import EventType, Store, Stored, WatchEvent
from reprieve_minicluster.webhooks.calls import UnansweredError, WebhookCall
from reprieve_minicluster.webhooks.client import WebhookClient


def review(call: ApiCall) -> ApiResponse:
    sent = with_type_meta(call.place, read_object(call.request))
    read = validated(call.place, call.request, call.query.field_validation, sent)
    status = _ANSWERS[call.place.kind.kind](call, peek(read.body, "spec"))
    meta = {**peek(read.body, "metadata"), "creationTimestamp": None}
    return answer({**read.body, "metadata": meta, "status": status}, 201, read.warnings)


# --- authorization.k8s.io --------------------------------------------------------------------------


def _self_access(call: ApiCall, spec: Json) -> Json:
    return _judged(call, call.request.user, spec)


def _subject_access(call: ApiCall, spec: Json) -> Json:
    groups = tuple(texts(spec, "groups"))
    if not (spec.get("user") or groups):
        raise invalid(call.place.kind.kind, "spec.user", "expected at least one of user and groups")
    inside = call.place.namespace
    if inside and peek(spec, "resourceAttributes").get("namespace") != inside:
        raise invalid(
            call.place.kind.kind, "spec.resourceAttributes.namespace", f"expected {inside}, as in the URL"
        )
    user = UserInfo(str(spec.get("user") or ""), groups, str(spec.get("uid") or ""))
    return _judged(call, user, spec)


def _judged(call: ApiCall, user: UserInfo, spec: Json) -> Json:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if isinstance(resource, dict) == isinstance(path, dict):
        raise invalid(
            call.place.kind.kind,
            "spec.resourceAttributes",
            "expected exactly one of resourceAttributes and nonResourceAttributes",
        )
    attributes = (
        _resource_attributes(resource) if isinstance(resource, dict) else _path_attributes(path or {})
    )
    return (
        {"allowed": True}
        if call.api.authorizer.allows(user, attributes)
        else {"allowed": False, "reason": ""}
    )


def _resource_attributes(attributes: Json) -> RequestAttributes:
    said = {name: str(value or "") for name, value in attributes.items()}
    resource, part = said.get("resource", ""), said.get("subresource", "")
    return RequestAttributes(
        said.get("verb", ""),
        said.get("group", ""),
        f"{resource}/{part}" if part else resource,
        said.get("name", ""),
        said.get("namespace", ""),
    )


def _path_attributes(attributes: Json) -> RequestAttributes:
    return RequestAttributes(str(attributes.get("verb") or ""), path=str(attributes.get("path") or "/"))


def _self_rules(call: ApiCall, spec: Json) -> Json:
    namespace = spec.get("namespace")
    if not isinstance(namespace, str) or not namespace:
        raise bad_request("spec.namespace: expected the namespace to review")
    rules = [msgspec.to_builtins(rule) for rule in call.api.authorizer.rules_of(call.request.user, namespace)]
    return {
        "resourceRules": [rule for rule in rules if "resources" in rule],
        "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
        "incomplete": False,
    }


# --- authentication.k8s.io -------------------------------------------------------------------------


def _self_subject(call: ApiCall, spec: Json) -> Json:
    return {"userInfo": described(call.request.user)}


def _token(call: ApiCall, spec: Json) -> Json:
    token = spec.get("token")
    if not isinstance(token, str) or not token:
        raise invalid("TokenReview", "spec.token", "expected the token to review")
    known = call.api.issuer.verified(token, call.api.store, call.api.clock())
    if known is None:
        return _not_authenticated("not issued by this cluster, or expired")
    asked = tuple(texts(spec, "audiences")) or AUDIENCES
    shared = [audience for audience in known.audiences if audience in asked]
    if not shared:
        return _not_authenticated(f"it is for {', '.join(known.audiences)}, and not for {', '.join(asked)}")
    return {"authenticated": True, "user": described(known.user), "audiences": shared}


def _not_authenticated(why: str) -> Json:
    return {"authenticated": False, "error": f"invalid bearer token: {why}", "user": {}}


_ANSWERS: Mapping[str, Callable[[ApiCall, Json], Json]] = {
    "SelfSubjectAccessReview": _self_access,
    "SubjectAccessReview": _subject_access,
    "LocalSubjectAccessReview": _subject_access,
    "SelfSubjectRulesReview": _self_rules,
    "SelfSubjectReview": _self_subject,
    "TokenReview": _token,
}


Handler = Callable[[ApiCall], Answer]


def get(call: ApiCall) -> ApiResponse:
    check_version(call.query, call.api.store.version)
    return answer(call.serializer.one(call.api.store.get(call.place.key)))


def list_or_watch(call: ApiCall) -> Answer:
    if call.query.flag("watch"):
        return watch(call)
    call.query.number("timeoutSeconds")  # validated and ignored: lists do not wait
    if call.query.text("sendInitialEvents"):
        raise forbidden_parameter("sendInitialEvents", "sendInitialEvents is forbidden for list")
    items, extent = call.api.lists.list(call.place, call.query, predicate_of(call.place, call.query))
    return answer(call.serializer.many(items, extent))


def watch(call: ApiCall) -> Stream:
    """Validates the whole request before the stream starts."""
    wanted = predicate_of(call.place, call.query)
    options = watch_options_of(call.query, call.api.store.version)
    return Stream(watch_stream(call.api.store, call.serializer, call.api.client, wanted, options))


def reject_simulated(call: ApiCall) -> ApiResponse:
    call.api.store.get(call.place.key)
    what = _MISSING.get(call.place.part, "are no containers to run commands in or connect to")
    raise bad_request(f"pod {call.place.name} runs on a simulated kubelet: there {what}")


_MISSING = {
    "log": "are no logs",
    "portforward": "are no ports to connect to",
    "ephemeralcontainers": "are no containers to debug",
}
_COLLECTION: Mapping[str, Handler] = {"GET": list_or_watch, "POST": create, "DELETE": delete_many}
_ITEM: Mapping[str, Handler] = {"GET": get, "PUT": replace, "PATCH": patch_or_apply, "DELETE": delete}
_STATUS: Mapping[str, Handler] = {"GET": get, "PUT": replace, "PATCH": patch_or_apply}
_CONNECT: Mapping[str, Handler] = {"GET": reject_simulated, "POST": reject_simulated}
_PARTS: Mapping[str, Mapping[str, Handler]] = {
    **dict.fromkeys(("status", "resize", "approval"), _STATUS),
    "finalize": {"PUT": finalize},
    "scale": {"GET": get_scale, "PUT": replace_scale, "PATCH": patch_scale},
    "binding": {"POST": create_binding},
    "token": {"POST": create_token},
    "eviction": {"POST": create_eviction},
    "log": {"GET": reject_simulated},
    "ephemeralcontainers": dict.fromkeys(("GET", "PATCH", "PUT"), reject_simulated),
    **dict.fromkeys(("exec", "attach", "portforward", "proxy"), _CONNECT),
}
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def handlers(place: ResourcePath) -> Mapping[str, Handler]:
    if place.kind.asked:
        return {"POST": review}
    if place.part:
        return _PARTS[place.part]
    return _ITEM if place.name else _COLLECTION


def handler(place: ResourcePath, method: str) -> Handler:
    known = handlers(place)
    if method not in known:
        message = (
            f"the server does not allow this method on the requested resource: {method}; "
            f"allowed are {', '.join(known)}"
        )
        raise ApiError(405, "MethodNotAllowed", message)
    return known[method]


def verbs_of(kind: ResourceKind, part: str = "") -> list[str]:
    if kind.asked:
        return ["create"]
    if part:
        return [_VERBS[method] for method in _PARTS[part]]
    return ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


# --- watching -------------------------------------------------------------------------------------


# What is taken from the log and made for a client at once: one that does not read keeps no more in memory.
_POLLED_EVENTS = 100
_ADDED_EVENTS = 2500
_CHUNK_EVENTS = 500
_CHUNK_BYTES = 128 * 1024
_LONGEST = 3600.0
_BOOKMARK_EVERY = 60.0


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """``since``: the version after which changes are sent; None for the newest.

    ``shows_all``: existing objects are sent first, as added. ``marks_the_end``: then a bookmark.
    """

    since: int | None
    shows_all: bool
    marks_the_end: bool
    bookmarks: bool
    seconds: float


def watch_options_of(query: Query, newest: int) -> WatchOptions:
    asked = query.text("sendInitialEvents")
    initial = query.flag("sendInitialEvents")
    match = query.text("resourceVersionMatch")
    if asked and match != NOT_OLDER:
        raise forbidden_parameter(
            "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        )
    if match and not asked:
        raise forbidden_parameter(
            "resourceVersionMatch",
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        )
    if initial:
        check_reached(query.version(), newest)
    version = query.version() or 0
    seconds = query.number("timeoutSeconds")
    return WatchOptions(
        since=version if version and not initial else None,
        shows_all=initial or (not version and not asked),
        marks_the_end=initial and query.flag("allowWatchBookmarks"),
        bookmarks=query.flag("allowWatchBookmarks"),
        seconds=float(seconds) if seconds is not None and 0 < seconds < _LONGEST else _LONGEST,
    )


async def watch_stream(
    store: Store,
    serializer: ObjectSerializer,
    client: WebhookClient,
    wanted: SelectionPredicate,
    options: WatchOptions,
) -> AsyncGenerator[bytes, None]:
    """Chunks of whole lines. An expired watch ends with an ERROR line."""
    try:
        async with aclosing(_events(store, serializer, client, wanted, options)) as chunks:
            async for chunk in chunks:
                yield chunk
    except ApiError as error:
        yield msgspec.json.encode({"type": "ERROR", "object": failure(error)}) + b"\n"


async def _converting(
    serializer: ObjectSerializer, items: Iterable[Stored], client: WebhookClient
) -> ObjectSerializer:
    """A serializer that can show these objects, also if a webhook has to convert them."""
    if not serializer.kind.converted_by_webhook:
        return serializer
    calls: list[WebhookCall] = []
    for item in items:
        try:
            serializer.value(item)
        except UnansweredError as asked:
            calls += asked.calls
    return serializer.knowing(await client.ask(calls))


async def _events(
    store: Store,
    serializer: ObjectSerializer,
    client: WebhookClient,
    wanted: SelectionPredicate,
    options: WatchOptions,
) -> AsyncGenerator[bytes, None]:
    time = asyncio.get_running_loop().time
    ends = time() + options.seconds
    lines = _Lines(serializer, wanted)
    since = store.version if options.since is None else options.since
    with closing(store.watch((serializer.kind.resource,), since)) as watch:
        if options.shows_all:
            there = store.list((serializer.kind.resource,), serializer.place.namespace).items
            for start in range(0, len(there), _ADDED_EVENTS):
                some = there[start : start + _ADDED_EVENTS]
                lines.serializer = await _converting(serializer, some, client)
                for chunk in _chunks(lines.added(some)):
                    yield chunk
        if options.marks_the_end:
            yield serializer.bookmark(since, ends_initial_events=True)
        next_bookmark = time() + _BOOKMARK_EVERY if options.bookmarks else ends
        while True:
            changes = watch.poll(_POLLED_EVENTS)
            lines.serializer = await _converting(serializer, (c.object for c in changes), client)
            for chunk in _chunks(lines.changed(changes)):
                yield chunk
            await watch.wait(max(0.0, min(next_bookmark, ends) - time()))
            if options.bookmarks and time() >= min(next_bookmark, ends):
                yield serializer.bookmark(watch.position, ends_initial_events=False)
                next_bookmark = time() + _BOOKMARK_EVERY
            if time() >= ends:
                break


class _Lines:
    """Changes as lines for one client: objects that enter its selection are added, those that leave
    deleted."""

    def __init__(self, serializer: ObjectSerializer, wanted: SelectionPredicate) -> None:
        self.serializer = serializer
        self._wanted = wanted
        self._first = True

    def added(self, items: Iterable[Stored]) -> Iterator[bytes]:
        for item in items:
            if self._wanted.matches(item):
                yield self._line(EventType.ADDED, item)

    def changed(self, changes: Iterable[WatchEvent]) -> Iterator[bytes]:
        for change in changes:
            event_type = self._type(change)
            if event_type is not None:
                yield self._line(event_type, change.object)

    def _type(self, change: WatchEvent) -> EventType | None:
        matches = self._wanted.matches
        was = change.before is not None and matches(change.before)
        is_now = change.type is not EventType.DELETED and matches(change.object)
        if was:
            return EventType.MODIFIED if is_now else EventType.DELETED
        return EventType.ADDED if is_now else None

    def _line(self, event_type: EventType, stored: Stored) -> bytes:
        line = self.serializer.event(event_type, stored, first=self._first)
        self._first = False
        return line


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line)
        if len(chunk) >= _CHUNK_EVENTS or size >= _CHUNK_BYTES:
            yield b"".join(chunk)
            chunk, size = [], 0
    if chunk:
        yield b"".join(chunk)
