"""What happens in the cluster, told as events: by kubelets and controllers, in whose name it is done here.

A tale follows from how an object was and how it is. Nobody decides anything by events, so they are written
after the fact, by one who only looks on; he also forgets them after an hour, as Kubernetes does.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import msgspec

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.delaying_queue import DelayingQueue
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.kinds import BY_RESOURCE
from reprieve.cluster.mini.scheduler_calls import announce
from reprieve.cluster.mini.store import Store
from reprieve.cluster.mini.stored_objects import Key, Stored
from reprieve.cluster.mini.watch_cache import EventType, WatchEvent
from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.objects import Condition, ObjectMeta, Record

_EVENTS = "events"
_WATCHED = ("pods", "replicasets.apps", "jobs.batch", _EVENTS)
_FORGOTTEN_AFTER = 3600.0
_KUBELET = "kubelet"
_CONTROLLERS = {
    "CronJob": "cronjob-controller",
    "DaemonSet": "daemonset-controller",
    "Deployment": "deployment-controller",
    "Job": "job-controller",
    "ReplicaSet": "replicaset-controller",
    "ReplicationController": "replication-controller",
    "StatefulSet": "statefulset-controller",
}


class _Container(Record, frozen=True):
    name: str = ""


class _Spec(Record, frozen=True):
    node_name: str = ""
    replicas: int = 0
    containers: tuple[_Container, ...] = ()


class _Status(Record, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class _Thing(Record, frozen=True):
    """A pod, a ReplicaSet or a Job, as far as there is something to tell of it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


_NOTHING = _Thing()
_decode = msgspec.json.Decoder(_Thing).decode


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    by: str
    told: Announce


class EventRecorder:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._queue: DelayingQueue[Key, None] = DelayingQueue()
        self._is_new = True
        self.informer = Informer(store, _WATCHED)

    def step(self) -> float | None:
        """What was there before he came has been told."""
        now = self._clock()
        for change in self.informer.poll():
            if change.object.key.resource == _EVENTS:
                self._remember(change, now)
            elif not self._is_new:
                self._tell(change, now)
        self._is_new = False
        for key, _ in self._queue.due(now):
            with suppress(ApiError):  # somebody else has deleted it
                self._store.delete(key)
        return self._queue.next_at()

    def _remember(self, event: WatchEvent, now: float) -> None:
        """One that is told again begins anew."""
        self._queue.remove(event.object.key)
        if event.type is not EventType.DELETED:
            self._queue.add(event.object.key, None, now + _FORGOTTEN_AFTER)

    def _tell(self, change: WatchEvent, now: float) -> None:
        for tale in events_of(change):
            if self._is_open(tale.told.target.namespace):
                announce(self._store, tale.told, now, tale.by)

    def _is_open(self, namespace: str) -> bool:
        """A namespace that goes gets nothing new."""
        found = self._store.find(Key("namespaces", "", namespace))
        return found is not None and _read(found).metadata.deletion_timestamp is None


def events_of(change: WatchEvent) -> Iterator[RecordedEvent]:
    before = _NOTHING if change.before is None else _read(change.before)
    after = _NOTHING if change.type is EventType.DELETED else _read(change.object)
    match change.object.key.resource:
        case _ if after is _NOTHING:
            return
        case "pods":
            if change.type is EventType.ADDED:
                yield from _made(after, "pod")
            yield from _of_containers(change.object, before, after)
        case "replicasets.apps":
            yield from _scaled(before, after)
        case "jobs.batch":
            if change.type is EventType.ADDED:
                yield from _made(after, "job")
            yield from _ended(change.object, before, after)


def _read(stored: Stored) -> _Thing:
    """Nothing checks what stands in a store: of what cannot be read there is nothing to tell."""
    try:
        return _decode(stored.raw)
    except msgspec.ValidationError:
        return _NOTHING


def _owner(thing: _Thing) -> Target | None:
    meta = thing.metadata
    found = next((owner for owner in meta.owner_references if owner.controller), None)
    if found is None or found.kind not in _CONTROLLERS:
        return None
    return Target(found.kind, meta.namespace, found.name, found.uid)


def _made(thing: _Thing, what: str) -> Iterator[RecordedEvent]:
    owner = _owner(thing)
    if owner is not None:
        note = f"Created {what}: {thing.metadata.name}"
        yield _tale(_CONTROLLERS[owner.kind], owner, "SuccessfulCreate", "Create", note)


def _of_containers(pod: Stored, before: _Thing, after: _Thing) -> Iterator[RecordedEvent]:
    target = _target(pod)
    runs = after.status.phase == "Running"
    if runs and before.status.phase != "Running":
        for container in after.spec.containers:
            yield _tale(_KUBELET, target, "Started", "Start", f"Started container {container.name}")
    leaves = after.metadata.deletion_timestamp is not None and before.metadata.deletion_timestamp is None
    if runs and leaves:
        for container in after.spec.containers:
            yield _tale(_KUBELET, target, "Killing", "Kill", f"Stopping container {container.name}")


def _scaled(before: _Thing, after: _Thing) -> Iterator[RecordedEvent]:
    """Whoever scales a ReplicaSet of a Deployment, it is told of the Deployment."""
    had, has = before.spec.replicas, after.spec.replicas
    owner = _owner(after)
    if owner is None or had == has or owner.kind != "Deployment":
        return
    way = "up" if has > had else "down"
    note = f"Scaled {way} replica set {after.metadata.name} from {had} to {has}"
    yield _tale(_CONTROLLERS[owner.kind], owner, "ScalingReplicaSet", "Scale", note)


def _ended(job: Stored, before: _Thing, after: _Thing) -> Iterator[RecordedEvent]:
    for condition in _turned_true(before, after):
        if condition.type == "Complete":
            yield _tale(_CONTROLLERS["Job"], _target(job), "Completed", "Complete", "Job completed")
        elif condition.type == "Failed":
            told = Announce(
                _target(job), Tone.WARNING, condition.reason or "Failed", "Fail", condition.message
            )
            yield RecordedEvent(_CONTROLLERS["Job"], told)


def _turned_true(before: _Thing, after: _Thing) -> Iterator[Condition]:
    had = {condition.type for condition in before.status.conditions if condition.status == "True"}
    return (c for c in after.status.conditions if c.status == "True" and c.type not in had)


def _tale(by: str, target: Target, reason: str, action: str, note: str) -> RecordedEvent:
    return RecordedEvent(by, Announce(target, Tone.NORMAL, reason, action, note))


def _target(stored: Stored) -> Target:
    key = stored.key
    return Target(BY_RESOURCE[key.resource].kind, key.namespace, key.name, stored.uid)
