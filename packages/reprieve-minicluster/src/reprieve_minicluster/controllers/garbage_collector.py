"""The garbage collector: foreground, background and orphaning deletion of dependents by owner references.

An owner that is deleted in the foreground waits, held by a finalizer, until its dependents are gone; one that
orphans them waits until they no longer name it. The collector deletes a dependent of any kind when its last
owner is gone, and removes references to owners that are gone from dependents that have another one. It takes
owners of kinds that are not served to exist. An owner may have any number of dependents: a step makes a
bounded number of writes, and the next one goes on.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice

import msgspec

from reprieve.model.json import Json
from reprieve.model.objects import Record
from reprieve_minicluster.control.control_loop import GuardedLoop
from reprieve_minicluster.control.object_guard import ObjectWork
from reprieve_minicluster.controllers.job import TRACKED
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import ResourceKind
from reprieve_minicluster.store import EVERYTHING, EventType, Key, Part, Store, WatchEvent
from reprieve_minicluster.store.metadata import without_finalizer

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_WRITES_PER_STEP = 500  # then the rest of the cluster gets its turn
_AT_ONCE = 0.0


Kinds = Mapping[tuple[str, str], ResourceKind]


class _Owner(Record, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    block_owner_deletion: bool | None = None

    def key(self, kinds: Kinds, namespace: str) -> Key | None:
        """Its key; None if its kind is not served, or namespaced for a cluster-scoped dependent."""
        kind = kinds.get((self.api_version, self.kind))
        if kind is None or (kind.namespaced and not namespace):
            return None
        return Key(kind.resource, namespace if kind.namespaced else "", self.name)


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
        """The collector's finalizer on an object that is being deleted; empty if it has none."""
        if self.metadata.deletion_timestamp is None:
            return ""
        return next((name for name in self.metadata.finalizers or () if name in (FOREGROUND, ORPHAN)), "")


_FACTS = msgspec.json.Decoder(_Facts)


def _by_name(kinds: Mapping[str, ResourceKind]) -> Kinds:
    return {(version, kind.kind): kind for kind in kinds.values() for version in kind.served}


