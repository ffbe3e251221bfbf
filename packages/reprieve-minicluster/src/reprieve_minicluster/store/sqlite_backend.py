"""Durable storage: every change goes into one SQLite file before the store acknowledges it.

The file has what the store has in memory, objects and the last changes, and knows nothing of what they mean.
An acknowledged change survives the end of the process at any moment. While the disk is full, the file can be
read and every write fails.
"""

import fcntl
import logging
import os
import sqlite3
import stat
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprieve_minicluster.store.watch_cache import EventType, Key, Stored, WatchEvent

FILE = "cluster.db"
_LOCK = "lock"
_HAS_FILE = b"a cluster is stored here\n"  # in the lock: an empty file later on means that it was lost
_PRIVATE, _PRIVATE_DIRECTORY = 0o600, 0o700
_PROBE = "probe", "x" * 4000  # a note of about a page, written to find out whether there is room
_OLDEST = "oldest"
_TYPES: Mapping[str, EventType] = {one.value: one for one in EventType}  # looked up for every row
_DELETED = EventType.DELETED.value
_FORMAT = 1
_TRIMMED_AT_ONCE = 4  # old versions per write: trimming them all at once would make one write slow
# No full sync per change: a killed process loses nothing, a machine that loses power the last moments.
_TUNING = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=8000"
_VERSIONS = "version, verb, resource, namespace, name, uid, before, raw"
# Each body is stored once: an object is its last version, a change is a version and its predecessor.
_TABLES = """
CREATE TABLE versions (
  version INTEGER PRIMARY KEY, verb TEXT NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL,
  name TEXT NOT NULL, uid TEXT NOT NULL, before INTEGER NOT NULL, raw BLOB NOT NULL
);
CREATE TABLE notes (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
"""

_log = logging.getLogger(__name__)


class StorageError(Exception):
    """The file cannot be written or read: one sentence that names it."""


@dataclass(frozen=True, slots=True)
class PersistedState:
    """The content of the file: all objects, and the last changes in order."""

    objects: Sequence[Stored] = ()
    changes: Sequence[WatchEvent] = ()


class SqliteBackend:
    """One directory, used by one process at a time. Close it after use.

    ``was_used``: other files say that a cluster is stored there, so an empty file is one that was lost.
    """

    def __init__(self, directory: Path, *, was_used: bool = False) -> None:
        self._path = directory / FILE
        self._problem = ""
        self._lock = _locked(directory)
        try:
            self._db = self._opened(was_used or os.pread(self._lock, len(_HAS_FILE), 0) == _HAS_FILE)
            self._trimmed = self._number(_OLDEST)
        except (sqlite3.Error, OSError) as error:
            os.close(self._lock)
            raise self._error("cannot be used", error) from error
        except StorageError:
            os.close(self._lock)
            raise
        self._mark_used()
        self._probe()

    def _opened(self, was_used: bool) -> sqlite3.Connection:
        if was_used and (not self._path.exists() or not self._path.stat().st_size):
            raise self._lost()
        _make_private(self._path)
        with suppress(sqlite3.OperationalError):
            return self._connected(was_used, "NORMAL")
        # Without room for the file that connections share: the lock of the directory excludes others anyway.
        return self._connected(was_used, "EXCLUSIVE")

    def _connected(self, was_used: bool, locking: str) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None)
        # Text that is not UTF-8 damages its row, and no other.
        connection.text_factory = lambda text: text.decode(errors="surrogateescape")
        try:
            connection.execute(f"PRAGMA locking_mode={locking}")
            connection.executescript(_TUNING)
            self._prepare(connection, was_used)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection, was_used: bool) -> None:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if found == 0 and tables:
            raise StorageError(f"{self._path}: expected a cluster, found another database")
        if found == 0 and was_used:
            raise self._lost()
        if found == 0:
            connection.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={_FORMAT}; COMMIT;")
        elif found != _FORMAT:
            raise StorageError(
                f"{self._path}: expected format {_FORMAT}, found {found}: another release wrote it"
            )

    def _lost(self) -> StorageError:
        return StorageError(
            f"{self._path}: is empty, although a cluster was stored in this directory: restore the file, or "
            "use another directory for a new cluster"
        )

    def _mark_used(self) -> None:
        with suppress(OSError):  # the disk is full: the next start marks it
            os.pwrite(self._lock, _HAS_FILE, 0)

    def read(self, kept: int) -> PersistedState:
        """All objects, and the last ``kept`` changes, from which watches may resume."""
        try:
            rows = self._db.execute(f"SELECT {_VERSIONS} FROM versions ORDER BY version").fetchall()
        except sqlite3.Error as error:
            raise self._error("cannot be read", error) from error
        last = rows[-1][0] if rows else 0
        damaged = {row[0]: what for row in rows if (what := _damage(row))}
        for version, what in damaged.items():
            _log.warning("%s: row %d is damaged and left out: %s", self._path, version, what)
        return _kept(rows, max(self._trimmed, last - kept), damaged)

    def write(self, change: WatchEvent, oldest: int) -> None:
        """Write one change atomically; versions up to ``oldest`` may be trimmed."""
        now, before = change.object, change.before
        row = (change.version, change.type, *now.key, now.uid, before.version if before else 0, now.raw)
        trimmed = min(oldest, self._trimmed + _TRIMMED_AT_ONCE)
        with self._transaction():
            self._db.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            if trimmed > self._trimmed:
                self._trim(trimmed)
        self._trimmed = trimmed

    def _trim(self, until: int) -> None:
        """Drop versions that no watch can reach any more, except those that are the current objects."""
        span = (self._trimmed, until)
        past = "version > ? AND version <= ?"
        self._db.execute(
            f"DELETE FROM versions WHERE version IN (SELECT before FROM versions WHERE {past})", span
        )
        self._db.execute(f"DELETE FROM versions WHERE verb = 'DELETED' AND {past}", span)
        self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (_OLDEST, str(until)))

    def _number(self, name: str) -> int:
        text = self.note(name) or "0"
        if not (text.isascii() and text.isdigit()):
            raise StorageError(f"{self._path}: is damaged: its note {name} is no number")
        return int(text)

    def note(self, name: str) -> str | None:
        """A small text about the cluster as a whole, stored under a name."""
        try:
            found = self._db.execute("SELECT text FROM notes WHERE name = ?", (name,)).fetchone()
        except sqlite3.Error as error:
            raise self._error("cannot be read", error) from error
        return None if found is None else str(found[0])

    def write_note(self, name: str, text: str) -> None:
        """A note that is there already is not written: a restart on a full disk must need no room."""
        if self.note(name) != text:
            self._write_note(name, text)

    def _write_note(self, name: str, text: str) -> None:
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, text))

    def check_writable(self) -> str:
        """Why the last write failed; empty if the last write, or this further try, succeeded."""
        if self._problem:
            self._probe()
        return self._problem

    def _probe(self) -> None:
        with suppress(StorageError):
            self._write_note(*_PROBE)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):  # it was rolled back already
                self._db.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self._failed(error) from error
            raise
        if self._problem:
            _log.warning("%s: can be written again", self._path)
            self._problem = ""

    def _failed(self, error: sqlite3.Error) -> StorageError:
        failure = self._error("cannot be written", error)
        if not self._problem:
            _log.warning(
                "%s: the cluster is read-only, and refuses writes with 507, until it can be", failure
            )
        self._problem = str(failure)
        return failure

    def close(self) -> None:
        self._db.close()
        os.close(self._lock)

    def _error(self, what: str, error: sqlite3.Error | OSError) -> StorageError:
        return StorageError(f"{self._path}: {what}: {error}")


