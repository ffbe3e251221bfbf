"""Where are the cells of a study played? In processes of this machine, or on a Dask cluster.

A worker that dies is replaced, and its cells are played again; only cells that end workers again and again
end the study.
"""

import socket
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Any
from urllib.parse import urlsplit

from reprieve_study.cell import StudiedPolicy
from reprieve_study.studies import Cell, StudyError, played, version_and_code

_ATTEMPTS = 3  # in a row in which workers died before any cell was done
_DASK_SECONDS = 10
_SAME_VERSIONS = ("python", "dask", "distributed")

Results = Iterator[tuple[Cell, bytes]]


class WorkersDiedError(Exception):
    """Cells that were not done are to be played again."""


def _all_played(cells: Sequence[Cell], tried: Callable[[Sequence[Cell]], Results]) -> Results:
    """``tried``: results until all cells are done, or WorkersDiedError."""
    left, attempts = dict.fromkeys(cells), 0
    while left:
        try:
            for cell, result in tried(list(left)):
                del left[cell]
                attempts = 0
                yield cell, result
        except WorkersDiedError as error:
            attempts += 1
            if attempts >= _ATTEMPTS:
                raise StudyError(
                    f"workers died {attempts} times in a row, with {len(left)} cells left; what is done is "
                    "kept, and the same command goes on"
                ) from error


class ProcessPool:
    """Processes of this machine."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def results(self, content: bytes, cells: Sequence[Cell]) -> Results:
        return _all_played(cells, partial(self._tried, content))

    def _tried(self, content: bytes, cells: Sequence[Cell]) -> Results:
        # Spawned, not forked: what a cell does must not depend on what this process has done before.
        with ProcessPoolExecutor(self._jobs, mp_context=get_context("spawn")) as pool:
            running: Mapping[Future[bytes], Cell] = {
                pool.submit(played, content, *cell): cell for cell in cells
            }
            waiting = set(running)
            try:
                while waiting:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield running[future], future.result()
            except BrokenProcessPool as error:
                raise WorkersDiedError from error
            except BaseException:
                # Waits for cells that are being played: else those that are not begun would be played, too.
                pool.shutdown(cancel_futures=True)
                raise


# --- Dask ----------------------------------------------------------------------------------------


class OtherVersionError(Exception):
    """A worker has another version of Reprieve, whose results are not those of this one."""


def played_by(version: str, content: bytes, policy: StudiedPolicy, seed: int) -> bytes:
    """Called on a worker, which may have joined at any time: so each cell looks at the version."""
    if version_and_code() != version:
        raise OtherVersionError(version_and_code())
    return played(content, policy, seed)


class DaskCluster:
    """The workers of a Dask cluster. Its scheduler gives the cells of a worker that died to others."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def results(self, content: bytes, cells: Sequence[Cell]) -> Results:
        return _all_played(cells, partial(self._tried, content))

    def _tried(self, content: bytes, cells: Sequence[Cell]) -> Results:
        from distributed import KilledWorker, as_completed

        here = version_and_code()
        try:
            # Lost with the last worker that holds it: then the cells are cancelled, and it is sent again.
            shared = self._client.scatter(content, broadcast=True, hash=False)
            running = {
                self._client.submit(played_by, here, shared, *cell, pure=False): cell for cell in cells
            }
            for future in as_completed(running):
                yield running[future], future.result()
        except KilledWorker as error:
            raise StudyError(f"a cell ended one worker after the other: {_first_line(error)}") from error
        except OtherVersionError as error:
            raise StudyError(f"expected workers with reprieve {here}, got one with {error}") from error
        except ImportError as error:
            raise StudyError(f"expected workers with reprieve {here}, got one without it: {error}") from error
        except (CancelledError, OSError) as error:
            raise WorkersDiedError from error


@contextmanager
def dask_cluster(address: str) -> Iterator[DaskCluster]:
    """Connect while the context is open. Raises StudyError: Dask is not installed, no scheduler answers, no
    worker is there, or versions differ."""
    client = _client(address)
    try:
        yield DaskCluster(client)
    finally:
        client.close()


def _client(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise StudyError(
            "expected the package distributed, which is not installed: pip install 'reprieve-study[dask]'"
        ) from error
    _reach(address)
    try:
        with warnings.catch_warnings(action="ignore"):  # about versions: compared below
            client = Client(address, timeout=_DASK_SECONDS)
    except (OSError, ValueError) as error:
        raise StudyError(f"expected the scheduler of a Dask cluster: {_first_line(error)}") from error
    try:
        client.wait_for_workers(1, timeout=_DASK_SECONDS)
        _compare_versions(client.get_versions())
    except BaseException as error:
        client.close()
        if isinstance(error, TimeoutError):
            raise StudyError(f"expected workers, got none within {_DASK_SECONDS} s") from error
        raise
    return client


def _reach(address: str) -> None:
    """Before Dask tries to, which would take long and print more than a sentence."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
        if parts.scheme not in {"tcp", "tls"} or not host or not port:
            raise ValueError
    except ValueError:
        raise StudyError("expected an address such as tcp://HOST:8786") from None
    try:
        socket.create_connection((host, port), _DASK_SECONDS).close()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StudyError(f"expected the scheduler of a Dask cluster, got no answer: {reason}") from error


def _compare_versions(found: Mapping[str, Any]) -> None:
    here = found["client"]["packages"]
    for where, there in (("scheduler", found["scheduler"]), *found["workers"].items()):
        for name in _SAME_VERSIONS:
            mine, other = _release(name, here), _release(name, there["packages"])
            if mine != other:
                raise StudyError(f"expected {name} {mine} as here, got {other} ({where})")


def _release(package: str, versions: Mapping[str, str]) -> str:
    version = versions[package]
    return ".".join(version.split(".")[:2]) if package == "python" else version


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
