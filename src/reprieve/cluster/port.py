"""The port between the scheduler and any cluster: what it shows, and trying one effect once."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from reprieve.model.effects import Effect, WriteStatus
from reprieve.model.events import Gone, Seen, Synced, Unread

WatchEvent = Seen | Unread | Gone | Synced


@dataclass(frozen=True, slots=True)
class Succeeded:
    """It happened, or it had happened before."""


@dataclass(frozen=True, slots=True)
class Refused:
    """It did not happen. ``again``: the same request may succeed later."""

    error: str
    again: bool
    missing: bool = False  # because what it was meant for is not there, or only a namesake of it


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came: it may have happened."""

    error: str


Answer = Succeeded | Refused | Lost


class Cluster(Protocol):
    """A cluster as the scheduler needs it. What any implementation must do: ``cluster.contract``."""

    def watch(self) -> AsyncIterator[WatchEvent]:
        """Everything there is, then ``Synced``, then every change, for as long as anybody listens.

        Where the history is broken the implementation lists anew and reports what has vanished as Gone.
        """

    async def perform(self, effect: Effect | WriteStatus) -> Answer:
        """Tries once. Retrying is the performer's business."""
