"""Quantities read exactly, as fractions."""

import math
from fractions import Fraction

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}


def exact(text: str) -> Fraction:
    """The value of a well-formed quantity."""
    digits = len(text) - len(text.lstrip("+-0123456789."))
    number, rest = text[:digits], text[digits:]
    if rest[:1] in ("e", "E") and rest[1:]:
        return Fraction(number) * Fraction(10) ** int(rest[1:])
    return Fraction(number) * SUFFIXES[rest]


def milli(text: str) -> int:
    """In thousandths, rounded up: the API server keeps nothing finer."""
    return math.ceil(exact(text) * 1000)