class GarbageCollector(GuardedLoop):
    """``_owned``: dependents by the UID of an owner. ``_doubtful``: dependents that may have lost an
    owner. ``_unserved``: dependents by the kind of an owner that is not served. ``_left``: the writes that
    are left for this step."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, "garbage collector", EVERYTHING)
        self._facts: dict[Key, _Facts] = {}
        self._owned: dict[str, dict[Key, None]] = {}
        self._waiting: dict[Key, str] = {}
        self._doubtful: dict[Key, None] = {}
        self._unserved: dict[tuple[str, str], dict[Key, None]] = {}
        self._left = 0
        self._served = store.kinds
        self._kinds = _by_name(store.kinds)

    def step(self) -> float | None:
        if self._store.kinds is not self._served:
            self._learn_kinds()
        return super().step()

    def _work(self) -> None:
        """Advance every waiting deletion."""
        self._left = _WRITES_PER_STEP
        for key in list(self._waiting):
            self._guard.run(ObjectWork("delete dependents of", key), partial(self._advance, key))
        for key in list(islice(self._doubtful, max(0, self._left))):
            del self._doubtful[key]
            self._guard.run(ObjectWork("collect", key), partial(self._collect, key))

    def _next_at(self) -> float | None:
        """At once after a step that has not made all of its writes; else changes and retries give work."""
        return _AT_ONCE if self._left <= 0 or self._doubtful else None

    def _learn_kinds(self) -> None:
        """An owner of a kind that is served from now on may not exist."""
        self._served = self._store.kinds
        self._kinds = _by_name(self._served)
        for name in self._unserved.keys() & self._kinds.keys():
            self._doubtful.update(self._unserved.pop(name))

    def _on_change(self, change: WatchEvent) -> None:
        key = change.object.key
        known = self._facts.pop(key, None)
        self._waiting.pop(key, None)
        for uid in {owner.uid: None for owner in known.owners} if known is not None else ():
            self._owned[uid].pop(key, None)
            if not self._owned[uid]:
                del self._owned[uid]
        if change.type is EventType.DELETED:
            self._doubtful.update(self._owned.get(change.object.uid, {}))
            return
        facts = _read(change.object.raw)
        if facts is None or not (facts.owners or facts.waits_for):
            return
        self._facts[key] = facts
        for owner in facts.owners:
            self._owned.setdefault(owner.uid, {})[key] = None
            self._doubtful[key] = None
        if facts.waits_for:
            self._waiting[key] = facts.waits_for

    # --- owners that wait for their dependents ---------------------------------------------------

    def _advance(self, key: Key) -> None:
        finalizer = self._waiting.get(key)
        if finalizer is None:
            return  # it was released, or is gone, since it was set aside
        with suppress(ApiError):  # a concurrent write won; the next change shows its result
            self._release_dependents(key, finalizer)

    def _release_dependents(self, key: Key, finalizer: str) -> None:
        uid = self._facts[key].metadata.uid
        owned = list(self._owned.get(uid, ()))
        step, act = ("orphan", self._orphan) if finalizer == ORPHAN else ("delete", self._delete_dependent)
        for one in owned:
            if self._left <= 0:
                return
            self._guard.run(ObjectWork(step, one), partial(_unless_refused, act, one, uid))
        holds = self._names_owner if finalizer == ORPHAN else self._blocks_owner
        if not any(holds(one, uid) for one in owned):
            self._store.patch(key, lambda body: without_finalizer(body, finalizer), Part.MAIN, uid)

    def _orphan(self, key: Key, owner: str) -> None:
        self._left -= 1
        self._store.patch(key, lambda body: _orphaned(body, (owner,)), Part.MAIN)

    def _delete_dependent(self, key: Key, owner: str) -> None:
        """Delete a dependent before its owner, unless another owner keeps it."""
        facts = self._facts.get(key)
        if facts is None or facts.metadata.deletion_timestamp is not None:
            return
        self._left -= 1
        if any(other.uid != owner and self._stays(other, key) for other in facts.owners):
            self._store.patch(key, lambda body: _without_owners(body, (owner,)), Part.MAIN)
            return
        owned = self._owned.get(facts.metadata.uid, {})
        if any(self._waiting.get(one) == FOREGROUND for one in owned):
            # A cycle of owners: each would wait for the other.
            self._store.patch(key, _unblocked, Part.MAIN)
        self._store.delete(key, facts.metadata.uid, held_by=(FOREGROUND,) if owned else ())

    def _stays(self, owner: _Owner, owned: Key) -> bool:
        key = owner.key(self._kinds, owned.namespace)
        return self._exists(owner, owned) and (key is None or self._waiting.get(key) != FOREGROUND)

    def _names_owner(self, key: Key, owner: str) -> bool:
        return any(o.uid == owner for o in self._now(key).owners)

    def _blocks_owner(self, key: Key, owner: str) -> bool:
        """Whether the owner must wait for it: it still exists and sets blockOwnerDeletion."""
        return any(o.uid == owner and o.block_owner_deletion for o in self._now(key).owners)

    # --- owners that are gone --------------------------------------------------------------------

    def _collect(self, key: Key) -> None:
        with suppress(ApiError):  # a concurrent write won; the next change shows its result
            self._delete_without_owners(key)

    def _delete_without_owners(self, key: Key) -> None:
        facts = self._now(key)
        gone = [owner.uid for owner in facts.owners if not self._exists(owner, key)]
        if not gone:
            return
        meta = facts.metadata
        if len(gone) < len(facts.owners):
            self._store.patch(key, lambda body: _without_owners(body, gone), Part.MAIN, meta.uid)
            return
        left = self._store.delete(key, meta.uid) if meta.deletion_timestamp is None else key
        if left is not None and TRACKED in (meta.finalizers or ()):
            self._store.patch(key, lambda body: without_finalizer(body, TRACKED), Part.MAIN, meta.uid)

    def _now(self, key: Key) -> _Facts:
        """Its current state: this step may have changed it since the informer reported it."""
        found = self._store.find(key)
        return (_read(found.raw) if found is not None else None) or _Facts(_Meta())

    def _exists(self, owner: _Owner, owned: Key) -> bool:
        key = owner.key(self._kinds, owned.namespace)
        if key is None:
            self._unserved.setdefault((owner.api_version, owner.kind), {})[owned] = None
            return True
        found = self._store.find(key)
        return found is not None and found.uid == owner.uid


def _unless_refused(act: Callable[[Key, str], None], key: Key, owner: str) -> None:
    """A concurrent write may win; the next change shows its result."""
    with suppress(ApiError):
        act(key, owner)


def _read(raw: bytes) -> _Facts | None:
    """None for an object with malformed metadata: it has neither owners nor dependents."""
    try:
        return _FACTS.decode(raw)
    except msgspec.ValidationError:
        return None


def _without_owners(body: Json, uids: Collection[str]) -> Json:
    references = body["metadata"].get("ownerReferences") or ()
    body["metadata"]["ownerReferences"] = [r for r in references if r.get("uid") not in uids]
    return body


def _orphaned(body: Json, uids: Collection[str]) -> Json:
    """Orphan a dependent; a pod also loses the finalizer with which its Job tracks it."""
    return without_finalizer(_without_owners(body, uids), TRACKED)


def _unblocked(body: Json) -> Json:
    for reference in body["metadata"].get("ownerReferences") or ():
        reference["blockOwnerDeletion"] = False
    return body
