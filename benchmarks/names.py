"""Which known names did somebody mean who wrote another one?"""

from collections.abc import Iterable
from difflib import SequenceMatcher

_MOST = 5
_ALIKE = 0.5


class UsageError(Exception):
    """What was asked for does not exist; the text is one sentence that says what does."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The names that resemble it most, as the end of a sentence."""
    wanted = name.casefold()
    alike = {one: SequenceMatcher(None, wanted, one.casefold()).ratio() for one in known}
    best = sorted(alike, key=lambda one: (-alike[one], one))[:_MOST]
    return "nearest: " + ", ".join([one for one in best if alike[one] >= _ALIKE] or best)
