"""Which objects did a scheduler know at a moment of its journal? For questions about that moment."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from reprieve.model.events import Event, Gone, Seen, Synced, Unread
from reprieve.model.objects import ObjectMeta

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