def _make_private(path: Path) -> None:
    """Readable by its owner alone, also if it was not before: the file also has tokens and keys."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE))
    for file in path.parent.glob(f"{path.name}*"):  # besides, the log of writes and its index
        file.chmod(_PRIVATE)


def _make_private_directory(directory: Path) -> None:
    """Leave a directory as it is that is shared, such as /tmp, or has files of other programs."""
    directory.mkdir(mode=_PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    is_ours = (directory / FILE).exists() or not any(directory.iterdir())
    if is_ours and not directory.stat().st_mode & stat.S_ISVTX:
        directory.chmod(_PRIVATE_DIRECTORY)


def _locked(directory: Path) -> int:
    """Lock the directory until the descriptor is closed or the process ends, however it ends."""
    try:
        _make_private_directory(directory)
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)
        os.fchmod(lock, _PRIVATE)
    except OSError as error:
        raise StorageError(
            f"{directory}: cannot be used: {(error.strerror or str(error)).lower()}"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise StorageError(f"{directory}: in use by another running cluster") from error
    return lock


def _damage(row: Sequence[Any]) -> str:
    """What is wrong with a row; empty if nothing is."""
    _, verb, resource, namespace, name, uid, before, raw = row
    for what, text in (("resource", resource), ("namespace", namespace), ("name", name), ("uid", uid)):
        if not isinstance(text, str) or not (text.isascii() or text.isprintable()):
            return f"its {what} is no text"
    if verb not in _TYPES:
        return "its verb is unknown"
    if not isinstance(before, int):
        return "its predecessor is no number"
    return "" if isinstance(raw, bytes) else "its object is no sequence of bytes"


def _kept(rows: Sequence[Any], oldest: int, damaged: Container[int]) -> PersistedState:
    """What a damaged row has replaced remains replaced: an older state must not return."""
    replaced = {row[6] for row in rows}
    rows = [row for row in rows if row[0] not in damaged]
    stored = {
        version: Stored(Key(resource, namespace, name), uid, version, raw)
        for version, _, resource, namespace, name, uid, _, raw in rows
    }
    return PersistedState(
        objects=[stored[row[0]] for row in rows if row[1] != _DELETED and row[0] not in replaced],
        changes=[
            WatchEvent(version, _TYPES[verb], stored[version], stored.get(before))
            for version, verb, _, _, _, _, before, _ in rows
            if version > oldest
        ],
    )
