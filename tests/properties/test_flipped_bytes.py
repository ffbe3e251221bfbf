"""One wrong byte in a journal, a store or a snapshot: a sentence, or the rest, and never a traceback."""

import random
import shutil
import sqlite3
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import tests.unit

from reprieve.assembly.caller_page import RecordingError, recording_in
from reprieve.assembly.decision_sources import DecisionSourceError, journal_decisions
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.inquiry.joined_files import cluster_in
from reprieve.inquiry.object_files import parse_objects
from reprieve.runtime.journal import JournalError, read_entries
from reprieve_minicluster.bootstrap import SnapshotError, restore
from reprieve_minicluster.store import StorageError, Store
from reprieve_minicluster.store.sqlite_backend import FILE, SqliteBackend

UNIT = Path(tests.unit.__path__[0])
JOURNAL = UNIT / "runtime" / "older" / "journal_format_3" / "00000001.jsonl"
SNAPSHOT = UNIT / "assembly" / "stored" / "snapshot.jsonl"
SEEDS, AT_ONCE = 300, 50


def flipped(content: bytes, seed: int, begin: int = 0) -> bytes:
    """A bit in half of all cases, or else a whole byte."""
    chance = random.Random(seed)
    found, at = bytearray(content), chance.randrange(begin, len(content))
    found[at] = found[at] ^ (1 << chance.randrange(8)) if seed % 2 else chance.randrange(256)
    return bytes(found)


def seeds(first: int) -> range:
    return range(first, first + AT_ONCE)


each_fifty = pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))


@each_fifty
def test_a_journal(tmp_path: Path, first: int) -> None:
    content = JOURNAL.read_bytes()
    readers: list[tuple[Callable[[Path], object], type[Exception]]] = [
        (lambda path: list(read_entries(path)), JournalError),
        (journal_decisions, DecisionSourceError),
        (recording_in, RecordingError),
    ]
    for seed in seeds(first):
        (tmp_path / JOURNAL.name).write_bytes(flipped(content, seed))
        for read, refusal in readers:
            try:
                read(tmp_path)
            except refusal as error:
                assert str(error), seed


@each_fifty
def test_a_snapshot(first: int) -> None:
    content = SNAPSHOT.read_bytes()
    for seed in seeds(first):
        text = flipped(content, seed)
        decoded(cluster_in([parse_objects(text, "FILE")], 0.0))
        try:
            restore(Store(lambda: 0.0), text.decode())
        except (SnapshotError, UnicodeDecodeError) as error:  # the command reads text in UTF-8 alone
            assert str(error), seed


@cache
def stored() -> bytes:
    """The file of a store with all objects of the snapshot."""
    with TemporaryDirectory() as directory:
        backend = SqliteBackend(Path(directory))
        restore(Store(lambda: 0.0, backend=backend), SNAPSHOT.read_text())
        backend.close()
        return (Path(directory) / FILE).read_bytes()


@each_fifty
def test_a_store(tmp_path: Path, first: int) -> None:
    whole = stored()
    for seed in seeds(first):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        (tmp_path / FILE).write_bytes(flipped(whole, seed))
        try:
            backend = SqliteBackend(tmp_path)
        except StorageError as error:
            assert str(error), seed
            continue
        try:
            Store(lambda: 0.0, backend=backend)
        except StorageError as error:
            assert str(error), seed
        finally:
            backend.close()


@pytest.mark.parametrize(
    ("column", "value", "what"),
    [
        ("name", b"\xff", "its name is no text"),
        ("uid", 7.5, ""),
        ("verb", "MODIFIEE", "its verb is unknown"),
        ("before", "x", "its predecessor is no number"),
        ("raw", "text", "its object is no sequence of bytes"),
        ("name", "another", "its name is another than that under which it is stored"),
    ],
)
def test_a_damaged_row_is_named_and_the_rest_starts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, column: str, value: object, what: str
) -> None:
    (tmp_path / FILE).write_bytes(stored())
    database = sqlite3.connect(tmp_path / FILE)
    with database:
        rows = database.execute("SELECT version, resource FROM versions WHERE verb = 'ADDED'").fetchall()
        version = next(version for version, resource in rows if resource == "nodes")
        database.execute(f"UPDATE versions SET {column} = ? WHERE version = ?", (value, version))
    database.close()
    backend = SqliteBackend(tmp_path)
    store = Store(lambda: 0.0, backend=backend)
    backend.close()
    kept = sum(len(store.list((resource,)).items) for resource in store.kinds)
    assert kept == len(rows) - (1 if what else 0)
    said = caplog.text + "".join(map(str, store.unreadable.values()))
    assert what in said


def test_a_name_with_a_slash_is_left_out_and_named() -> None:
    pod = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a/b","namespace":"c"}}'
    found = decoded(cluster_in([parse_objects(pod, "FILE")], 0.0))
    assert not found.seen
    assert "metadata.name: expected no slash" in "".join(found.notes)
