"""The same names, formats and hints in all commands that ask."""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.unit.inquiry.objects import classes, manifest_file, node, pod, snapshot_file

from reprieve.cli.main import reprieve


def ask(folder: Path, command: str, *words: str) -> Result:
    cluster = [*classes(), node("n1"), pod("old", 1, on="n1", namespace="team-a")]
    new = ["-f", manifest_file(folder, [pod("new")])] if command == "whatif" else []
    return CliRunner().invoke(reprieve, [command, "--from", snapshot_file(folder, cluster), *new, *words])


@pytest.mark.parametrize("flag", ["--policy", "--compare", "--search"])
@pytest.mark.parametrize("name", ["upstream", "LEASTDISTURBANCE", "PriorityCeiling"])
def test_names_of_policies_and_searches(tmp_path: Path, flag: str, name: str) -> None:
    done = ask(tmp_path, "whatif", flag, name)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("command", "flag"), [("whatif", "--policy"), ("whatif", "--compare"), ("exposure", "--policy")]
)
def test_near_misses_are_suggested(tmp_path: Path, command: str, flag: str) -> None:
    done = ask(tmp_path, command, flag, "leastdisturbence")
    assert done.exit_code != 0
    assert done.stderr.endswith('got "leastdisturbence" (did you mean "LeastDisturbance"?)\n')


def test_an_empty_exposure_says_where_it_looked(tmp_path: Path) -> None:
    done = ask(tmp_path, "exposure")
    assert "only namespace default was looked at; -A shows all, and pods also run in team-a." in done.stderr
    assert "looked at" not in ask(tmp_path, "exposure", "-A").stderr


def test_documents_in_yaml(tmp_path: Path) -> None:
    assert yaml.safe_load(ask(tmp_path, "exposure", "-A", "-o", "yaml").stdout)["kind"] == "ExposureReport"
    ask(tmp_path, "exposure")
    done = CliRunner().invoke(reprieve, ["snapshot", "show", str(tmp_path / "cluster.jsonl"), "-o", "yaml"])
    assert yaml.safe_load(done.stdout)["kind"] == "SnapshotContents"
