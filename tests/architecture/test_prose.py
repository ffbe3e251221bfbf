"""What the pages name exists: modules, files, commands, and the layout as it is drawn."""

import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGE, ROOT, code_blocks

PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


def drawn_paths(layout: str) -> Iterator[Path]:
    """The paths of an indented tree: the first word of each line, below what it is indented under."""
    above: list[str] = []
    for line in layout.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        above[depth:] = [line.split()[0]]
        yield Path(*above)


def drawn() -> list[Path]:
    (layout,) = code_blocks(ROOT / "ARCHITECTURE.md", "layout")
    return list(drawn_paths(layout))


def test_everything_in_the_layout_exists() -> None:
    assert [str(path) for path in drawn() if not (ROOT / path).exists()] == []


def test_nothing_is_drawn_twice() -> None:
    assert sorted(path for path, times in Counter(drawn()).items() if times > 1) == []


def test_every_part_of_the_package_is_in_the_layout() -> None:
    shown = {path.name for path in drawn() if (ROOT / path).parent == PACKAGE}
    parts = {path.name for path in PACKAGE.iterdir() if path.suffix in ("", ".py")}
    assert parts - shown == {"__init__.py", "__pycache__"} & parts


def test_every_module_is_in_the_layout() -> None:
    shown = {ROOT / path for path in drawn()}
    modules = {path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"}
    packages = {path.parent for path in modules} - {PACKAGE}
    assert sorted(str(path.relative_to(ROOT)) for path in (modules | packages) - shown) == []


def test_the_walk_of_a_decision_names_functions_that_exist() -> None:
    (walk,) = code_blocks(ROOT / "ARCHITECTURE.md", "walk")
    steps = [line.split(maxsplit=2) for line in walk.splitlines()]
    assert [int(number) for _, number, _ in steps] == [*range(1, len(steps) + 1)]
    assert len(steps) <= 15
    assert all(callable(pkgutil.resolve_name(name)) for name, _, _ in steps)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_and_files_that_are_named_exist(page: Path) -> None:
    for name in re.findall(r"`(reprieve\.(?!dev\b)[\w.]+)`", page.read_text()):
        assert pkgutil.resolve_name(name) is not None
    for name in re.findall(r"`([\w./-]+\.(?:py|md|toml|yaml|lock))`", page.read_text()):
        assert any((top / name).exists() for top in (ROOT, PACKAGE)), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target
