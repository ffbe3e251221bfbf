"""Durable storage: every change goes into one SQLite file before the store acknowledges it.

The file has what the store has in memory, objects and the last changes, and knows nothing of what they mean.
An acknowledged change survives the end of the process at any moment.
"""

import fcntl
import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprieve.cluster.mini.stored_objects import Key, Stored
from reprieve.cluster.mini.watch_cache import EventType, WatchEvent

FILE = "cluster.db"
_LOCK = "lock"
_OLDEST = "oldest"
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


class StorageError(Exception):
    """The file cannot be written or read: one sentence that names it."""


@dataclass(frozen=True, slots=True)
class PersistedState:
    """The content of the file: all objects, and the last changes in order."""

    objects: Sequence[Stored] = ()
    changes: Sequence[WatchEvent] = ()


class SqliteBackend:
    """One directory, used by one process at a time. Close it after use."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._lock = _locked(directory)
        try:
            _create_private(self._path)
            self._db = sqlite3.connect(self._path, isolation_level=None)
            self._db.executescript(_TUNING)
            self._prepare()
            self._trimmed = int(self.note(_OLDEST) or 0)
        except (sqlite3.Error, OSError) as error:
            os.close(self._lock)
            raise self._problem("cannot be used", error) from error

    def _prepare(self) -> None:
        (found,) = self._db.execute("PRAGMA user_version").fetchone()
        if found == 0:
            self._db.executescript(f"BEGIN; {_TABLES} PRAGMA user_version={_FORMAT}; COMMIT;")
        elif found != _FORMAT:
            self.close()
            raise StorageError(
                f"{self._path}: expected format {_FORMAT}, found {found}: another release wrote it"
            )

    def read(self) -> PersistedState:
        try:
            rows = self._db.execute(f"SELECT {_VERSIONS} FROM versions ORDER BY version").fetchall()
        except sqlite3.Error as error:
            raise self._problem("cannot be read", error) from error
        return _kept(rows, self._trimmed)

    def write(self, change: WatchEvent, oldest: int) -> None:
        """Write one change atomically; versions up to ``oldest`` may be trimmed."""
        now, before = change.object, change.before
        row = (change.version, change.type, *now.key, now.uid, before.version if before else 0, now.raw)
        trimmed = min(oldest, self._trimmed + _TRIMMED_AT_ONCE)
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            if trimmed > self._trimmed:
                self._trim(trimmed)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise self._problem("cannot be written", error) from error
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

    def note(self, name: str) -> str | None:
        """A small text about the cluster as a whole, stored under a name."""
        found = self._db.execute("SELECT text FROM notes WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def write_note(self, name: str, text: str) -> None:
        try:
            self._db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, text))
        except sqlite3.Error as error:
            raise self._problem("cannot be written", error) from error

    def close(self) -> None:
        self._db.close()
        os.close(self._lock)

    def _problem(self, what: str, error: sqlite3.Error | OSError) -> StorageError:
        return StorageError(f"{self._path}: {what}: {error}")


def _create_private(path: Path) -> None:
    """Readable by its owner alone: the file also has tokens and keys."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _locked(directory: Path) -> int:
    """Lock the directory until the descriptor is closed or the process ends, however it ends."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
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


def _kept(rows: Sequence[Any], oldest: int) -> PersistedState:
    stored = {row[0]: Stored(Key(*row[2:5]), row[5], row[0], row[7]) for row in rows}
    replaced = {row[6] for row in rows}
    return PersistedState(
        objects=[stored[row[0]] for row in rows if row[1] != EventType.DELETED and row[0] not in replaced],
        changes=[
            WatchEvent(row[0], EventType(row[1]), stored[row[0]], stored.get(row[6]))
            for row in rows
            if row[0] > oldest
        ],
    )
