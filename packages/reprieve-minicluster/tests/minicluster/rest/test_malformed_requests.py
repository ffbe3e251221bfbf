"""Requests that mean nothing: each is refused with a Status, and none of them is a mistake of the server."""

import asyncio
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.minicluster.rest.api_client import (
    DEPLOYMENTS,
    MAPS,
    MERGE,
    PODS,
    ApiClient,
    config_map,
    deployment,
    pod,
)
from tests.minicluster.rest.limited_user import CLUSTER_ROLES

from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.rest.http_messages import ApiRequest, ApiResponse, Batched, Stream
from reprieve_minicluster.rest.http_server import serve
from reprieve_minicluster.virtual_time import clock, run
from tests.properties.corruption import corrupted

ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/a"
REVIEWS = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
FAR_AWAY = 253402300799  # the last second of the year 9999


def filled_client() -> ApiClient:
    client = ApiClient()
    client.store.create("pods", {"metadata": {"name": "a"}, "spec": {**pod("a")["spec"], "nodeName": "n"}})
    client.store.create("configmaps", config_map("a"))
    client.store.create("serviceaccounts", {"metadata": {"name": "a"}})
    client.store.create("deployments.apps", deployment("a"))
    return client


# --- headers ---------------------------------------------------------------------------------------

TOKEN = "secret"
BEARER = b"Authorization: Bearer secret"


def statuses(*requests: bytes) -> list[int]:
    """What each request is answered, over one socket for each."""

    async def main() -> list[int]:
        cluster = MiniCluster(clock)
        async with serve(cluster, TOKEN) as server:
            return [await status(server.port, request) for request in requests]

    return run(main())


async def status(port: int, request: bytes) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    code = int(head.split()[1])
    if code >= 400:
        assert json.loads(body)["kind"] == "Status"
    return code


def request(*headers: bytes, method: bytes = b"GET", path: str = MAPS, body: bytes = b"") -> bytes:
    first = b"%b %b HTTP/1.1" % (method, path.encode())
    lines = [first, b"Host: a", b"Connection: close", b"Content-Length: %d" % len(body), *headers]
    return b"\r\n".join((*lines, b"", body))


def test_bytes_that_are_no_text(caplog: pytest.LogCaptureFixture) -> None:
    new = json.dumps(config_map("m")).encode()
    found = statuses(
        request(b"Authorization: Bearer \xff\xfe"),
        request(b"Authorization: \xff"),
        request(BEARER, b"Impersonate-User: \xff"),
        request(BEARER, b"Impersonate-User: a", b"Impersonate-Group: \xff"),
        request(BEARER, b"Impersonate-User: a", b"Impersonate-Extra-x: \xff"),
        request(BEARER, b"Accept: \xff"),
        request(BEARER, b"Content-Type: \xff", method=b"POST", body=new),
        request(BEARER, b"User-Agent: \xff", method=b"POST", path=f"{MAPS}?fieldManager=m", body=new),
        request(BEARER, b"User-Agent: \xff", b"Content-Type: " + MERGE.encode(), method=b"PATCH",
                path=f"{MAPS}/m", body=b'{"data":{"a":"b"}}'),
        request(BEARER, path=f"{MAPS}/m"),
    )  # fmt: skip
    assert found == [401, 401, 400, 400, 400, 406, 415, 201, 200, 200]
    assert not caplog.records


def test_both_groups_of_two_headers_count() -> None:
    """The one that has the rights is the second."""
    masters = b"Impersonate-Group: system:masters"
    found = statuses(
        request(BEARER, b"Impersonate-User: a", b"Impersonate-Group: b"),
        request(BEARER, b"Impersonate-User: a", b"Impersonate-Group: b", masters),
        request(BEARER, masters),
    )
    assert found == [403, 200, 400]


HEADERS = """
    Authorization Impersonate-User Impersonate-Group Impersonate-Uid Impersonate-Extra-a Impersonate-Extra-%ff
    Accept Content-Type User-Agent Accept-Encoding Cookie Range If-Match Origin Kubectl-Command
"""
BYTES = [b"\xff", b"\xed\xa0\x80", b"\xc3\xa9", b"%00", b",", b":", b"=", b"*/*", b";q=x"]
TEXTS = [b"Bearer ", b"secret", b"a.b.c", b"application/json", b";as=Table", b";v=v1;g=meta.k8s.io"]
NAMES = [b"system:serviceaccount:a:b", b"system:masters", b"alice"]


