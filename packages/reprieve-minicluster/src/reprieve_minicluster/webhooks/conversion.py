"""Objects in the API versions in which they are served: by our own rules, or by the webhook of a definition.

A webhook gets what the versions of an object can differ in, and the name: metadata that the server owns are
left out, so that an answer holds however often the object is written meanwhile.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from uuid import UUID

import msgspec

from reprieve.cluster.api.values import items, part, text_in, texts
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import ResourceKind, conversion
from reprieve_minicluster.webhooks.calls import Reply, WebhookQuestion, Webhooks

_SECONDS = 30
_MOST_OBJECTS, _MOST_BYTES = 500, 3 * 1024 * 1024  # in one call
_SENT = ("name", "namespace", "labels", "annotations", "ownerReferences", "finalizers")
_MAY_CHANGE = ("labels", "annotations")
_encode = msgspec.json.Encoder(order="sorted").encode


def converted(kind: ResourceKind, api_version: str, body: Json, webhooks: Webhooks) -> Json:
    """A stored object in an API version; an ApiError 500 if its webhook does not convert it."""
    return all_converted(kind, api_version, (body,), webhooks)[0]


def converted_to_storage(
    kind: ResourceKind, api_version: str, body: Json, webhooks: Webhooks, before: Json | None = None
) -> Json:
    """An object of an API version in the storage version; ``before`` is the object that it replaces."""
    if kind.converted_by_webhook:
        return converted(kind, kind.api_version, {**body, "apiVersion": api_version}, webhooks)
    return conversion.to_storage_version(kind, api_version, body, before)


def all_converted(
    kind: ResourceKind, api_version: str, bodies: Sequence[Json], webhooks: Webhooks
) -> list[Json]:
    if not kind.converted_by_webhook:
        return [conversion.to_version(kind, api_version, body) for body in bodies]
    others = [number for number, body in enumerate(bodies) if body.get("apiVersion") != api_version]
    converted = _converted(kind, api_version, [bodies[number] for number in others], webhooks)
    found = list(bodies)
    for number, body in zip(others, converted, strict=True):
        found[number] = body
    return found


def _converted(
    kind: ResourceKind, api_version: str, bodies: Sequence[Json], webhooks: Webhooks
) -> list[Json]:
    assert kind.custom is not None
    webhook = kind.custom.webhook
    review = next((v for v in texts(webhook, "conversionReviewVersions") if v in ("v1", "v1beta1")), "v1")
    head = {"apiVersion": f"apiextensions.k8s.io/{review}", "kind": "ConversionReview"}
    batches = list(_batches(bodies))
    requests = [_request(api_version, batch) for batch in batches]
    questions = [
        WebhookQuestion(part(webhook, "clientConfig"), _encode({**head, "request": request}), _SECONDS)
        for request in requests
    ]
    replies = webhooks.ask(questions)
    return [
        body
        for batch, request, reply in zip(batches, requests, replies, strict=True)
        for body in _answered(kind, request, batch, reply)
    ]


def _batches(bodies: Sequence[Json]) -> Iterator[list[Json]]:
    batch: list[Json] = []
    size = 0
    for body in bodies:
        added = len(_encode(body))
        if batch and (len(batch) == _MOST_OBJECTS or size + added > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(body)
        size += added
    if batch:
        yield batch


def _request(api_version: str, bodies: Sequence[Json]) -> Json:
    request = {"desiredAPIVersion": api_version, "objects": [_sent(body) for body in bodies]}
    return {"uid": uid_of(request), **request}


def uid_of(request: Json) -> str:
    """Not random: the same request is the same call."""
    return str(UUID(bytes=blake2b(_encode(request), digest_size=16).digest()))


def _sent(body: Json) -> Json:
    meta = part(body, "metadata")
    return {**body, "metadata": {name: meta[name] for name in _SENT if name in meta}}


def _answered(kind: ResourceKind, request: Json, bodies: Sequence[Json], reply: Reply) -> list[Json]:
    wanted = request["desiredAPIVersion"]
    try:
        found = _objects(request, reply)
        if len(found) != len(bodies):
            raise ValueError(f"expected {len(bodies)} converted objects, got {len(found)}")
        return [_restored(wanted, body, new) for body, new in zip(bodies, found, strict=True)]
    except ValueError as error:
        stored = f"{bodies[0].get('apiVersion')}, Kind={kind.kind}"
        message = f"conversion webhook for {stored} failed: {error}"
        raise ApiError(500, "InternalError", message) from error


def _objects(request: Json, reply: Reply) -> list[Json]:
    """A ValueError if the answer has none, with the reason."""
    if reply.failure:
        raise ValueError(reply.failure)
    try:
        response = part(msgspec.json.decode(reply.body), "response")
    except msgspec.DecodeError as error:
        raise ValueError(f"the answer is no JSON: {error}") from error
    if text_in(response, "uid") != request["uid"]:
        raise ValueError(f"expected response.uid={request['uid']}, got {text_in(response, 'uid')!r}")
    result = part(response, "result")
    if result.get("status") != "Success":
        raise ValueError(text_in(result, "message") or "the answer is not Success")
    return list(items(response, "convertedObjects"))


def _restored(api_version: str, body: Json, converted: Json) -> Json:
    """The converted object with the metadata of the original, but for labels and annotations."""
    if converted.get("apiVersion") != api_version or converted.get("kind") != body.get("kind"):
        said = f"{converted.get('apiVersion')}, Kind={converted.get('kind')}"
        raise ValueError(f"expected an object of {api_version}, Kind={body.get('kind')}, got {said}")
    meta, new = part(body, "metadata"), part(converted, "metadata")
    if new.get("name") != meta.get("name"):
        raise ValueError(f"expected the name {meta.get('name')!r}, got {new.get('name')!r}")
    kept = {name: value for name, value in meta.items() if name not in _MAY_CHANGE}
    changed = {name: new[name] for name in _MAY_CHANGE if new.get(name)}
    return {**converted, "metadata": {**kept, **changed}}
