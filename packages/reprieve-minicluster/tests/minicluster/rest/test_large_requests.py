"""Large requests: their cost grows with their size, and no faster."""

import json
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import pytest
import yaml
from tests.minicluster.rest.api_client import (
    DEPLOYMENTS,
    JSON_PATCH,
    MAPS,
    MERGE,
    PODS,
    ApiClient,
    deployment,
    pod,
)

from reprieve.model.json import Json
from reprieve_minicluster.store import Key, Part
from reprieve_minicluster.store.store import LARGEST_OBJECT

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


# --- YAML ------------------------------------------------------------------------------------------

YAML, APPLY = "application/yaml", "application/apply-patch+yaml"


def _yaml_map(lines: int) -> bytes:
    return b"metadata: {name: a}\ndata:\n" + b"".join(b"  key-%d: text\n" % i for i in range(lines))


def test_only_so_much_yaml_is_parsed(client: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.8 MB of YAML took half a minute."""
    events = 0

    def counted(text: str, Loader: Any) -> Iterator[Any]:  # noqa: N803, since PyYAML calls it so
        nonlocal events
        for event in parse(text, Loader):
            events += 1
            yield event

    parse = yaml.parse
    monkeypatch.setattr(yaml, "parse", counted)
    client.ask("POST", MAPS, _yaml_map(10), content_type=YAML)
    assert 20 < events < 50
    status, reason, told = client.refused("POST", MAPS, _yaml_map(160_000), content_type=YAML)
    assert (status, reason) == (413, "RequestEntityTooLarge")
    assert "limited to 1048576 bytes" in told
    assert "send JSON" in told
    assert events < 50
    many = b"metadata: {name: a}\nx: [" + b"[]," * 200_000 + b"]"
    status, _, told = client.refused("POST", MAPS, many, content_type=YAML)
    assert (status, "more than 50000 values" in told) == (400, True)
    flow = b"{metadata: {name: a}, x: [" + b"1, " * 500_000 + b"]}"
    assert client.refused("POST", MAPS, flow, content_type=YAML)[0] == 400
    assert client.refused("POST", MAPS, b"---\n" * 200_000, content_type=YAML)[0] == 400
    assert events < 200_000


def test_json_that_is_called_yaml_may_be_as_large_as_json(client: ApiClient) -> None:
    """kubectl applies JSON under the media type of YAML."""
    path, body = f"{DEPLOYMENTS}/a", _large("a", 1_200_000)
    assert client.ask("PATCH", path, body, content_type=APPLY, fieldManager="me").status == 201


# --- stored objects --------------------------------------------------------------------------------


def _large(name: str, size: int) -> Json:
    body = deployment(name)
    body["spec"]["template"]["spec"]["containers"][0]["args"] = ["x" * size]
    return body


def test_an_object_beyond_the_limit_of_etcd_is_not_stored(client: ApiClient) -> None:
    client.post(DEPLOYMENTS, _large("a", LARGEST_OBJECT - 3000))
    for method, path, body, more in (
        ("POST", DEPLOYMENTS, _large("b", LARGEST_OBJECT), {}),
        ("POST", DEPLOYMENTS, _large("b", LARGEST_OBJECT), {"dryRun": "All"}),
        (
            "PATCH",
            f"{DEPLOYMENTS}/a",
            {"metadata": {"annotations": {"a": "y" * 4000}}},
            {"content_type": MERGE},
        ),
    ):
        status, reason, told = client.refused(method, path, body, **more)
        assert (status, reason) == (413, "RequestEntityTooLarge")
        assert "etcdserver: request is too large" in told
    client.patch(f"{DEPLOYMENTS}/a", {"metadata": {"annotations": {"a": "y" * 100}}})
    client.delete(f"{DEPLOYMENTS}/a")


def test_what_the_cluster_itself_writes_is_not_limited(client: ApiClient) -> None:
    """Or the status of the largest pod could not be reported, and it could not be deleted."""
    large = pod("a")
    large["metadata"]["finalizers"] = ["example.com/a"]
    large["spec"]["containers"][0]["args"] = ["x" * (LARGEST_OBJECT - 2000)]
    client.post(PODS, large)
    key = Key("pods", "default", "a")
    client.store.patch(key, lambda body: {**body, "status": {"message": "y" * 4000}}, Part.STATUS)
    assert client.delete(f"{PODS}/a")["metadata"]["deletionTimestamp"]
    client.store.patch(
        key, lambda body: {**body, "metadata": {**body["metadata"], "finalizers": []}}, Part.MAIN
    )
    assert client.store.find(key) is None


# --- patches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "add", "path": "/x" + "/x" * i, "value": {}} for i in range(1400)],
        [
            *({"op": "add", "path": f"/a{i}", "value": {}} for i in range(3000)),
            *({"op": "move", "from": f"/a{i}", "path": f"/a{i + 1}/x"} for i in range(2999)),
            {"op": "copy", "from": "/a2999", "path": "/b"},
        ],
    ],
    ids=["add", "move"],
)
def test_operations_that_nest_ever_deeper(client: ApiClient, operations: list[Json]) -> None:
    client.post(PODS, pod("a"))
    status, _, told = client.refused("PATCH", f"{PODS}/a", operations, content_type=JSON_PATCH)
    assert (status, "nested deeper than 100 levels" in told) == (400, True)


def test_operations_on_large_containers_are_limited(client: ApiClient) -> None:
    """Each operation copies what it changes: ten thousand on a large map took half a minute."""
    client.post(MAPS, _map(data={f"k{i}": "x" for i in range(40_000)}))
    change = {"op": "replace", "path": "/data/k7", "value": "y"}
    assert client.ask("PATCH", f"{MAPS}/a", [change] * 100, content_type=JSON_PATCH).status == 200
    status, _, told = client.refused("PATCH", f"{MAPS}/a", [change] * 1000, content_type=JSON_PATCH)
    assert (status, "touch more than 20000000 entries" in told) == (422, True)
