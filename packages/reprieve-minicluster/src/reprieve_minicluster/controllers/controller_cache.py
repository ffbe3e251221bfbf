"""The cache of the controllers: the objects that they read, indexed by name, UID, namespace and owner."""

from collections.abc import Collection, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from reprieve_minicluster.controllers import objects
from reprieve_minicluster.controllers.objects import Thing, controller_uid
from reprieve_minicluster.store import EventType, Key, WatchEvent

Name = tuple[str, str]  # namespace, name


T = TypeVar("T", bound=Thing)


def key_of(thing: Thing) -> Key:
    return Key(thing.resource, thing.metadata.namespace, thing.metadata.name)


class Indexer(Generic[T]):
    """Objects of one type. An object that cannot be decoded counts as absent."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._in: dict[str, dict[str, T]] = {}
        self._by_uid: dict[str, Name] = {}
        self._owned: dict[str, dict[Name, T]] = {}
        self._free: dict[str, dict[str, T]] = {}

    def get(self, namespace: str, name: str) -> T | None:
        return self._in.get(namespace, {}).get(name)

    def by_uid(self, uid: str) -> T | None:
        name = self._by_uid.get(uid)
        return self.get(*name) if name is not None else None

    def inside(self, namespace: str) -> Collection[T]:
        return self._in.get(namespace, {}).values()

    def owned_by(self, uid: str) -> Collection[T]:
        """The objects that name this owner as their controller."""
        return self._owned.get(uid, {}).values()

    def free(self, namespace: str) -> Collection[T]:
        """The objects that have no controller."""
        return self._free.get(namespace, {}).values()

    def __iter__(self) -> Iterator[T]:
        for things in self._in.values():
            yield from things.values()

    def apply(self, change: WatchEvent) -> tuple[T | None, T | None]:
        """Apply a change; returns the object before and after it."""
        name = change.object.key.namespace, change.object.key.name
        old = self.get(*name)
        new = None if change.type is EventType.DELETED else self._read(change.object.raw)
        if old is not None:
            self._drop(name, old)
        if new is not None:
            self._insert(name, new)
        return old, new

    def _read(self, raw: bytes) -> T | None:
        try:
            return self._decoder.decode(raw)
        except msgspec.ValidationError:
            return None

    def _drop(self, name: Name, thing: T) -> None:
        del self._in[name[0]][name[1]]
        if self._by_uid.get(thing.metadata.uid) == name:  # a snapshot may give one UID to two objects
            del self._by_uid[thing.metadata.uid]
        owner = controller_uid(thing.metadata)
        if owner:
            del self._owned[owner][name]
            if not self._owned[owner]:
                del self._owned[owner]
        else:
            del self._free[name[0]][name[1]]

    def _insert(self, name: Name, thing: T) -> None:
        self._in.setdefault(name[0], {})[name[1]] = thing
        self._by_uid[thing.metadata.uid] = name
        owner = controller_uid(thing.metadata)
        if owner:
            self._owned.setdefault(owner, {})[name] = thing
        else:
            self._free.setdefault(name[0], {})[name[1]] = thing


READ: tuple[type[Any], ...] = (
    objects.NodeFacts,
    objects.StorageClassFacts,
    objects.CSINodeFacts,
    objects.VolumeFacts,
    objects.ClaimFacts,
    objects.DeploymentFacts,
    objects.ReplicaSetFacts,
    objects.ReplicationControllerFacts,
    objects.DaemonSetFacts,
    objects.StatefulSetFacts,
    objects.RevisionFacts,
    objects.CronJobFacts,
    objects.JobFacts,
    objects.BudgetFacts,
    objects.WorkloadFacts,
    objects.PodGroupFacts,
    objects.CompositeGroupFacts,
    objects.PodFacts,
    objects.ClusterRoleFacts,
    objects.NamespaceFacts,
    objects.ServiceAccountFacts,
    objects.ServiceFacts,
    objects.EndpointSliceFacts,
    objects.ConfigMapFacts,
)


class ControllerCache:
    def __init__(self) -> None:
        self._by_type: dict[type[Any], Indexer[Any]] = {kind: Indexer(kind) for kind in READ}
        self._by_resource = {kind.resource: indexer for kind, indexer in self._by_type.items()}

    @property
    def resources(self) -> tuple[str, ...]:
        return tuple(self._by_resource)

    def of(self, kind: type[T]) -> Indexer[T]:
        return self._by_type[kind]

    def find(self, kind: type[T], key: Key) -> T | None:
        return self.of(kind).get(key.namespace, key.name)

    def apply(self, change: WatchEvent) -> tuple[Thing | None, Thing | None]:
        return self._by_resource[change.object.key.resource].apply(change)
