"""Tones become colours."""

import pytest

from reprieve.cli.terminal import styled
from reprieve.report.text_layout import LineStyle, TextLine


def test_plain_text_stays_as_it_is() -> None:
    assert styled(TextLine("x")) == "x"


@pytest.mark.parametrize("tone", [tone for tone in LineStyle if tone is not LineStyle.PLAIN])
def test_every_other_tone_shows(tone: LineStyle) -> None:
    assert styled(TextLine("x", tone)).startswith("\x1b[")
