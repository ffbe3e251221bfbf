"""What the page about the mini cluster says is there."""

import re
from pathlib import Path

from reprieve.cluster.mini.kinds import KINDS

PAGE = (Path(__file__).parents[5] / "docs" / "mini-cluster.md").read_text()


def test_every_kind_and_group_is_told_of() -> None:
    for kind in KINDS:
        assert re.search(rf"\b{kind.kind}\b", PAGE), kind.kind
        assert kind.group in PAGE
        assert all(version in PAGE for version in kind.versions)
