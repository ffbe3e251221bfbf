"""Where is the source of another revision, for as long as it is compared with?"""

import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.names import UsageError, nearest
from benchmarks.timing import PATIENCE

# Where the product is, below the root: three distributions; in older revisions, one.
_LAYOUTS = ("packages/*/src", "src")


@dataclass(frozen=True, slots=True)
class Revision:
    name: str  # short, and the same for everybody
    source: Path  # the root of its files


def import_path(source: Path) -> str:
    """PYTHONPATH with which the product is that of this revision."""
    roots = next((found for layout in _LAYOUTS if (found := sorted(source.glob(layout)))), [])
    return os.pathsep.join(map(str, roots))


@contextmanager
def checked_out(repository: Path, name: str) -> Iterator[Revision]:
    """A copy of the revision's source, in a folder of its own.

    It is taken from the repository as an archive: a work tree would stay registered there if this process
    were killed.
    """
    commit = _commit(repository, name)
    top = _product(repository, commit)
    archive = subprocess.run(
        ["git", "archive", commit, top], cwd=repository, capture_output=True, check=True, timeout=PATIENCE
    ).stdout
    with TemporaryDirectory(prefix="reprieve-") as directory:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(directory, filter="data")
        yield Revision(_git(repository, "rev-parse", "--short", commit), Path(directory))


def _commit(repository: Path, name: str) -> str:
    if not _git(repository, "rev-parse", "--git-dir"):
        raise UsageError(f"{repository} is no git repository, so it has no revision {name!r}")
    commit = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if not commit:
        known = _git(repository, "for-each-ref", "--format=%(refname:short)").splitlines()
        raise UsageError(f"no revision is named {name!r}; {nearest(name, ['HEAD', *known])}")
    if not _product(repository, commit):
        raise UsageError(f"revision {name} has neither packages/reprieve nor src/reprieve")
    return commit


def _product(repository: Path, commit: str) -> str:
    """The folder that has the product in this revision; nothing if there is none."""
    tops = [top for top in ("packages", "src") if _git(repository, "ls-tree", commit, f"{top}/reprieve")]
    return next(iter(tops), "")


def _git(repository: Path, *arguments: str) -> str:
    """What git answers; nothing if it fails."""
    command = ["git", *arguments]
    done = subprocess.run(
        command, cwd=repository, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    return done.stdout.strip() if done.returncode == 0 else ""
