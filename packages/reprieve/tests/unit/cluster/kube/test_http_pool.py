"""Writes on kept connections, over real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.unit.cluster.kube.listening import Answering, Listener, always, listening, text

from reprieve.cluster.kube import http_pool
from reprieve.cluster.kube.http_pool import (
    HttpPool,
    HttpResponse,
    MalformedError,
    NoResponseError,
    NotSentError,
    ResponseReader,
)
from reprieve_minicluster.virtual_time import run

WHOLE: dict[str, tuple[bytes, int, bytes, bool]] = {
    "length": (b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", 201, b"{}", True),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    "close": (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", 200, b"x", False),
    "old": (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, b"x", False),
    "chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
        *(200, b"abc0123456789", True),
    ),
    "trailers": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: y\r\n\r\n",
        *(200, b"a", True),
    ),
    "interim": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        *(200, b"", True),
    ),
}


@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize("name", WHOLE)
def test_a_response_is_whole_with_its_last_byte(name: str, step: int) -> None:
    raw, status, body, keeps_open = WHOLE[name]
    reader = ResponseReader()
    pieces = [raw[i : i + step] for i in range(0, len(raw), step)]
    *early, last = [reader.feed(piece) for piece in pieces]
    assert early == [None] * len(early)
    assert last is not None
    assert (last.status, last.body, last.keeps_open) == (status, body, keeps_open)


def test_names_of_headers_are_in_lower_case() -> None:
    response = ResponseReader().feed(b"HTTP/1.1 429 Busy\r\nRETRY-After:  7 \r\nContent-Length: 0\r\n\r\n")
    assert response is not None
    assert response.headers["retry-after"] == "7"


def test_a_body_that_ends_with_the_connection() -> None:
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 200 OK\r\n\r\nab") is None
    assert reader.end() == HttpResponse(200, {}, b"ab", keeps_open=False)


@pytest.mark.parametrize("raw", [b"", *(raw[:-1] for raw, *_ in WHOLE.values())])
def test_a_response_that_is_cut_off_is_none(raw: bytes) -> None:
    reader = ResponseReader()
    assert reader.feed(raw) is None
    assert reader.end() is None


def test_what_follows_a_response_ends_the_use_of_its_connection() -> None:
    response = ResponseReader().feed(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab")
    assert response is not None
    assert (response.body, response.keeps_open) == (b"a", False)


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000,
        b"HTTP/1.1 200 OK\r\n" + b"x" * 300_000,
    ],
)
def test_what_is_no_response(raw: bytes) -> None:
    with pytest.raises(MalformedError):
        ResponseReader().feed(raw)


OK = text("200 OK")


@asynccontextmanager
async def pooled(answering: Answering) -> AsyncIterator[tuple[HttpPool, Listener]]:
    async with listening(answering) as listener:
        pool = HttpPool(f"http://127.0.0.1:{listener.port}/base", "", connect_seconds=3.0)
        try:
            yield pool, listener
        finally:
            pool.close()


def nothing() -> None:
    pass


async def asked(pool: HttpPool, seconds: float = 5.0) -> int:
    message = pool.message("POST", "/x", [("Accept", "application/json")], b"{}")
    return (await pool.exchange(message, None, seconds, nothing)).status


def test_a_request_as_it_is_sent() -> None:
    pool = HttpPool("https://[::1]/base", "", connect_seconds=3.0)
    assert pool.message("POST", "/x?a=b", [("Accept", "y")], b"{}") == (
        b"POST /base/x?a=b HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 2\r\nAccept: y\r\n\r\n{}"
    )


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb"])
def test_a_header_cannot_add_another(value: str) -> None:
    with pytest.raises(NotSentError, match="line break"):
        HttpPool("http://x", "", 3.0).message("POST", "/x", [("Authorization", value)], b"")


def test_connections_are_used_again_until_they_are_old() -> None:
    async def main() -> None:
        async with pooled(always(OK)) as (pool, listener):
            for _ in range(3):
                assert await asked(pool) == 200
            assert listener.connections == 1
            await asyncio.gather(*(asked(pool) for _ in range(4)))
            assert listener.connections == 4
            await asyncio.sleep(100)
            await asked(pool)
            assert listener.connections == 5

    run(main())


def test_a_burst_shares_a_few_connections() -> None:
    async def main() -> None:
        async with pooled(always(OK)) as (pool, listener):
            assert await asyncio.gather(*(asked(pool) for _ in range(200))) == [200] * 200
            assert listener.connections <= 16

    run(main())


def test_requests_that_hang_do_not_stop_others() -> None:
    numbers = iter(range(1000))

    async def hang_at_first(writer: asyncio.StreamWriter, head: str) -> None:
        if next(numbers) < 40:
            await asyncio.sleep(10_000)
        writer.write(OK)

    async def main() -> None:
        async with pooled(hang_at_first) as (pool, _):
            hanging = [asyncio.create_task(asked(pool, seconds=100.0)) for _ in range(40)]
            await asyncio.sleep(0)
            assert await asked(pool) == 200
            assert asyncio.get_running_loop().time() < 0.5
            for task in hanging:
                task.cancel()
            await asyncio.gather(*hanging, return_exceptions=True)

    run(main())


def test_connections_that_hang_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "_MOST_OPEN", 20)

    async def hang(writer: asyncio.StreamWriter, head: str) -> None:
        await asyncio.sleep(10_000)

    async def main() -> None:
        async with pooled(hang) as (pool, listener):
            hanging = [asyncio.create_task(asked(pool, seconds=100.0)) for _ in range(30)]
            await asyncio.sleep(5)
            assert listener.connections == 20
            ended = [task for task in hanging if task.done()]
            assert {str(task.exception()) for task in ended} == {
                "20 requests hang, each on a connection of its own"
            }
            assert len(ended) == 10
            for task in hanging:
                task.cancel()
            await asyncio.gather(*hanging, return_exceptions=True)

    run(main())


def test_a_connection_that_the_server_closed_is_not_used_again() -> None:
    async def once(writer: asyncio.StreamWriter, head: str) -> None:
        writer.write(OK)
        await writer.drain()
        writer.close()

    async def main() -> None:
        async with pooled(once) as (pool, listener):
            for _ in range(3):
                assert await asked(pool) == 200
                await asyncio.sleep(1)
            assert listener.connections == 3

    run(main())


def test_an_answer_that_comes_too_late_is_not_that_of_the_next_request() -> None:
    statuses = iter(["201 Created", "202 Accepted"])

    async def slow(writer: asyncio.StreamWriter, head: str) -> None:
        await asyncio.sleep(10)
        writer.write(text(next(statuses)))

    async def main() -> None:
        async with pooled(slow) as (pool, listener):
            with pytest.raises(NoResponseError, match="no response in time"):
                await asked(pool, seconds=5.0)
            assert asyncio.get_running_loop().time() == pytest.approx(5.0)
            await asyncio.sleep(20)
            await asked(pool, seconds=50.0)
            assert listener.connections == 2

    run(main())


def test_a_caller_that_gives_up_takes_its_connection_with_it() -> None:
    async def silent(writer: asyncio.StreamWriter, head: str) -> None:
        await asyncio.sleep(3)
        writer.write(OK)

    async def main() -> None:
        async with pooled(silent) as (pool, listener):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(1):
                    await asked(pool)
            assert await asked(pool) == 200
            assert listener.connections == 2

    run(main())


def test_a_request_that_waited_for_too_long_is_not_sent() -> None:
    async def slow(writer: asyncio.StreamWriter, head: str) -> None:
        await asyncio.sleep(0.15)
        writer.write(OK)

    async def main() -> None:
        async with pooled(slow) as (pool, listener):
            first = [asyncio.create_task(asked(pool)) for _ in range(16)]
            await asyncio.sleep(0)
            with pytest.raises(NotSentError, match="took all the time"):
                await asked(pool, seconds=0.1)
            assert await asyncio.gather(*first) == [200] * 16
            assert len(listener.heads) == 16

    run(main())


def test_what_was_not_delivered_is_discarded_with_its_connection() -> None:
    """So the server sees a reset, and not a whole request that is followed by the end of the stream."""
    ended: list[bool] = []

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n{}")
            ended.append(not await reader.read(1))
        except ConnectionResetError:
            ended.append(False)
        finally:
            writer.close()

    async def main() -> None:
        async with await asyncio.start_server(deaf, "127.0.0.1") as server:
            port = server.sockets[0].getsockname()[1]
            pool = HttpPool(f"http://127.0.0.1:{port}", "", connect_seconds=3.0)
            with pytest.raises(NoResponseError):
                await asked(pool, seconds=1.0)
            await asyncio.sleep(1)

    run(main())
    assert ended == [False]


def test_bytes_that_are_no_response() -> None:
    async def main() -> None:
        async with pooled(always(b"SSH-2.0\r\n\r\n", OK)) as (pool, _):
            with pytest.raises(NoResponseError, match="not HTTP"):
                await asked(pool)
            assert await asked(pool) == 200

    run(main())


def test_nothing_is_sent_if_it_may_not_begin() -> None:
    def refuse() -> None:
        raise PermissionError

    async def main() -> None:
        async with pooled(always(OK)) as (pool, listener):
            with pytest.raises(PermissionError):
                await pool.exchange(pool.message("POST", "/x", [], b""), None, 5.0, refuse)
            assert listener.heads == []

    run(main())
