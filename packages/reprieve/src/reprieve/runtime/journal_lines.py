"""The lines of a journal: a JSON object for each thing that went into a scheduler or came out of it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, get_args, get_type_hints

import msgspec

from reprieve.model.effects import Effect
from reprieve.model.events import Event
from reprieve.model.json import Json
from reprieve.model.moment import Moment, on_one_clock
from reprieve.model.objects import KubernetesObject, Record
from reprieve.scheduler.plans.plan_records import PlanRecord
from reprieve.scheduler.reporting.decision import Decision
from reprieve.scheduler.reporting.decision_document import encoded

# Format 1 has no plan records; up to format 2, decisions have another form; up to format 3, there is one
# clock. All are still read.
FORMAT = 4
_OLDEST = 1


@dataclass(frozen=True, slots=True)
class Began:
    """A scheduler starts without any state; ``head`` is its configuration."""

    head: Json
    format: int = FORMAT

    @property
    def has_records(self) -> bool:
        return self.format > 1

    @property
    def has_documents(self) -> bool:
        """Whether decisions are written as they would be today."""
        return self.format > 2


@dataclass(frozen=True, slots=True)
class Observed:
    now: Moment
    events: tuple[Event, ...]

    @property
    def at(self) -> float:
        return self.now.wall


@dataclass(frozen=True, slots=True)
class Asked:
    """The scheduler was asked to decide; ``decision`` as it was written, byte for byte.

    None: no demand was due."""

    now: Moment
    decision: bytes | None

    @property
    def at(self) -> float:
        return self.now.wall


@dataclass(frozen=True, slots=True)
class Recorded:
    """What happened to plans in the step before; ``at``: the time of day."""

    at: float
    records: tuple[PlanRecord, ...]


Entry = Began | Observed | Asked | Recorded


class UnreadableLineError(ValueError):
    """What is wrong with a line, as a sentence."""


AnyDecoder = msgspec.json.Decoder[Any]

_ONE_OF_MANY = (KubernetesObject, Effect)  # unions whose members are told apart by a kind
_KINDS: dict[str, AnyDecoder] = {
    kind.__name__: msgspec.json.Decoder(kind) for union in _ONE_OF_MANY for kind in get_args(union)
}
_EVENTS: dict[str, type[Event]] = {event.__name__: event for event in get_args(Event)}
# The decoder of each field of an event; None: it depends on the kind.
_FIELDS: dict[type[Event], dict[str, AnyDecoder | None]] = {
    event: {
        name: None if hint in _ONE_OF_MANY else msgspec.json.Decoder(hint)
        for name, hint in get_type_hints(event).items()
    }
    for event in get_args(Event)
}

_RECORDS: dict[str, AnyDecoder] = {
    record.__name__: msgspec.json.Decoder(record) for record in get_args(PlanRecord)
}
_NO_LONGER_MADE = "ChainContinued"  # a record of earlier versions: how deep a chain of evictions is


# --- writing -------------------------------------------------------------------------------------


def head_line(head: Json) -> bytes:
    return msgspec.json.encode({"begin": FORMAT, "head": head})


def events_line(events: Sequence[Event], now: Moment) -> bytes:
    return msgspec.json.encode({**_clocks(now), "events": [_written(event) for event in events]})


def decision_line(decision: Decision | None, now: Moment) -> bytes:
    written = msgspec.Raw(encoded(decision)) if decision is not None else None
    return msgspec.json.encode({**_clocks(now), "decision": written})


def _clocks(now: Moment) -> dict[str, float]:
    return {"at": now.wall, "elapsed": now.elapsed}


def records_line(records: Sequence[PlanRecord], at: float) -> bytes:
    return msgspec.json.encode({"at": at, "records": [_named(record) for record in records]})


def records_json(records: Sequence[PlanRecord]) -> bytes:
    """Encode records as they are in a line."""
    return msgspec.json.encode([_named(record) for record in records])


def _named(record: PlanRecord) -> Json:
    return {"is": type(record).__name__, **{f.name: getattr(record, f.name) for f in fields(record)}}


def _written(event: Event) -> Json:
    """Every field by its name, and the kind of the object or the effect."""
    written = {"is": type(event).__name__, **{name: getattr(event, name) for name in _FIELDS[type(event)]}}
    about = written.get("object", written.get("effect"))
    return written if about is None else {"kind": type(about).__name__, **written}


# --- reading -------------------------------------------------------------------------------------


class _Line(Record, frozen=True):
    begin: int | None = None
    head: Json = {}
    at: float = 0.0
    elapsed: float | None = None
    events: tuple[dict[str, msgspec.Raw], ...] | None = None
    decision: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    records: tuple[msgspec.Raw, ...] | None = None


class _Named(Record, frozen=True):
    kind: str = msgspec.field(name="is")


_OBSERVED = re.compile(rb'\{"at":[^,]*,(?:"elapsed":[^,]*,)?"events":')
_LINE = msgspec.json.Decoder(_Line)
_NAMED = msgspec.json.Decoder(_Named)
_TEXT = msgspec.json.Decoder(str)


def has_events(line: bytes) -> bool:
    """Whether a line is one of ``observed``, judged by its beginning alone."""
    return _OBSERVED.match(line) is not None


def parsed_line(line: bytes) -> Entry:
    """Raises UnreadableLineError."""
    try:
        found = _LINE.decode(line)
        if found.begin is not None:
            return _began(found)
        if found.events is not None:
            return Observed(_moment(found), tuple(map(_event, found.events)))
        if found.records is not None:
            return Recorded(found.at, tuple(_records(found.records)))
    except UnreadableLineError:
        raise
    except (ValueError, RecursionError, TypeError) as error:  # of msgspec, and bytes that are not UTF-8
        raise UnreadableLineError(f"is not a line of a journal: {error}") from error
    except KeyError as error:
        raise UnreadableLineError(f"names a kind that Reprieve does not know: {error}") from error
    if isinstance(found.decision, msgspec.Raw):
        raw = bytes(found.decision)
        return Asked(_moment(found), None if raw == b"null" else raw)
    raise UnreadableLineError("is not a line of a journal: expected begin, events, decision or records")


def _began(line: _Line) -> Began:
    if line.begin is None or not _OLDEST <= line.begin <= FORMAT:
        known = f"{_OLDEST} to {FORMAT}"
        raise UnreadableLineError(f"has format {line.begin}, and this version of Reprieve reads {known}")
    return Began(line.head, line.begin)


def _moment(line: _Line) -> Moment:
    """Older formats have one clock: durations were measured on it as well."""
    return on_one_clock(line.at) if line.elapsed is None else Moment(line.at, line.elapsed)


def _records(written: Sequence[msgspec.Raw]) -> Iterator[PlanRecord]:
    for one in written:
        kind = _NAMED.decode(one).kind
        if kind != _NO_LONGER_MADE:
            yield _RECORDS[kind].decode(one)


def _event(written: dict[str, msgspec.Raw]) -> Event:
    kind = _EVENTS[_kind(written, "is")]
    made: Callable[..., Event] = kind  # a field that is missing raises TypeError
    return made(**{name: _field(written, name) for name in _FIELDS[kind] if name in written})


def _field(written: dict[str, msgspec.Raw], name: str) -> object:
    reader = _FIELDS[_EVENTS[_kind(written, "is")]][name] or _KINDS[_kind(written, "kind")]
    return reader.decode(written[name])


def _kind(written: dict[str, msgspec.Raw], name: str) -> str:
    if name not in written:
        raise UnreadableLineError(f"is not a line of a journal: an event has no {name!r}")
    return _TEXT.decode(written[name])
