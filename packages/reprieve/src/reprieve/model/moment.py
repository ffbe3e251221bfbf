"""What time is it, on two clocks? One tells the time of day, and may be set; the other measures durations.

Whoever decides gets both as an argument. Durations (backoffs, patience, how long something took) are measured
on the one that is never set. The time of day is only for what is read or written: timestamps of objects and
events, and the moments of decisions.
"""

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Moment:
    wall: float  # seconds since 1970; the clock may be set forward, and back
    elapsed: float  # seconds since any moment in the past; only differences mean something

    def elapsed_at(self, wall: float) -> float:
        """What the clock for durations shows at a time of day, as far as can be told now."""
        return wall - (self.wall - self.elapsed)

    def wall_at(self, elapsed: float) -> float:
        """The time of day when the clock for durations shows this, as far as can be told now."""
        return elapsed + (self.wall - self.elapsed)


def on_one_clock(seconds: float) -> Moment:
    """Where the clock is never set: in virtual time, and in what-ifs."""
    return Moment(seconds, seconds)


@dataclass(frozen=True, slots=True)
class Due:
    """Something is to be done as soon as one of the clocks shows this; infinity: at no time."""

    elapsed: float = inf
    wall: float = inf

    @property
    def on_one_clock(self) -> float | None:
        """When that is if both clocks are one; None: never."""
        moment = min(self.elapsed, self.wall)
        return moment if moment < inf else None

    def seconds_from(self, now: Moment) -> float | None:
        """In how many seconds that is, unless a clock is set meanwhile; None: never."""
        seconds = min(self.elapsed - now.elapsed, self.wall - now.wall)
        return max(seconds, 0.0) if seconds < inf else None
