"""Builds a source distribution of each folder below `packages/`, and a wheel from each of those.

    python deploy/dist.py [FOLDER]

A wheel that is made from the source distribution shows that nothing is missing there. Both are made from
copies: what an earlier build left behind would come along.
"""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
_LEFT_BEHIND = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "tests")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for package in sorted((ROOT / "packages").iterdir()):
        with TemporaryDirectory() as directory:
            source = Path(directory, package.name)
            shutil.copytree(package, source, ignore=_LEFT_BEHIND)
            archive = folder / _built("build_sdist", source, folder)
            with tarfile.open(archive) as files:
                files.extractall(directory, filter="data")
            unpacked = Path(directory, archive.name.removesuffix(".tar.gz"))
            wheel = folder / _built("build_wheel", unpacked, folder)
        for made in (archive, wheel):
            print(f"{made}: {made.stat().st_size / 1024:.0f} KiB")


def _built(hook: str, source: Path, folder: Path) -> str:
    """The name of the file that the build backend makes."""
    program = f"import setuptools.build_meta as backend; print(backend.{hook}({str(folder.resolve())!r}))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=source, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout.splitlines()[-1]


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or ["dist"]))
