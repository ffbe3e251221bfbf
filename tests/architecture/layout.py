"""The layout of the source, from the heads of modules: `python -m tests.architecture.layout` writes it."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import OTHERS, PACKAGE, ROOT

PAGE = ROOT / "docs" / "contributing" / "layout.md"
_HEAD = """# Layout

Every module, by the first sentence of its head. `make layout` writes this page; a test compares.
"""


def page() -> str:
    parts = (f"## {top.name}\n\n```text\n" + "".join(_lines(top, 0)) + "```\n" for top in (PACKAGE, *OTHERS))
    return "\n".join((_HEAD, *parts))


def _lines(folder: Path, depth: int) -> Iterator[str]:
    modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    folders = sorted(path.parent for path in folder.glob("*/__init__.py"))
    for path in (*modules, *folders):
        name = f"{path.name}/" if path.is_dir() else path.name
        head = _first_sentence(path / "__init__.py" if path.is_dir() else path)
        yield f"{'  ' * depth + name:<32} {head}".rstrip() + "\n"
        if path.is_dir():
            yield from _lines(path, depth + 1)


def _first_sentence(path: Path) -> str:
    head = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(head.partition("\n\n")[0].split())


if __name__ == "__main__":
    PAGE.write_text(page())
