"""The page over HTTP: who may read it, what it sends, and what becomes of readers that fall behind."""

import asyncio
import gzip
import io
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import aiohttp
import msgspec
import pytest
from tests.unit.report.test_decisions import choosing
from tests.unit.scheduler.making import a_node, a_pod, bound

from reprieve.assembly import loopback_page as loopback
from reprieve.assembly.loopback_page import LoopbackGate, page_listening
from reprieve.model.events import Event, Seen, Synced
from reprieve.model.json import Json
from reprieve.model.moment import on_one_clock
from reprieve.model.objects import Pod
from reprieve.page import picture, readers, server, sources
from reprieve.page.documents import PageAbilities, PageHead
from reprieve.page.live import FedSteps, LivePicture, PictureFeed
from reprieve.page.rows import PodRow, pod_row
from reprieve.page.sources import LiveFrames, PageParts, PageRefusedError, WhyQuestion
from reprieve.scheduler.reporting.decision import Decided

ALL = PageAbilities(whatif=True, apply=True, why=True, exposure=True)
HEAD = PageHead("demo", "up", ALL)


class Echo:
    """Answers with what it was asked."""

    async def why(self, asked: WhyQuestion, at: float | None) -> Json:
        return {"pod": asked.pod, "at": at}

    async def exposure(self, namespace: str, at: float | None) -> Json:
        return {"namespace": namespace}

    async def whatif(self, manifests: bytes, at: float | None) -> Json:
        if manifests == b"fail":
            raise RuntimeError("it broke")
        raise PageRefusedError("expected Kubernetes objects, got none")

    async def example(self, at: float | None) -> Json:
        return {"yaml": "kind: Pod", "at": at}

    async def apply(self, manifests: bytes) -> Json:
        return {"created": [manifests.decode()]}


@dataclass
class Visit:
    session: aiohttp.ClientSession
    url: str
    gate: LoopbackGate
    feed: PictureFeed
    live: LivePicture
    now: float = 1.0
    headers: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str, **headers: str) -> tuple[int, Any]:
        async with self.session.get(self.url + path, headers={**self.headers, **headers}) as response:
            return response.status, await response.json()

    async def post(self, path: str, body: bytes) -> tuple[int, Any]:
        async with self.session.post(
            self.url + path, data=io.BytesIO(body), headers=self.headers
        ) as response:
            return response.status, await response.json()

    def happens(self, *events: Event) -> None:
        self.now += 1.0
        self.feed.on_observed(events, (), on_one_clock(self.now))


@asynccontextmanager
async def served(head: PageHead = HEAD) -> AsyncIterator[Visit]:
    feed, gate = PictureFeed(), LoopbackGate("the test printed")

    async def take() -> Any:
        return feed.take()

    live = LivePicture(take)
    parts = PageParts(head, LiveFrames(live, "nothing is known yet"), gate, live, Echo())
    async with page_listening(parts) as port, aiohttp.ClientSession() as session:
        gate.port = port
        visit = Visit(session, f"http://127.0.0.1:{port}/page/", gate, feed, live)
        visit.headers = {"Authorization": f"Bearer {gate.token}"}
        yield visit


def visited(story: Callable[[Visit], Awaitable[None]], head: PageHead = HEAD) -> None:
    async def main() -> None:
        async with asyncio.timeout(20), served(head) as visit:
            await story(visit)

    asyncio.run(main())


async def next_event(response: aiohttp.ClientResponse) -> tuple[str, Any]:
    """The kind and the data of the next event; comments are passed over."""
    kind = ""
    while True:
        line = (await response.content.readline()).decode()
        assert line, "the stream ended"
        if line.startswith("event: "):
            kind = line.removeprefix("event: ").strip()
        if line.startswith("data: "):
            return kind, json.loads(line.removeprefix("data: "))


# --- who may read --------------------------------------------------------------------------------


