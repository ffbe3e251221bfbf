"""Readers of few rights, many, slow or broken ones: what they cost is bounded, and others read on."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from msgspec import structs
from tests.unit.page.test_server import next_event
from tests.unit.report.test_decisions import choosing
from tests.unit.scheduler.making import a_node, a_pod

from reprieve.assembly.loopback_page import page_listening
from reprieve.model.events import Seen, Synced
from reprieve.model.moment import on_one_clock
from reprieve.page import picture, readers, server
from reprieve.page.documents import PageHead, kinds_in_picture
from reprieve.page.live import DecisionTaken, FedSteps, LivePicture, PictureFeed, PlansWentOn
from reprieve.page.picture import DecisionMemory, Picture
from reprieve.page.sources import LiveFrames, PageParts, ReaderSight
from reprieve.report.hidden_names import MayGet, Named
from reprieve.scheduler.plans.plan_records import PlanOpened, Preemptor
from reprieve.scheduler.reporting.decision import Decision

_SMALL = 4096  # bytes


@dataclass
class FewRights:
    """Sees the pods of one namespace."""

    reader: str | None
    holding: asyncio.Event
    asked: list[frozenset[Named]]

    async def of(self, named: Collection[Named]) -> MayGet:
        self.asked.append(frozenset(named))
        return lambda kind, namespace: namespace == "default"

    async def holds(self) -> bool:
        await self.holding.wait()
        return False


@dataclass
class Gate:
    """The header Reader says which one it is."""

    holding: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[frozenset[Named]] = field(default_factory=list)

    def check_origin(self, request: web.Request) -> None:
        """All are welcome."""

    async def enter(self, request: web.Request) -> ReaderSight:
        return FewRights(request.headers.get("Reader", "alice"), self.holding, self.asked)


@dataclass
class Visit:
    session: aiohttp.ClientSession
    port: int
    gate: Gate
    feed: PictureFeed
    live: LivePicture

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/page/api/"

    async def get(self, path: str, reader: str = "alice") -> tuple[int, Any]:
        async with self.session.get(self.api + path, headers={"Reader": reader}) as response:
            return response.status, await response.json()

    async def stalled(self, path: str) -> socket.socket:
        """A connection whose reader has asked, and takes nothing."""
        found = socket.socket()
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
        found.setblocking(False)
        await asyncio.get_running_loop().sock_connect(found, ("127.0.0.1", self.port))
        found.send(f"GET /page/api/{path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        return found


@asynccontextmanager
async def served() -> AsyncIterator[Visit]:
    feed, gate = PictureFeed(), Gate()

    async def take() -> FedSteps:
        return feed.take()

    live = LivePicture(take)
    parts = PageParts(PageHead("demo", "daemon"), LiveFrames(live, "nothing is known yet"), gate, live)
    async with page_listening(parts) as port, aiohttp.ClientSession() as session:
        visit = Visit(session, port, gate, feed, live)
        feed.on_observed([Seen(a_node("n1")), Seen(a_pod("p")), Synced()], (), on_one_clock(1.0))
        yield visit


def visited(story: Callable[[Visit], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(20), served() as visit:
            await story(visit)

    asyncio.run(main())


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


# --- pictures ------------------------------------------------------------------------------------


def test_more_readers_of_few_rights_than_a_few_are_turned_away_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also one that asked and went away: what it wanted is not made any more."""
    monkeypatch.setattr(server, "_MOST_FILTERED", 2)
    scans: list[Picture] = []

    def noted(of: Picture) -> Iterator[Named]:
        scans.append(of)
        return kinds_in_picture(of)

    monkeypatch.setattr(server, "kinds_in_picture", noted)

    async def story(visit: Visit) -> None:
        await visit.get("picture")
        assert len(scans) == 1
        busy = asyncio.Event()
        work = asyncio.ensure_future(visit.get("picture", "bob"))
        gone = await visit.stalled("picture")
        take = visit.live.take

        async def taken_late() -> FedSteps:
            await busy.wait()
            return await take()

        visit.live.take = taken_late
        await until(lambda: len(visit.gate.asked) >= 4)
        for reader in ("carol", "dave"):
            status, document = await visit.get("picture", reader)
            assert (status, "tried again" in document["message"]) == (503, True)
        scanned = len(scans)
        gone.close()
        await asyncio.sleep(0.05)
        busy.set()
        assert (await work)[0] == 200
        await until(lambda: visit.live._queued is None)
        await asyncio.sleep(0.05)
        assert len(scans) <= scanned + 1
        assert (await visit.get("picture", "carol"))[0] == 200

    visited(story)


def test_one_reader_does_not_take_the_places_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_PICTURES_EACH", 0)
    monkeypatch.setattr(server, "_STREAMS_EACH", 1)
    monkeypatch.setattr(server, "_LOOK_SECONDS", 0.01)

    async def story(visit: Visit) -> None:
        status, document = await visit.get("picture")
        assert (status, "requests of this user" in document["message"]) == (503, True)
        await visit.live.refresh()
        url = f"{visit.api}changes?after={visit.live.ring.revision}"
        async with visit.session.get(url, headers={"Reader": "alice"}) as response:
            assert response.status == 200
            assert (await visit.get(url.removeprefix(visit.api)))[0] == 503
            async with visit.session.get(url, headers={"Reader": "bob"}) as other:
                assert other.status == 200
        await until(lambda: visit.live._readers == 0)
        async with visit.session.get(url, headers={"Reader": "alice"}) as response:
            assert response.status == 200, "the place is free again"

    visited(story)


