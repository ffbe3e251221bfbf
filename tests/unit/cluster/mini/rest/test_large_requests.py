"""Large requests: their cost grows with their size, and no faster."""

import json
from time import perf_counter

import pytest

from tests.unit.cluster.mini.rest.api_client import JSON_PATCH, MAPS, PODS, ApiClient, pod

PATIENCE = 10  # seconds: what is compared with everything else would take minutes


def took(client: ApiClient, method: str, path: str, body: bytes, **more: str) -> int:
    began = perf_counter()
    status = client.ask(method, path, body, **more).status
    assert perf_counter() - began < PATIENCE
    return status


def _map(**content: object) -> bytes:
    return json.dumps({"metadata": {"name": "a"}, **content}).encode()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (_map(metadata={"name": "a", "labels": {f"no key {i}": "no value" for i in range(40_000)}}), 422),
        (_map(metadata={"name": "a", "finalizers": [f"no name {i}" for i in range(40_000)]}), 422),
        (_map(data={f"no key {i}": "x" for i in range(40_000)}), 422),
        (_map(**{f"unknown{i}": 1 for i in range(40_000)}), 400),
        (b'{"data":{%b}}' % b",".join(b'"k%d":"v","k%d":"v"' % (i, i) for i in range(20_000)), 400),
    ],
)
def test_many_mistakes(client: ApiClient, body: bytes, status: int) -> None:
    assert took(client, "POST", MAPS, body, fieldValidation="Strict") == status


def test_only_so_many_mistakes_are_told(client: ApiClient) -> None:
    labels = {f"no key {i}": "x" for i in range(1000)}
    answer = client.ask("POST", MAPS, _map(metadata={"name": "a", "labels": labels}))
    assert len(json.loads(answer.body)["details"]["causes"]) == 100


def test_a_pod_with_many_tolerations_gets_one_more(client: ApiClient) -> None:
    many = [{"key": f"k{i}", "operator": "Exists"} for i in range(20_000)]
    client.post(PODS, pod("a", tolerations=many))
    more = [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "z", "operator": "Exists"}}]
    assert took(client, "PATCH", f"{PODS}/a", json.dumps(more).encode(), content_type=JSON_PATCH) == 200


@pytest.mark.parametrize(
    "bomb",
    [
        b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(b"%c: &%c [%b]\n" % (c, c, b",".join([b"*%c" % (c - 1)] * 9)) for c in b"bcdefghi"),
        b"a: &a " + b"x" * 100_000 + b"\nb: [" + b"*a," * 10_000 + b"]\n",
    ],
)
def test_little_that_unfolds_to_much(client: ApiClient, bomb: bytes) -> None:
    assert took(client, "POST", MAPS, bomb, content_type="application/yaml") == 400
