"""A cluster is read once, with list requests alone; what may not be read is told, and the rest is there."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from reprieve.assembly import cluster_reading
from reprieve.assembly.cluster_reading import (
    ClusterReadingError,
    ReadingProgress,
    current_namespace,
    read_cluster,
    read_server,
)
from reprieve.inquiry.cluster_objects import ClusterObjects
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.rest.http_messages import Answer, ApiRequest, answer, refusal
from tests.contract.http import TOKEN, MiniOperator, WatchfulFront, living, served

PODS = 7
DECISION = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "Decision", "id": "d-1"}


def objects() -> Iterable[Json]:
    yield {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}},
    }
    for i in range(PODS):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p{i}", "namespace": "default"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
        }
    yield {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "default"},
        "spec": {"limits": []},
    }


def kubeconfig(folder: Path, url: str, namespace: str = "") -> str:
    context = {"cluster": "c", "user": "u", "namespace": namespace}
    body = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(body))
    return str(file)


@asynccontextmanager
async def cluster(front: Callable[..., WatchfulFront] = WatchfulFront) -> AsyncIterator[MiniOperator]:
    async with living(time.time, objects()) as mini, served(mini, front) as operator:
        yield operator


def read(front: Callable[..., WatchfulFront] = WatchfulFront) -> ClusterObjects:
    async def main() -> ClusterObjects:
        async with cluster(front) as operator:
            found = await read_server(operator.access)
            assert operator.front.writes == []
            return found

    return asyncio.run(main())


def names(found: ClusterObjects, kind: str) -> list[str]:
    return sorted(json.loads(o.body)["metadata"]["name"] for o in found.objects if o.kind == kind)


ALL = [f"p{i}" for i in range(PODS)]


def test_everything_is_read_and_nothing_written() -> None:
    found = read()
    assert names(found, "Pod") == ALL
    assert names(found, "Node") == ["n"]
    assert names(found, "LimitRange") == ["l"]
    assert "default" in names(found, "Namespace")
    assert (found.notes, found.pods_read_in) == ((), None)
    assert int(found.resource_version) > 0


def test_a_long_list_comes_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_reading, "PAGE_SIZE", 2)
    seen: list[ReadingProgress] = []

    async def main() -> ClusterObjects:
        async with cluster() as operator:
            return await read_server(operator.access, seen.append)

    found = asyncio.run(main())
    assert names(found, "Pod") == ALL
    assert seen[-1].read == seen[-1].expected == len(found.objects)


class _Refusing(WatchfulFront):
    """Answers some lists with an error."""

    status, reason, path, calls = 403, "Forbidden", "/pods", 0

    def answer(self, request: ApiRequest) -> Answer:
        if request.path.endswith(self.path) and self.refuses(request):
            return refusal(ApiError(self.status, self.reason, "no pods for you"))
        return super().answer(request)

    def refuses(self, request: ApiRequest) -> bool:
        return True


class _Expiring(_Refusing):
    """The continue token expires before the third page."""

    status, reason = 410, "Expired"

    def refuses(self, request: ApiRequest) -> bool:
        self.calls += 1
        return "continue" in request.query and self.calls == 3


class _Busy(_Refusing):
    status, reason = 429, "TooManyRequests"

    def refuses(self, request: ApiRequest) -> bool:
        self.calls += 1
        return self.calls < 3


class _Failing(_Refusing):
    status, reason = 500, "InternalError"


class _Telling(WatchfulFront):
    """Shows its decisions, as the server of `reprieve up` does."""

    def answer(self, request: ApiRequest) -> Answer:
        if request.path == "/debug/decisions":
            return answer({"kind": "DecisionList", "items": [DECISION, {"kind": "Other"}]})
        return super().answer(request)


class _Closed(WatchfulFront):
    def answer(self, request: ApiRequest) -> Answer:
        is_list = request.path.count("/") > (3 if request.path.startswith("/apis/") else 2)
        if is_list:
            return refusal(ApiError(403, "Forbidden", "not for you"))
        return super().answer(request)


def test_a_kind_that_may_not_be_listed_is_a_note() -> None:
    found = read(_Refusing)
    assert names(found, "Node") == ["n"]
    assert names(found, "Pod") == []
    assert found.notes == ("Pod objects cannot be listed and are left out: no pods for you",)
    assert found.pods_read_in == ()


def test_recent_decisions_are_read_too() -> None:
    assert read(_Telling).decisions == (DECISION,)


def test_a_list_that_expires_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_reading, "PAGE_SIZE", 2)
    found = read(_Expiring)
    assert names(found, "Pod") == ALL
    assert found.notes == ()


def test_a_busy_server_is_asked_again() -> None:
    assert names(read(_Busy), "Pod") == ALL


@pytest.mark.parametrize(
    ("front", "sentence"),
    [
        (_Failing, "the cluster cannot be read: no pods for you"),
        (_Closed, "nothing of http.* can be read: not for you"),
    ],
)
def test_a_cluster_that_cannot_be_read(front: Callable[..., WatchfulFront], sentence: str) -> None:
    with pytest.raises(ClusterReadingError, match=sentence):
        read(front)


def test_a_server_that_cannot_be_reached(tmp_path: Path) -> None:
    with pytest.raises(ClusterReadingError, match=r"http://127.0.0.1:1 cannot be reached: "):
        asyncio.run(read_cluster(kubeconfig(tmp_path, "http://127.0.0.1:1"), ""))
    with pytest.raises(ClusterReadingError, match="nowhere"):
        asyncio.run(read_cluster(str(tmp_path / "nowhere"), ""))


def test_a_connection_that_breaks_is_one_sentence(tmp_path: Path) -> None:
    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        if b"/pods" in request:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b'{"items": [')
        else:
            resources = {"resources": [{"name": "pods", "kind": "Pod"}]} if b"/api/v1 " in request else {}
            body = json.dumps(resources).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async def main() -> None:
        async with await asyncio.start_server(broken, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            await read_cluster(kubeconfig(tmp_path, f"http://127.0.0.1:{port}"), "")

    with pytest.raises(ClusterReadingError, match="the list of pods was cut off: GET /api/v1/pods: "):
        asyncio.run(main())


def test_the_namespace_is_that_of_the_context(tmp_path: Path) -> None:
    assert current_namespace(kubeconfig(tmp_path, "http://h", "team"), "") == "team"
    assert current_namespace(kubeconfig(tmp_path, "http://h"), "x") == "default"
    with pytest.raises(ClusterReadingError, match="other"):
        current_namespace(kubeconfig(tmp_path, "http://h"), "other")


class _OfOneNamespace(WatchfulFront):
    """Its client may list pods in the namespace default alone."""

    def answer(self, request: ApiRequest) -> Answer:
        if request.path == "/api/v1/pods":
            return refusal(ApiError(403, "Forbidden", "not all pods"))
        return super().answer(request)


def test_a_kind_that_may_be_listed_in_one_namespace_only() -> None:
    found = read(_OfOneNamespace)
    assert names(found, "Pod") == ALL
    assert found.pods_read_in == ("default",)
    (note,) = found.notes
    assert note.startswith(
        "only namespace default was read of Pod: the server does not list them to this user"
    )
