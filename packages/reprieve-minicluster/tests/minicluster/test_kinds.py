"""The documentation of the mini cluster lists every kind, group and version."""

import re

from reprieve_minicluster.kinds import KINDS
from tests.architecture.source import ROOT

PAGE = (ROOT / "docs" / "reference" / "mini-cluster.md").read_text()


def test_every_kind_and_group_is_documented() -> None:
    for kind in KINDS:
        assert re.search(rf"\b{kind.kind}\b", PAGE), kind.kind
        assert kind.group in PAGE
        assert all(version in PAGE for version in kind.versions)
