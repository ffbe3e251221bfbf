"""Kubernetes events: the first occurrence creates an Event, the second a series, later ones only count.

client-go does the same, so that a pod that is pending for days does not flood the cluster. Unlike there, a
new note is a new Event: the API server never changes a note, and kubectl would show an outdated reason. The
first few notes are written at once, later ones at intervals. Nothing is sent here; time is an argument.
"""

from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from reprieve.cluster.api.timestamps import micro_stamp
from reprieve.cluster.kube.requests import MERGE, ApiCall, KubeRequest, answer_to
from reprieve.cluster.kube.rest_mapping import EVENT, EVENTS
from reprieve.cluster.port import Answer, Refused, Succeeded
from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.json import Json
from reprieve.model.moment import Moment

_FINISHED_AFTER = 360.0  # seconds without a repetition
_REFRESHED_AFTER = 1800.0  # an hour after its last write the server deletes the event of a series
_TEXTS_AT_ONCE = 10  # notes of otherwise equal events that are written at once
_TEXT_EVERY = 300.0  # seconds between further ones
_LONGEST_NOTE = 1024  # bytes
_LONGEST_NAME = 253

_Key = tuple[Target, Tone, str, str]


@dataclass(slots=True)
class _Entry:
    """``count``: occurrences so far. ``written``: how many of them the server has acknowledged.

    ``number``: its position among the events that differ only in their notes.
    """

    name: str
    namespace: str
    body: bytes  # encoded: there are thousands of entries, and few are ever written again
    note: str
    began: float
    last: Moment
    refreshed: float
    number: int = 1
    count: int = 1
    written: int = 0

    @property
    def is_acknowledged(self) -> bool:
        """Whether the server has the event and, from the second occurrence on, its series."""
        return self.written >= min(self.count, 2)

    def may_be_followed(self, now: Moment) -> bool:
        """Whether another note may get an event of its own."""
        return self.number < _TEXTS_AT_ONCE or now.elapsed - self.began >= _TEXT_EVERY


class EventSeriesRecorder:
    def __init__(self, reporter: str, instance: str) -> None:
        self._reporter = reporter
        self._instance = instance
        self._entries: dict[_Key, _Entry] = {}
        self._number = 0

    def announce(self, effect: Announce, api_version: str, now: Moment) -> ApiCall:
        """``api_version``: that of the target's kind."""
        key = (effect.target, effect.tone, effect.reason, effect.action)
        entry = self._entries.get(key)
        if entry is None or (effect.note != entry.note and entry.may_be_followed(now)):
            number = entry.number + 1 if entry is not None else 1
            entry = self._entries[key] = self._entry(effect, api_version, now, number)
        elif entry.is_acknowledged:
            entry.count += 1
            entry.last = now
        # An entry that was not acknowledged is written again under the same name, so that it exists once.
        return _write(entry) if entry.written < 2 else _only_counted()

    def overdue(self, elapsed: float) -> list[ApiCall]:
        """Writes for series that ended (and are then forgotten) or are due for a refresh."""
        ended_ones = [k for k, e in self._entries.items() if elapsed - e.last.elapsed >= _FINISHED_AFTER]
        finished = [self._entries.pop(key) for key in ended_ones]
        due = [entry for entry in finished if entry.count > max(entry.written, 1)]
        for entry in self._entries.values():
            if entry.count > 1 and elapsed - entry.refreshed >= _REFRESHED_AFTER:
                entry.refreshed = elapsed
                due.append(entry)
        return [_write(entry) for entry in due]

    def _entry(self, effect: Announce, api_version: str, now: Moment, number: int) -> _Entry:
        event = self._event(effect, api_version, now.wall)
        meta, body = event["metadata"], msgspec.json.encode(event)
        times = now.elapsed, now, now.elapsed
        return _Entry(meta["name"], meta["namespace"], body, effect.note, *times, number)

    def _event(self, effect: Announce, api_version: str, wall: float) -> Json:
        target = effect.target
        # The name ends in a timestamp, as with client-go, but is unique even within one clock tick.
        self._number = max(self._number + 1, int(wall * 1e9))
        suffix = f".{effect.suffix or f'{self._number:x}'}"
        # The version of another kind is not known here; its reference has a UID.
        related = {"related": _reference(effect.related)} if effect.related is not None else {}
        return {
            "apiVersion": EVENTS,
            "kind": "Event",
            "metadata": {
                "name": target.name[: _LONGEST_NAME - len(suffix)].rstrip("-.") + suffix,
                "namespace": target.namespace or "default",
            },
            "eventTime": micro_stamp(wall),
            "reportingController": self._reporter,
            "reportingInstance": self._instance,
            "type": effect.tone.value,
            "reason": effect.reason,
            "action": effect.action,
            "regarding": {"apiVersion": api_version, **_reference(target)},
            **related,
            "note": effect.note.encode()[:_LONGEST_NOTE].decode(errors="ignore"),
        }


def _reference(target: Target) -> Json:
    more = {"namespace": target.namespace, "uid": target.uid}
    return {"kind": target.kind, "name": target.name, **{k: v for k, v in more.items() if v}}


def _only_counted() -> ApiCall:
    yield from ()
    return Succeeded()


def _write(entry: _Entry) -> ApiCall:
    """Creates the event, or patches its series; an event that has expired is created again."""
    count = entry.count
    if count > 1:
        path = EVENT.path(entry.namespace, entry.name)
        change = msgspec.json.encode({"series": _series(entry)})
        response = yield KubeRequest("PATCH", path, (), change, MERGE)
        if response.status != HTTPStatus.NOT_FOUND:
            return _acknowledge(entry, count, answer_to(response))
    response = yield KubeRequest("POST", EVENT.path(entry.namespace), (), _body(entry))
    if response.is_namespace_ending:  # with all of its objects: the event would be of no use
        return Refused(response.message, again=False, missing=True)
    known = response.status == HTTPStatus.CONFLICT
    return _acknowledge(entry, count, Succeeded() if known else answer_to(response))


def _body(entry: _Entry) -> bytes:
    if entry.count == 1:
        return entry.body
    return msgspec.json.encode({**msgspec.json.decode(entry.body), "series": _series(entry)})


def _series(entry: _Entry) -> Json:
    return {"count": entry.count, "lastObservedTime": micro_stamp(entry.last.wall)}


def _acknowledge(entry: _Entry, count: int, answer: Answer) -> Answer:
    if isinstance(answer, Succeeded):
        entry.written = max(entry.written, count)
    return answer
