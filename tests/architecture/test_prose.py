"""What the pages name exists: modules, files, commands."""

import pkgutil
import re
from pathlib import Path

import pytest

from tests.architecture.source import OTHERS, PACKAGE, ROOT, code_blocks

PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_walk_of_a_decision_names_functions_that_exist() -> None:
    (walk,) = code_blocks(ROOT / "ARCHITECTURE.md", "walk")
    steps = [line.split(maxsplit=2) for line in walk.splitlines()]
    assert [int(number) for _, number, _ in steps] == [*range(1, len(steps) + 1)]
    assert len(steps) <= 15
    assert all(callable(pkgutil.resolve_name(name)) for name, _, _ in steps)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_and_files_that_are_named_exist(page: Path) -> None:
    for name in re.findall(r"`(reprieve(?:_minicluster|_study)?\.(?!dev\b)[\w.]+)`", page.read_text()):
        assert pkgutil.resolve_name(name) is not None
    for name in re.findall(r"`([\w./-]+\.(?:py|md|toml|yaml|lock))`", page.read_text()):
        assert any((top / name).exists() for top in (ROOT, PACKAGE, *OTHERS)), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target
