"""One connection, over real sockets: what a failure means, the rate limit, and fencing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cluster.kube.listening import Answering, Listener, always, listening, once, text

from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import (
    DEFAULT_LIMITS,
    ClientLimits,
    Connection,
    LineSplitter,
    ReadPause,
    TokenBucket,
    Turns,
    connected,
)
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve.cluster.kube.requests import KubeRequest, KubeResponse, NoAnswerError, QuietError, RefusedError
from reprieve.cluster.port import Answer, Lost, Refused, Succeeded
from reprieve.model.urgency import Lane, Urgency
from reprieve_minicluster.virtual_time import run

READ, WRITE = KubeRequest("GET", "/api/v1/pods"), KubeRequest("POST", "/api/v1/pods", (), b"{}")
OK = text("200 OK")


@asynccontextmanager
async def connecting(
    answering: Answering, limits: ClientLimits = DEFAULT_LIMITS, user: KubeconfigUser | None = None
) -> AsyncIterator[tuple[Connection, Listener]]:
    async with listening(answering) as listener:
        access = Access(
            Login(KubeconfigCluster(server=f"http://127.0.0.1:{listener.port}"), user or KubeconfigUser())
        )
        async with connected(access, limits) as connection:
            yield connection, listener


def asked(request: KubeRequest, answering: Answering, **limits: Any) -> Answer:
    async def main() -> Answer:
        async with connecting(answering, ClientLimits(**limits)) as (connection, _):
            return await connection.perform(once(request))

    return run(main())


def test_a_request_as_it_goes_over_the_wire() -> None:
    async def main() -> None:
        async with connecting(always(OK), user=KubeconfigUser(token="t", as_groups=("a", "b"))) as (
            connection,
            listener,
        ):
            query = (("fieldSelector", "a!=b,c!=d"), ("watch", "true"))
            await connection.send(KubeRequest("PATCH", "/x", query, b"{}", "application/merge-patch+json"))
            ((_, head),) = listener.heads
            assert head.startswith("PATCH /x?fieldSelector=a!%3Db,c!%3Dd&watch=true HTTP/1.1\r\n")
            lines = head.split("\r\n")
            for line in ("Authorization: Bearer t", "Content-Type: application/merge-patch+json"):
                assert line in lines
            assert [line for line in lines if "Impersonate-Group" in line] == [
                "Impersonate-Group: a",
                "Impersonate-Group: b",
            ]
            assert any(line.startswith("User-Agent: reprieve/") for line in lines)
            assert not any(line.startswith("Accept-Encoding") for line in lines)

    run(main())


def test_a_server_that_has_a_path_of_its_own() -> None:
    async def main() -> None:
        async with listening(always(OK)) as listener:
            there = KubeconfigCluster(server=f"http://127.0.0.1:{listener.port}/k8s/clusters/c-1/")
            async with connected(Access(Login(there, KubeconfigUser()))) as connection:
                await connection.send(READ)
            assert listener.heads[0][1].startswith("GET /k8s/clusters/c-1/api/v1/pods HTTP/1.1\r\n")

    run(main())


def test_the_observer_is_called_for_every_request() -> None:
    told: list[tuple[str, str, int | None]] = []

    async def main() -> int:
        async with listening(always(text("404 Not Found"))) as listener:
            access = Access(
                Login(KubeconfigCluster(server=f"http://127.0.0.1:{listener.port}"), KubeconfigUser())
            )
            access.observer = lambda host, method, code, seconds: told.append((host, method, code))
            async with connected(access) as connection:
                await connection.send(READ)
        async with connected(access) as connection:
            with pytest.raises(NoAnswerError):
                await connection.send(WRITE)
        return listener.port

    host = f"127.0.0.1:{run(main())}"
    assert told == [(host, "GET", 404), (host, "POST", None)]


def test_connections_are_used_again() -> None:
    async def main() -> None:
        async with connecting(always(OK)) as (connection, listener):
            for _ in range(5):
                await connection.send(READ)
            assert listener.connections == 1
            await asyncio.gather(*(connection.send(READ) for _ in range(4)))
            assert listener.connections == 4

    run(main())


async def cut(writer: asyncio.StreamWriter, head: str) -> None:
    writer.close()


async def cut_in_the_middle(writer: asyncio.StreamWriter, head: str) -> None:
    writer.write(OK[:-1])
    writer.close()


async def say_nothing(writer: asyncio.StreamWriter, head: str) -> None:
    await asyncio.sleep(10_000)


@pytest.mark.parametrize("answering", [cut, cut_in_the_middle, say_nothing])
def test_without_an_answer_a_write_may_have_happened_and_a_read_changed_nothing(answering: Answering) -> None:
    assert isinstance(asked(WRITE, answering), Lost)
    read = asked(READ, answering)
    assert isinstance(read, Refused)
    assert read.again


def test_what_was_not_sent_has_not_happened() -> None:
    async def main() -> None:
        async with listening(always(OK)) as listener:
            port = listener.port
        async with connected(
            Access(Login(KubeconfigCluster(server=f"http://127.0.0.1:{port}"), KubeconfigUser()))
        ) as connection:
            answer = await connection.perform(once(WRITE))
            assert isinstance(answer, Refused)
            assert answer.again
            assert f"http://127.0.0.1:{port} cannot be reached" in answer.error

    run(main())


def test_no_more_than_the_rate_allows() -> None:
    async def main() -> None:
        async with connecting(always(OK), ClientLimits(rate=10, burst=5)) as (connection, _):
            await asyncio.gather(*(connection.send(READ) for _ in range(25)))
            assert asyncio.get_running_loop().time() == pytest.approx(2.0)

    run(main())


def test_a_busy_server_is_left_alone_as_long_as_it_asks() -> None:
    async def main() -> None:
        busy = text("429 Too Many Requests", Retry_After="7")
        async with connecting(always(busy, OK)) as (connection, _):
            assert (await connection.send(WRITE)).status == 429
            assert (await connection.send(WRITE)).status == 200
            assert asyncio.get_running_loop().time() == pytest.approx(7.0)

    run(main())


def test_a_write_does_not_wait_for_ever() -> None:
    async def main() -> None:
        busy = text("429 Too Many Requests", Retry_After="30")
        async with connecting(always(busy, OK)) as (connection, listener):
            await connection.send(READ)
            refused = await connection.perform(once(WRITE))
            assert isinstance(refused, Refused)
            assert refused.again
            assert asyncio.get_running_loop().time() == pytest.approx(8.0)
            assert await connection.perform(once(READ)) == Succeeded()
            assert asyncio.get_running_loop().time() == pytest.approx(30.0, abs=0.1)
            assert len(listener.heads) == 2

    run(main())


def test_a_refused_token_is_renewed_and_the_request_made_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old")

    async def rotate(writer: asyncio.StreamWriter, head: str) -> None:
        file.write_text("new")
        writer.write(OK if "Bearer new" in head else text("401 Unauthorized"))

    async def main() -> None:
        async with connecting(rotate, user=KubeconfigUser(token_file=str(file))) as (connection, listener):
            assert await connection.perform(once(WRITE)) == Succeeded()
            assert len(listener.heads) == 2

    run(main())


def test_without_leadership_writes_are_not_sent_and_reads_are() -> None:
    async def main() -> None:
        now = asyncio.get_running_loop().time
        async with listening(say_nothing) as listener:
            access = Access(
                Login(KubeconfigCluster(server=f"http://127.0.0.1:{listener.port}"), KubeconfigUser())
            )
            async with connected(access, may_write_for=lambda: 3.0 - now()) as connection:
                assert isinstance(await connection.perform(once(WRITE)), Lost)
                assert now() == pytest.approx(3.0), "what is under way ends with the right"
                refused = await connection.perform(once(WRITE))
                assert isinstance(refused, Refused)
                assert "another replica may lead" in refused.error
                assert len(listener.heads) == 1
                await connection.perform(once(READ))
                assert len(listener.heads) == 2

    run(main())


def test_leadership_is_checked_again_when_the_body_is_sent() -> None:
    """A process may stand still between the two; what was not sent then has not happened."""

    async def main() -> None:
        answers = iter([5.0, -1.0])
        async with listening(say_nothing) as listener:
            access = Access(
                Login(KubeconfigCluster(server=f"http://127.0.0.1:{listener.port}"), KubeconfigUser())
            )
            async with connected(access, may_write_for=lambda: next(answers)) as connection:
                refused = await connection.perform(once(WRITE))
                assert isinstance(refused, Refused)
                assert "another replica may lead" in refused.error
                assert listener.heads == []
                assert asyncio.get_running_loop().time() == 0.0

    run(main())


@pytest.mark.parametrize("body", [b"{}", b""])
def test_a_write_through_a_proxy_checks_leadership_when_it_is_sent(body: bytes) -> None:
    async def main() -> None:
        answers = iter([5.0, -1.0])
        async with listening(say_nothing) as listener:
            proxy = f"http://127.0.0.1:{listener.port}"
            cluster = KubeconfigCluster(server="http://api.example", proxy_url=proxy)
            access = Access(Login(cluster, KubeconfigUser()))
            async with connected(access, may_write_for=lambda: next(answers)) as connection:
                refused = await connection.perform(once(KubeRequest("DELETE", "/api/v1/pods/p", (), body)))
                assert isinstance(refused, Refused)
                assert "another replica may lead" in refused.error
                assert listener.heads == []

    run(main())


# --- streams -------------------------------------------------------------------------------------


def chunked(*pieces: bytes, ended_well: bool = True) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return head + body + (b"0\r\n\r\n" if ended_well else b"")


def streamed(answering: Answering, **limits: Any) -> tuple[list[bytes], Exception | None]:
    """What came, and what ended it."""
    found: list[bytes] = []

    async def main() -> Exception | None:
        async with connecting(answering, ClientLimits(**limits)) as (connection, _):
            try:
                async for lines in connection.lines(READ):
                    found.extend(lines)
            except (NoAnswerError, RefusedError) as error:
                return error
            return None

    return found, run(main())


def test_lines_however_they_are_cut() -> None:
    long = b"x" * 300_000
    assert streamed(always(chunked(b"a\nb", b"b\n\n", long, long, b"\nrest"))) == (
        [b"a", b"bb", long * 2],
        None,
    )


def test_a_dense_stream_is_read_in_batches_and_loses_nothing() -> None:
    lines = [b"%d" % number for number in range(400)]
    batches: list[list[bytes]] = []

    async def stream(writer: asyncio.StreamWriter, head: str) -> None:
        writer.write(chunked(ended_well=False))
        for line in lines:
            writer.write(b"%x\r\n%b\n\r\n" % (len(line) + 1, line))
            await asyncio.sleep(0.001)
        writer.write(b"0\r\n\r\n")

    async def main() -> None:
        async with connecting(stream) as (connection, _):
            async for batch in connection.lines(READ):
                batches.append(batch)

    run(main())
    assert [line for batch in batches for line in batch] == lines
    assert len(batches[0]) == 1, "the first one was read at once"
    assert len(batches) < len(lines) / 4


def test_a_stream_that_breaks_off_or_falls_silent() -> None:
    async def break_off(writer: asyncio.StreamWriter, head: str) -> None:
        writer.write(chunked(b"a\n", ended_well=False))
        writer.close()

    async def fall_silent(writer: asyncio.StreamWriter, head: str) -> None:
        writer.write(chunked(b"a\n", ended_well=False))
        await asyncio.sleep(10_000)

    for answering, kind in ((break_off, NoAnswerError), (fall_silent, QuietError)):
        found, error = streamed(answering)
        assert found == [b"a"]
        assert type(error) is kind


def test_a_stream_that_does_not_begin_is_a_fault() -> None:
    async def say_nothing(writer: asyncio.StreamWriter, head: str) -> None:
        await asyncio.sleep(10_000)

    found, error = streamed(say_nothing)
    assert (found, type(error)) == ([], NoAnswerError)


def test_a_stream_that_is_refused() -> None:
    found, error = streamed(always(text("410 Gone", '{"message": "too old"}')))
    assert found == []
    assert isinstance(error, RefusedError)
    assert error.response == KubeResponse(410, b'{"message": "too old"}')


def test_a_line_in_single_bytes() -> None:
    splitter = LineSplitter()
    pieces = [splitter.feed(b"one\ntwo\n\nthree"[i : i + 1]) for i in range(14)]
    assert [line for piece in pieces for line in piece] == [b"one", b"two"]


# --- how fast, and how long to wait ----------------------------------------------------------------


def taken(bucket: TokenBucket, calls: int, now: float) -> list[float]:
    """When each of so many calls gets its token."""
    times = []
    for _ in range(calls):
        while pause := bucket.take(now):
            now += pause
        times.append(now)
    return times


def test_a_burst_and_then_the_rate() -> None:
    bucket = TokenBucket(rate=10, burst=3)
    assert taken(bucket, 5, 0.0) == pytest.approx([0, 0, 0, 0.1, 0.2])
    assert bucket.take(0.2) == pytest.approx(0.1)
    assert taken(bucket, 4, 100.0) == pytest.approx([100, 100, 100, 100.1])


def test_after_a_rest_there_is_no_burst() -> None:
    bucket = TokenBucket(rate=10, burst=3)
    bucket.rest(until=5.0)
    bucket.rest(until=2.0)
    assert taken(bucket, 3, 1.0) == pytest.approx([5.0, 5.1, 5.2])


def test_retry_after_holds_without_a_rate_limit() -> None:
    bucket = TokenBucket(rate=0, burst=1)
    bucket.rest(until=5.0)
    assert [bucket.take(now) for now in (1.0, 6.0)] == [4.0, 0.0]


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_no_limit(rate: float) -> None:
    bucket = TokenBucket(rate, burst=1)
    assert [bucket.take(0.0) for _ in range(50)] == [0.0] * 50


def turns_of(*waiting: tuple[Urgency, float]) -> list[float | None]:
    """When each call gets its turn at one token a second, the first at once; None: it gave up."""

    async def main() -> list[float | None]:
        turns, time = Turns(TokenBucket(rate=1, burst=1)), asyncio.get_running_loop().time

        async def one(urgency: Urgency, longest: float) -> float | None:
            return round(time(), 3) if await turns.wait(urgency, longest) else None

        return await asyncio.gather(*(one(*call) for call in waiting))

    return run(main())


def test_a_call_that_gives_up_takes_no_token() -> None:
    report = Urgency(Lane.REPORT)
    assert turns_of((report, inf), (report, 0.5), (report, inf), (report, inf)) == [0.0, None, 1.0, 2.0]


def test_a_bind_does_not_wait_behind_reports() -> None:
    times = turns_of(*[(Urgency(Lane.REPORT), inf)] * 20, (Urgency(Lane.BIND), inf))
    assert times[-1] == 1.0, "the first report was sent before the bind came"


def test_a_quiet_stream_is_read_at_once() -> None:
    pause = ReadPause()
    assert [pause.after(waited, 1500) for waited in (0.005, 0.1, 60.0)] == [0.0] * 3


def test_a_stream_of_small_messages_is_read_in_batches() -> None:
    pause = ReadPause()
    pauses = [pause.after(0.001, 1500) for _ in range(40)]
    assert pauses[:3] == pytest.approx([0.001, 0.002, 0.003])
    assert pauses[-1] == pytest.approx(0.02)
    assert pause.after(0.01, 1500) == 0.0, "a message was waited for: the stream is quiet"
    assert pause.after(0.001, 1500) == pytest.approx(0.001)


def test_a_list_is_read_without_pauses() -> None:
    pause = ReadPause()
    assert [pause.after(0.0, 64 * 1024) for _ in range(5)] == [0.0] * 5
