"""Which clusters run on this machine: the process of each cluster registers it in a shared directory.

An entry is a file that its process holds locked. A file without a lock is left over from a process that was
killed, and is removed.
"""

import fcntl
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

PLACE = "REPRIEVE_RUNTIME_DIR"  # a variable of the environment: where entries are instead
_SUFFIX = ".json"
_log = logging.getLogger(__name__)


class RunningCluster(msgspec.Struct, frozen=True, rename="camel"):
    """``data_dir`` is empty for a cluster in memory; ``started`` is in seconds since 1970."""

    pid: int
    address: str
    kubeconfig: str
    data_dir: str
    started: float


class RegistryError(Exception):
    """The directory of entries cannot be used: one sentence that names it."""


@contextmanager
def entered(entry: RunningCluster) -> Iterator[None]:
    """On a full disk the cluster runs without an entry."""
    path = _directory() / f"{entry.pid}{_SUFFIX}"
    with path.open("wb", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            file.write(msgspec.json.encode(entry))
        except OSError as error:
            _log.warning("`reprieve status` does not show this cluster: %s: %s", path, error.strerror)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def entries() -> list[RunningCluster]:
    """The clusters that run now, the oldest first."""
    found = (_read(path) for path in sorted(_directory().glob(f"*{_SUFFIX}")))
    return sorted((entry for entry in found if entry is not None), key=lambda e: (e.started, e.pid))


def ask_to_stop(entry: RunningCluster) -> None:
    """Signal its process to stop, as Ctrl-C does. It has stopped when its entry is gone."""
    os.kill(entry.pid, signal.SIGTERM)


def _read(path: Path) -> RunningCluster | None:
    """None for a file without a lock, which it removes."""
    try:
        with path.open("rb") as file:
            if _is_held(file.fileno()):
                return msgspec.json.decode(file.read(), type=RunningCluster)
            path.unlink(missing_ok=True)
    except (FileNotFoundError, msgspec.MsgspecError):
        pass  # its process has just ended, or has not written it yet
    return None


def _is_held(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _directory() -> Path:
    """A directory that belongs to the user. One for all its sessions: XDG_RUNTIME_DIR and TMPDIR may differ
    between a login, `su` and cron, and each would see only its own clusters."""
    given = os.environ.get(PLACE)
    path = Path(given) / "reprieve" if given else Path("/tmp") / f"reprieve-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = path.stat().st_uid
    except OSError as error:
        raise RegistryError(f"{path}: cannot be used: {(error.strerror or str(error)).lower()}") from error
    if owner != os.getuid():
        raise RegistryError(f"{path}: belongs to another user: set {PLACE} to a directory of your own")
    return path
