"""How long work that is shown by a bar will still take."""

import pytest

from reprieve.cli.progress import time_left


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