def test_only_the_holder_of_the_token_reads_and_only_from_this_machine() -> None:
    async def story(visit: Visit) -> None:
        visit.happens(Seen(a_node("n1")), Synced())
        status, document = await visit.get("api/picture")
        assert (status, document["cluster"]) == (200, "demo")
        for headers, expected, words in (
            ({"Authorization": ""}, 401, "open the address again"),
            ({"Authorization": "Bearer wrong"}, 401, "earlier run"),
            ({"Authorization": f"Basic {visit.gate.token}"}, 401, "token"),
            ({"Host": "evil.example"}, 421, "this machine alone"),
            ({"Host": f"evil.example:{visit.gate.port}"}, 421, "this machine alone"),
            ({"Origin": "http://evil.example"}, 403, "other sites"),
            ({"Origin": "null"}, 403, "other sites"),
        ):
            status, document = await visit.get("api/picture", **headers)
            assert status == expected
            assert words in document["message"]
        status, _ = await visit.get("api/picture", Origin=f"http://127.0.0.1:{visit.gate.port}")
        assert status == 200

    visited(story)


def test_a_token_of_odd_bytes_is_an_invalid_one() -> None:
    async def story(visit: Visit) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", visit.gate.port)
        head = f"GET /page/api/picture HTTP/1.1\r\nHost: 127.0.0.1:{visit.gate.port}\r\nConnection: close\r\n"
        writer.write(head.encode() + b"Authorization: Bearer \xff\r\n\r\n")
        answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 401")
        assert b"earlier run" in answer

    visited(story)


def test_every_answer_has_the_strict_headers() -> None:
    async def story(visit: Visit) -> None:
        for path in ("", "static/absent.js", "api/picture", "api/history", "api/changes?after=nonsense"):
            async with visit.session.get(visit.url + path, headers=visit.headers) as response:
                policy = response.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'; script-src 'self'")
                assert "require-trusted-types-for 'script'" in policy
                assert response.headers["X-Content-Type-Options"] == "nosniff"
                assert response.headers["Referrer-Policy"] == "no-referrer"
                assert response.headers["Cache-Control"] == "no-store"

    visited(story)


def test_it_listens_on_loopback_alone() -> None:
    async def story(visit: Visit) -> None:
        with socket.create_connection(("127.0.0.1", visit.gate.port)) as here:
            assert here.getpeername()[0] == "127.0.0.1"
        with socket.socket() as other, pytest.raises(OSError):
            other.connect(("127.0.0.2", visit.gate.port))

    visited(story)


# --- what it sends -------------------------------------------------------------------------------


def test_a_picture_and_then_its_changes() -> None:
    async def story(visit: Visit) -> None:
        status, document = await visit.get("api/picture")
        assert (status, document["message"]) == (503, "nothing is known yet")
        pod = a_pod("p")
        visit.happens(Seen(a_node("n1")), Seen(pod), Synced())
        _, document = await visit.get("api/picture")
        assert [row[0] for row in document["pods"]] == ["default/p"]
        url = f"{visit.url}api/changes?after={document['revision']}"
        async with visit.session.get(url, headers=visit.headers) as response:
            assert response.content_type == "text/event-stream"
            visit.happens(Seen(bound(pod, "n1")))
            _, event = await next_event(response)
            assert event["revision"] == document["revision"] + 1
            assert [(row["pod"][0], row["pod"][2]) for row in event["changes"]] == [("default/p", "n1")]
            visit.feed.on_decided(decided(), on_one_clock(visit.now), 0.0)
            _, event = await next_event(response)
            assert [one["decision"]["outcome"] for one in event["changes"]] == ["preempting"]
        name = choosing().id
        status, document = await visit.get(f"api/decisions/{name}")
        assert (status, document["cli"]) == (200, f"reprieve why {name}")
        status, document = await visit.get("api/decisions/d-0")
        assert (status, document["message"].startswith("decision d-0 is not known")) == (404, True)

    visited(story)


def decided() -> Decided:
    return Decided(choosing(), ())


def test_a_reader_that_comes_back_misses_nothing_or_is_told_to_reload() -> None:
    async def story(visit: Visit) -> None:
        visit.live.ring.most = 10
        visit.happens(Seen(a_node("n1")), Synced())
        _, document = await visit.get("api/picture")
        revision = document["revision"]
        for i in range(5):
            visit.happens(Seen(a_pod(f"p{i}")))
            await visit.live.refresh()
        url = f"{visit.url}api/changes?after="
        async with visit.session.get(f"{url}{revision}", headers=visit.headers) as response:
            seen = [(await next_event(response))[1] for _ in range(5)]
        assert [event["changes"][0]["pod"][0] for event in seen] == [f"default/p{i}" for i in range(5)]
        for i in range(20):
            visit.happens(Seen(a_pod(f"q{i}")))
            await visit.live.refresh()
        for missed in (revision, 10_000):
            async with visit.session.get(f"{url}{missed}", headers=visit.headers) as response:
                kind, event = await next_event(response)
            assert (kind, event["message"]) == (
                "reload",
                "changes were missed: the page loads the picture again",
            )

    visited(story)


