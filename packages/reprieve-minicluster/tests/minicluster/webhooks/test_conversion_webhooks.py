"""Definitions whose versions a webhook converts: every way in which a client meets another version."""

import asyncio
import json

import pytest
from tests.minicluster.rest.api_client import MERGE, TABLE, ApiClient
from tests.minicluster.rest.custom_resource import DEFINITIONS, definition, version

from reprieve.model.json import Json
from reprieve_minicluster.rest.http_messages import Stream
from reprieve_minicluster.virtual_time import run

GROUP = "batch.example.com"
OLDER, NEWER = (f"/apis/{GROUP}/{name}/namespaces/default/queues" for name in ("v1beta1", "v1"))
_COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}}
_SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": _COUNT}}}
_COLUMN = [{"name": "Count", "type": "integer", "jsonPath": ".spec.count"}]


def converting(**webhook: object) -> Json:
    """v1 has a size, which v1beta1 calls count."""
    older = version("v1beta1", storage=False, schema=_SCHEMA, additionalPrinterColumns=_COLUMN)
    body = definition(version("v1"), older)
    client = {"clientConfig": {"url": "https://127.0.0.1:9443/convert"}, "conversionReviewVersions": ["v1"]}
    body["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {**client, **webhook}}
    return body


def convert(request: Json) -> Json:
    wanted = request["desiredAPIVersion"]
    names = ("count", "size") if wanted == f"{GROUP}/v1" else ("size", "count")
    found = [
        {**body, "apiVersion": wanted, "spec": {names[1]: body["spec"][names[0]]}}
        for body in request["objects"]
    ]
    return {"result": {"status": "Success"}, "convertedObjects": found}


@pytest.fixture
def converted(client: ApiClient) -> ApiClient:
    client.post(DEFINITIONS, converting())
    client.webhooks["/convert"] = convert
    return client


def older(name: str, count: int) -> Json:
    return {"metadata": {"name": name}, "spec": {"count": count}}


def test_objects_in_another_version(converted: ApiClient) -> None:
    client = converted
    made = client.post(OLDER, older("a", 3))
    assert (made["apiVersion"], made["spec"]) == (f"{GROUP}/v1beta1", {"count": 3})
    assert client.get(f"{NEWER}/a")["spec"]["size"] == 3
    assert client.get(f"{OLDER}/a")["metadata"] == made["metadata"]
    assert client.patch(f"{OLDER}/a", {"spec": {"count": 4}})["spec"] == {"count": 4}
    assert client.put(f"{OLDER}/a", older("a", 5))["spec"] == {"count": 5}
    assert client.get(f"{NEWER}/a")["spec"]["size"] == 5
    client.post(OLDER, {"metadata": {"generateName": "b-"}, "spec": {"count": 6}})
    client.reviews.clear()
    listed = client.get(OLDER)["items"]
    assert ([item["spec"]["count"] for item in listed], len(client.reviews)) == ([5, 6], 1)
    assert [row["cells"][1] for row in client.get(OLDER, accept=TABLE)["rows"]] == [5, 6]
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    client.patch(f"{OLDER}/a", held, MERGE)
    assert "deletionTimestamp" in client.delete(f"{OLDER}/a")["metadata"]
    client.delete(OLDER)
    assert client.names(NEWER) == ["a"]


def test_it_is_not_told_what_the_server_owns(converted: ApiClient) -> None:
    converted.post(OLDER, older("a", 3))
    (metadata,) = {json.dumps(r["objects"][0]["metadata"]) for r in converted.reviews}
    assert json.loads(metadata) == {"name": "a", "namespace": "default"}


def test_where_it_does_not_answer_the_stored_version_works(converted: ApiClient) -> None:
    client = converted
    client.post(OLDER, older("a", 3))
    del client.webhooks["/convert"]
    assert client.patch(f"{NEWER}/a", {"spec": {"size": 4}})["spec"]["size"] == 4
    for method, path, body in (
        ("GET", f"{OLDER}/a", None),
        ("GET", OLDER, None),
        ("POST", OLDER, older("b", 1)),
        ("PUT", f"{OLDER}/a", older("a", 1)),
        ("DELETE", OLDER, None),
    ):
        status, reason, sentence = client.refused(method, path, body)
        assert (status, reason) == (500, "InternalError"), method
        assert "conversion webhook for batch.example.com/v1" in sentence
        assert 'Kind=Queue failed: Post "https://127.0.0.1:9443/convert?timeout=30s"' in sentence
    client.delete(NEWER)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"uid": "other"}, "expected response.uid"),
        ({"result": {"status": "Failure", "message": "too odd"}}, "failed: too odd"),
        ({"convertedObjects": []}, "expected 1 converted objects, got 0"),
        ({"convertedObjects": [{"apiVersion": "v1", "kind": "Pod"}]}, "got v1, Kind=Pod"),
        (
            {"convertedObjects": [{"apiVersion": f"{GROUP}/v1", "kind": "Queue", "metadata": {"name": "b"}}]},
            "expected the name 'a', got 'b'",
        ),
    ],
)
def test_an_answer_that_does_not_count(converted: ApiClient, changes: Json, told: str) -> None:
    converted.webhooks["/convert"] = lambda request: {**convert(request), **changes}
    status, _, sentence = converted.refused("POST", OLDER, older("a", 3))
    assert (status, told in sentence) == (500, True), sentence


def test_a_watch_that_cannot_be_converted_ends(client: ApiClient) -> None:
    """The webhook is on no port of this machine; test_webhook_client watches through one that answers."""
    client.post(DEFINITIONS, converting(clientConfig={"url": "https://127.0.0.1:1/convert"}))
    client.post(NEWER, {"metadata": {"name": "a"}, "spec": {"size": 3}})

    async def watched() -> list[Json]:
        stream = client.stream(OLDER, timeoutSeconds="60")
        assert isinstance(stream, Stream)
        async with asyncio.timeout(100):
            return [json.loads(line) async for chunk in stream.chunks for line in chunk.splitlines()]

    (event,) = run(watched())
    assert (event["type"], event["object"]["code"]) == ("ERROR", 500)


def test_objects_that_were_stored_in_another_version(converted: ApiClient) -> None:
    converted.post(NEWER, {"metadata": {"name": "a"}, "spec": {"size": 3}})
    body = converting()
    for one in body["spec"]["versions"]:
        one["storage"] = not one["storage"]
    converted.patch(f"{DEFINITIONS}/queues.{GROUP}", {"spec": {"versions": body["spec"]["versions"]}})
    assert converted.get(f"{OLDER}/a")["spec"] == {"count": 3}
    converted.patch(f"{NEWER}/a", {"spec": {"size": 4}})
    del converted.webhooks["/convert"]
    assert converted.get(f"{OLDER}/a")["spec"] == {"count": 4}
