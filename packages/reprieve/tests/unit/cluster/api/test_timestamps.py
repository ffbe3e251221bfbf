"""Every moment can be written: users may set any number of seconds."""

from math import inf

import pytest

from reprieve.cluster.api.timestamps import micro_stamp, moment, stamp


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (1_767_268_800.75, "2026-01-01T12:00:00Z"),
        (1e15, "9999-12-31T23:59:59Z"),
        (inf, "9999-12-31T23:59:59Z"),
        (-1e15, "1000-01-01T00:00:00Z"),
    ],
)
def test_a_moment_beyond_all_dates_is_the_last_or_the_first(seconds: float, written: str) -> None:
    assert stamp(seconds) == written
    assert moment(stamp(seconds)) == int(moment(micro_stamp(seconds)))