def test_amounts_in_another_order_make_readers_reload() -> None:
    async def story(visit: Visit) -> None:
        visit.happens(Seen(a_node("n1")), Synced())
        _, document = await visit.get("api/picture")
        node = a_node("n2")
        status = msgspec.structs.replace(node.status, allocatable={"cpu": "4", "nvidia.com/gpu": "8"})
        visit.happens(Seen(msgspec.structs.replace(node, status=status)))
        await visit.live.refresh()
        url = f"{visit.url}api/changes?after={document['revision']}"
        async with visit.session.get(url, headers=visit.headers) as response:
            kind, _ = await next_event(response)
        assert kind == "reload"

    visited(story)


def test_an_object_that_cannot_be_shown_is_left_out(
    monkeypatch: pytest.MonkeyPatch, mishaps: list[Any]
) -> None:
    make = pod_row

    def failing(pod: Pod) -> PodRow:
        if pod.metadata.name == "odd":
            raise RuntimeError("it is odd")
        return make(pod)

    monkeypatch.setattr(picture, "pod_row", failing)

    async def story(visit: Visit) -> None:
        visit.happens(Seen(a_node("n1")), Seen(a_pod("odd")), Seen(a_pod("even")), Synced())
        _, document = await visit.get("api/picture")
        assert [row[0] for row in document["pods"]] == ["default/even"]

    visited(story)
    assert len(mishaps) == 1


def test_a_picture_does_not_wait_for_a_scheduler_in_a_long_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_PATIENCE", 0.05)

    async def story(visit: Visit) -> None:
        visit.happens(Seen(a_node("n1")), Synced())
        await visit.get("api/picture")
        between, take = asyncio.Event(), visit.live.take

        async def taken_late() -> FedSteps:
            await between.wait()
            return await take()

        visit.live.take = taken_late
        visit.happens(Seen(a_node("n2")))
        _, document = await visit.get("api/picture")
        assert [row[0] for row in document["nodes"]] == ["n1"]
        between.set()
        await visit.live.refresh()
        assert [row.name for row in visit.live.picture.nodes()] == ["n1", "n2"], "nothing is lost"

    visited(story)


def test_changes_are_coalesced() -> None:
    async def story(visit: Visit) -> None:
        visit.happens(Seen(a_node("n1")), Synced())
        _, document = await visit.get("api/picture")
        url = f"{visit.url}api/changes?after={document['revision']}"
        pod = a_pod("p")
        async with visit.session.get(url, headers=visit.headers) as response:
            visit.happens(Seen(pod), Seen(bound(pod, "n1")))
            _, event = await next_event(response)
        assert [row["pod"][2] for row in event["changes"]] == ["n1"]

    visited(story)


def test_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(readers, "_SIGN_OF_LIFE_SECONDS", 0.05)

    async def story(visit: Visit) -> None:
        visit.happens(Seen(a_node("n1")), Synced())
        await visit.get("api/picture")
        url = f"{visit.url}api/changes?after={visit.live.ring.revision}"
        async with visit.session.get(url, headers=visit.headers) as response:
            assert await response.content.readline() == b":\n"

    visited(story)


def test_a_stalled_reader_is_dropped_and_others_read_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_STALLED_SECONDS", 0.3)

    async def story(visit: Visit) -> None:
        visit.live.ring.most = 1_000_000
        visit.happens(Seen(a_node("n1")), Synced())
        await visit.get("api/picture")
        first = visit.live.ring.revision
        reader, writer = await asyncio.open_connection("127.0.0.1", visit.gate.port, limit=1024)
        head = f"GET /page/api/changes?after={first} HTTP/1.1\r\nHost: 127.0.0.1:{visit.gate.port}\r\n"
        writer.write(f"{head}Authorization: Bearer {visit.gate.token}\r\n\r\n".encode())
        await reader.readline()
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport that reads
        while not visit.live._readers:
            await asyncio.sleep(0.01)
        url = f"{visit.url}api/changes?after={first}"
        async with visit.session.get(url, headers=visit.headers) as response:
            pods = [a_pod(f"p{i}-{'x' * 200}") for i in range(1000)]
            turn = 0
            while visit.live._readers > 1:
                turn += 1
                visit.happens(*(Seen(replaced(pod, turn)) for pod in pods))
                _, event = await next_event(response)
                assert event["changes"]
        writer.close()

    visited(story)


