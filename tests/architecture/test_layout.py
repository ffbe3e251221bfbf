"""The page about the layout says what the heads of modules say."""

from tests.architecture.layout import PAGE, page


def test_the_page_is_what_make_layout_writes() -> None:
    assert PAGE.read_text() == page(), "run `make layout`"
