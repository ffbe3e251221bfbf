"""The HTTP server: authentication, streams over a socket, and shutdown."""

import asyncio
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from tests.minicluster.rest.api_client import MAPS, ApiClient, config_map

from reprieve.cluster.certificates import Certificate, new_authority, new_certificate
from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.local_cluster import Tokens, write_kubeconfig
from reprieve_minicluster.rest.http_messages import ApiRequest, Batched, Stream
from reprieve_minicluster.rest.http_server import ApiServer, HttpServer, ListenAddress, serve
from reprieve_minicluster.virtual_time import clock, run
from tests.contract.issuing import client_certificate

TOKEN = "secret"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def served(tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[HttpServer, MiniCluster]]:
    cluster = MiniCluster(clock)
    async with serve(cluster, TOKEN, ListenAddress(tls=tls)) as server:
        yield server, cluster


@asynccontextmanager
async def calling(
    server: HttpServer, headers: dict[str, str] = BEARER
) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(server.url, headers=headers) as session:
        yield session


async def answered(response: aiohttp.ClientResponse) -> tuple[int, Any]:
    return response.status, await response.json()


def test_requests_in_virtual_time() -> None:
    async def main() -> None:
        async with served() as (server, _), calling(server) as session:
            async with session.post(MAPS, json=config_map("a", x="1")) as response:
                assert (await answered(response))[0] == 201
            async with session.get(f"{MAPS}/a") as response:
                status, body = await answered(response)
                assert (status, body["data"]) == (200, {"x": "1"})

    run(main())


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic c2VjcmV0"}]
)
def test_without_the_token_nothing_is_told(headers: dict[str, str]) -> None:
    async def main() -> None:
        async with served() as (server, cluster), calling(server, headers) as session:
            for method, path in (("GET", MAPS), ("GET", "/apis"), ("POST", MAPS), ("GET", "/nothing")):
                async with session.request(method, path, json=config_map("a")) as response:
                    status, body = await answered(response)
                    assert (status, body["kind"], body["reason"]) == (401, "Status", "Unauthorized")
            assert cluster.store.version == 0

    run(main())


def test_health_is_public_and_a_wrong_token_is_not() -> None:
    async def main() -> None:
        async with served() as (server, _):
            async with calling(server, {}) as session, session.get("/healthz") as response:
                assert (response.status, await response.text()) == (200, "ok")
            wrong = {"Authorization": "Bearer no"}
            async with calling(server, wrong) as session, session.get("/healthz") as response:
                assert response.status == 401

    run(main())


def test_a_body_that_is_too_large() -> None:
    async def main() -> None:
        large = BytesIO(b" " * (3 * 1024 * 1024 + 1))
        async with (
            served() as (server, _),
            calling(server) as session,
            session.post(MAPS, data=large) as response,
        ):
            status, body = await answered(response)
            assert (status, body["reason"]) == (413, "RequestEntityTooLarge")

    run(main())


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_that_is_not_encoded_as_it_says(encoding: str) -> None:
    async def main() -> None:
        headers = {**BEARER, "Content-Encoding": encoding}
        async with (
            served() as (server, _),
            calling(server, headers) as session,
            session.post(MAPS, data=b"nonsense", compress=False) as response,
        ):
            status, body = await answered(response)
            assert (status, body["kind"]) == (400, "Status")

    run(main())


def test_a_watch_over_the_wire_in_virtual_time() -> None:
    async def main() -> None:
        query = {"watch": "true", "timeoutSeconds": "60"}
        async with (
            served() as (server, cluster),
            calling(server) as session,
            session.get(MAPS, params=query) as response,
        ):
            assert response.headers["Transfer-Encoding"] == "chunked"
            cluster.apply([config_map("a")])
            assert json.loads(await response.content.readline())["type"] == "ADDED"
            await asyncio.sleep(30)
            cluster.apply([config_map("a", x="1")])
            assert json.loads(await response.content.readline())["type"] == "MODIFIED"
            assert await response.content.readline() == b""

    run(main())


def test_a_watch_can_be_broken_off() -> None:
    async def main() -> None:
        async with served() as (server, cluster), calling(server) as session:
            cluster.apply([config_map("a")])
            async with session.get(MAPS, params={"watch": "true"}) as response:
                await response.content.readline()
                server.disconnect()
                with pytest.raises(aiohttp.ClientPayloadError):
                    await response.content.readline()
            async with session.get(MAPS) as response:
                assert response.status == 200

    run(main())


def test_a_client_that_hangs_up_is_not_waited_for() -> None:
    async def main() -> None:
        async with served() as (server, cluster):
            async with calling(server) as session:
                cluster.apply([config_map("a")])
                async with session.get(MAPS, params={"watch": "true"}) as response:
                    await response.content.readline()
            await asyncio.sleep(1)
            assert not server._streams

    run(main())


def test_it_stops_while_a_client_watches() -> None:
    async def main() -> float:
        async with served() as (server, cluster), calling(server) as session:
            cluster.apply([config_map("a")])
            async with session.get(MAPS, params={"watch": "true"}) as response:
                await response.content.readline()
                began = clock()
                await server.stop()
                return clock() - began

    assert run(main()) < 5


