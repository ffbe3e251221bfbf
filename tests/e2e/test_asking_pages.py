"""The pages about asking: every command in a console block works, and prints what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.source import ROOT, code_blocks

EXAMPLES = ROOT / "docs" / "examples"
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / "how-to" / f"{name}.md" for name in ("ask-before-submitting", "see-what-is-exposed")),
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_shows_what_the_commands_print(page: Path) -> None:
    found = sessions(page)
    assert found
    for session in found:
        script = "\n".join(f"{one.command}\necho ---" for one in session)
        assert printed(script).split("---\n")[:-1] == [one.shown for one in session]


def printed(script: str) -> str:
    tools = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    done = subprocess.run(
        ["sh", "-c", script], cwd=EXAMPLES, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