def replaced(pod: Any, turn: int) -> Any:
    """Another version of it, which shows: it wants another node each time."""
    meta = msgspec.structs.replace(pod.metadata, resource_version=str(1000 + turn))
    status = msgspec.structs.replace(pod.status, nominated_node_name=f"n{turn}")
    return msgspec.structs.replace(pod, metadata=meta, status=status)


def test_too_many_readers_are_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_MOST_STREAMS", 0)

    async def story(visit: Visit) -> None:
        status, document = await visit.get("api/changes?after=0")
        assert (status, "readers follow this page already" in document["message"]) == (503, True)

    visited(story)


# --- questions -----------------------------------------------------------------------------------


def test_questions_are_answered_or_refused_with_a_sentence(mishaps: list[Any]) -> None:
    async def story(visit: Visit) -> None:
        assert await visit.get("api/why?pod=default/p&at=5") == (200, {"pod": "default/p", "at": 5.0})
        status, document = await visit.get("api/why?pod=default/p&decision=d-1")
        assert (status, document["message"].startswith("expected one of")) == (400, True)
        status, document = await visit.get("api/why?pod=default/p&at=noon")
        assert (status, document["message"]) == (400, 'at: expected seconds since 1970, got "noon"')
        assert await visit.get("api/exposure?namespace=team-a") == (200, {"namespace": "team-a"})
        assert await visit.get("api/example?at=5") == (200, {"yaml": "kind: Pod", "at": 5.0})
        assert await visit.post("api/apply", b"x") == (200, {"created": ["x"]})
        status, document = await visit.post("api/whatif", b"not: [yaml")
        assert (status, document["message"]) == (400, "expected Kubernetes objects, got none")
        status, document = await visit.post("api/whatif", b"x" * ((1 << 20) + 1))
        assert (status, document["message"]) == (
            413,
            "the manifests are too large: expected at most 1024 KiB",
        )
        status, document = await visit.post("api/whatif", b"fail")
        assert (status, "RuntimeError" in document["message"]) == (500, True)
        assert "it broke" not in document["message"]
        status, _ = await visit.get("api/picture?at=5")
        assert status == 404

    visited(story)
    assert len(mishaps) == 1


def test_a_compressed_body_is_not_unpacked() -> None:
    """A few bytes would become any number of them, before the token is looked at."""

    async def story(visit: Visit) -> None:
        headers = {**visit.headers, "Content-Encoding": "gzip"}
        bomb = gzip.compress(bytes(10_000_000))
        async with visit.session.post(visit.url + "api/whatif", data=bomb, headers=headers) as response:
            assert (response.status, (await response.json())["message"]) == (
                400,
                "expected Kubernetes objects, got none",
            )

    visited(story)


def test_a_page_that_only_reads_answers_no_question() -> None:
    async def story(visit: Visit) -> None:
        for answer in (await visit.get("api/why?pod=a/b"), await visit.post("api/apply", b"x")):
            assert answer == (404, {"message": "this page does not answer that question"})

    visited(story, replace(HEAD, mode="daemon", can=PageAbilities()))


def test_it_is_served_in_a_thread_of_its_own() -> None:
    async def main() -> None:
        feed = PictureFeed()

        def parts(gate: Any) -> PageParts:
            async def take() -> Any:
                return feed.take()

            live = LivePicture(take)
            return PageParts(HEAD, LiveFrames(live, "nothing"), gate, live)

        async with (
            loopback.loopback_page(parts, "the test printed") as url,
            aiohttp.ClientSession() as client,
        ):
            page, _, token = url.partition("#token=")
            headers = {"Authorization": f"Bearer {token}"}
            async with client.get(f"{page}api/picture", headers=headers) as response:
                assert response.status == 503

    asyncio.run(main())
