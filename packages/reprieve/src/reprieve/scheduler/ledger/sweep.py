"""When marks and nominations that no plan needs are cleared: not at once, since a new plan may need them.

A scheduler that takes over from one that died finds marks and nominations before it has made its own plans.
So leftovers stay for half a minute; what cannot be cleared then is tried again half a minute later.
"""

_AFTER = 30.0  # seconds


class Sweep:
    def __init__(self) -> None:
        self._at: float | None = None

    def is_due(self, now: float, *, leftovers: bool) -> bool:
        """Whether leftovers, if there are any, are cleared now."""
        due = self._at is not None and now >= self._at
        if not leftovers or due:
            self._at = None
        if leftovers and self._at is None:
            self._at = now + _AFTER
        return leftovers and due

    def next_time(self) -> float | None:
        return self._at
