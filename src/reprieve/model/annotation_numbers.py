"""Which number does an annotation hold? Stricter than Python: digits, and no more than the form allows."""

import re

_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"([0-9]+)(\.[0-9]+)?", re.ASCII)
_MOST_DIGITS = 19  # of a number of 64 bits


def parse_int(text: str, bits: int) -> int | None:
    """As Go reads it: a sign or none, then digits and nothing else, within the range; None otherwise."""
    if _NUMBER.fullmatch(text) is None:
        return None
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > _MOST_DIGITS:
        return None  # Python would refuse to read numbers of thousands of digits
    number = -int(digits) if text.startswith("-") else int(digits)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def parse_decimal(text: str) -> float | None:
    """Digits, with a fraction or without; None otherwise: no sign, no exponent, no unit, no infinity."""
    found = _DECIMAL.fullmatch(text)
    if found is None or len(found[1].lstrip("0")) > _MOST_DIGITS:
        return None
    return float(text)
