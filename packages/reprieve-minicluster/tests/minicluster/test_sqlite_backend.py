"""A cluster with a backend: it continues after a restart, and a change that cannot be stored fails."""

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.minicluster.scene import HandClock

from reprieve.cluster.port import Refused
from reprieve.model.effects import Nominate, Target
from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.rest.http_messages import ApiRequest, ApiResponse
from reprieve_minicluster.rest.http_server import ApiServer, serve
from reprieve_minicluster.store import (
    EventType,
    Key,
    Part,
    SqliteBackend,
    StorageError,
    Store,
    Stored,
    WatchEvent,
    parsed,
)
from reprieve_minicluster.store.sqlite_backend import FILE
from reprieve_minicluster.virtual_time import clock, run


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
        assert store.oldest == before[0] - 5
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


def test_it_is_also_if_it_was_not_before(tmp_path: Path) -> None:
    before = SqliteBackend(tmp_path / "data")
    Store(HandClock(), backend=before).create("configmaps", config_map("a"))
    files = list((tmp_path / "data").iterdir())
    assert {file.name for file in files} >= {FILE, f"{FILE}-wal", f"{FILE}-shm", "lock"}
    for file in files:
        file.chmod(0o644)
    (tmp_path / "data").chmod(0o755)
    os.close(before._lock)  # as if its process had been killed
    backend = SqliteBackend(tmp_path / "data")
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    backend.close()


@pytest.mark.parametrize("mode", [0o1777, 0o755], ids=["sticky", "with files of other programs"])
def test_a_directory_that_others_share_stays_so(tmp_path: Path, mode: int) -> None:
    (tmp_path / "notes.txt").touch()
    tmp_path.chmod(mode)
    SqliteBackend(tmp_path).close()
    assert tmp_path.stat().st_mode & 0o7777 == mode
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


# --- a file that was lost ----------------------------------------------------------------------------


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("lose", [empty, Path.unlink], ids=["emptied", "removed"])
def test_a_lost_file_is_not_taken_for_a_new_cluster(tmp_path: Path, lose: Callable[[Path], object]) -> None:
    SqliteBackend(tmp_path).close()
    lose(tmp_path / FILE)
    for _ in range(2):
        with pytest.raises(StorageError, match=rf"{FILE}: is empty, although a cluster was stored"):
            SqliteBackend(tmp_path)
    assert not (tmp_path / FILE).exists() or not (tmp_path / FILE).stat().st_size


def test_other_files_may_say_that_a_cluster_was_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is empty, although"):
        SqliteBackend(tmp_path, was_used=True)
    sqlite3.connect(tmp_path / FILE).execute("PRAGMA user_version=0").connection.execute("VACUUM")
    with pytest.raises(StorageError, match="is empty, although"):
        SqliteBackend(tmp_path, was_used=True)


def test_a_database_of_another_program(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / FILE).execute("CREATE TABLE songs (name)")
    with pytest.raises(StorageError, match="expected a cluster, found another database"):
        SqliteBackend(tmp_path)


def test_one_unreadable_row_is_left_out_and_told(tmp_path: Path, mishaps: list[logging.LogRecord]) -> None:
    with kept_store(tmp_path) as store:
        store.create("namespaces", {"kind": "Namespace", "metadata": {"name": "default"}})
        since = store.create("configmaps", config_map("a")).version
        store.create("configmaps", config_map("b"))
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("UPDATE versions SET raw = CAST('{\"kind\": \"Conf' AS BLOB) WHERE name = 'b'")
    db.close()

    async def main() -> tuple[MiniCluster, list[Json]]:
        backend = SqliteBackend(tmp_path)
        cluster = MiniCluster(clock, backend=backend)
        cluster.start()
        await asyncio.sleep(5.0)
        assert [wrong for _, wrong in cluster.ready() if wrong] == []
        await cluster.stop()
        backend.close()
        return cluster, cluster.list("Event")

    cluster, (event,) = run(main())
    assert [body["metadata"]["name"] for body in cluster.list("ConfigMap")] == ["a"]
    assert [record.getMessage().split(" failed: ")[0] for record in mishaps] == [
        "store: load configmaps default/b"
    ]
    assert (event["type"], event["involvedObject"]["name"]) == ("Warning", "b")
    resumed = cluster.store.watch(("configmaps",), since).poll()
    assert parsed(resumed[0].object)["metadata"]["name"] == "b"