def test_a_reader_that_does_not_take_its_picture_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_STALLED_SECONDS", 0.2)
    monkeypatch.setattr(server, "_MOST_FILTERED", 1)

    async def story(visit: Visit) -> None:
        visit.feed.on_observed(
            [Seen(a_node(f"{'n' * 240}-{i}")) for i in range(12_000)], (), on_one_clock(2.0)
        )
        await visit.live.refresh()
        stalled = await visit.stalled("picture")
        await until(lambda: len(visit.gate.asked) >= 2)
        status, document = await visit.get("picture", "bob")
        assert status == 503
        while status == 503:
            await asyncio.sleep(0.1)
            status, document = await visit.get("picture", "bob")
        assert len(document["nodes"]) == 12_001
        stalled.close()

    visited(story)


# --- changes -------------------------------------------------------------------------------------


def test_a_reader_that_missed_much_loads_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_MOST_REPLAYED", 3)

    async def story(visit: Visit) -> None:
        await visit.live.refresh()
        first = visit.live.ring.revision
        for i in range(4):
            visit.feed.on_observed([Seen(a_pod(f"p{i}"))], (), on_one_clock(2.0))
            await visit.live.refresh()
        for missed, expected in ((first, "reload"), (first + 1, "")):
            async with visit.session.get(f"{visit.api}changes?after={missed}") as response:
                kind, _ = await next_event(response)
            assert kind == expected

    visited(story)


def test_changes_go_on_while_rights_are_reviewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_REVIEWED_SECONDS", 0.01)
    monkeypatch.setattr(server, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(readers, "_SIGN_OF_LIFE_SECONDS", 0.05)

    async def story(visit: Visit) -> None:
        await visit.live.refresh()
        async with visit.session.get(f"{visit.api}changes?after={visit.live.ring.revision}") as response:
            await asyncio.sleep(0.1)
            visit.feed.on_observed([Seen(a_pod("next"))], (), on_one_clock(2.0))
            kind, event = await next_event(response)
            assert (kind, event["changes"][0]["pod"][0]) == ("", "default/next")
            visit.gate.holding.set()
            kind, event = await next_event(response)
            assert (kind, event["message"]) == ("reload", "the rights of this reader have changed")

    visited(story)


def test_a_stream_that_fails_ends_and_no_second_answer_is_written(
    monkeypatch: pytest.MonkeyPatch, mishaps: list[Any]
) -> None:
    monkeypatch.setattr(server, "_reload", lambda sentence: 1 / 0)

    async def story(visit: Visit) -> None:
        await visit.live.refresh()
        reader, writer = await asyncio.open_connection("127.0.0.1", visit.port)
        writer.write(b"GET /page/api/changes?after=1 HTTP/1.1\r\nHost: here\r\n\r\n")
        answer = b""
        with suppress(ConnectionResetError):
            while piece := await reader.read(_SMALL):
                answer += piece
        assert answer.count(b"HTTP/1.1") <= 1
        assert b"message" not in answer
        writer.close()

    visited(story)
    assert len(mishaps) == 1


def test_a_revision_of_an_earlier_process_is_of_another_ring() -> None:
    async def take() -> FedSteps:
        raise AssertionError

    async def main() -> tuple[int, LivePicture]:
        earlier = LivePicture(take)
        for i in range(500):
            earlier.ring.add(1.0, (), ("cpu",) if i else ())
        await asyncio.sleep(0.6)
        return earlier.ring.revision, LivePicture(take)

    revision, later = asyncio.run(main())
    for i in range(1000):
        later.ring.add(1.0, (), ("cpu",) if i else ())
    assert later.ring.after(revision) is None


# --- refreshes -----------------------------------------------------------------------------------


def test_refreshes_that_wait_are_one() -> None:
    taken = 0

    async def take() -> FedSteps:
        nonlocal taken
        taken += 1
        await asyncio.sleep(0.05)
        return FedSteps(1.0, (), ())

    async def main() -> None:
        live = LivePicture(take)
        await asyncio.gather(*(live.refresh_within(0.01) for _ in range(50)))
        await asyncio.gather(*(live.refresh_within(5.0) for _ in range(50)))

    asyncio.run(main())
    assert taken == 2


def test_what_cannot_be_shown_loses_nothing_else(monkeypatch: pytest.MonkeyPatch, mishaps: list[Any]) -> None:
    keep = picture.Picture.decide

    def failing(self: Picture, decision: Decision, now: float) -> None:
        if decision.id == "d-odd":
            raise RuntimeError("it is odd")
        keep(self, decision, now)

    monkeypatch.setattr(picture.Picture, "decide", failing)
    good = choosing()
    opened = PlanOpened(good.id, good.demand, Preemptor.POD, 1, 2.0, 0.0)
    odd, later = (structs.replace(good, id=name) for name in ("d-odd", "d-later"))

    async def take() -> FedSteps:
        decided = [DecisionTaken(at, one) for at, one in ((1.0, good), (3.0, odd), (4.0, later))]
        return FedSteps(4.0, (), (decided[0], PlansWentOn(2.0, (opened,)), *decided[1:]))

    live = LivePicture(take)
    asyncio.run(live.refresh())
    kept = {one.decision.id: one for one in live.picture.decisions.all()}
    assert set(kept) == {good.id, "d-later"}
    plan = kept[good.id].plan
    assert plan is not None
    assert plan.reached == {"nominated": 2.0}, "and nothing is folded twice"
    assert len(mishaps) == 1


def test_a_path_in_the_log_stays_in_its_line(monkeypatch: pytest.MonkeyPatch, mishaps: list[Any]) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("it broke")

    monkeypatch.setattr(DecisionMemory, "find", failing)

    async def story(visit: Visit) -> None:
        assert (await visit.get("decisions/d-1%0Aforged"))[0] == 500

    visited(story)
    (record,) = mishaps
    assert record.getMessage() == "page: /page/api/decisions/d-1%0Aforged failed: RuntimeError: it broke"
