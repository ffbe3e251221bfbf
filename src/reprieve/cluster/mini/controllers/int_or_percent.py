"""Fields such as ``maxUnavailable`` that take a number or a percentage."""

import re

_PERCENT = re.compile(r"(\d+)%", re.ASCII)


def scaled(value: int | str, total: int, *, round_up: bool) -> int | None:
    """The number, or the percentage of a total; None for a value that is neither."""
    if isinstance(value, int):
        return value
    match = _PERCENT.fullmatch(value)
    if match is None:
        return None
    hundredths = int(match[1]) * total
    return -(-hundredths // 100) if round_up else hundredths // 100