# --- a full disk -------------------------------------------------------------------------------------


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
    refused = asyncio.run(cluster.perform(Nominate(Target("Pod", "default", "p", pod.uid), "n")))
    assert isinstance(refused, Refused)
    assert refused.again
    backend.close()


class Disk(sqlite3.Connection):
    """A connection to a file on a disk that may be full."""

    is_full = False

    def execute(self, sql: str, *more: Any) -> sqlite3.Cursor:
        if Disk.is_full and sql.startswith(("INSERT", "DELETE", "CREATE")):
            raise sqlite3.OperationalError("database or disk is full")
        return super().execute(sql, *more)

    def executescript(self, sql: str) -> sqlite3.Cursor:
        """Without room for the file that connections share, only an exclusive connection opens the file."""
        locking = self.execute("PRAGMA locking_mode").fetchone()
        if Disk.is_full and ("CREATE" in sql or locking == ("normal",)):
            raise sqlite3.OperationalError("disk I/O error")
        return super().executescript(sql)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Disk]]:
    connect = sqlite3.connect
    monkeypatch.setattr(
        "reprieve_minicluster.store.sqlite_backend.sqlite3.connect",
        lambda *args, **more: connect(*args, **more, factory=Disk),
    )
    yield Disk
    Disk.is_full = False


def test_on_a_full_disk_it_starts_read_only_and_goes_on(
    tmp_path: Path, disk: type[Disk], caplog: pytest.LogCaptureFixture
) -> None:
    with kept_store(tmp_path) as store:
        store.create("configmaps", config_map("a"))
        before = holdings(store)
    disk.is_full = True
    with kept_store(tmp_path) as store:
        assert holdings(store) == before
        assert "cannot be written: database or disk is full" in store.check_writable()
        with pytest.raises(StorageError):
            store.create("configmaps", config_map("b"))
        disk.is_full = False
        assert store.check_writable() == ""
        store.create("configmaps", config_map("b"))
    told = [record.getMessage() for record in caplog.records]
    assert [message.partition(f"{FILE}: ")[2] for message in told] == [
        "cannot be written: database or disk is full: the cluster is read-only, and refuses writes with 507, "
        "until it can be",
        "can be written again",
    ]


def test_a_new_cluster_needs_room(tmp_path: Path, disk: type[Disk]) -> None:
    disk.is_full = True
    with pytest.raises(StorageError, match="cannot be used: "):
        SqliteBackend(tmp_path)


def test_readyz_tells_of_a_full_disk(tmp_path: Path, disk: type[Disk]) -> None:
    async def main() -> list[tuple[int, bytes]]:
        backend = SqliteBackend(tmp_path)
        cluster = MiniCluster(clock, backend=backend)
        server = serve(cluster, "secret")
        answers: list[tuple[int, bytes]] = []
        for full in (False, True, False):
            disk.is_full = full
            with suppress(StorageError):
                cluster.apply([config_map(f"m{len(answers)}")])
            answer = server._api_server.answer(ApiRequest("GET", "/readyz"))
            assert isinstance(answer, ApiResponse)
            answers.append((answer.status, answer.body))
        backend.close()
        return answers

    well, ill, again = run(main())
    assert well == again == (200, b"ok")
    assert ill[0] == 500
    assert b"[-]storage failed: " in ill[1]


def test_a_transaction_that_breaks_off_leaves_none_open(tmp_path: Path) -> None:
    with kept_store(tmp_path) as store:
        with pytest.raises(UnicodeEncodeError):
            store._backend.write(  # type: ignore[union-attr]
                WatchEvent(1, EventType.ADDED, Stored(map_key("\ud800"), "u", 1, b"{}"), None), 0
            )
        store.create("configmaps", config_map("a"))
