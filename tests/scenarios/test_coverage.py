"""The page that says which sentence is shown where names files that are there."""

import re
from pathlib import Path

HERE = Path(__file__).parent / "workload_aware"
PAGE = (HERE / "README.md").read_text()


def test_every_file_it_names_is_there() -> None:
    named = {name for line in PAGE.splitlines() for name in re.findall(r"`([a-z0-9/-]*-[a-z0-9-]+)`", line)}
    assert len(named) > 50
    missing = sorted(
        name
        for name in named
        if not (HERE.parent / name if "/" in name else HERE / name).with_suffix(".yaml").exists()
    )
    assert missing == []


def test_every_row_names_one() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "Shown by" not in line]
    assert [row for row in rows if "`" not in row.split("|")[2]] == []
