"""The last changes of a picture, numbered, within a bound; a reader takes what it has not seen yet.

A reader that comes too late is told so, and loads the whole picture again. Readers are not known here.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from reprieve.page.documents import change_json
from reprieve.page.picture import PictureChange
from reprieve.report.hidden_names import MayGet, may_get_all

MOST_CHANGES = 20_000


@dataclass(slots=True)
class ChangeBatch:
    """``resources``: those in whose order amounts are written."""

    revision: int
    time: float
    changes: tuple[PictureChange, ...]
    resources: tuple[str, ...]
    _for_all: bytes = b""

    def event(self, may_get: MayGet = may_get_all) -> bytes:
        """As a server-sent event; made once for all readers that may see everything."""
        if may_get is not may_get_all:
            return self._written(may_get)
        self._for_all = self._for_all or self._written(may_get_all)
        return self._for_all

    def _written(self, may_get: MayGet) -> bytes:
        changes = [one for change in self.changes for one in change_json(change, self.resources, may_get)]
        document = {
            "revision": self.revision,
            "after": self.revision - 1,
            "time": self.time,
            "changes": changes,
        }
        data = msgspec.json.encode(document)
        return b"id: %d\ndata: %b\n\n" % (self.revision, data)


@dataclass(slots=True)
class ChangeRing:
    """``first``: the revision before any change. It must be above all those of earlier rings, of which
    readers may still ask for what came after."""

    first: int = 0
    most: int = MOST_CHANGES
    revision: int = field(init=False)
    _since: int = field(init=False)  # whatever came after this revision is here
    _held: int = 0
    _resources: tuple[str, ...] = ()
    _batches: deque[ChangeBatch] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.revision = self._since = self.first

    @property
    def has_begun(self) -> bool:
        return self.revision > self.first

    def add(self, time: float, changes: tuple[PictureChange, ...], resources: tuple[str, ...]) -> None:
        """If resources differ from those before, rows that were sent mean something else: all load anew."""
        self.revision += 1
        if resources != self._resources:
            self._resources = resources
            self._forget_until(self.revision)
            return
        self._batches.append(ChangeBatch(self.revision, time, changes, resources))
        self._held += len(changes)
        while self._held > self.most:
            self._forget_until(self._batches[0].revision)

    def after(self, revision: int) -> Iterator[ChangeBatch] | None:
        """None if the ring no longer holds all that came after it, or the revision is of another ring."""
        if not self._since <= revision <= self.revision:
            return None
        # Revisions follow one another, so that the place of the next is known.
        seen = len(self._batches) - (self.revision - revision)
        return iter([*islice(self._batches, max(0, seen), None)])

    def changes_after(self, revision: int) -> int:
        """How many changes a reader of this revision has not seen; none if it has to load all anew."""
        return sum(len(batch.changes) for batch in self.after(revision) or ())

    def _forget_until(self, revision: int) -> None:
        while self._batches and self._batches[0].revision <= revision:
            self._held -= len(self._batches.popleft().changes)
        self._since = revision
