"""How what happens is written down: one line of JSON for each time the scheduler was asked something.

Knows how a line reads, and nothing of files or of what is done with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import msgspec

from reprieve.model.effects import Effect, Target
from reprieve.model.events import Done, Event, Failed, Gone, Seen, Synced, Unknown, Unread
from reprieve.model.objects import KubernetesObject, Problem, Record
from reprieve.scheduler.decision import Decision

FORMAT = 1

Json = dict[str, Any]


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
    match event:
        case Seen(thing, unserved):
            written = {"seen": type(thing).__name__, "object": thing}
            return {**written, "unserved": unserved} if unserved else written
        case Unread(target, problem):
            return {"unread": target, "problem": problem}
        case Gone(target):
            return {"gone": target}
        case Synced():
            return {"synced": True}
        case Done(effect):
            return {"done": type(effect).__name__, "effect": effect}
        case Failed(effect, error):
            return {"failed": type(effect).__name__, "effect": effect, "error": error}
        case Unknown(effect, error):
            return {"unknown": type(effect).__name__, "effect": effect, "error": error}


# --- reading -------------------------------------------------------------------------------------


class _Line(Record, frozen=True):
    begin: int | None = None
    head: Json = {}
    at: float = 0.0
    events: tuple["_Event", ...] | None = None
    decision: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Event(Record, frozen=True):
    """At most one of the first group is given, and what belongs to it."""

    seen: str = ""
    unread: Target | None = None
    gone: Target | None = None
    synced: bool = False
    done: str = ""
    failed: str = ""
    unknown: str = ""

    object: msgspec.Raw = msgspec.Raw(b"null")
    unserved: tuple[str, ...] = ()
    problem: Problem | None = None
    effect: msgspec.Raw = msgspec.Raw(b"null")
    error: str = ""


_LINE = msgspec.json.Decoder(_Line)
_OBJECTS: dict[str, msgspec.json.Decoder[KubernetesObject]] = {
    kind.__name__: msgspec.json.Decoder(kind) for kind in get_args(KubernetesObject)
}
_EFFECTS: dict[str, msgspec.json.Decoder[Effect]] = {
    kind.__name__: msgspec.json.Decoder(kind) for kind in get_args(Effect)
}


def entry(line: bytes) -> Entry:
    """Raises UnreadableLineError."""
    try:
        found = _LINE.decode(line)
        if found.begin is not None:
            return _began(found)
        if found.events is not None:
            return Observed(found.at, tuple(map(_event, found.events)))
    except msgspec.MsgspecError as error:
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


def _event(event: _Event) -> Event:
    if event.seen:
        return Seen(_OBJECTS[event.seen].decode(event.object), event.unserved)
    if event.unread is not None and event.problem is not None:
        return Unread(event.unread, event.problem)
    if event.gone is not None:
        return Gone(event.gone)
    if event.synced:
        return Synced()
    kind = event.done or event.failed or event.unknown
    effect = _EFFECTS[kind].decode(event.effect)
    if event.done:
        return Done(effect)
    return Failed(effect, event.error) if event.failed else Unknown(effect, event.error)
