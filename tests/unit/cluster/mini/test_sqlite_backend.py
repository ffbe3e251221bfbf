"""A cluster with a backend: it continues after a restart, and a change that cannot be stored fails."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.rest.api_server import ApiServer
from reprieve.cluster.mini.rest.http_messages import ApiRequest, ApiResponse
from reprieve.cluster.mini.sqlite_backend import FILE, SqliteBackend, StorageError
from reprieve.cluster.mini.store import Part, Store
from reprieve.cluster.mini.stored_objects import Key
from reprieve.cluster.mini.watch_cache import EventType, WatchEvent
from reprieve.cluster.port import Refused
from reprieve.model.effects import Nominate, Target
from reprieve.model.json import Json
from tests.unit.cluster.mini.scene import HandClock


def config_map(name: str, text: str = "x") -> Json:
    return {"kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": text}}


def map_key(name: str) -> Key:
    return Key("configmaps", "default", name)


@contextmanager
def kept_store(directory: Path, kept_changes: int = 100) -> Iterator[Store]:
    backend = SqliteBackend(directory)
    try:
        yield Store(HandClock(), kept_changes=kept_changes, backend=backend)
    finally:
        backend.close()


def rewrite(text: str) -> Callable[[Json], Json]:
    return lambda body: {**body, "data": {"a": text}}


def holdings(store: Store) -> tuple[int, list[object], list[WatchEvent]]:
    return store.version, list(store.list(("configmaps",)).items), store._history.after(store.oldest)


def test_everything_is_there_again(tmp_path: Path) -> None:
    with kept_store(tmp_path) as store:
        for name in "abc":
            store.create("configmaps", config_map(name))
        store.patch(map_key("a"), rewrite("y"), Part.MAIN)
        store.delete(map_key("b"))
        before = holdings(store)
    with kept_store(tmp_path) as store:
        assert holdings(store) == before
        assert store.create("configmaps", config_map("d")).version == before[0] + 1


def test_a_watch_resumes(tmp_path: Path) -> None:
    with kept_store(tmp_path) as store:
        since = store.create("configmaps", config_map("a")).version
        store.patch(map_key("a"), rewrite("y"), Part.MAIN)
        store.delete(map_key("a"))
    with kept_store(tmp_path) as store:
        changes = store.watch(("configmaps",), since).poll()
        assert [change.type for change in changes] == [EventType.MODIFIED, EventType.DELETED]
        assert [change.before is not None for change in changes] == [True, True]


def test_what_is_forgotten_in_memory_is_forgotten_on_disk(tmp_path: Path) -> None:
    with kept_store(tmp_path, kept_changes=5) as store:
        for number in range(60):
            store.create("configmaps", config_map(f"m{number}"))
            if number % 2:
                store.patch(map_key(f"m{number}"), rewrite("y"), Part.MAIN)
            if number % 3:
                store.delete(map_key(f"m{number}"))
        before = holdings(store)
        rows = sqlite3.connect(tmp_path / FILE).execute("SELECT count(*) FROM versions").fetchone()[0]
        assert rows <= len(before[1]) + 2 * len(before[2])
    with kept_store(tmp_path, kept_changes=5) as store:
        assert holdings(store)[:2] == before[:2]
        assert store.oldest <= before[0] - 5
        with pytest.raises(ApiError) as error:
            store.watch(("configmaps",), 1)
        assert error.value.status == 410


def test_one_directory_serves_one_cluster(tmp_path: Path) -> None:
    with kept_store(tmp_path), pytest.raises(StorageError, match="in use by another running cluster"):
        SqliteBackend(tmp_path)
    SqliteBackend(tmp_path).close()


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("once upon a time " * 100)
    with pytest.raises(StorageError, match=rf"{FILE}: cannot be used: "):
        SqliteBackend(tmp_path)


def test_a_file_of_another_version(tmp_path: Path) -> None:
    SqliteBackend(tmp_path).close()
    sqlite3.connect(tmp_path / FILE).execute("PRAGMA user_version=7")
    with pytest.raises(StorageError, match="expected format 1, found 7"):
        SqliteBackend(tmp_path)


def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be used: not a directory"):
        SqliteBackend(tmp_path / "file" / "data")


def test_it_is_for_its_owner_alone(tmp_path: Path) -> None:
    SqliteBackend(tmp_path / "data").close()
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
    assert (tmp_path / "data" / FILE).stat().st_mode & 0o077 == 0


def test_a_full_disk_refuses_and_loses_nothing(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path)
    store = Store(HandClock(), backend=backend)
    store.create("configmaps", config_map("a"))
    pages = backend._db.execute("PRAGMA page_count").fetchone()[0]
    backend._db.execute(f"PRAGMA max_page_count={pages + 2}")
    before = holdings(store)
    with pytest.raises(StorageError, match="database or disk is full"):
        store.create("configmaps", config_map("b", "y" * 100_000))
    assert holdings(store) == before
    backend._db.execute("PRAGMA max_page_count=100000")
    store.create("configmaps", config_map("b"))
    after = holdings(store)
    backend.close()
    with kept_store(tmp_path) as again:
        assert holdings(again) == after


def test_how_clients_hear_of_a_full_disk(tmp_path: Path) -> None:
    backend = SqliteBackend(tmp_path)
    cluster = MiniCluster(HandClock(), backend=backend)
    cluster.apply([{"kind": "Namespace", "metadata": {"name": "default"}}])
    (pod,) = cluster.apply([{"kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {}}])
    backend._db.execute("PRAGMA query_only=1")  # as good as full: nothing can be written
    body = b'{"kind": "ConfigMap", "metadata": {"name": "m"}}'
    request = ApiRequest("POST", "/api/v1/namespaces/default/configmaps", {}, "", "application/json", body)
    answer = ApiServer(cluster.store, cluster.clock).answer(request)
    assert isinstance(answer, ApiResponse)
    assert answer.status == 507
    assert b"the change could not be stored: " in answer.body
    refused = cluster._call(Nominate(Target("Pod", "default", "p", pod.uid), "n"))
    assert isinstance(refused, Refused)
    assert refused.again
    backend.close()
