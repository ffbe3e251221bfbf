"""A served cluster with a data directory: what it refuses to start from, and a start on a full disk."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reprieve.cli.input_files import SHAPES
from reprieve_minicluster.bootstrap import LocalCluster
from reprieve_minicluster.local_cluster import served
from reprieve_minicluster.store import StorageError
from reprieve_minicluster.store.sqlite_backend import FILE


def started(directory: Path) -> tuple[int, list[str]]:
    """Starts it once; returns its number of nodes, and what is wrong with it."""

    async def main() -> tuple[int, list[str]]:
        wanted = LocalCluster([SHAPES["cpu16"]], 2, directory / "kubeconfig", data_dir=directory)
        async with served(wanted) as there:
            wrong = [f"{name}: {problem}" for name, problem in there.cluster.ready() if problem]
            return len(there.cluster.list("Node")), wrong

    return asyncio.run(main())


def statement(sql: str) -> Callable[[Path], None]:
    def change(directory: Path) -> None:
        with closing(sqlite3.connect(directory / FILE)) as db, db:
            db.execute(sql)

    return change


def remove_file(directory: Path) -> None:
    (directory / FILE).unlink()
    (directory / "lock").unlink()


@pytest.mark.parametrize(
    ("lose", "told"),
    [
        (remove_file, "is empty, although a cluster was stored in this directory"),
        (statement("DELETE FROM versions"), "its objects are gone"),
        (statement("DELETE FROM notes WHERE name = 'complete'"), "its objects are gone"),
    ],
    ids=["the file is gone", "without objects", "without notes"],
)
def test_an_emptied_database_is_refused(tmp_path: Path, lose: Callable[[Path], None], told: str) -> None:
    assert started(tmp_path) == (2, [])
    kubeconfig = (tmp_path / "kubeconfig").read_text()
    lose(tmp_path)
    with pytest.raises(StorageError, match=told):
        started(tmp_path)
    assert (tmp_path / "kubeconfig").read_text() == kubeconfig


def test_a_restart_needs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FullDisk(sqlite3.Connection):
        def execute(self, sql: str, *more: Any) -> sqlite3.Cursor:
            if sql.startswith(("INSERT", "DELETE")):
                raise sqlite3.OperationalError("database or disk is full")
            return super().execute(sql, *more)

    assert started(tmp_path) == (2, [])
    kubeconfig, connect = tmp_path / "kubeconfig", sqlite3.connect
    before = kubeconfig.stat().st_ino, kubeconfig.read_text()
    monkeypatch.setattr(
        "reprieve_minicluster.store.sqlite_backend.sqlite3.connect",
        lambda *args, **more: connect(*args, **more, factory=FullDisk),
    )
    nodes, wrong = started(tmp_path)
    assert (nodes, len(wrong)) == (2, 1)
    assert wrong[0].endswith("cannot be written: database or disk is full")
    assert (kubeconfig.stat().st_ino, kubeconfig.read_text()) == before


def test_the_kubeconfig_is_private_also_if_it_was_not_before(tmp_path: Path) -> None:
    started(tmp_path)
    (tmp_path / "kubeconfig").chmod(0o644)
    started(tmp_path)
    assert (tmp_path / "kubeconfig").stat().st_mode & 0o777 == 0o600


def test_clients_find_the_address_and_the_certificate_of_the_server(tmp_path: Path) -> None:
    async def main() -> None:
        wanted = LocalCluster([SHAPES["cpu16"]], 0, tmp_path / "kubeconfig")
        async with served(wanted) as there:
            service = there.cluster.read("Service", "default", "kubernetes")
            assert service is not None
            assert service["spec"]["clusterIP"] == "10.96.0.1"
            assert there.address.endswith(f":{service['spec']['ports'][0]['targetPort']}")
            async with asyncio.timeout(30):
                while (published := there.cluster.read("ConfigMap", "default", "kube-root-ca.crt")) is None:
                    await asyncio.sleep(0.05)
            assert published["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")

    asyncio.run(main())