def test_no_header_is_a_mistake_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    rng = random.Random(18)
    requests = []
    for _ in range(200):
        names = rng.sample(HEADERS.split(), rng.randint(1, 3))
        values = [b"".join(rng.choices([*BYTES, *TEXTS, *NAMES], k=rng.randint(0, 4))) for _ in names]
        given = [name.encode() + b": " + value for name, value in zip(names, values, strict=True)]
        known = [BEARER] if "Authorization" not in names else []
        method, body = rng.choice([(b"GET", b""), (b"POST", b'{"metadata":{"name":"m"}}')])
        requests.append(request(*known, *given, method=method, body=body))
    assert [code for code in statuses(*requests) if code >= 500] == []
    assert not caplog.records


# --- query parameters ------------------------------------------------------------------------------

PARAMETERS = """
    timeoutSeconds limit continue resourceVersion resourceVersionMatch watch fieldSelector labelSelector
    gracePeriodSeconds propagationPolicy orphanDependents dryRun fieldManager fieldValidation force
    allowWatchBookmarks sendInitialEvents pretty includeObject timeout
"""
CONTINUES = [
    "eyJ2ZXJzaW9uIjotNSwibmFtZXNwYWNlIjoiIiwibmFtZSI6IiJ9",  # version -5
    "eyJ2ZXJzaW9uIjo5OTk5LCJuYW1lc3BhY2UiOiIiLCJuYW1lIjoiIn0=",  # version 9999
    "eyJ2ZXJzaW9uIjoxLjUsIm5hbWVzcGFjZSI6IiIsIm5hbWUiOiIifQ==",  # version 1.5
]
NUMBERS = ["0", "-1", "+5", " 5", "1_000", "0x10", "1.5", "1e3", "NaN", "inf", "٣", "²", "null", "true", "5s"]
LARGE = [str(sign * (2**bits + more)) for sign in (1, -1) for bits in (31, 63, 64, 80) for more in (-1, 0)]
WORDS = [
    "",
    "\x00",
    "é",
    "😀",
    "a=b",
    "a in (",
    "metadata.name=a",
    "!a",
    "All",
    "Foreground",
    "NotOlderThan",
    "Exact",
]
VALUES = [*NUMBERS, *LARGE, *WORDS, *CONTINUES, str(FAR_AWAY), "9" * 5000]
TARGETS: list[tuple[str, str, str, object]] = [
    *(("GET", path, "", None) for path in (PODS, f"{PODS}/a", MAPS, CLUSTER_ROLES, "/apis", "/version")),
    *(("DELETE", path, "", None) for path in (PODS, f"{PODS}/a", f"{MAPS}/a")),
    ("POST", MAPS, "", config_map("b")),
    ("POST", f"{PODS}/a/eviction", "", {"metadata": {"name": "a"}}),
    ("PATCH", f"{MAPS}/a", MERGE, {"data": {"a": "b"}}),
    ("PATCH", f"{MAPS}/a", "application/apply-patch+yaml", config_map("a")),
]


def answered(client: ApiClient, request: ApiRequest) -> int:
    """The status of the answer; a watch is read to its end."""
    answer = client.front.answer(request)
    match answer:
        case ApiResponse():
            return answer.status
        case Stream():
            assert run(lines(answer)) is not None
            return 200
        case Batched():
            return answer.finished().status


async def lines(stream: Stream) -> list[Json]:
    return [json.loads(line) async for chunk in stream.chunks for line in chunk.splitlines()]


def test_no_parameter_is_a_mistake_of_the_server() -> None:
    """504 is what Kubernetes answers for a resource version that is not reached yet."""
    rng = random.Random(18)
    for _ in range(600):
        query = {rng.choice(PARAMETERS.split()): rng.choice(VALUES) for _ in range(rng.randint(1, 2))}
        if rng.random() < 0.2:
            query["watch"] = "true"
        method, path, media, body = rng.choice(TARGETS)
        raw = json.dumps(body).encode() if body is not None else b""
        code = answered(filled_client(), ApiRequest(method, path, query, "", media, raw))
        assert code < 500 or code == 504, (method, path, query)


@pytest.mark.parametrize("parameter", ["timeoutSeconds", "limit", "resourceVersion", "gracePeriodSeconds"])
@pytest.mark.parametrize("value", ["abc", "1.5", "1e3", str(2**63), "9" * 5000, "٣"])
def test_what_is_no_integer_of_64_bits_is_refused(parameter: str, value: str) -> None:
    method, path = ("DELETE", f"{PODS}/a") if parameter == "gracePeriodSeconds" else ("GET", PODS)
    client = filled_client()
    status, reason, message = client.refused(method, path, **{parameter: value})
    assert (status, reason) == (400, "BadRequest")
    assert parameter in message


