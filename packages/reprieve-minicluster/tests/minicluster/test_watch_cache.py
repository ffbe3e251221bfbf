"""Watching from any version in the log, in order, for any number of watchers."""

import asyncio
from contextlib import closing

import pytest
from tests.minicluster.scene import HandClock, pod, pod_key

from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.store import EventType, Key, Part, Store, Stored, WatchCache, WatchEvent
from reprieve_minicluster.virtual_time import run


def told(changes: list[WatchEvent]) -> list[tuple[str, str, int]]:
    return [(change.type.value, change.object.key.name, change.version) for change in changes]


def life_of_a_pod(store: Store) -> None:
    store.create("pods", pod("a"))
    store.create("configmaps", {"metadata": {"name": "m"}})
    store.patch(pod_key("a"), lambda body: {**body, "status": {"phase": "Running"}}, Part.STATUS)
    store.delete(pod_key("a"))


def test_a_watch_tells_everything_in_order() -> None:
    store = Store(HandClock())
    watch = store.watch(("pods",), 0)
    life_of_a_pod(store)
    assert told(watch.poll()) == [("ADDED", "a", 1), ("MODIFIED", "a", 3), ("DELETED", "a", 4)]
    assert watch.poll() == []


def test_a_watch_starts_anywhere() -> None:
    store = Store(HandClock())
    life_of_a_pod(store)
    for since in range(5):
        versions = [change.version for change in store.watch(("pods",), since).poll()]
        assert versions == [version for version in (1, 3, 4) if version > since]


def test_what_is_deleted_is_shown_as_it_last_was() -> None:
    store = Store(HandClock())
    life_of_a_pod(store)
    last = store.watch(("pods",), 3).poll()[0]
    assert b'"Running"' in last.object.raw
    assert b'"resourceVersion":"4"' in last.object.raw


def test_what_is_no_longer_kept_is_too_old() -> None:
    store = Store(HandClock(), kept_changes=10)
    slow = store.watch(("pods",), 0)
    for i in range(25):
        store.create("pods", pod(f"p{i}"))
    assert len(store.watch(("pods",), 15).poll()) == 10
    for watch in (lambda: store.watch(("pods",), 3), slow.poll):
        with pytest.raises(ApiError, match="too old") as error:
            watch()
        assert (error.value.status, error.value.reason) == (410, "Expired")


def test_a_version_that_was_never_reached_is_refused() -> None:
    with pytest.raises(ApiError, match="list again"):
        Store(HandClock()).watch(("pods",), 7)


def test_a_sleeper_is_woken_by_what_concerns_it() -> None:
    async def main() -> list[tuple[str, str, int]]:
        store = Store(HandClock(), kept_changes=10)
        watch = store.watch(("pods",), 0)
        waiting = asyncio.create_task(watch.wait())
        await asyncio.sleep(0)
        for i in range(50):
            store.create("configmaps", {"metadata": {"name": f"m{i}"}})
        await asyncio.sleep(0)
        assert not waiting.done()
        store.create("pods", pod("a"))
        await waiting
        return told(watch.poll())

    assert run(main()) == [("ADDED", "a", 51)]


def test_an_idle_watch_does_not_grow_too_old() -> None:
    async def main() -> list[WatchEvent]:
        store = Store(HandClock(), kept_changes=10)
        watch = store.watch(("pods",), 0)
        waiting = asyncio.create_task(watch.wait(5))
        await asyncio.sleep(1)
        for i in range(50):
            store.create("configmaps", {"metadata": {"name": f"m{i}"}})
        await waiting
        return watch.poll()

    assert run(main()) == []


def test_a_closed_watch_is_forgotten() -> None:
    store = Store(HandClock())
    with closing(store.watch(("pods",), 0)) as watch:
        pass
    store.create("pods", pod("a"))
    assert watch.position == 0


def test_keys_read_well() -> None:
    assert str(pod_key("a")) == 'pods "a"'
    assert str(Key("nodes", "", "n1")) == 'nodes "n1"'


def test_a_watcher_can_take_the_log_piece_by_piece() -> None:
    store = Store(HandClock())
    watch = store.watch(("pods",), 0)
    life_of_a_pod(store)
    assert [told(watch.poll(2)) for _ in range(3)] == [
        [("ADDED", "a", 1)],
        [("MODIFIED", "a", 3), ("DELETED", "a", 4)],
        [],
    ]


def test_the_log_is_bounded_in_bytes() -> None:
    """A client that changes one large object again and again would fill the memory."""
    log = WatchCache(1000, most_bytes=100_000)
    watch = log.watch(("configmaps",), 0)
    for version in range(1, 301):
        log.append(_large_change(version, 1000))
        assert sum(len(change.object.raw) for change in log.after(log.oldest)) <= 100_000
    assert log.version == 300
    assert 200 <= log.oldest < 300
    assert [change.version for change in log.after(log.oldest)] == list(range(log.oldest + 1, 301))
    with pytest.raises(ApiError, match="too old"):
        watch.poll()
    log.append(_large_change(301, 200_000))
    assert (log.version, log.oldest) == (301, 301)
    again = WatchCache(1000, [_large_change(i, 1000) for i in range(1, 100)], most_bytes=100_000)
    again.append(_large_change(100, 5000))
    assert again.oldest > 40


def _large_change(version: int, size: int) -> WatchEvent:
    stored = Stored(Key("configmaps", "default", "a"), "u", version, b"x" * size)
    return WatchEvent(version, EventType.MODIFIED, stored, None)
