"""The store: objects as raw JSON under one rising resource version, and the rules of writing them.

It follows the Kubernetes API: optimistic concurrency, UID preconditions, the status subresource, graceful
deletion with finalizers. It knows no schema, no admission and no network: those come before it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter

import msgspec

from reprieve.cluster.api.decode_errors import UNDECODABLE
from reprieve.cluster.api.timestamps import Clock, moment, stamp
from reprieve.model.json import Json
from reprieve_minicluster.errors import already_exists, conflict, not_found, too_large
from reprieve_minicluster.kinds import BY_RESOURCE, GenerationRule, ResourceKind, StatusSubresource, peek
from reprieve_minicluster.kinds.custom import DEFINITIONS, DefinedKinds
from reprieve_minicluster.store.metadata import (
    Identity,
    adopted,
    born,
    expected_version,
    kept,
    key_of_body,
    metadata_of,
    named,
)
from reprieve_minicluster.store.sqlite_backend import PersistedState, SqliteBackend
from reprieve_minicluster.store.watch_cache import (
    EVERYTHING,
    CacheWatcher,
    EventType,
    Key,
    Stored,
    WatchCache,
    WatchEvent,
)

DEFAULT_GRACE_SECONDS = 30
_LONGEST_GRACE_SECONDS = 2**31 - 1  # 68 years: the year of a deletionTimestamp must have four digits
KEPT_CHANGES = 20_000
LARGEST_OBJECT = 1536 * 1024  # bytes as JSON: etcd's limit for a request
_TERMINAL = ("Succeeded", "Failed")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_key_of_item = attrgetter("key")
Owners = Sequence[Json] | None


class Part(Enum):
    """How much of an object a write may touch."""

    MAIN = "everything but the status"
    STATUS = "the status and the metadata"
    WHOLE = "both, as a binding does; the generation stays"


@dataclass(frozen=True, slots=True)
class ObjectList:
    """Objects at a version, in order of namespace and name."""

    version: int
    items: list[Stored]


class Store:
    """Starts with the state of its backend, if it has one; a change that the backend cannot store fails."""

    def __init__(
        self,
        clock: Clock,
        kinds: Mapping[str, ResourceKind] = BY_RESOURCE,
        kept_changes: int = KEPT_CHANGES,
        backend: SqliteBackend | None = None,
    ) -> None:
        self.clock = clock
        self._built_in = kinds
        self._waiting = 0
        self._backend = backend
        self._objects: dict[str, dict[Key, Stored]] = {resource: {} for resource in kinds}
        self.unreadable: dict[Key, Exception] = {}  # objects that the backend has, and that are not loaded
        kept = backend.read(kept_changes) if backend is not None else PersistedState()
        self._load(kept.objects)
        changes = map(self._readable, kept.changes) if self.unreadable else kept.changes
        self._history = WatchCache(kept_changes, list(changes))
        self._defined = DefinedKinds()
        for stored in self._objects.get(DEFINITIONS, {}).values():
            self._defined.put(stored.key.name, stored.raw)
        self.kinds = self._serve()

    def _load(self, objects: Iterable[Stored]) -> None:
        """One unreadable object must not keep the others from being loaded."""
        tables = self._objects
        for stored in objects:
            key = stored.key
            try:
                _check_head(stored)
            except UNDECODABLE as error:
                self.unreadable[key] = error
            else:
                tables.setdefault(key.resource, {})[key] = stored

    def _readable(self, change: WatchEvent) -> WatchEvent:
        """A watch that resumes is sent no object that it could not read."""
        if change.object.key not in self.unreadable:
            return change
        before = None if change.before is None else _stub(change.before)
        return WatchEvent(change.version, change.type, _stub(change.object), before)

    def _serve(self) -> Mapping[str, ResourceKind]:
        """All kinds by resource: built-in ones, and those of stored CustomResourceDefinitions."""
        kinds = {**self._defined.served(), **self._built_in}
        for resource in kinds:
            self._objects.setdefault(resource, {})
        return kinds

    def check_writable(self) -> str:
        """What keeps changes from being stored; empty if nothing does."""
        return self._backend.check_writable() if self._backend is not None else ""

    # --- reading -------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        return self._history.version

    @property
    def oldest(self) -> int:
        """The earliest version that can be listed or watched from."""
        return self._history.oldest

    def find(self, key: Key) -> Stored | None:
        return self._table(key.resource).get(key)

    def get(self, key: Key) -> Stored:
        found = self.find(key)
        if found is None:
            raise not_found(str(key))
        return found

    def list(self, resources: Sequence[str], namespace: str = "", at: int | None = None) -> ObjectList:
        """The objects now, or at an earlier version that the watch cache still has."""
        items: list[Stored] = []
        for resource in self.kinds if resources is EVERYTHING else resources:
            there = self._table(resource) if at is None else self._rewound(resource, at)
            items += sorted(
                (item for item in there.values() if not namespace or item.key.namespace == namespace),
                key=_key_of_item,
            )
        return ObjectList(self.version if at is None else at, items)

    def _rewound(self, resource: str, version: int) -> dict[Key, Stored]:
        items = dict(self._table(resource))
        for change in reversed(self._history.after(version)):
            key = change.object.key
            if key.resource != resource:
                continue
            if change.before is None:
                items.pop(key, None)
            else:
                items[key] = change.before
        return items

    def has_any(self, resources: Iterable[str]) -> bool:
        return any(self._objects.get(resource) for resource in resources)

    def watch(self, resources: Collection[str], since: int) -> CacheWatcher:
        """Every change after a version; an ApiError 410 when the watch cache no longer has them all.

        ``EVERYTHING``: also resource types that are not served yet.
        """
        for resource in resources if resources is not EVERYTHING else ():
            self._table(resource)
        return self._history.watch(resources, since)

    def _table(self, resource: str) -> dict[Key, Stored]:
        if resource not in self.kinds:
            raise not_found(f"resource type {resource}")
        return self._objects[resource]

    # --- writing -------------------------------------------------------------------------------------

    def identity(self) -> Identity:
        """That of a new object that is not stored at once, and of no other."""
        self._waiting += 1
        return Identity(self.version + 1, self._waiting)

    def create(self, resource: str, body: Json, owners: Owners = None, uid: str = "") -> Stored:
        """``uid``: the one with which the object was admitted."""
        table = self._table(resource)
        kind = self.kinds[resource]
        version = self.version + 1
        meta = named(kind.kind, metadata_of(body), Identity(version))
        key = key_of_body(kind, {"kind": kind.kind, "metadata": meta})
        if key in table:
            raise already_exists(str(key))
        made = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            **body,
            "metadata": born(meta, key, uid or Identity(version).uid, self.clock()),
        }
        if kind.generation is not GenerationRule.NONE:
            made["metadata"]["generation"] = 1
        _set_owners(made["metadata"], owners)
        _start_status(kind, made)
        return self._put(key, made, None, LARGEST_OBJECT)

    def adopt(self, resource: str, body: Json) -> Stored:
        """Store an object of another cluster, with its UID, timestamps and status."""
        kind = self.kinds[resource]
        key = key_of_body(kind, body)
        meta = {**born({}, key, Identity(self.version + 1).uid, self.clock()), **adopted(metadata_of(body))}
        made = {"apiVersion": kind.api_version, **body, "kind": kind.kind, "metadata": meta}
        return self._put(key, made, self.find(key))

    def update(self, resource: str, body: Json, part: Part = Part.MAIN, owners: Owners = None) -> Stored:
        """Replace an object. A uid or resourceVersion in its metadata is a precondition.

        ``owners``: its new managedFields; None leaves them as they are.
        """
        self._table(resource)
        meta = metadata_of(body)
        key = key_of_body(self.kinds[resource], body)
        old = self.get(key)
        check_preconditions(old, meta.get("uid") or "", expected_version(meta))
        return self._replace(old, body, part, owners, LARGEST_OBJECT)

    def patch(self, key: Key, change: Callable[[Json], Json], part: Part, uid: str = "") -> Stored:
        """Replace an object by what a function makes of it; the function may raise an ApiError.

        The size is not limited: so kubelets and controllers can report the status of the largest object.
        """
        old = self.get(key)
        check_preconditions(old, uid, "")
        return self._replace(old, change(_decode(old.raw)), part)

    def delete(
        self,
        key: Key,
        uid: str = "",
        version: str = "",
        grace: int | None = None,
        held_by: Sequence[str] = (),
    ) -> Stored | None:
        """None when the object is gone; otherwise the object that waits for its finalizers or its kubelet.

        ``held_by``: finalizers to add with the deletion, for controllers that must act first.
        """
        old = self.get(key)
        check_preconditions(old, uid, version)
        body: Json = _decode(old.raw)
        meta: Json = body["metadata"]
        held = _held(meta, held_by)
        if "deletionTimestamp" in meta:
            changed = _shortened(meta, grace, self.clock()) or held
        else:
            seconds = _grace(self.kinds[key.resource], body, grace)
            changed = seconds > 0 or bool(meta.get("finalizers"))
            if changed:
                _mark_deleted(meta, seconds, self.clock())
        if not meta.get("finalizers") and not meta.get("deletionGracePeriodSeconds", 0):
            self._remove(old, body)
            return None
        return self._put(key, body, old) if changed else old

    def dry_run(self) -> "Store":
        """A store that answers every write as this one would, without storing it."""
        return _DryRun(self)

    def _replace(
        self, old: Stored, sent: Json, part: Part, owners: Owners = None, largest: int | None = None
    ) -> Stored:
        before: Json = _decode(old.raw)
        after = _merged(self.kinds[old.key.resource], before, sent, part)
        _set_owners(after["metadata"], owners)
        if after == before:
            return old
        meta = after["metadata"]
        if part is Part.MAIN and _is_another(self.kinds[old.key.resource], after, before):
            meta["generation"] = meta.get("generation", 0) + 1
        if _is_finished(meta):
            return self._remove(old, after)
        return self._put(old.key, after, old, largest)

    def _put(self, key: Key, body: Json, old: Stored | None, largest: int | None = None) -> Stored:
        stored = self._stored(key, body)
        _check_size(stored, largest)
        verb = EventType.ADDED if old is None else EventType.MODIFIED
        change = self._kept(WatchEvent(stored.version, verb, stored, old))
        self._objects[key.resource][key] = stored
        if key.resource == DEFINITIONS and self._defined.put(key.name, stored.raw):
            self.kinds = self._serve()
        self._history.append(change)
        return stored

    def _remove(self, old: Stored, body: Json) -> Stored:
        last = self._stored(old.key, body)
        change = self._kept(WatchEvent(last.version, EventType.DELETED, last, old))
        del self._objects[old.key.resource][old.key]
        if old.key.resource == DEFINITIONS:
            self._defined.remove(old.key.name)
            self.kinds = self._serve()
        self._history.append(change)
        return last

    def _kept(self, change: WatchEvent) -> WatchEvent:
        """The backend stores a change before any watcher sees it."""
        if self._backend is not None:
            self._backend.write(change, self._history.oldest)
        return change

    def _stored(self, key: Key, body: Json) -> Stored:
        version = self.version + 1
        meta = body["metadata"]
        meta["resourceVersion"] = str(version)
        return Stored(key, meta["uid"], version, _encode(body))


class _DryRun(Store):
    def __init__(self, base: Store) -> None:
        self.clock = base.clock
        self.kinds = base.kinds
        self._history = base._history
        self._objects = base._objects

    def _put(self, key: Key, body: Json, old: Stored | None, largest: int | None = None) -> Stored:
        """An existing object keeps its version, so that clients see only real differences."""
        stored = self._stored(key, body)
        if old is not None:
            body["metadata"]["resourceVersion"] = str(old.version)
            stored = Stored(key, old.uid, old.version, _encode(body))
        _check_size(stored, largest)
        return stored

    def _remove(self, old: Stored, body: Json) -> Stored:
        return self._stored(old.key, body)


class _Metadata(msgspec.Struct):
    name: str
    namespace: str = ""


class _Head(msgspec.Struct):
    """What every stored object has."""

    metadata: _Metadata


_decode_head = msgspec.json.Decoder(_Head).decode


def _check_head(stored: Stored) -> None:
    """Raises one of UNDECODABLE if it is damaged, or is another object than its key says."""
    stored.raw.decode()  # a decoder skips the texts that it does not need
    found = _decode_head(stored.raw).metadata
    if (found.name, found.namespace) != (stored.key.name, stored.key.namespace):
        raise ValueError("its name is another than that under which it is stored")


def _stub(stored: Stored) -> Stored:
    """An object of which no more is known than its key."""
    key, version = stored.key, str(stored.version)
    scope = {"namespace": key.namespace} if key.namespace else {}
    body = {"metadata": {"name": key.name, **scope, "uid": stored.uid, "resourceVersion": version}}
    return Stored(key, stored.uid, stored.version, _encode(body))


def _check_size(stored: Stored, largest: int | None) -> None:
    if largest is not None and len(stored.raw) > largest:
        raise too_large(f"etcdserver: request is too large: {len(stored.raw)} bytes, the limit is {largest}")


def parsed(stored: Stored) -> Json:
    value: Json = _decode(stored.raw)
    return value


def without_status(kind: ResourceKind, body: Json) -> Json:
    """A new object as a client may create it: without a status, for kinds with a status subresource."""
    if kind.status is not StatusSubresource.APART:
        return body
    return {name: value for name, value in body.items() if name != "status"}


def check_preconditions(old: Stored, uid: str, version: str) -> None:
    if uid and uid != old.uid:
        raise conflict(
            str(old.key), f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old.uid}"
        )
    if version and str(version) != str(old.version):
        raise conflict(
            str(old.key),
            "the object has been modified; please apply your changes to the latest version and try again: "
            f"it is at version {old.version}, not {version}",
        )


def _set_owners(meta: Json, owners: Owners) -> None:
    if owners:
        meta["managedFields"] = owners
    elif owners is not None:
        meta.pop("managedFields", None)


def _start_status(kind: ResourceKind, body: Json) -> None:
    """Fill the initial status. A given status wins; handlers have removed one that a client sent."""
    if kind.status is StatusSubresource.APART and kind.custom is None:
        phase = {"phase": kind.first_phase} if kind.first_phase else {}
        body["status"] = {**phase, **dict.fromkeys(kind.counts, 0), **peek(body, "status")}


def _is_another(kind: ResourceKind, after: Json, before: Json) -> bool:
    """Whether a change raises the generation."""
    if kind.generation is GenerationRule.NONE:
        return False
    if kind.generation is GenerationRule.CONTENT:
        return _content(kind, after) != _content(kind, before)
    if after.get("spec") != before.get("spec"):
        return True
    noted = peek(after["metadata"], "annotations") != peek(before["metadata"], "annotations")
    return noted and kind.generation is GenerationRule.NOTES


def _content(kind: ResourceKind, body: Json) -> Json:
    apart = (
        ("apiVersion", "metadata")
        if kind.status is StatusSubresource.NONE
        else ("apiVersion", "metadata", "status")
    )
    return {name: value for name, value in body.items() if name not in apart}


def _merged(kind: ResourceKind, before: Json, sent: Json, part: Part) -> Json:
    """The object to store when a client sends one and may write this part of it."""
    meta = kept(before["metadata"], metadata_of(sent))
    if part is Part.STATUS:
        return {**before, "metadata": meta, "status": peek(sent, "status")}
    after = {"apiVersion": before["apiVersion"], **sent, "kind": kind.kind, "metadata": meta}
    if part is Part.MAIN and kind.status is not StatusSubresource.NONE:
        after.pop("status", None)
        if "status" in before or kind.custom is None:
            after["status"] = before.get("status", {})
    return after


def _grace(kind: ResourceKind, body: Json, asked: int | None) -> int:
    """The grace period of a deletion: 0 for objects that no kubelet runs."""
    spec, status = peek(body, "spec"), peek(body, "status")
    if not kind.drains or not spec.get("nodeName") or status.get("phase") in _TERMINAL:
        return 0
    seconds = spec.get("terminationGracePeriodSeconds") if asked is None else asked
    if not isinstance(seconds, int):
        return DEFAULT_GRACE_SECONDS
    return min(seconds, _LONGEST_GRACE_SECONDS) if seconds >= 0 else 1


def _mark_deleted(meta: Json, seconds: int, now: float) -> None:
    """Mark an object that does not go at once as deleted."""
    meta["deletionTimestamp"] = stamp(now + seconds)
    meta["deletionGracePeriodSeconds"] = seconds
    if "generation" in meta:
        meta["generation"] += 1


def _shortened(meta: Json, asked: int | None, now: float) -> bool:
    """Apply a further deletion: it can only shorten the grace period, which counts from the first one."""
    has = meta.get("deletionGracePeriodSeconds", 0)
    seconds = 1 if asked is not None and asked < 0 else asked
    if seconds is None or seconds >= has:
        return False
    ends = max(moment(meta["deletionTimestamp"]) - has + seconds, now)
    if ends == now and seconds:
        seconds = 1
    meta["deletionTimestamp"] = stamp(ends)
    meta["deletionGracePeriodSeconds"] = seconds
    return True


def _held(meta: Json, finalizers: Sequence[str]) -> bool:
    """Add the missing ones; whether there were any."""
    there = list(meta.get("finalizers") or ())
    new = [name for name in finalizers if name not in there]
    if new:
        meta["finalizers"] = [*there, *new]
    return bool(new)


def _is_finished(meta: Json) -> bool:
    """Deleted, with no grace period and no finalizers left."""
    deleted = "deletionTimestamp" in meta and meta.get("deletionGracePeriodSeconds", 0) == 0
    return deleted and not meta.get("finalizers")