# --- grace periods ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [FAR_AWAY, FAR_AWAY + 1, 2**63 - 1])
def test_a_grace_period_without_end(seconds: int) -> None:
    options = {"gracePeriodSeconds": seconds}
    eviction = {"metadata": {"name": "a"}, "deleteOptions": options}
    assert ends(filled_client().delete(f"{PODS}/a", options)) == "2094"
    assert ends(filled_client().delete(f"{PODS}/a", gracePeriodSeconds=str(seconds))) == "2094"
    client = filled_client()
    client.post(f"{PODS}/a/eviction", eviction)
    assert ends(client.get(f"{PODS}/a")) == "2094"


def test_a_pod_that_wants_no_end() -> None:
    client = filled_client()
    spec = {**pod("b")["spec"], "nodeName": "n", "terminationGracePeriodSeconds": 2**63 - 1}
    client.store.create("pods", {"metadata": {"name": "b"}, "spec": spec})
    assert ends(client.delete(f"{PODS}/b")) == "2094"
    assert client.delete(f"{PODS}/b", gracePeriodSeconds="5")["metadata"]["deletionGracePeriodSeconds"] == 5


def ends(body: Json) -> str:
    """The year of its deletion."""
    return str(body["metadata"]["deletionTimestamp"])[:4]


@pytest.mark.parametrize("seconds", [2**63, 2**70, 1.5, "5", [], True])
def test_a_grace_period_that_is_no_integer_of_64_bits(seconds: object) -> None:
    status, _, message = filled_client().refused("DELETE", f"{PODS}/a", {"gracePeriodSeconds": seconds})
    assert status == 400
    assert "gracePeriodSeconds" in message


# --- bodies ----------------------------------------------------------------------------------------

BODIES: dict[tuple[str, str], Json] = {
    ("POST", f"{ACCOUNT}/token"): {"spec": {"audiences": ["x"], "expirationSeconds": 600}},
    ("POST", f"{AUTHENTICATION}/tokenreviews"): {"spec": {"token": "let me in", "audiences": ["x"]}},
    ("POST", f"{AUTHENTICATION}/selfsubjectreviews"): {"metadata": {}},
    ("POST", f"{REVIEWS}/subjectaccessreviews"): {
        "spec": {
            "user": "a",
            "groups": ["g"],
            "extra": {"a": ["b"]},
            "resourceAttributes": {"verb": "get", "resource": "pods"},
        }
    },
    ("POST", f"{REVIEWS}/selfsubjectaccessreviews"): {
        "spec": {"nonResourceAttributes": {"verb": "get", "path": "/"}}
    },
    ("POST", f"{REVIEWS}/selfsubjectrulesreviews"): {"spec": {"namespace": "default"}},
    ("POST", f"{PODS}/a/eviction"): {
        "metadata": {"name": "a"},
        "deleteOptions": {"gracePeriodSeconds": 5, "preconditions": {"uid": "x"}, "dryRun": ["All"]},
    },
    ("POST", f"{PODS}/a/binding"): {"metadata": {"name": "a", "uid": "x"}, "target": {"name": "n"}},
    ("PUT", f"{DEPLOYMENTS}/a/scale"): {"metadata": {"name": "a"}, "spec": {"replicas": 5}},
    ("DELETE", f"{PODS}/a"): {
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 5,
        "preconditions": {"uid": "x", "resourceVersion": "1"},
        "propagationPolicy": "Orphan",
        "orphanDependents": None,
        "dryRun": ["All"],
    },
    ("POST", CLUSTER_ROLES): {
        "metadata": {"name": "r", "labels": {"a": "b"}},
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]}],
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    },
}


@st.composite
def malformed_bodies(draw: st.DrawFn) -> tuple[str, str, Any]:
    (method, path), body = draw(st.sampled_from(sorted(BODIES.items(), key=str)))
    return method, path, corrupted(draw, body)


@given(st.lists(malformed_bodies(), min_size=4, max_size=4))
def test_no_body_is_a_mistake_of_the_server(requests: list[tuple[str, str, Any]]) -> None:
    for method, path, body in requests:
        raw = json.dumps(body).encode()
        assert answered(filled_client(), ApiRequest(method, path, body=raw)) < 500
