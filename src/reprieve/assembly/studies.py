"""How is a study put together? Policies become schedulers, cells are played in processes, results are kept.

A cell is keyed by its content and its result is a file, so that a study that was cut off goes on where it
was.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from hashlib import blake2b
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Protocol

import msgspec

import reprieve
from reprieve import config
from reprieve.assembly.scheduler_settings import EVERYTHING, settings_of
from reprieve.inquiry.cluster_objects import ClusterObjects
from reprieve.inquiry.decoded_cluster import decoded
from reprieve.inquiry.joined_files import consistent
from reprieve.inquiry.object_files import parse_objects
from reprieve.model.objects import Node
from reprieve.runtime.journal import JournalError, entries
from reprieve.scheduler.core import Scheduler
from reprieve.study.cell import CellKey, StudiedPolicy, cell_key, play
from reprieve.study.importers import journal as journal_importer
from reprieve.study.measures import Measured

_ATTEMPTS = 3  # of a cell whose process died
_SUFFIX = ".json"
_DASK_SECONDS = 10
_PLAYED_BY = ("model", "placement", "preemption", "scheduler", "study")

Progress = Callable[[int, int], None]  # cells that are done, and all


class StudyError(Exception):
    """Why a study cannot go on, as a sentence."""


def played(content: bytes, policy: StudiedPolicy, seed: int) -> bytes:
    """One cell, from its input to its result as JSON; called in whatever process."""
    configured = config.parse_configuration(msgspec.json.decode(policy.document))
    settings = settings_of(configured, EVERYTHING)
    measured = play(content, Scheduler(settings), next(iter(settings.profiles)), seed)
    return msgspec.json.encode(measured)


def version_and_code() -> str:
    """The release, and a digest of what a cell is played by: another code may decide otherwise."""
    digest = blake2b(digest_size=6)
    package = Path(reprieve.__file__).parent
    for part in _PLAYED_BY:
        for path in sorted((package / part).rglob("*.py")):
            digest.update(path.read_bytes())
    return f"{version('reprieve')}+{digest.hexdigest()}"


class Workers(Protocol):
    """Where cells are played."""

    def results(
        self, content: bytes, cells: Sequence[tuple[StudiedPolicy, int]]
    ) -> Iterator[tuple[StudiedPolicy, int, bytes]]:
        """As they are done, in any order."""


def studied(
    content: bytes,
    policies: Sequence[StudiedPolicy],
    seeds: Sequence[int],
    cells: "KeptCells",
    workers: Workers,
) -> dict[str, list[Measured]]:
    """By policy, in the order of the seeds."""
    wanted = [(policy, seed) for seed in seeds for policy in policies]
    keys = {(policy.name, seed): cells.key(content, policy, seed) for policy, seed in wanted}
    missing = [(policy, seed) for policy, seed in wanted if not cells.has(keys[policy.name, seed])]
    cells.report(len(wanted) - len(missing), len(wanted))
    for done, (policy, seed, result) in enumerate(workers.results(content, missing), start=1):
        cells.keep(keys[policy.name, seed], result)
        cells.report(len(wanted) - len(missing) + done, len(wanted))
    return {policy.name: [cells.read(keys[policy.name, seed]) for seed in seeds] for policy in policies}


class KeptCells:
    """Results of cells, as files in a directory."""

    def __init__(self, directory: Path, version: str, progress: Progress) -> None:
        self._directory = directory
        self._version = version
        self.report = progress

    def key(self, content: bytes, policy: StudiedPolicy, seed: int) -> CellKey:
        return cell_key(content, policy, seed, self._version)

    def has(self, key: CellKey) -> bool:
        """A file that was not written whole does not count."""
        try:
            self.read(key)
        except (OSError, msgspec.MsgspecError):
            return False
        return True

    def read(self, key: CellKey) -> Measured:
        return msgspec.json.decode(self._path(key).read_bytes(), type=Measured)

    def keep(self, key: CellKey, result: bytes) -> None:
        """Written beside its place and then moved there, so that a file is whole or not there."""
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            path = self._path(key)
            beside = path.with_suffix(".part")
            beside.write_bytes(result)
            beside.replace(path)
        except OSError as error:
            raise StudyError(f"--out {self._directory}: cannot be written: {error.strerror}") from error

    def _path(self, key: CellKey) -> Path:
        return self._directory / f"{key.digest}{_SUFFIX}"


class ProcessPool:
    """Cells in processes of this machine. A process that dies is replaced, and its cells are played again."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def results(
        self, content: bytes, cells: Sequence[tuple[StudiedPolicy, int]]
    ) -> Iterator[tuple[StudiedPolicy, int, bytes]]:
        left, attempts = dict.fromkeys(cells, 0), 0
        while left:
            try:
                for policy, seed, result in self._tried(content, list(left)):
                    del left[policy, seed]
                    yield policy, seed, result
            except BrokenProcessPool as error:
                attempts += 1
                if attempts >= _ATTEMPTS:
                    text = f"a process that plays cells died {attempts} times; {len(left)} cells are left"
                    raise StudyError(text) from error

    def _tried(
        self, content: bytes, cells: Sequence[tuple[StudiedPolicy, int]]
    ) -> Iterator[tuple[StudiedPolicy, int, bytes]]:
        # Spawned, not forked: what a cell does must not depend on what this process has done before.
        with ProcessPoolExecutor(self._jobs, mp_context=get_context("spawn")) as pool:
            running: Mapping[Future[bytes], tuple[StudiedPolicy, int]] = {
                pool.submit(played, content, policy, seed): (policy, seed) for policy, seed in cells
            }
            waiting = set(running)
            try:
                while waiting:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield *running[future], future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


class DaskCluster:
    """Cells on the workers of a Dask cluster, which replaces workers that die."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def results(
        self, content: bytes, cells: Sequence[tuple[StudiedPolicy, int]]
    ) -> Iterator[tuple[StudiedPolicy, int, bytes]]:
        from distributed import as_completed

        shared = self._client.scatter(content, broadcast=True)
        running = {
            self._client.submit(played, shared, policy, seed, pure=False): (policy, seed)
            for policy, seed in cells
        }
        for future in as_completed(running):
            yield *running[future], future.result()


def dask_cluster(address: str) -> DaskCluster:
    """Raises StudyError if Dask is not installed, or its cluster does not answer."""
    try:
        from distributed import Client
    except ImportError as error:
        raise StudyError(
            "expected the package distributed, which is not installed: pip install 'reprieve[dask]'"
        ) from error
    try:
        return DaskCluster(Client(address, timeout=_DASK_SECONDS))
    except (OSError, ValueError) as error:
        raise StudyError(f"expected the scheduler of a Dask cluster, got no answer: {error}") from error


def journaled_cluster(directory: Path) -> journal_importer.JournaledCluster:
    """The jobs and the nodes of a journal."""
    try:
        return journal_importer.read(str(directory), entries(directory))
    except JournalError as error:
        raise StudyError(str(error)) from error


def nodes_in(path: Path) -> tuple[Node, ...]:
    """The Nodes of a file: a list of kubectl, documents, or a snapshot."""
    try:
        found = parse_objects(path.read_bytes(), str(path))
    except OSError as error:
        raise StudyError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from error
    if found.problems:
        raise StudyError("; ".join(found.problems))
    seen = decoded(consistent(ClusterObjects(found.objects, 0.0))).seen
    nodes = tuple(one.object for one in seen if isinstance(one.object, Node))
    if not nodes:
        raise StudyError(f"{path}: expected one or more Nodes, got none")
    return nodes
