"""The static files of the page, as far as they can be read without a browser."""

import re

from tests.architecture.source import PACKAGE


def test_dark_is_the_same_by_the_system_and_by_choice() -> None:
    style = (PACKAGE / "page" / "static" / "page.css").read_text()
    blocks = re.findall(r':root(?::not\(\[data-theme="light"\]\)|\[data-theme="dark"\]) \{([^}]*)\}', style)
    by_system, by_choice = ([line.strip() for line in block.splitlines()] for block in blocks)
    assert len(by_system) > 20
    assert [line for line in by_system if line] == [line for line in by_choice if line]
