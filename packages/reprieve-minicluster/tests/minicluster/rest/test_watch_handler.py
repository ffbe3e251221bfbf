"""Watches: initial events, changes, and how they end."""

import json
from collections.abc import Awaitable, Callable

import pytest
from tests.minicluster.rest.api_client import MAPS, PODS, TABLE, ApiClient, config_map, pod

from reprieve.model.json import Json
from reprieve_minicluster.rest.http_messages import ApiResponse, Stream
from reprieve_minicluster.store import Key, Part
from reprieve_minicluster.virtual_time import run

NEWER = "NotOlderThan"


class Watcher:
    def __init__(self, client: ApiClient, path: str, accept: str = "", **query: str) -> None:
        stream = client.stream(path, accept, **query)
        assert isinstance(stream, Stream)
        self._chunks = stream.chunks

    async def lines(self) -> list[Json]:
        """The next that come, all at once."""
        chunk = await anext(self._chunks, b"")
        return [json.loads(line) for line in chunk.splitlines()]

    async def rest(self) -> list[Json]:
        return [json.loads(line) async for chunk in self._chunks for line in chunk.splitlines()]


def told(lines: list[Json]) -> list[tuple[str, str]]:
    return [(line["type"], line["object"]["metadata"].get("name", "")) for line in lines]


def playing(play: Callable[[ApiClient], Awaitable[None]], kept_changes: int = 1000) -> None:
    async def main() -> None:
        await play(ApiClient(kept_changes))

    run(main())


def test_it_shows_what_there_is_and_then_what_changes() -> None:
    async def play(client: ApiClient) -> None:
        client.post(MAPS, config_map("a"))
        client.post(MAPS, config_map("b"))
        watcher = Watcher(client, MAPS)
        assert told(await watcher.lines()) == [("ADDED", "a"), ("ADDED", "b")]
        client.patch(f"{MAPS}/a", {"data": {"x": "1"}})
        client.delete(f"{MAPS}/b")
        client.post("/api/v1/namespaces/kube-system/configmaps", config_map("elsewhere"))
        client.post(MAPS, config_map("c"))
        assert told(await watcher.lines()) == [("MODIFIED", "a"), ("DELETED", "b"), ("ADDED", "c")]

    playing(play)


def test_it_goes_on_where_a_list_ended() -> None:
    async def play(client: ApiClient) -> None:
        client.post(MAPS, config_map("a"))
        version = client.get(MAPS)["metadata"]["resourceVersion"]
        client.post(MAPS, config_map("b"))
        assert told(await Watcher(client, MAPS, resourceVersion=version).lines()) == [("ADDED", "b")]

    playing(play)


def test_what_enters_and_leaves_a_selection() -> None:
    async def play(client: ApiClient) -> None:
        client.post(PODS, pod("a"))
        watcher = Watcher(client, PODS, fieldSelector="spec.nodeName=n1", resourceVersion="1")
        labelled = Watcher(client, PODS, labelSelector="app=a")
        assert told(await labelled.lines()) == [("ADDED", "a")]
        client.post(f"{PODS}/a/binding", {"target": {"name": "n1"}})
        client.patch(f"{PODS}/a", {"metadata": {"labels": {"app": "other"}}})
        client.delete(f"{PODS}/a", gracePeriodSeconds="0")
        assert told(await watcher.lines()) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
        assert told(await labelled.lines()) == [("MODIFIED", "a"), ("DELETED", "a")]

    playing(play)


def test_it_ends_when_its_time_is_over_with_a_bookmark() -> None:
    async def play(client: ApiClient) -> None:
        client.post(MAPS, config_map("a"))
        watcher = Watcher(client, MAPS, timeoutSeconds="130", allowWatchBookmarks="true")
        lines = await watcher.rest()
        assert [line["type"] for line in lines] == ["ADDED", "BOOKMARK", "BOOKMARK", "BOOKMARK"]
        assert lines[-1]["object"] == {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(client.store.version)},
        }

    playing(play)


def test_without_bookmarks_it_just_ends() -> None:
    async def play(client: ApiClient) -> None:
        assert await Watcher(client, MAPS, timeoutSeconds="5").rest() == []

    playing(play)


