"""Admission by webhooks: which are asked about a request, what they change, and which refuse it.

Mutating webhooks are asked one after the other, validating ones all at once. One that does not answer counts
as its failurePolicy says.
"""

from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, replace

import msgspec

from reprieve.cluster.api.values import TooDeepError, items, part, text_in, texts, without_nulls
from reprieve.model.json import Json
from reprieve.model.sized_cache import cached_by_text
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.json_patch import apply_operations
from reprieve_minicluster.store import Store
from reprieve_minicluster.webhooks.calls import Reply, WebhookQuestion
from reprieve_minicluster.webhooks.conversion import uid_of
from reprieve_minicluster.webhooks.matching import RequestMatch, ReviewedRequest, match_of
from reprieve_minicluster.webhooks.reviews import (
    ExpressionError,
    Expressions,
    RequestOrigin,
    admission_request,
    between_versions,
    in_version,
    refused_by_review,
)

GROUP = "admissionregistration.k8s.io"
_MUTATING = f"mutatingwebhookconfigurations.{GROUP}"
_VALIDATING = f"validatingwebhookconfigurations.{GROUP}"
CONFIGURATIONS = (_MUTATING, _VALIDATING)
_USUAL_SECONDS = 10


@dataclass(frozen=True, slots=True)
class AdmissionWebhook:
    """``configuration``: the kind and the name of the object that has it."""

    name: str
    configuration: str
    match: RequestMatch
    conditions: tuple[str, ...]
    config: Json
    seconds: int
    fails: bool
    reinvoked: bool
    review: str


@cached_by_text(entries=256, size=8 << 20)
def _webhooks_in(raw: bytes) -> tuple[AdmissionWebhook, ...]:
    body: Json = msgspec.json.decode(raw)
    named = f"{text_in(body, 'kind')} {text_in(part(body, 'metadata'), 'name')}"
    return tuple(_webhook(named, hook) for hook in items(body, "webhooks"))


def _webhook(configuration: str, body: Json) -> AdmissionWebhook:
    seconds = body.get("timeoutSeconds")
    return AdmissionWebhook(
        text_in(body, "name"),
        configuration,
        match_of(body, "rules"),
        tuple(text_in(condition, "expression") for condition in items(body, "matchConditions")),
        part(body, "clientConfig"),
        seconds if isinstance(seconds, int) else _USUAL_SECONDS,
        body.get("failurePolicy") != "Ignore",
        body.get("reinvocationPolicy") == "IfNeeded",
        next((v for v in texts(body, "admissionReviewVersions") if v in ("v1", "v1beta1")), "v1"),
    )


def _webhooks(store: Store, resource: str) -> Iterator[AdmissionWebhook]:
    """In order of the names of their configurations."""
    for stored in store.list((resource,)).items:
        yield from _webhooks_in(stored.raw)


# --- mutating --------------------------------------------------------------------------------------


def mutating_webhooks(store: Store) -> list[AdmissionWebhook]:
    return list(_webhooks(store, _MUTATING))


def mutated_by_webhooks(request: ReviewedRequest, origin: RequestOrigin) -> ReviewedRequest:
    """The request with what mutating webhooks make of its object."""
    again: list[AdmissionWebhook] = []
    asked: list[AdmissionWebhook] = []
    for hook in mutating_webhooks(origin.webhooks.store):
        changed = _mutated_by(hook, request, origin)
        if changed is not request:
            again += [one for one in asked if one not in again]
            request = changed
        if hook.reinvoked:
            asked.append(hook)
    for hook in again:
        request = _mutated_by(hook, request, origin)
    return request


def _mutated_by(hook: AdmissionWebhook, request: ReviewedRequest, origin: RequestOrigin) -> ReviewedRequest:
    """The same request if the webhook changes nothing."""
    version = _version_for(hook, request, origin)
    if version is None:
        return request
    (reply,) = origin.webhooks.ask([question := _question(hook, request, version, origin)])
    operations = _verdict(hook, question, reply, origin, mutates=True)
    if not operations:
        return request
    if request.new is None:
        why = "attempted to modify the object, which is not supported for this operation"
        raise _internal(f'admission webhook "{hook.name}" {why}')
    before = in_version(request, request.new, version, origin)
    after = _patched(hook, before, operations)
    if after == before:
        return request
    if version != request.api_version and request.has_own_type:
        after = between_versions(request.kind, after, version, request.api_version, origin.webhooks)
    return replace(request, new=after)


def _patched(hook: AdmissionWebhook, body: Json | None, operations: object) -> Json:
    try:
        found = apply_operations(body, operations)
        without_nulls(found)
    except ApiError as error:
        raise _internal(f'the patch of webhook "{hook.name}": {error.message}') from error
    except (TooDeepError, RecursionError) as error:
        raise _internal(f'the patch of webhook "{hook.name}" nests values too deeply') from error
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict):
        raise _internal(f'the patch of webhook "{hook.name}" leaves no object')
    for field in ("name", "namespace"):
        old = text_in(part(body, "metadata"), field)
        if old and found["metadata"].get(field) != old:
            raise _internal(f'the patch of webhook "{hook.name}" changes metadata.{field}')
    return found


