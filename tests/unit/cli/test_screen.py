"""Tones become colours."""

import pytest

from reprieve.cli.screen import painted
from reprieve.report.text import Line, Tone


def test_plain_text_stays_as_it_is() -> None:
    assert painted(Line("x")) == "x"


@pytest.mark.parametrize("tone", [tone for tone in Tone if tone is not Tone.PLAIN])
def test_every_other_tone_shows(tone: Tone) -> None:
    assert painted(Line("x", tone)).startswith("\x1b[")