def test_a_list_as_a_stream() -> None:
    async def play(client: ApiClient) -> None:
        client.post(MAPS, config_map("a"))
        watcher = Watcher(
            client, MAPS, sendInitialEvents="true", resourceVersionMatch=NEWER, allowWatchBookmarks="true"
        )
        assert told(await watcher.lines()) == [("ADDED", "a")]
        (end,) = await watcher.lines()
        assert end["type"] == "BOOKMARK"
        assert end["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        client.post(MAPS, config_map("b"))
        assert told(await watcher.lines()) == [("ADDED", "b")]

    playing(play)


def test_a_version_that_is_too_old_is_the_last_line() -> None:
    async def play(short: ApiClient) -> None:
        for name in "abcdefghijkl":
            short.post(MAPS, config_map(name))
        (line,) = await Watcher(short, MAPS, resourceVersion="1").rest()
        assert (line["type"], line["object"]["code"], line["object"]["reason"]) == ("ERROR", 410, "Expired")
        assert short.refused("GET", MAPS, resourceVersion="1", resourceVersionMatch="Exact")[0] == 410

    playing(play, kept_changes=5)


def test_a_slow_watcher_gets_expired() -> None:
    async def play(slow: ApiClient) -> None:
        slow.post(MAPS, config_map("a"))
        watcher = Watcher(slow, MAPS)
        await watcher.lines()
        for i in range(20):
            slow.post(MAPS, config_map(f"m{i}"))
        assert [line["type"] for line in await watcher.rest()] == ["ERROR"]

    playing(play, kept_changes=5)


def test_tables_are_watched_row_by_row() -> None:
    async def play(client: ApiClient) -> None:
        client.post(PODS, pod("a"))
        watcher = Watcher(client, PODS, TABLE)
        (first,) = await watcher.lines()
        client.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}})
        (second,) = await watcher.lines()
        assert [len(line["object"]["rows"]) for line in (first, second)] == [1, 1]
        assert first["object"]["columnDefinitions"]
        assert second["object"]["columnDefinitions"] == []

    playing(play)


def test_objects_are_watched_in_the_version_that_is_asked_for() -> None:
    async def play(client: ApiClient) -> None:
        path = "/apis/scheduling.k8s.io/{}/namespaces/default/podgroups"
        spec: Json = {"schedulingPolicy": {"basic": {}}, "disruptionMode": {"all": {}}}
        client.post(path.format("v1beta1"), {"metadata": {"name": "g"}, "spec": spec})
        (line,) = await Watcher(client, path.format("v1alpha2")).lines()
        assert line["object"]["apiVersion"] == "scheduling.k8s.io/v1alpha2"
        assert line["object"]["spec"]["disruptionMode"] == "PodGroup"

    playing(play)


def test_a_long_history_comes_in_portions() -> None:
    async def play(client: ApiClient) -> None:
        for i in range(1200):
            client.store.create("configmaps", config_map(f"m{i:04}"))
        watcher = Watcher(client, MAPS)
        assert [len(await watcher.lines()) for _ in range(3)] == [500, 500, 200]

    playing(play)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"resourceVersion": "x"}, 400),
        ({"timeoutSeconds": "long"}, 400),
        ({"labelSelector": "=="}, 400),
        ({"fieldSelector": "nothing=1"}, 400),
        ({"sendInitialEvents": "true"}, 422),
        ({"resourceVersionMatch": NEWER, "resourceVersion": "1"}, 422),
        ({"sendInitialEvents": "true", "resourceVersionMatch": NEWER, "resourceVersion": "99"}, 504),
    ],
)
def test_a_watch_that_cannot_be(client: ApiClient, query: dict[str, str], status: int) -> None:
    answer = client.stream(MAPS, **query)
    assert isinstance(answer, ApiResponse)
    assert answer.status == status


def test_watchers_are_forgotten_when_they_leave() -> None:
    async def play(client: ApiClient) -> None:
        stream = client.stream(MAPS)
        assert isinstance(stream, Stream)
        client.post(MAPS, config_map("a"))
        await anext(stream.chunks)
        await stream.chunks.aclose()
        client.store.patch(
            Key("configmaps", "default", "a"), lambda body: {**body, "data": {"x": "y"}}, Part.MAIN
        )
        assert client.store._history._watches == {"configmaps": []}

    playing(play)
