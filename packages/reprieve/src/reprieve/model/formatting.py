"""Numbers, amounts, lists and text of others as text, for sentences in events, logs and reports."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from reprieve.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY

NAMES_SHOWN = 4
_LAST_MOMENT = 253_402_300_799
_UNITS = ((50, "Pi"), (40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki"))


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str], shown: int = NAMES_SHOWN) -> str:
    """The first few names, and how many more there are; a single further one is named, too."""
    if len(names) <= shown + 1:
        return ", ".join(names)
    return f"{', '.join(names[:shown])} and {len(names) - shown} more"


def visible(text: str) -> str:
    """One line with control characters spelled out (``\\x1b``, ``\\n``, ``\\u202e``).

    Users choose the names, kinds and messages of objects: on a terminal an escape sequence could hide or
    forge output, and a line break could forge a line.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def quoted(text: str) -> str:
    """A value that a user wrote, within a sentence."""
    return f'"{visible(text)}"'


def clock_time(moment: float, now: float) -> str:
    """A future moment, rounded up to seconds; with its date if that is not today's."""
    when, today = datetime.fromtimestamp(math.ceil(writable(moment)), UTC), datetime.fromtimestamp(now, UTC)
    return when.strftime("%H:%M:%S UTC" if when.date() == today.date() else "%Y-%m-%d %H:%M:%S UTC")


def moment_text(moment: float) -> str:
    """A moment with its date, in whole seconds."""
    return datetime.fromtimestamp(writable(moment), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def lasted(seconds: float) -> str:
    """A length of time in its two largest units: 45 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    whole = max(0, int(seconds))
    for unit, larger, smaller, name in (
        (86_400, "d", 3_600, "h"),
        (3_600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= unit:
            rest = whole % unit // smaller
            return f"{whole // unit} {larger}" + (f" {rest} {name}" if rest else "")
    return f"{whole} s"


def writable(moment: float) -> float:
    """The moment, or the last one that has a date, in the year 9999: users may set any number of seconds."""
    return min(moment, _LAST_MOMENT)


def amount(resource: str, number: int) -> str:
    """A number in its column's unit as a Kubernetes quantity; bytes are rounded."""
    if resource == CPU:
        return f"{number}m" if 0 < number < 1000 else _plain(number / 1000, 3)
    return _bytes(number) if resource in (MEMORY, EPHEMERAL_STORAGE) else str(number)


def _bytes(number: int) -> str:
    for power, unit in _UNITS:
        if number >= 1 << power:
            return _plain(number / (1 << power), 1) + unit
    return str(number)


def _plain(number: float, decimals: int) -> str:
    return f"{number:.{decimals}f}".rstrip("0").rstrip(".")
