"""What the source tree and the pages say, as the architecture tests read them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packages/reprieve/src/reprieve"
OTHERS = (
    ROOT / "packages/reprieve-minicluster/src/reprieve_minicluster",
    ROOT / "packages/reprieve-study/src/reprieve_study",
)


def modules(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    """Every module below the named folders of `reprieve`; of all distributions, if none is named; parsed.

    Paths are below `reprieve`; those of the other distributions begin with their package.
    """
    for top in [PACKAGE / folder for folder in folders] or [PACKAGE, *OTHERS]:
        base = top.parent if top in OTHERS else PACKAGE
        for path in sorted(top.rglob("*.py")):
            yield path.relative_to(base), ast.parse(path.read_text(), filename=str(path))


def code_blocks(page: Path, *languages: str) -> list[str]:
    """The fenced blocks of a page that are marked with one of the languages."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [text for language, text in blocks if language in languages]
