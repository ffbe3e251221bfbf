"""Following a kind: lists in both ways, watches that end, break, expire or speak nonsense."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from reprieve.cluster.kube.discovery import Discovery
from reprieve.cluster.kube.requests import KubeRequest, KubeResponse, NoAnswerError, QuietError, RefusedError
from reprieve.cluster.kube.watch import Reflector, ServerAbilities, WatchBatch
from reprieve.cluster.port import ClusterEvent
from reprieve.model.effects import Target
from reprieve.model.events import Gone, Seen, Unread
from reprieve.model.json import Json
from reprieve.model.objects import Pod
from reprieve_minicluster.virtual_time import run


def error_event(code: int, message: str = "") -> Json:
    return {"type": "ERROR", "object": {"kind": "Status", "code": code, "message": message}}


EXPIRED = error_event(410)


def pod(name: str, version: int, uid: str = "u", **more: Any) -> Json:
    meta = {"name": name, "namespace": "team", "uid": uid, "resourceVersion": str(version)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "managedFields": [{}]}, **more}


def change(verb: str, body: Json) -> Json:
    return {"type": verb, "object": body}


def bookmark(version: int, *, ends_list: bool = False) -> Json:
    notes = {"k8s.io/initial-events-end": "true"} if ends_list else {}
    return change("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": notes}})


def page(version: int, *items: Json, goes_on: str = "") -> KubeResponse:
    meta = {"resourceVersion": str(version), "continue": goes_on}
    return KubeResponse(200, json.dumps({"metadata": meta, "items": items}).encode())


ObservedScheduler = list[Json] | Exception


class Server:
    """Says what it is told to say: to watches and to lists, one after the other; then it says no more."""

    def __init__(self, *watches: ObservedScheduler, lists: tuple[KubeResponse, ...] = ()) -> None:
        self._watches = list(watches)
        self._lists = list(lists)
        self.asked: list[dict[str, str]] = []
        self.times: list[float] = []  # of watches

    async def send(self, request: KubeRequest) -> KubeResponse:
        if not request.path.endswith("/pods"):
            return KubeResponse(200, b'{"resources": [{"name": "pods", "kind": "Pod"}]}')
        self.asked.append(dict(request.query))
        return self._lists.pop(0)

    async def lines(self, request: KubeRequest) -> AsyncGenerator[list[bytes], None]:
        self.asked.append(dict(request.query))
        self.times.append(asyncio.get_running_loop().time())
        if not self._watches:
            await asyncio.sleep(10_000)
        said = self._watches.pop(0)
        if isinstance(said, Exception):
            raise said
        yield [json.dumps(line).encode() for line in said]

    def starts(self) -> list[str]:
        """Where each request began: a version, a list as a stream, or a list in portions."""
        return [
            query.get("resourceVersion") or ("stream" if "sendInitialEvents" in query else "list")
            for query in self.asked
        ]


def followed(
    server: Server, seconds: float = 100.0, abilities: ServerAbilities | None = None
) -> list[ClusterEvent | str]:
    """Everything that is told in that time; the word "all" stands for the end of a list."""
    told: list[ClusterEvent | str] = []

    async def deliver(portion: WatchBatch) -> None:
        told.extend(portion.events)
        if portion.complete:
            told.append("all")

    async def main() -> None:
        follower = Reflector("Pod", server, Discovery(server), abilities or ServerAbilities(), deliver)
        task = asyncio.create_task(follower.run())
        await asyncio.wait((task,), timeout=seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(main())
    return told


def names(told: list[ClusterEvent | str]) -> list[str]:
    """+ for what is seen, - for what is gone, ? for what cannot be read."""
    return [_name(sight) for sight in told]


def _name(sight: ClusterEvent | str) -> str:
    match sight:
        case Seen(thing):
            return f"+{thing.metadata.name}{thing.metadata.resource_version}"
        case Gone(target):
            return f"-{target.name}"
        case Unread(target):
            return f"?{target.name}"
        case other:
            return str(other)


def test_a_list_as_a_stream_and_then_what_changes() -> None:
    server = Server(
        [
            change("ADDED", pod("a", 3)),
            bookmark(5, ends_list=True),
            change("MODIFIED", pod("a", 6)),
            change("DELETED", pod("a", 7)),
        ]
    )
    told = followed(server)
    assert names(told) == ["+a3", "all", "+a6", "-a"]
    assert Gone(Target("Pod", "team", "a", "u")) in told
    assert server.starts() == ["stream", "7"]
    assert server.asked[0]["allowWatchBookmarks"] == "true"
    assert server.asked[0]["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"


def test_a_watch_goes_on_where_the_last_bookmark_was() -> None:
    server = Server([bookmark(5, ends_list=True), bookmark(90)], NoAnswerError("broken"), [bookmark(95)])
    assert names(followed(server)) == ["all"]
    assert server.starts() == ["stream", "90", "90", "95"]


def test_a_stream_that_breaks_in_the_list_is_begun_anew_and_tells_nothing_twice() -> None:
    server = Server(
        [change("ADDED", pod("a", 3)), bookmark(4)],
        [change("ADDED", pod("a", 3)), change("ADDED", pod("b", 5)), bookmark(6, ends_list=True)],
    )
    assert names(followed(server)) == ["+a3", "+b5", "all"]
    assert server.starts() == ["stream", "stream", "6"]


@pytest.mark.parametrize(
    "expiry", [[EXPIRED], RefusedError(KubeResponse(410))], ids=["in the stream", "at its beginning"]
)
def test_an_expired_history_is_listed_anew_and_what_vanished_is_gone(expiry: ObservedScheduler) -> None:
    first = [change("ADDED", pod(name, i)) for i, name in enumerate("abc")]
    again = [
        change("ADDED", pod("a", 0)),
        change("ADDED", pod("b", 9, uid="new")),
        bookmark(9, ends_list=True),
    ]
    server = Server([*first, bookmark(5, ends_list=True)], expiry, again)
    assert names(followed(server)) == ["+a0", "+b1", "+c2", "all", "-b", "+b9", "-c", "all"]
    assert server.starts() == ["stream", "5", "stream", "9"]


def test_a_server_that_was_away_for_long_is_listed_anew_as_soon_as_it_answers() -> None:
    away: list[ObservedScheduler] = [NoAnswerError("away")] * 6  # the pause after the last of them is long
    again: ObservedScheduler = [change("ADDED", pod("a", 8)), bookmark(9, ends_list=True)]
    server = Server([bookmark(5, ends_list=True)], *away, RefusedError(KubeResponse(410)), again)
    followed(server, 200)
    assert server.starts() == ["stream", *["5"] * 7, "stream", "9"]
    assert server.times[8] - server.times[7] < 1.5


def test_lists_that_expire_again_and_again_are_asked_for_ever_more_slowly() -> None:
    server = Server(*[[EXPIRED]] * 50)
    followed(server, 300)
    assert 8 <= len(server.asked) <= 16


def test_events_before_an_error_are_delivered() -> None:
    server = Server([bookmark(1, ends_list=True), change("ADDED", pod("a", 2)), EXPIRED], [EXPIRED])
    assert names(followed(server)) == ["all", "+a2"]


@pytest.mark.parametrize(
    "refusal",
    [
        *(RefusedError(KubeResponse(code)) for code in (400, 405, 422)),
        *([error_event(code)] for code in (400, 405, 422, 500)),
    ],
)
def test_a_server_without_streams_is_asked_for_portions(refusal: ObservedScheduler) -> None:
    lists = (page(7, pod("a", 1), goes_on="more"), page(7, pod("b", 2)))
    server = Server(refusal, [change("ADDED", pod("c", 8))], lists=lists)
    assert names(followed(server)) == ["+a1", "+b2", "all", "+c8"]
    assert server.starts() == ["stream", "list", "list", "7", "8"]
    assert [query.get("continue") for query in server.asked[1:3]] == [None, "more"]
    assert server.asked[1]["limit"] == "500"


@pytest.mark.parametrize(
    "failure",
    [
        *(RefusedError(KubeResponse(code)) for code in (401, 403, 429, 500, 503, 504)),
        *([error_event(code)] for code in (0, 401, 403, 410, 429, 503, 504)),
    ],
)
def test_errors_that_a_paged_list_would_not_avoid_are_retried(failure: ObservedScheduler) -> None:
    server = Server(failure, [change("ADDED", pod("a", 3)), bookmark(5, ends_list=True)])
    assert names(followed(server)) == ["+a3", "all"]
    assert server.starts() == ["stream", "stream", "5"]


def test_an_error_in_the_middle_of_a_streamed_list_leads_to_pages_and_tells_nothing_twice() -> None:
    broken: ObservedScheduler = [change("ADDED", pod("a", 1)), change("ADDED", pod("b", 2)), error_event(500)]
    server = Server(broken, lists=(page(7, pod("b", 2), pod("c", 3)),))
    assert names(followed(server)) == ["+a1", "+b2", "+c3", "-a", "all"]
    assert server.starts() == ["stream", "list", "7"]


def test_an_error_after_the_streamed_list_is_a_watch_that_resumes() -> None:
    server = Server([bookmark(5, ends_list=True), error_event(500)], [change("ADDED", pod("a", 6))])
    assert names(followed(server)) == ["all", "+a6"]
    assert server.starts() == ["stream", "5", "6"]


def test_the_next_list_is_streamed_if_the_server_can_by_then() -> None:
    listed = [change("ADDED", pod("a", 8)), bookmark(9, ends_list=True)]
    server = Server([error_event(500)], [EXPIRED], listed, lists=(page(7),))
    assert names(followed(server)) == ["all", "+a8", "all"]
    assert server.starts() == ["stream", "list", "7", "stream", "9"]


def test_a_watch_that_falls_silent_is_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    """It is resumed at once, as often as it happens; that is logged once, however many kinds there are."""
    caplog.set_level(logging.INFO)
    abilities, quiet = ServerAbilities(), QuietError("nothing was sent for 150 s")
    for _ in range(2):
        server = Server([bookmark(5, ends_list=True)], quiet, quiet, quiet, [change("ADDED", pod("a", 6))])
        assert names(followed(server, abilities=abilities)) == ["all", "+a6"]
        assert server.starts()[:5] == ["stream", "5", "5", "5", "5"]
    about_it = [(record.levelname, "no bookmarks" in record.message) for record in caplog.records]
    assert about_it == [("INFO", True)]


def test_paged_lists_are_logged_once_for_all_kinds(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    abilities = ServerAbilities()
    for _ in range(2):
        server = Server(
            [error_event(500, "no progress")], [EXPIRED], [error_event(500)], lists=(page(7), page(8))
        )
        followed(server, abilities=abilities)
        assert server.starts() == ["stream", "list", "7", "stream", "list", "8"]
    logged = [line for line in caplog.messages if "does not stream lists" in line]
    assert logged == [
        "the server does not stream lists, paged lists are used: the server ended the watch: no progress"
    ]


def test_an_expired_paged_list_is_repeated_without_a_limit() -> None:
    lists = (page(7, pod("a", 1), goes_on="x"), KubeResponse(410), page(9, pod("b", 2)))
    server = Server(RefusedError(KubeResponse(422)), lists=lists)
    assert names(followed(server)) == ["+a1", "+b2", "-a", "all"]
    assert "limit" not in server.asked[3]
    assert server.starts()[-1] == "9"


def test_a_version_that_is_not_later_does_not_lead_back() -> None:
    server = Server([bookmark(100, ends_list=True), change("ADDED", pod("a", 99))])
    followed(server)
    assert server.starts() == ["stream", "100"]


def test_an_undecodable_object_is_reported_and_the_rest_goes_on() -> None:
    server = Server([change("ADDED", pod("a", 1, spec=7)), change("ADDED", pod("b", 2))])
    assert names(followed(server)) == ["?a", "+b2"]


def test_unread_fields_are_not_kept() -> None:
    (seen,) = followed(Server([change("ADDED", pod("a", 1))]))
    assert isinstance(seen, Seen)
    assert isinstance(seen.object, Pod)
    assert not hasattr(seen.object.metadata, "managed_fields")


@pytest.mark.parametrize(
    "failing", [NoAnswerError("no"), RefusedError(KubeResponse(429)), RefusedError(KubeResponse(403))]
)
def test_failures_are_repeated_ever_more_slowly(failing: Exception) -> None:
    server = Server(*[failing] * 50)
    followed(server, 300)
    assert 8 <= len(server.asked) <= 16


def test_nonsense_is_a_broken_connection() -> None:
    async def main() -> None:
        class Nonsense(Server):
            async def lines(self, request: KubeRequest) -> AsyncGenerator[list[bytes], None]:
                self.asked.append(dict(request.query))
                yield [b'{"type": "ADD']

        server = Nonsense()
        follower = Reflector("Pod", server, Discovery(server), ServerAbilities(), _ignored)
        task = asyncio.create_task(follower.run())
        await asyncio.sleep(10)
        assert not task.done()
        assert len(server.asked) > 1
        task.cancel()

    run(main())


def test_a_reflector_without_a_listener_can_be_stopped() -> None:
    async def main() -> None:
        async def never(portion: WatchBatch) -> None:
            await asyncio.sleep(10_000)

        server = Server(
            [change("ADDED", pod("a", 1)), bookmark(1, ends_list=True), change("ADDED", pod("b", 2))]
        )
        task = asyncio.create_task(
            Reflector("Pod", server, Discovery(server), ServerAbilities(), never).run()
        )
        await asyncio.sleep(50)
        task.cancel()
        await asyncio.wait((task,), timeout=1)
        assert task.cancelled()
        assert len(server.asked) == 1, "what was said is still being told"

    run(main())


async def _ignored(portion: WatchBatch) -> None:
    """Whatever was told."""


def test_a_server_that_tells_nonsense_of_its_kinds_is_asked_again() -> None:
    class Gateway(Server):
        """Something between us and the server answers in its place, for a while."""

        async def send(self, request: KubeRequest) -> KubeResponse:
            early = asyncio.get_running_loop().time() < 5
            return KubeResponse(200, b"<html>") if early else await super().send(request)

    assert names(followed(Gateway([change("ADDED", pod("a", 1)), bookmark(1, ends_list=True)]))) == [
        "+a1",
        "all",
    ]


class Upgraded(Server):
    """Has no pods until a certain moment, and none any more after another one."""

    def __init__(self, from_: float, until: float) -> None:
        super().__init__(
            [change("ADDED", pod("a", 1)), bookmark(1, ends_list=True)], RefusedError(KubeResponse(404))
        )
        self._from, self._until = from_, until

    async def send(self, request: KubeRequest) -> KubeResponse:
        there = self._from <= asyncio.get_running_loop().time() < self._until
        return await super().send(request) if there else KubeResponse(404)


def test_a_kind_may_come_and_go() -> None:
    assert names(followed(Upgraded(150, 200), 120)) == ["all", "all"]
    assert names(followed(Upgraded(100, 1000), 300)) == ["all", "all", "+a1", "all"]
    assert names(followed(Upgraded(0, 0.1), 50)) == ["+a1", "all", "-a", "all"]
