"""Events of kubelets and controllers, derived from changes of objects after the fact.

The recorder compares an object before and after a change. Kubelets and controllers need not write events
themselves, since no part of the cluster decides by events. It deletes events after an hour, as the API server
does.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import msgspec

from reprieve.model.effects import Announce, Target, Tone
from reprieve.model.objects import Condition, ObjectMeta, Record
from reprieve_minicluster.control.control_loop import GuardedLoop
from reprieve_minicluster.control.delaying_queue import DelayingQueue
from reprieve_minicluster.control.object_guard import ObjectWork, accepts_events
from reprieve_minicluster.controllers.selection import ALL_CONTROLLERS, ControllerName
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import BY_NAME, BY_RESOURCE
from reprieve_minicluster.kubelet.kubelet_pod import RUN_SECONDS, STOP_SECONDS, duration_fault
from reprieve_minicluster.store import EventType, Key, Store, Stored, WatchEvent
from reprieve_minicluster.store.scheduler_calls import announce

_EVENTS = "events"
_WATCHED = ("pods", "replicasets.apps", "jobs.batch", _EVENTS)
_EVENT_TTL = 3600.0  # seconds
_DELETIONS_PER_STEP = 500  # then the rest of the cluster gets its turn
_KUBELET = "kubelet"
_DURATIONS = {RUN_SECONDS: "InvalidRunSeconds", STOP_SECONDS: "InvalidStopSeconds"}


class _Container(Record, frozen=True):
    name: str = ""


class _Template(Record, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Spec(Record, frozen=True):
    node_name: str = ""
    replicas: int = 0
    containers: tuple[_Container, ...] = ()
    template: _Template = _Template()


class _Status(Record, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class _Observed(Record, frozen=True):
    """The fields of a pod, a ReplicaSet or a Job from which events follow."""

    metadata: ObjectMeta = ObjectMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


_ABSENT = _Observed()
_decode = msgspec.json.Decoder(_Observed).decode


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    component: str
    announcement: Announce


class EventRecorder(GuardedLoop):
    """``selected``: the controllers that run here; others write their events themselves."""

    def __init__(self, store: Store, selected: Collection[str] = ALL_CONTROLLERS) -> None:
        super().__init__(store, "event recorder", _WATCHED)
        self._components: set[str] = {_KUBELET, *selected}
        if ControllerName.REPLICA_SET in selected:
            self._components.add(BY_NAME["ReplicationController"].controller)
        self._queue: DelayingQueue[Key, None] = DelayingQueue()
        self._is_new = True

    def _on_change(self, change: WatchEvent) -> None:
        """Objects of the first list cause no events: an earlier recorder has recorded those."""
        if change.object.key.resource == _EVENTS:
            self._schedule_deletion(change, self._clock())
        elif not self._is_new:
            self._guard.run(ObjectWork("record", change.object.key), partial(self._record, change))

    def _work(self) -> None:
        self._is_new = False
        for key, _ in self._queue.due(self._clock(), _DELETIONS_PER_STEP):
            self._guard.run(ObjectWork("delete", key), partial(self._delete, key))

    def _next_at(self) -> float | None:
        return self._queue.next_at()

    def _delete(self, key: Key) -> None:
        with suppress(ApiError):  # a client has deleted it already
            self._store.delete(key)

    def _schedule_deletion(self, event: WatchEvent, now: float) -> None:
        """An event that is updated lives another hour."""
        self._queue.remove(event.object.key)
        if event.type is not EventType.DELETED:
            self._queue.add(event.object.key, None, now + _EVENT_TTL)

    def _record(self, change: WatchEvent) -> None:
        for event in events_of(change):
            if event.component not in self._components:
                continue
            if accepts_events(self._store, event.announcement.target.namespace):
                announce(self._store, event.announcement, self._clock(), event.component)


def events_of(change: WatchEvent) -> Iterator[RecordedEvent]:
    before = _ABSENT if change.before is None else _read(change.before)
    after = _ABSENT if change.type is EventType.DELETED else _read(change.object)
    match change.object.key.resource:
        case _ if after is _ABSENT:
            return
        case "pods":
            if change.type is EventType.ADDED:
                yield from _created(after, "pod")
            yield from _invalid_durations(change.object, before.metadata, after.metadata)
            yield from _of_containers(change.object, before, after)
        case "replicasets.apps":
            yield from _scaled(before, after)
        case "jobs.batch":
            if change.type is EventType.ADDED:
                yield from _created(after, "job")
            had, has = before.spec.template.metadata, after.spec.template.metadata
            yield from _invalid_durations(change.object, had, has)
            yield from _finished(change.object, before, after)


def _read(stored: Stored) -> _Observed:
    """The store checks no schema: an object that cannot be decoded causes no events."""
    try:
        return _decode(stored.raw)
    except msgspec.ValidationError:
        return _ABSENT


def _owner(observed: _Observed) -> Target | None:
    meta = observed.metadata
    found = next((owner for owner in meta.owner_references if owner.controller), None)
    if found is None or found.kind not in BY_NAME or not BY_NAME[found.kind].controller:
        return None
    return Target(found.kind, meta.namespace, found.name, found.uid)


def _created(observed: _Observed, what: str) -> Iterator[RecordedEvent]:
    owner = _owner(observed)
    if owner is not None:
        note = f"Created {what}: {observed.metadata.name}"
        yield _event(BY_NAME[owner.kind].controller, owner, "SuccessfulCreate", "Create", note)


def _invalid_durations(stored: Stored, before: ObjectMeta, after: ObjectMeta) -> Iterator[RecordedEvent]:
    """An event for each invalid value, once: kubelets ignore it."""
    for annotation, reason in _DURATIONS.items():
        declared = after.annotations.get(annotation)
        if declared is None or declared == before.annotations.get(annotation):
            continue
        fault = duration_fault(annotation, declared)
        if fault:
            yield RecordedEvent(_KUBELET, Announce(_target(stored), Tone.WARNING, reason, "Run", fault))


def _of_containers(pod: Stored, before: _Observed, after: _Observed) -> Iterator[RecordedEvent]:
    target = _target(pod)
    runs = after.status.phase == "Running"
    if runs and before.status.phase != "Running":
        for container in after.spec.containers:
            yield _event(_KUBELET, target, "Started", "Start", f"Started container {container.name}")
    leaves = after.metadata.deletion_timestamp is not None and before.metadata.deletion_timestamp is None
    if runs and leaves:
        for container in after.spec.containers:
            yield _event(_KUBELET, target, "Killing", "Kill", f"Stopping container {container.name}")


def _scaled(before: _Observed, after: _Observed) -> Iterator[RecordedEvent]:
    """The event regards the Deployment, whichever client scaled its ReplicaSet."""
    had, has = before.spec.replicas, after.spec.replicas
    owner = _owner(after)
    if owner is None or had == has or owner.kind != "Deployment":
        return
    way = "up" if has > had else "down"
    note = f"Scaled {way} replica set {after.metadata.name} from {had} to {has}"
    yield _event(BY_NAME[owner.kind].controller, owner, "ScalingReplicaSet", "Scale", note)


def _finished(job: Stored, before: _Observed, after: _Observed) -> Iterator[RecordedEvent]:
    for condition in _turned_true(before, after):
        if condition.type == "Complete":
            yield _event(ControllerName.JOB, _target(job), "Completed", "Complete", "Job completed")
        elif condition.type == "Failed":
            announcement = Announce(
                _target(job), Tone.WARNING, condition.reason or "Failed", "Fail", condition.message
            )
            yield RecordedEvent(ControllerName.JOB, announcement)


def _turned_true(before: _Observed, after: _Observed) -> Iterator[Condition]:
    had = {condition.type for condition in before.status.conditions if condition.status == "True"}
    return (c for c in after.status.conditions if c.status == "True" and c.type not in had)


def _event(component: str, target: Target, reason: str, action: str, note: str) -> RecordedEvent:
    return RecordedEvent(component, Announce(target, Tone.NORMAL, reason, action, note))


def _target(stored: Stored) -> Target:
    key = stored.key
    return Target(BY_RESOURCE[key.resource].kind, key.namespace, key.name, stored.uid)
