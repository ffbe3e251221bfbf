"""The pages about asking: every command in a console block works, and prints what the page shows."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.source import ROOT, code_blocks
from tests.processes import run_process

EXAMPLES = ROOT / "docs" / "examples"
PAGES = [
    ROOT / "docs" / "how-to" / f"{name}.md"
    for name in ("ask-before-submitting", "compare-policies", "find-out-why", "see-what-is-exposed")
]


class Typed(NamedTuple):
    command: str
    shown: str


def sessions(page: Path) -> list[list[Typed]]:
    """The commands of each console block that calls reprieve, in order."""
    blocks = [block for block in code_blocks(page, "console") if block.startswith("$ reprieve ")]
    return [[Typed(*parts) for parts in map(_parts, re.split(r"^\$ ", b, flags=re.M)[1:])] for b in blocks]


def _parts(text: str) -> tuple[str, str]:
    command, _, shown = text.partition("\n")
    return command, shown


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy: commands may write beside them."""
    return Path(shutil.copytree(EXAMPLES, tmp_path / "examples"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_shows_what_the_commands_print(page: Path, examples: Path) -> None:
    found = sessions(page)
    assert found
    for session in found:
        script = "\n".join(f"{one.command}\necho ---" for one in session)
        done = run(script, examples)
        assert done.stdout.split("---\n")[:-1] == [one.shown for one in session]


def run(script: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    command = ["bash", "-c", script]
    return run_process(command, cwd=folder, env=environment)


@pytest.mark.parametrize(
    ("manifest", "code", "said"),
    [
        ("inference.yaml", 0, "fits by preempting pods: see report.md\n"),
        ("huge.yaml", 1, "cannot fit: see report.md\n"),
        ("broken.yaml", 1, "no answer\n"),
    ],
)
def test_the_recipe_for_ci(examples: Path, manifest: str, code: int, said: str) -> None:
    page = ROOT / "docs" / "how-to" / "whatif-in-ci.md"
    (script,) = code_blocks(page, "bash")
    save = code_blocks(page, "sh")[0].strip()
    inference = (examples / "inference.yaml").read_text()
    (examples / "huge.yaml").write_text(inference.replace('cpu: "2"', 'cpu: "200"'))
    (examples / "broken.yaml").write_text("kind: [")
    (examples / "manifests").mkdir()
    shutil.copy(examples / manifest, examples / "manifests")
    saved = run(f"{save} --from cluster.yaml", examples)
    assert saved.returncode == 0, saved.stderr
    done = run(script, examples)
    assert (done.returncode, done.stdout) == (code, said)
    report = (examples / "report.md").read_text()
    assert report.startswith("**Deployment ") or manifest == "broken.yaml"
