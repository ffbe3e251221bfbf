"""How what happens is written down: one line of JSON for each time the scheduler was asked something.

Knows how a line reads, and nothing of files or of what is done with it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

import msgspec

from reprieve.model.effects import Effect
from reprieve.model.events import Event
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Record
from reprieve.scheduler.decision import Decision

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Began:
    """A scheduler starts with nothing; ``head`` tells how it was configured."""

    head: Json


@dataclass(frozen=True, slots=True)
class Observed:
    at: float
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """The scheduler was asked to decide; ``decision`` is what was written, byte for byte, or None."""

    at: float
    decision: bytes | None


Entry = Began | Observed | Asked


class UnreadableLineError(ValueError):
    """What is wrong with a line, as a sentence."""


AnyDecoder = msgspec.json.Decoder[Any]

_ONE_OF_MANY = (KubernetesObject, Effect)  # what is told apart by its kind
_KINDS: dict[str, AnyDecoder] = {
    kind.__name__: msgspec.json.Decoder(kind) for union in _ONE_OF_MANY for kind in get_args(union)
}
_EVENTS: dict[str, type[Event]] = {event.__name__: event for event in get_args(Event)}
# How each field of an event is read; None: as its kind says.
_FIELDS: dict[type[Event], dict[str, AnyDecoder | None]] = {
    event: {
        name: None if hint in _ONE_OF_MANY else msgspec.json.Decoder(hint)
        for name, hint in get_type_hints(event).items()
    }
    for event in get_args(Event)
}


# --- writing -------------------------------------------------------------------------------------


def began(head: Json) -> bytes:
    return msgspec.json.encode({"begin": FORMAT, "head": head})


def observed(events: Sequence[Event], at: float) -> bytes:
    return msgspec.json.encode({"at": at, "events": [_written(event) for event in events]})


def asked(decision: Decision | None, at: float) -> bytes:
    return msgspec.json.encode({"at": at, "decision": decision})


def decision_bytes(decision: Decision) -> bytes:
    """As it stands in a line."""
    return msgspec.json.encode(decision)


def _written(event: Event) -> Json:
    """Every field by its name, and of what kind the object or the effect is."""
    written = {"is": type(event).__name__, **{name: getattr(event, name) for name in _FIELDS[type(event)]}}
    about = written.get("object", written.get("effect"))
    return written if about is None else {"kind": type(about).__name__, **written}


# --- reading -------------------------------------------------------------------------------------


class _Line(Record, frozen=True):
    begin: int | None = None
    head: Json = {}
    at: float = 0.0
    events: tuple[dict[str, msgspec.Raw], ...] | None = None
    decision: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_LINE = msgspec.json.Decoder(_Line)
_TEXT = msgspec.json.Decoder(str)


def entry(line: bytes) -> Entry:
    """Raises UnreadableLineError."""
    try:
        found = _LINE.decode(line)
        if found.begin is not None:
            return _began(found)
        if found.events is not None:
            return Observed(found.at, tuple(map(_event, found.events)))
    except (msgspec.MsgspecError, TypeError) as error:
        raise UnreadableLineError(f"is not a line of a journal: {error}") from error
    except KeyError as error:
        raise UnreadableLineError(f"names a kind that Reprieve does not know: {error}") from error
    if isinstance(found.decision, msgspec.Raw):
        raw = bytes(found.decision)
        return Asked(found.at, None if raw == b"null" else raw)
    raise UnreadableLineError("is not a line of a journal: expected begin, events or decision")


def _began(line: _Line) -> Began:
    if line.begin != FORMAT:
        raise UnreadableLineError(f"has format {line.begin}, and this version of Reprieve reads {FORMAT}")
    return Began(line.head)


def _event(written: dict[str, msgspec.Raw]) -> Event:
    kind = _EVENTS[_kind(written, "is")]
    made: Callable[..., Event] = kind  # whether all fields are given is seen when it is made
    return made(**{name: _field(written, name) for name in _FIELDS[kind] if name in written})


def _field(written: dict[str, msgspec.Raw], name: str) -> object:
    reader = _FIELDS[_EVENTS[_kind(written, "is")]][name] or _KINDS[_kind(written, "kind")]
    return reader.decode(written[name])


def _kind(written: dict[str, msgspec.Raw], name: str) -> str:
    if name not in written:
        raise UnreadableLineError(f"is not a line of a journal: an event has no {name!r}")
    return _TEXT.decode(written[name])
