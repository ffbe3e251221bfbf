"""Which clusters are up on this machine? The process of each cluster enters it here.

An entry is a file that its process holds locked: a file without a lock was left behind by a killed process.
"""

import fcntl
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

_SUFFIX = ".json"


class RunningCluster(msgspec.Struct, frozen=True, rename="camel"):
    """A cluster that is up. ``data_dir`` is empty for one in memory; ``started`` counts from 1970."""

    pid: int
    address: str
    kubeconfig: str
    data_dir: str
    started: float


class RegistryError(Exception):
    """The registry cannot be used; one sentence that names the directory."""


@contextmanager
def entered(entry: RunningCluster) -> Iterator[None]:
    path = _directory() / f"{entry.pid}{_SUFFIX}"
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(msgspec.json.encode(entry))
        file.flush()
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def entries() -> list[RunningCluster]:
    """The clusters that are up, the oldest first."""
    found = (_read(path) for path in sorted(_directory().glob(f"*{_SUFFIX}")))
    return sorted((entry for entry in found if entry is not None), key=lambda e: (e.started, e.pid))


def ask_to_stop(entry: RunningCluster) -> None:
    """Sends the signal of Ctrl-C; the entry vanishes once the cluster has stopped."""
    os.kill(entry.pid, signal.SIGTERM)


def _read(path: Path) -> RunningCluster | None:
    """None for a file that was left behind, which is removed."""
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
    """A directory that belongs to the user."""
    given = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(given) / "reprieve" if given else Path(tempfile.gettempdir()) / f"reprieve-{os.getuid()}"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = path.stat().st_uid
    except OSError as error:
        raise RegistryError(f"{path}: cannot be used: {(error.strerror or str(error)).lower()}") from error
    if owner != os.getuid():
        raise RegistryError(f"{path}: belongs to another user")
    return path
