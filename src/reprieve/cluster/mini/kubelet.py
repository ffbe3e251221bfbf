"""Simulated kubelets for all nodes: pods start, run, end, drain and are cleaned up after.

Everything is derived from what the store shows and from a clock. Kubelets know nothing of schedulers, of
owners, or of why a pod was deleted.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from math import isfinite
from typing import Any

import msgspec

from reprieve.cluster.api.codec import Decoded, decode, decode_pod
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini import pod_status
from reprieve.cluster.mini.agenda import Agenda
from reprieve.cluster.mini.conditions import Condition, set_condition
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.history import Change, Key, Verb
from reprieve.cluster.mini.kinds import Json, section
from reprieve.cluster.mini.observer import Observer
from reprieve.cluster.mini.rooms import Room, weight_of
from reprieve.cluster.mini.store import DEFAULT_GRACE_SECONDS, Part, Store
from reprieve.model.objects import Node, Record

RUN_SECONDS = "reprieve.dev/run-seconds"
STOP_SECONDS = "reprieve.dev/stop-seconds"
_TERMINAL = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Pace:
    """How long simulated things take; all of them, and what pods declare, pass ``speed`` times as fast."""

    start_seconds: float = 1.0
    orphan_seconds: float = 5.0  # from the loss of a node to the deletion of its pods
    speed: float = 1.0


DEFAULT_PACE = Pace()


class Task(Enum):
    ADMIT = "look whether it fits"
    START = "report it running"
    FINISH = "its work is done"
    STOP = "it has drained"
    COLLECT = "its node is gone"


class _Meta(Record, frozen=True):
    uid: str = ""
    annotations: dict[str, Any] | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] | None = None


class _Spec(Record, frozen=True):
    node_name: str = ""


class _Status(Record, frozen=True):
    phase: str = ""
    start_time: datetime | None = None


class Guest(Record, frozen=True):
    """What a kubelet wants to know of a pod at every change."""

    metadata: _Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def is_over(self) -> bool:
        return self.status.phase in _TERMINAL

    @property
    def is_running(self) -> bool:
        return self.status.phase == "Running"

    def seconds(self, annotation: str) -> float | None:
        """A duration that an annotation declares; one that is no number of seconds declares nothing."""
        try:
            declared = float((self.metadata.annotations or {})[annotation])
        except (KeyError, TypeError, ValueError):
            return None
        return max(0.0, declared) if isfinite(declared) else None

    def drain_seconds(self) -> float:
        """What never ran, or has ended, stops at once."""
        if not self.is_running:
            return 0.0
        grace = self.metadata.deletion_grace_period_seconds
        allowed = DEFAULT_GRACE_SECONDS if grace is None else grace
        stop = self.seconds(STOP_SECONDS)
        return allowed if stop is None else min(allowed, stop)


_GUEST = msgspec.json.Decoder(Guest)


def _guest(raw: bytes) -> Guest | None:
    """A pod that no kubelet can make sense of is nobody's guest."""
    try:
        return _GUEST.decode(raw)
    except msgspec.ValidationError:
        return None


