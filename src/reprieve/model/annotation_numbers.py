"""Which number does an annotation hold? As Go reads it: stricter than Python."""

import re

_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MOST_DIGITS = 19  # of a number of 64 bits


def parse_int(text: str, bits: int) -> int | None:
    """A sign or none, then digits and nothing else, within the range; None for anything else."""
    if _NUMBER.fullmatch(text) is None:
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        return None  # Python would refuse to read numbers of thousands of digits
    number = -int(digits) if text.startswith("-") else int(digits)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None
