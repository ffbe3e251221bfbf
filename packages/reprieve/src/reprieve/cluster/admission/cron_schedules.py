"""When is the next time of a schedule in crontab's format, in a time zone?

Five fields (minute, hour, day of the month, month, day of the week) with lists, ranges, steps and names, or a
macro such as @hourly, or @every 90s.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from reprieve.model.sized_cache import cached_by_text

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_FAR = 5 * 366 * _DAY  # a time that is not found within this never comes
_LAST = 253_370_764_800  # the year 9999 begins: beyond its end there are no dates
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_NAMED = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY = re.compile(r"@every ((?:\d+(?:\.\d+)?(?:h|m|s|ms))+)", re.ASCII)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)", re.ASCII)
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


class ScheduleError(ValueError):
    """A schedule or a time zone cannot be parsed; the text says what was expected."""


@dataclass(frozen=True, slots=True)
class Field:
    """``any``: whether the field is a star."""

    values: frozenset[int]
    any: bool


@dataclass(frozen=True, slots=True)
class Every:
    """So many seconds after the previous time."""

    seconds: int

    def after(self, moment: float) -> float | None:
        return float(int(moment) + self.seconds)

    def latest(self, since: float, now: float) -> float | None:
        """The last time after a moment and up to another one; None if there is none."""
        times = int(now - int(since)) // self.seconds
        return float(int(since) + times * self.seconds) if times > 0 else None


@dataclass(frozen=True, slots=True)
class Crontab:
    minute: Field
    hour: Field
    day: Field
    month: Field
    weekday: Field
    zone: tzinfo

    def after(self, moment: float) -> float | None:
        """The first time after a moment, both counted from 1970 and not before; None if there is none."""
        at = max((int(moment) // _MINUTE + 1) * _MINUTE, 0)
        end = min(at + _FAR, _LAST)
        while at < end:
            local = datetime.fromtimestamp(at, self.zone)
            if not self._is_on(local):
                at = self._next_day(local, at)
            elif local.hour not in self.hour.values:
                at += (_MINUTE - local.minute) * _MINUTE
            elif local.minute not in self.minute.values:
                at += _MINUTE
            else:
                return float(at)
        return None

    def latest(self, since: float, now: float) -> float | None:
        """The last time after a moment and up to another one; None if there is none.

        Years may lie between them: each turn halves what is left, and does not go through all times.
        """
        found, end = None, now
        while (following := self.after(since if found is None else found)) is not None and following <= now:
            middle = self.after((following + end) / 2)
            if middle is not None and middle <= now:
                found = middle
            else:
                found, end = following, (following + end) / 2
        return found

    def _is_on(self, local: datetime) -> bool:
        """If both are restricted, a match of either the day of the month or that of the week is enough."""
        day = local.day in self.day.values
        weekday = local.isoweekday() % 7 in self.weekday.values
        fits = (day and weekday) if self.day.any or self.weekday.any else (day or weekday)
        return fits and local.month in self.month.values

    def _next_day(self, local: datetime, at: int) -> int:
        """The next midnight: daylight saving makes some days 23 or 25 hours long."""
        date = local.replace(tzinfo=None, fold=0, hour=0, minute=0) + timedelta(days=1)
        return max(at + _MINUTE, int(date.replace(tzinfo=self.zone).timestamp()))


Schedule = Every | Crontab


def schedule_of(text: str, zone: str = "") -> Schedule:
    """Raises ScheduleError if the text cannot be parsed. Without a zone it is in UTC."""
    return _schedule(f"{zone}\n{text}")


@cached_by_text(entries=1024, size=1 << 20)
def _schedule(zone_and_text: str) -> Schedule:
    zone, _, text = zone_and_text.partition("\n")
    found = _EVERY.fullmatch(text)
    if found is not None:
        seconds = sum(float(n) * _UNITS[unit] for n, unit in _SPAN.findall(found[1]))
        return Every(max(1, int(seconds)))
    words = _NAMED.get(text, text).split()
    if len(words) != 5 or (text.startswith("@") and text not in _NAMED):
        raise ScheduleError(
            "must have five fields, such as 0 8 * * 1-5, or be one such as @hourly or @every 1h"
        )
    return Crontab(
        _field(words[0], "minute", 0, 59),
        _field(words[1], "hour", 0, 23),
        _field(words[2], "day of the month", 1, 31),
        _field(words[3], "month", 1, 12, {name: n for n, name in enumerate(_MONTHS, 1)}),
        _field(words[4], "day of the week", 0, 6, {name: n for n, name in enumerate(_WEEKDAYS)}),
        zone_of(zone) if zone else UTC,
    )


def zone_of(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ScheduleError("must be the name of a time zone, such as Europe/Berlin or Etc/UTC") from None


def _field(text: str, what: str, least: int, most: int, names: Mapping[str, int] | None = None) -> Field:
    values: set[int] = set()
    any_ = False
    for part in filter(None, text.split(",")):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        if first in ("*", "?"):
            low, high = least, most
            any_ = any_ or step in ("", "1")
        else:
            low = _number(first, what, names)
            high = _number(last, what, names) if dash else most if step else low
        by = _number(step, what, None) if "/" in part else 1
        if not least <= low <= high <= most or by < 1:
            raise ScheduleError(f"must have a {what} from {least} to {most}, got {part}")
        values.update(range(low, high + 1, by))
    return Field(frozenset(values), any_)


def _number(text: str, what: str, names: Mapping[str, int] | None) -> int:
    named = (names or {}).get(text.lower())
    if named is not None:
        return named
    if not (text.isascii() and text.isdigit() and len(text) < 5):
        raise ScheduleError(f"must have a number for the {what}, got {text!r}")
    return int(text)