def test_a_port_is_had_by_one() -> None:
    async def main() -> None:
        async with served() as (server, cluster):
            with pytest.raises(OSError, match="in use"):
                await serve(cluster, TOKEN, ListenAddress(port=server.port)).start()

    run(main())


CHUNKED = b"POST /version HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "noise",
    [
        b"\0\xff\n\n",
        b"GET\r\n\r\n",
        b"BREW /api HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: a\r\n\r\n",
        b"G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 70_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -4\r\n\r\n",
        CHUNKED + b"zz\r\n",
        CHUNKED + b"2\r\nabcdef\r\n",
    ],
)
def test_what_is_no_http_is_turned_away(noise: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with served() as (server, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(noise)
            head, _, body = (await reader.read(100_000)).partition(b"\r\n\r\n")
            assert head.startswith((b"HTTP/1.1 4", b"HTTP/1.0 4"))
            assert json.loads(body)["kind"] == "Status"
            writer.close()
            async with calling(server) as session, session.get("/version") as response:
                assert response.status == 200

    run(main())
    assert not caplog.records


# --- clients that stop in the middle ---------------------------------------------------------------

HEAD = f"{MAPS} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n".encode()


@asynccontextmanager
async def connected(
    server: HttpServer, sent: bytes, small: bool = True
) -> AsyncIterator[asyncio.StreamReader]:
    """``small``: the system keeps few bytes for a client that does not read."""
    own = socket.socket()
    if small:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    own.setblocking(False)
    await asyncio.get_running_loop().sock_connect(own, ("127.0.0.1", server.port))
    reader, writer = await asyncio.open_connection(sock=own, limit=16 * 1024)
    writer.write(sent)
    try:
        yield reader
    finally:
        writer.close()


def fill(cluster: MiniCluster) -> None:
    """More than the system keeps for a connection on this machine."""
    cluster.apply([config_map(f"m{i}", x="x" * 500_000) for i in range(40)])


@pytest.mark.parametrize("sent", [b"", b"GET /version HTTP/1.1\r\nHost: a\r\nAccept: appl"])
def test_half_a_head_is_waited_for_a_limited_time(sent: bytes) -> None:
    async def main() -> float:
        async with served() as (server, _), connected(server, sent) as reader:
            began = clock()
            assert await reader.read() == b""
            return clock() - began

    assert run(main()) <= 90


def test_half_a_second_head_is_waited_for_a_limited_time() -> None:
    async def main() -> float:
        sent = b"GET /version HTTP/1.1\r\nHost: a\r\n\r\nGET /ver"
        async with served() as (server, _), connected(server, sent) as reader:
            began = clock()
            assert (await reader.read()).startswith(b"HTTP/1.1 200")
            return clock() - began

    assert run(main()) <= 90


def test_half_a_body_is_waited_for_a_limited_time() -> None:
    async def main() -> float:
        sent = b"POST " + HEAD + b"Content-Length: 100\r\n\r\n{"
        async with served() as (server, cluster), connected(server, sent) as reader:
            began = clock()
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 408")
            assert "not sent within 60 s" in json.loads(body)["message"]
            assert cluster.store.version == 0
            return clock() - began

    assert run(main()) <= 80


@pytest.mark.parametrize("query", [b"", b"?watch=true"], ids=["list", "watch"])
def test_a_response_that_is_not_read_is_ended(query: bytes) -> None:
    """Each of 600 unread watches took 1.5 MB, for ever."""

    async def main() -> None:
        async with served() as (server, cluster):
            fill(cluster)
            head = HEAD.replace(b" ", query + b" ", 1)
            async with connected(server, b"GET " + head + b"\r\n") as reader:
                await asyncio.sleep(100)
                assert not server._streams
                with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                    await reader.readexactly(15_000_000)

    run(main())


@pytest.mark.parametrize("query", [b"", b"?watch=true&timeoutSeconds=3000"], ids=["list", "watch"])
def test_a_client_that_reads_slowly_gets_everything(query: bytes) -> None:
    async def main() -> int:
        async with served() as (server, cluster):
            fill(cluster)
            head = HEAD.replace(b" ", query + b" ", 1)
            got = 0
            async with connected(
                server, b"GET " + head + b"Connection: close\r\n\r\n", small=False
            ) as reader:
                while chunk := await reader.read(400_000):
                    got += len(chunk)
                    await asyncio.sleep(len(chunk) / 200_000)
            return got

    assert run(main()) > 20_000_000


def test_a_watch_is_sent_in_small_pieces() -> None:
    """The transport keeps one piece for a client that does not read."""

    async def main() -> None:
        cluster = MiniCluster(clock)
        cluster.apply([config_map(f"m{i}", x="x" * 10_000) for i in range(100)])
        request = ApiRequest("GET", MAPS, {"watch": "true", "timeoutSeconds": "1"})
        stream = ApiServer(cluster.store, clock).answer(request)
        assert isinstance(stream, Stream)
        sizes = [len(chunk) async for chunk in stream.chunks]
        assert sum(sizes) > 1_000_000
        assert max(sizes) < 150_000

    run(main())


def test_a_mistake_of_ours_is_a_status_too(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with served() as (server, cluster), calling(server) as session:
            del cluster.store.clock, cluster.store._history  # something broke
            async with session.get(MAPS) as response:
                status, body = await answered(response)
                assert (status, body["kind"], body["reason"]) == (500, "Status", "InternalError")
                assert "Traceback" not in body["message"]

    run(main())
    assert "Traceback" in caplog.text


def test_tls_with_a_certificate_made_now(tmp_path: Path) -> None:
    """In real time: a handshake takes as long as it takes."""
    certificate = new_certificate(("127.0.0.1", "localhost"))

    async def main() -> None:
        async with serve(MiniCluster(lambda: 0.0), TOKEN, ListenAddress(tls=certificate.context())) as server:
            trust = ssl.create_default_context(cadata=certificate.certificate.decode())
            write_kubeconfig(tmp_path / "config", server.url, Tokens(TOKEN), certificate)
            async with calling(server) as session, session.get("/version", ssl=trust) as response:
                assert response.status == 200
            async with calling(server) as session:
                with pytest.raises(aiohttp.ClientConnectorCertificateError):
                    await session.get("/version")

    asyncio.run(main())


def test_a_client_certificate_authenticates_its_subject(tmp_path: Path) -> None:
    certificate, clients = new_certificate(("127.0.0.1",)), new_authority("ca")
    tls = certificate.context(clients.certificate)

    async def answers(own: Certificate) -> tuple[int, str]:
        trust = ssl.create_default_context(cadata=certificate.certificate.decode())
        both = tmp_path / "both.pem"
        both.write_bytes(own.key + own.certificate)
        trust.load_cert_chain(both)
        async with (
            serve(MiniCluster(lambda: 0.0), TOKEN, ListenAddress(tls=tls)) as server,
            aiohttp.ClientSession() as session,
            session.get(f"{server.url}/api/v1/pods", ssl=trust) as response,
        ):
            return response.status, await response.text()

    assert asyncio.run(answers(client_certificate(clients, "ann", ("system:masters",))))[0] == 200
    status, text = asyncio.run(answers(client_certificate(clients, "ann")))
    assert status == 403
    assert 'User \\"ann\\" cannot list' in text
    with pytest.raises(aiohttp.ClientError):
        asyncio.run(answers(client_certificate(new_authority("ca"), "ann", ("system:masters",))))


def test_a_kubeconfig_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("older")
    write_kubeconfig(path, "https://127.0.0.1:1", Tokens(TOKEN), new_certificate(("127.0.0.1",)))
    assert path.stat().st_mode & 0o777 == 0o600
    config = yaml.safe_load(path.read_text())
    assert config["users"][0]["user"] == {"token": TOKEN}
    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"
    assert config["clusters"][0]["cluster"]["certificate-authority-data"]
    assert config["current-context"] == config["contexts"][0]["name"]


# --- one request with much to do -----------------------------------------------------------------


def test_others_are_served_while_a_collection_is_deleted() -> None:
    async def main() -> tuple[int, list[int], list[int]]:
        deleted: list[int] = []
        seen: list[int] = []
        async with served() as (server, cluster), calling(server) as session:
            cluster.apply([with_namespace(config_map(f"m{i}")) for i in range(2000)])
            at_first = cluster.store.version

            async def look_at_every_turn() -> None:
                while True:
                    deleted.append(cluster.store.version - at_first)
                    await asyncio.sleep(0)

            async def read() -> None:
                async with session.get(f"{MAPS}/m1999") as response:
                    seen.append(response.status)

            async def delete() -> int:
                async with session.delete(MAPS) as response:
                    return len((await response.json())["items"])

            looking, reading = asyncio.create_task(look_at_every_turn()), asyncio.create_task(delete())
            while not deleted or not deleted[-1]:
                await asyncio.sleep(0)
            await read()
            count = await reading
            looking.cancel()
        return count, deleted, seen

    count, deleted, seen = run(main())
    assert (count, deleted[-1]) == (2000, 2000)
    assert max(after - before for before, after in pairwise(deleted)) <= 100
    assert seen == [200]


def test_what_was_made_anew_while_a_collection_is_deleted_stays() -> None:
    client = ApiClient()
    for i in range(300):
        client.post(MAPS, config_map(f"m{i}"))
    batched = client.front.answer(ApiRequest("DELETE", MAPS))
    assert isinstance(batched, Batched)
    assert batched.next() is None
    client.delete(f"{MAPS}/m298")
    client.delete(f"{MAPS}/m299")
    client.post(MAPS, config_map("m299"))
    assert batched.finished().status == 200
    assert [item["metadata"]["name"] for item in client.get(MAPS)["items"]] == ["m299"]


def with_namespace(body: Json) -> Json:
    return {"kind": "ConfigMap", **body, "metadata": {**body["metadata"], "namespace": "default"}}
