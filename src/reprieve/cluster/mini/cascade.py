"""Deletion in the order that a client chose: what an object owns goes before it, or is let go before it.

The object waits, held by a finalizer. What belongs to owners that are gone already is the business of garbage
collection.
"""

from contextlib import suppress

import msgspec

from reprieve.cluster.mini.controllers.job import untrack
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.history import Change, Key, Verb
from reprieve.cluster.mini.kinds import BY_RESOURCE, Json
from reprieve.cluster.mini.observer import Observer
from reprieve.cluster.mini.store import Part, Store
from reprieve.model.objects import Record

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


class _Owner(Record, frozen=True):
    uid: str = ""
    block_owner_deletion: bool | None = None


class _Meta(Record, frozen=True):
    uid: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[_Owner, ...] | None = None


class _Facts(Record, frozen=True):
    metadata: _Meta

    @property
    def owners(self) -> tuple[_Owner, ...]:
        return self.metadata.owner_references or ()

    @property
    def waits_for(self) -> str:
        """The finalizer that is ours, of an object that is being deleted."""
        if self.metadata.deletion_timestamp is None:
            return ""
        return next((name for name in self.metadata.finalizers or () if name in (FOREGROUND, ORPHAN)), "")


_FACTS = msgspec.json.Decoder(_Facts)


class Cascade:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._facts: dict[Key, _Facts] = {}
        self._owned: dict[str, dict[Key, None]] = {}
        self._waiting: dict[Key, str] = {}
        self.observer = Observer(store, tuple(BY_RESOURCE))

    def step(self) -> float | None:
        """Sees what changed and goes on with every deletion that waits. Only changes give it work."""
        for change in self.observer.poll():
            self._see(change)
        for key, finalizer in list(self._waiting.items()):
            with suppress(ApiError):  # somebody was faster, and the next change shows what there is now
                self._go_on(key, finalizer)
        return None

    def _see(self, change: Change) -> None:
        key = change.object.key
        known = self._facts.pop(key, None)
        self._waiting.pop(key, None)
        for owner in known.owners if known is not None else ():
            self._owned.get(owner.uid, {}).pop(key, None)
        facts = None if change.verb is Verb.DELETED else _read(change.object.raw)
        if facts is None or not (facts.owners or facts.waits_for):
            return
        self._facts[key] = facts
        for owner in facts.owners:
            self._owned.setdefault(owner.uid, {})[key] = None
        if facts.waits_for:
            self._waiting[key] = facts.waits_for

    def _go_on(self, key: Key, finalizer: str) -> None:
        uid = self._facts[key].metadata.uid
        owned = list(self._owned.get(uid, ()))
        if finalizer == ORPHAN:
            for one in owned:
                self._store.patch(one, lambda body: _let_go(body, uid), Part.MAIN)
        else:
            for one in owned:
                self._delete(one)
            if any(self._holds_back(one, uid) for one in owned):
                return
        self._store.patch(key, lambda body: _released(body, finalizer), Part.MAIN, uid)

    def _delete(self, key: Key) -> None:
        meta = self._facts[key].metadata
        if meta.deletion_timestamp is None:
            self._store.delete(key, meta.uid, held_by=(FOREGROUND,) if self._owned.get(meta.uid) else ())

    def _holds_back(self, key: Key, owner: str) -> bool:
        """Whether the owner has to wait for it: if it says so, and is still there."""
        blocks = any(o.uid == owner and o.block_owner_deletion for o in self._facts[key].owners)
        return blocks and self._store.find(key) is not None


def _read(raw: bytes) -> _Facts | None:
    """What cannot be read owns nothing and is owned by nobody."""
    try:
        return _FACTS.decode(raw)
    except msgspec.ValidationError:
        return None


def _let_go(body: Json, owner: str) -> Json:
    """No job counts it any more, either."""
    references = body["metadata"].get("ownerReferences") or ()
    body["metadata"]["ownerReferences"] = [r for r in references if r.get("uid") != owner]
    untrack(body)
    return body


def _released(body: Json, finalizer: str) -> Json:
    meta = body["metadata"]
    meta["finalizers"] = [name for name in meta.get("finalizers") or () if name != finalizer]
    return body
