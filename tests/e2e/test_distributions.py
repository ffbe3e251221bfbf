"""The three distributions are installed from their wheels, away from the repository, and run there."""

import os
import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from sysconfig import get_path
from zipfile import ZipFile

import pytest

from tests.architecture.source import ROOT
from tests.processes import run_process

CLUSTER = ROOT / "docs" / "examples" / "cluster.yaml"
NEW = ROOT / "docs" / "examples" / "inference.yaml"
DISTRIBUTIONS = ("reprieve", "reprieve-minicluster", "reprieve-study")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run_process([sys.executable, "deploy/dist.py", str(folder)], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def third_party(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed packages of others: what a machine would get from an index."""
    folder = tmp_path_factory.mktemp("packages")
    for found in Path(get_path("purelib")).iterdir():
        if "reprieve" not in found.name and found.suffix != ".pth":
            (folder / found.name).symlink_to(found)
    return folder


class Installed:
    """An environment with nothing but what is asked for, and what that needs of others."""

    def __init__(self, folder: Path, third_party: Path, built: Path, wanted: str) -> None:
        self.folder = folder
        venv.create(folder / "venv", with_pip=False)
        (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        (site / "third-party.pth").write_text(str(third_party))
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "venv" / "bin" / "python"), "install"]
        local = ["--quiet", "--no-index", "--find-links", str(built)]
        run_process([*pip, *local, wanted], cwd=folder, check=True)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.folder / "venv" / "bin" / "reprieve"), *arguments]
        clean = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            command, cwd=self.folder, env=clean, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_wheel_and_source_distribution_have_every_file(built: Path, distribution: str) -> None:
    source = ROOT / "packages" / distribution / "src"
    files = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    files = {name for name in files if "__pycache__" not in name and ".egg-info" not in name}
    name = distribution.replace("-", "_")
    (wheel,) = built.glob(f"{name}-*.whl")
    assert files <= set(ZipFile(wheel).namelist())
    (archive,) = built.glob(f"{name}-*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {member.name.partition("/")[2] for member in packed.getmembers()}
    assert {f"src/{name}" for name in files} | {"LICENSE", "README.md", "pyproject.toml"} <= names


def test_the_scheduler_alone(built: Path, third_party: Path, tmp_path: Path) -> None:
    alone = Installed(tmp_path, third_party, built, "reprieve")
    asked = alone.run("whatif", "--from", str(CLUSTER), "-f", str(NEW))
    assert asked.returncode == 10, asked.stderr  # it fits by preemption
    assert "would be evicted to make room" in asked.stdout
    for command, distribution in {"up": "reprieve-minicluster", "simulate": "reprieve-study"}.items():
        missing = alone.run(command, "--help")
        assert missing.returncode == 2
        expected = f"Error: {command} is part of {distribution}: pip install {distribution}\n"
        assert missing.stderr.endswith(expected)
        assert f"  {command} " in alone.run("--help").stdout


def test_all_three(built: Path, third_party: Path, tmp_path: Path) -> None:
    every = Installed(tmp_path, third_party, built, "reprieve[all]")
    shown = every.run("demo", "--scene", "gang")
    assert shown.returncode == 0, shown.stderr
    assert "train" in shown.stdout
    study = ("simulate", "generated:days=0.1,nodes=2,load=0.5", "--policy", "Upstream", "--out", "study")
    played = every.run(*study)
    assert played.returncode == 0, played.stderr
    assert list((tmp_path / "study").glob("*.html"))
    assert every.run("status").returncode == 0
