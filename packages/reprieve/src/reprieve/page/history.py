"""What did a cluster look like at a moment of its journal? A keyframe before it, and the lines since.

Keyframes are few, however long the journal is: when there are too many, every second one goes, and the next
come half as often. A journal whose beginning was rotated away is known from its first line on.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from reprieve.model.events import Event, Gone, Seen, Synced, Unread
from reprieve.model.json import Json
from reprieve.model.objects import ObjectMeta
from reprieve.page.picture import Picture
from reprieve.runtime.journal import JournalError, JournalPosition
from reprieve.runtime.journal_lines import Asked, Began, Entry, Observed, Recorded
from reprieve.scheduler.reporting.decision import Decision, Outcome
from reprieve.scheduler.reporting.decision_document import UnreadableDecisionError, read_decision

# --- lines of a journal --------------------------------------------------------------------------


def fold_entry(picture: Picture, entry: Entry) -> None:
    match entry:
        case Began():
            picture.begin()
        case Observed(now, events):
            picture.observe(events, now.wall)
        case Asked(now):
            decision = recorded_decision(entry)
            if decision is not None:
                picture.decide(decision, now.wall)
        case Recorded(at, records):
            picture.record(records, at)


def recorded_decision(entry: Asked) -> Decision | None:
    """Raises JournalError."""
    if entry.decision is None:
        return None
    try:
        return read_decision(entry.decision)
    except UnreadableDecisionError as error:
        raise JournalError(f"a decision of the journal cannot be read: {error}") from error


# --- objects -------------------------------------------------------------------------------------


_Name = tuple[str, str, str]  # kind, namespace, name


@dataclass(slots=True)
class ObjectsThen:
    """A fold, as ``Picture``: what a new scheduler does not see until it knows all is gone."""

    _seen: dict[_Name, Seen] = field(default_factory=dict)
    _again: dict[_Name, Seen] | None = None  # what a new scheduler has seen, until it knows all

    def begin(self) -> None:
        self._again = {}

    def observe(self, events: Iterable[Event]) -> None:
        for event in events:
            match event:
                case Seen(thing):
                    meta = thing.metadata
                    self._put((type(thing).__name__, meta.namespace, meta.name), event)
                case Gone(target) | Unread(target):
                    self._drop((target.kind, target.namespace, target.name), target.uid)
                case Synced():
                    if self._again is not None:
                        self._seen, self._again = self._again, None

    def all(self) -> list[Seen]:
        return [*{**self._seen, **(self._again or {})}.values()]

    def copy(self) -> "ObjectsThen":
        return ObjectsThen(dict(self._seen), dict(self._again) if self._again is not None else None)

    def _put(self, name: _Name, event: Seen) -> None:
        into = self._seen if self._again is None else self._again
        known = into.get(name)
        if known is None or _version(event.object.metadata) >= _version(known.object.metadata):
            into[name] = event

    def _drop(self, name: _Name, uid: str) -> None:
        for known in (self._seen, self._again or {}):
            found = known.get(name)
            if found is not None and (not uid or found.object.metadata.uid == uid):
                del known[name]


def _version(meta: ObjectMeta) -> int:
    return int(meta.resource_version) if meta.resource_version.isdecimal() else 0


# --- the history ---------------------------------------------------------------------------------


MOST_KEYFRAMES = 24
_FIRST_SPACING = 256  # lines between keyframes
_MINUTE = 60.0
_PREEMPTS = f'"{Outcome.PREEMPTS.value}"'.encode()

EntriesFrom = Callable[[JournalPosition | None], Iterator[tuple[JournalPosition, Entry]]]


@dataclass(slots=True)
class JournalMoment:
    """All that is known at a moment. ``head``: the configuration of the run; None if it was rotated away.

    ``known_since``: from when on, if what was there before is not known.
    """

    picture: Picture = field(default_factory=Picture)
    objects: ObjectsThen = field(default_factory=ObjectsThen)
    head: Json | None = None
    known_since: float | None = None
    _lines: int = 0

    def fold(self, entry: Entry) -> None:
        if not isinstance(entry, Began) and not self._lines:
            self.known_since = entry.at
        self._lines += 1
        match entry:
            case Began(head=head):
                self.head, self.known_since = head, None
                self.objects.begin()
            case Observed(events=events):
                self.objects.observe(events)
        fold_entry(self.picture, entry)

    def copy(self) -> "JournalMoment":
        return JournalMoment(
            self.picture.copy(), self.objects.copy(), self.head, self.known_since, self._lines
        )


@dataclass(frozen=True, slots=True)
class _Keyframe:
    time: float
    position: JournalPosition
    moment: JournalMoment


@dataclass(slots=True)
class JournalHistory:
    """``entries_from``: the lines of the journal after a position, or all."""

    entries_from: EntriesFrom
    last: JournalMoment = field(default_factory=JournalMoment)
    first_time: float | None = None
    last_time: float = 0.0
    known_since: float | None = None  # if the beginning was rotated away
    _keyframes: list[_Keyframe] = field(default_factory=list)
    _minutes: dict[int, int] = field(default_factory=dict)
    _position: JournalPosition | None = None
    _spacing: int = field(default_factory=lambda: _FIRST_SPACING)
    _lines: int = 0

    def load(self) -> None:
        """Reads the journal to its end, from where it was read before. Raises JournalError."""
        for position, entry in self.entries_from(self._position):
            self._position = position
            self.last.fold(entry)
            self._lines += 1
            if isinstance(entry, Began):
                continue
            if self.first_time is None:
                self.first_time = self.last_time = entry.at
                self.known_since = self.last.known_since
            # A clock that was set back does not take the history back.
            self.last_time = max(self.last_time, entry.at)
            self._count(entry)
            if self._lines >= self._spacing:
                self._lines = 0
                self._add_keyframe(position)
        self.last.picture.take_changes()

    def _add_keyframe(self, position: JournalPosition) -> None:
        self.last.picture.take_changes()
        self._keyframes.append(_Keyframe(self.last_time, position, self.last.copy()))
        if len(self._keyframes) > MOST_KEYFRAMES:
            del self._keyframes[::2]
            self._spacing *= 2

    def at(self, time: float) -> JournalMoment:
        """What was known then: what came in at that time counts. Raises JournalError."""
        if time >= self.last_time:
            return self.last.copy()
        found = bisect_right([keyframe.time for keyframe in self._keyframes], time)
        start = self._keyframes[found - 1] if found else None
        moment = start.moment.copy() if start is not None else JournalMoment()
        for _, entry in self.entries_from(start.position if start is not None else None):
            if not isinstance(entry, Began) and entry.at > time:
                break
            moment.fold(entry)
        moment.picture.take_changes()
        return moment

    def document(self) -> Json:
        begin = self.first_time if self.first_time is not None else 0.0
        return {
            "from": begin,
            "to": self.last_time,
            "knownSince": self.known_since,
            "preemptions": [[minute * _MINUTE, count] for minute, count in sorted(self._minutes.items())],
        }

    def _count(self, entry: Entry) -> None:
        if not isinstance(entry, Asked) or entry.decision is None or _PREEMPTS not in entry.decision:
            return  # most decisions are none of these, and need not be decoded twice
        decision = recorded_decision(entry)
        if decision is not None and decision.preemption is not None and decision.preemption.pods:
            minute = int(entry.at // _MINUTE)
            self._minutes[minute] = self._minutes.get(minute, 0) + 1
