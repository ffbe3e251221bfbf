"""Tones become colours."""

import pytest

from reprieve.cli.terminal import styled, time_left
from reprieve.report.text_layout import LineStyle, TextLine


def test_plain_text_stays_as_it_is() -> None:
    assert styled(TextLine("x")) == "x"


@pytest.mark.parametrize("tone", [tone for tone in LineStyle if tone is not LineStyle.PLAIN])
def test_every_other_tone_shows(tone: LineStyle) -> None:
    assert styled(TextLine("x", tone)).startswith("\x1b[")


@pytest.mark.parametrize(
    ("seconds", "done", "left", "text"),
    [
        (1, 1, 9, ""),
        (100, 0, 9, ""),
        (100, 10, 1, ", about 10 s left"),
        (100, 1000, 1, ", about 1 s left"),
        (100, 10, 9, ", about 2 min left"),
        (3600, 1, 5, ", about 5 h left"),
    ],
)
def test_the_time_that_is_left(seconds: float, done: int, left: int, text: str) -> None:
    assert time_left(seconds, done, left) == text