class Kubelets:
    def __init__(self, store: Store, clock: Clock, pace: Pace = DEFAULT_PACE) -> None:
        self._store = store
        self._clock = clock
        self._pace = pace
        self._guests: dict[Key, Guest] = {}
        self._rooms: dict[str, Room] = {}
        self._started: dict[Key, float] = {}
        self._agenda: Agenda[Key, Task] = Agenda()
        self.observer = Observer(store, ("nodes", "pods"))

    def step(self) -> float | None:
        """Sees what changed and does what is due; says when it will have something to do next."""
        for change in self.observer.poll():
            if change.object.key.resource == "nodes":
                self._see_node(change)
            else:
                self._see_pod(change)
        for key, task in self._agenda.due(self._clock()):
            self._do(key, task)
        return self._agenda.next_at()

    # --- what changed ----------------------------------------------------------------------------

    def _see_node(self, change: Change) -> None:
        room = self._room(change.object.key.name)
        was_there = room.offered is not None
        if change.verb is Verb.DELETED:
            room.offered = None
        else:
            node = _node(change.object.raw)
            room.offer(node)
            if not any(c.type == "Ready" for c in node.status.conditions):
                self._report_ready(change.object.key)
        if was_there != (room.offered is not None):
            for key in room.guests:
                self._plan(key)

    def _report_ready(self, key: Key) -> None:
        """Once, when the node is new: simulated nodes do not fall ill, and need no heartbeat."""

        def ready(body: Json) -> Json:
            healthy = Condition("Ready", "True", "KubeletReady", "the simulated kubelet is ready")
            set_condition(section(body, "status"), healthy, self._clock())
            return body

        with suppress(ApiError):  # it is gone already
            self._store.patch(key, ready, Part.STATUS)

    def _room(self, node: str) -> Room:
        return self._rooms.setdefault(node, Room())

    def _see_pod(self, change: Change) -> None:
        key = change.object.key
        guest = None if change.verb is Verb.DELETED else _guest(change.object.raw)
        known = self._guests.get(key)
        if known is not None and (guest is None or guest.metadata.uid != known.metadata.uid):
            self._forget(key, known)
        if guest is None or not guest.spec.node_name:
            return
        self._guests[key] = guest
        room = self._room(guest.spec.node_name)
        if guest.is_over:
            room.charge(key, {})
        elif guest.is_running and not room.guests.get(key):
            room.charge(key, _weight(change.object.raw) or {})
        else:
            room.guests.setdefault(key, {})
        self._plan(key)

    def _forget(self, key: Key, guest: Guest) -> None:
        del self._guests[key]
        self._room(guest.spec.node_name).release(key)
        self._started.pop(key, None)
        self._agenda.clear(key)

    # --- what comes next -------------------------------------------------------------------------

    def _plan(self, key: Key) -> None:
        coming = self._next(key, self._guests[key])
        if coming is None:
            self._agenda.clear(key)
        else:
            task, at = coming
            self._agenda.plan(key, task, at)

    def _next(self, key: Key, guest: Guest) -> tuple[Task, float] | None:
        now, speed = self._clock(), self._pace.speed
        room = self._room(guest.spec.node_name)
        if room.offered is None:
            return Task.COLLECT, now + self._pace.orphan_seconds / speed
        if guest.metadata.deletion_timestamp is not None:
            return Task.STOP, now + guest.drain_seconds() / speed
        if guest.is_over:
            return None
        if guest.is_running:
            seconds = guest.seconds(RUN_SECONDS)
            return None if seconds is None else (Task.FINISH, self._start_of(key, guest) + seconds / speed)
        return (Task.START, now + self._pace.start_seconds / speed) if room.guests[key] else (Task.ADMIT, now)

    def _start_of(self, key: Key, guest: Guest) -> float:
        """As we remember it; what is written down is truncated to the second."""
        written = guest.status.start_time
        return self._started.get(key, written.timestamp() if written is not None else self._clock())

    # --- what is done ----------------------------------------------------------------------------

    def _do(self, key: Key, task: Task) -> None:
        guest = self._guests.get(key)
        if guest is None:
            return
        with suppress(ApiError):  # somebody was faster, and the next change shows what there is now
            match task:
                case Task.ADMIT:
                    self._admit(key, guest)
                case Task.START:
                    self._start(key, guest)
                case Task.FINISH:
                    self._write(key, guest, "Running", pod_status.succeeded)
                case Task.STOP:
                    self._remove(key, guest, pod_status.stopped)
                case Task.COLLECT:
                    self._remove(key, guest, _collected)

    def _admit(self, key: Key, guest: Guest) -> None:
        weight = _weight(self._store.get(key).raw)
        if weight is None:
            self._reject(key, guest, "UnexpectedAdmissionError", "the kubelet cannot read the pod")
            return
        room = self._room(guest.spec.node_name)
        shortage = room.shortage(weight)
        if shortage is not None:
            self._reject(key, guest, shortage.reason, str(shortage))
            return
        room.charge(key, weight)
        self._plan(key)

    def _reject(self, key: Key, guest: Guest, reason: str, message: str) -> None:
        self._write(key, guest, "Pending", lambda body, now: pod_status.rejected(body, reason, message, now))

    def _start(self, key: Key, guest: Guest) -> None:
        self._started[key] = self._clock()
        self._write(key, guest, "Pending", pod_status.running)

    def _write(self, key: Key, guest: Guest, phase: str, report: Callable[[Json, float], Json]) -> None:
        """Only if the pod is still where we believe it to be."""

        def change(body: Json) -> Json:
            expected = section(body, "status").get("phase") or "Pending"
            return report(body, self._clock()) if expected == phase else body

        self._store.patch(key, change, Part.STATUS, guest.metadata.uid)

    def _remove(self, key: Key, guest: Guest, report: Callable[[Json, float], Json]) -> None:
        """A pod that others still hold by finalizers is at least seen to have ended."""
        uid = guest.metadata.uid
        if guest.metadata.finalizers and not guest.is_over:
            self._store.patch(key, lambda body: report(body, self._clock()), Part.STATUS, uid)
        self._store.delete(key, uid, grace=0)


def _node(raw: bytes) -> Node:
    """A node that cannot be read is there, and offers nothing."""
    read = decode(raw)
    return read.object if isinstance(read, Decoded) and isinstance(read.object, Node) else Node()


def _weight(raw: bytes) -> dict[str, int] | None:
    read = decode_pod(raw)
    return weight_of(read.object) if isinstance(read, Decoded) else None


def _collected(body: Json, now: float) -> Json:
    gone = Condition("DisruptionTarget", "True", "DeletionByPodGC", "the node of the pod no longer exists")
    set_condition(section(body, "status"), gone, now)
    return pod_status.stopped(body, now)
