"""The pages that say which sentence is shown where name files that are there."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGES = pytest.mark.parametrize("page", sorted(HERE.glob("*/README.md")), ids=lambda page: page.parent.name)


@PAGES
def test_every_file_it_names_is_there(page: Path) -> None:
    lines = page.read_text().splitlines()
    named = {name for line in lines for name in re.findall(r"`([a-z0-9/-]*-[a-z0-9-]+)`", line)}
    assert len(named) > 50
    missing = sorted(
        name
        for name in named
        if not (HERE / name if "/" in name else page.parent / name).with_suffix(".yaml").exists()
    )
    assert missing == []


@PAGES
def test_every_row_names_one(page: Path) -> None:
    lines = page.read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and "Shown by" not in line]
    assert [row for row in rows if "`" not in row.split("|")[2]] == []