# --- validating ------------------------------------------------------------------------------------


def validate_by_webhooks(request: ReviewedRequest, origin: RequestOrigin) -> None:
    """An ApiError if a validating webhook refuses the request."""
    concerned = []
    for hook in _webhooks(origin.webhooks.store, _VALIDATING):
        version = _version_for(hook, request, origin)
        if version is not None:
            concerned.append((hook, _question(hook, request, version, origin)))
    replies = origin.webhooks.ask([question for _, question in concerned])
    for (hook, question), reply in zip(concerned, replies, strict=True):
        _verdict(hook, question, reply, origin, mutates=False)


# --- one webhook -----------------------------------------------------------------------------------


def _version_for(hook: AdmissionWebhook, request: ReviewedRequest, origin: RequestOrigin) -> str | None:
    """In which API version it gets the object; None if it does not get it."""
    version = hook.match.version_for(request, origin.webhooks.store)
    if version is None or not hook.conditions:
        return version
    try:
        return version if Expressions.about(request, version, origin).all_hold(hook.conditions) else None
    except ExpressionError as error:
        if not hook.fails:
            return None
        why = f'match condition of webhook "{hook.name}" ({hook.configuration}): {error}'
        raise refused_by_review(request, why) from error


def _question(
    hook: AdmissionWebhook, request: ReviewedRequest, version: str, origin: RequestOrigin
) -> WebhookQuestion:
    asked = {
        **admission_request(request, version, origin),
        "object": in_version(request, request.new, version, origin),
        "oldObject": in_version(request, request.old, version, origin),
    }
    review = {
        "apiVersion": f"admission.k8s.io/{hook.review}",
        "kind": "AdmissionReview",
        "request": {"uid": uid_of(asked), **asked},
    }
    return WebhookQuestion(hook.config, msgspec.json.encode(review), hook.seconds)


def _verdict(
    hook: AdmissionWebhook, question: WebhookQuestion, reply: Reply, origin: RequestOrigin, *, mutates: bool
) -> list[object]:
    """The operations of its patch; an ApiError if it refuses the request, or fails and must not."""
    try:
        response = _response(question, reply)
        operations = _operations(response, mutates=mutates)
    except ValueError as error:
        if not hook.fails:
            return []
        raise _internal(f'failed calling webhook "{hook.name}": {error} ({hook.configuration})') from error
    origin.warnings.extend(texts(response, "warnings"))
    if response.get("allowed") is not True:
        raise _denied(hook, part(response, "status"))
    return operations


def _response(question: WebhookQuestion, reply: Reply) -> Json:
    """A ValueError if it is none, with the reason."""
    if reply.failure:
        raise ValueError(f"failed to call webhook: {reply.failure}")
    asked: Json = msgspec.json.decode(question.body)
    try:
        review = msgspec.json.decode(reply.body)
    except msgspec.DecodeError as error:
        raise ValueError(f"received invalid webhook response: {error}") from error
    response = part(review, "response")
    if not response:
        raise ValueError("received invalid webhook response: webhook response was absent")
    said = (review.get("apiVersion"), review.get("kind"), response.get("uid"))
    wanted = (asked["apiVersion"], asked["kind"], asked["request"]["uid"])
    if said != wanted:
        shown = ", ".join(f"expected {one}, got {other}" for one, other in zip(wanted, said, strict=True))
        raise ValueError(f"received invalid webhook response: {shown}")
    return response


def _operations(response: Json, *, mutates: bool) -> list[object]:
    patch, kind = text_in(response, "patch"), response.get("patchType")
    if not patch and kind is None:
        return []
    if not mutates:
        raise ValueError(
            "received invalid webhook response: validating webhook may not return response.patch"
        )
    if kind != "JSONPatch":
        raise ValueError(f"received invalid webhook response: unsupported patch type {kind!r}")
    try:
        found = msgspec.json.decode(b64decode(patch))
    except ValueError as error:  # neither base64 nor JSON
        raise ValueError(f"received undecodable patch in webhook response: {error}") from error
    if not isinstance(found, list):
        raise ValueError("received undecodable patch in webhook response: it is no list")
    return found


def _denied(hook: AdmissionWebhook, status: Json) -> ApiError:
    code, reason = status.get("code"), text_in(status, "reason")
    why = text_in(status, "message") or reason
    said = f'admission webhook "{hook.name}" denied the request'
    return ApiError(
        code if isinstance(code, int) and 400 <= code < 600 else 400,
        reason or "BadRequest",
        f"{said}: {why}" if why else f"{said} without explanation",
    )


def _internal(why: str) -> ApiError:
    return ApiError(500, "InternalError", f"Internal error occurred: {why}")
