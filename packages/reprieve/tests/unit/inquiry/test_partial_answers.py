"""Where only a part of the pods could be read, an answer says so first, in every form."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.unit.inquiry.objects import TAKEN_AT, classes, manifest_file, node, pod

from reprieve.cli.main import reprieve

HEADER = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "ClusterSnapshot", "takenAt": TAKEN_AT}
CLUSTER = [*classes(), node("gpu-1"), pod("old", 4, on="gpu-1", level="low", namespace="team-a")]


def asked(folder: Path, new: Any, *args: str, namespaces: Sequence[str] | None = ("team-a",)) -> Result:
    header = HEADER if namespaces is None else {**HEADER, "podsReadIn": [*namespaces]}
    file = folder / "cluster.jsonl"
    file.write_text("".join(f"{json.dumps(thing)}\n" for thing in [header, *CLUSTER]))
    words = ["whatif", "--from", str(file), "-f", manifest_file(folder, [new]), *args]
    return CliRunner().invoke(reprieve, words)


def test_what_was_not_read_comes_first(tmp_path: Path) -> None:
    lines = asked(tmp_path, pod("new", 2)).output.splitlines()
    assert lines[0] == (
        "Only pods of namespace team-a were read: what runs elsewhere is unknown. The nodes may have less "
        "room than this answer assumes, and other pods may be evicted."
    )
    assert lines[2].endswith(" fits as far as could be seen: it would run on gpu-1.")
    assert "No running pod is disturbed" not in "".join(lines)


@pytest.mark.parametrize(("gpus", "whole", "part"), [(2, 0, 12), (8, 10, 12), (16, 20, 20)])
def test_the_exit_code_tells(tmp_path: Path, gpus: int, whole: int, part: int) -> None:
    new = pod("new", gpus)
    assert asked(tmp_path, new, namespaces=None).exit_code == whole
    assert asked(tmp_path, new).exit_code == part


def test_programs_see_it_too(tmp_path: Path) -> None:
    found = json.loads(asked(tmp_path, pod("new", 2), "-o", "json").stdout)
    assert (found["outcome"], found["partial"], found["seen"]) == ("Fits", True, {"namespaces": ["team-a"]})
    whole = json.loads(asked(tmp_path, pod("new", 2), "-o", "json", namespaces=None).stdout)
    assert (whole["partial"], whole["seen"]) == (False, {"namespaces": None})
    assert asked(tmp_path, pod("new", 2), "-o", "markdown").output.startswith("**Only pods of namespace team")


def test_no_pods_at_all(tmp_path: Path) -> None:
    result = asked(tmp_path, pod("new", 2), namespaces=())
    assert result.output.startswith("No pods were read: ")
    assert result.exit_code == 12
