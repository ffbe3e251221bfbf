"""Simulated kubelets for all nodes: pods start, run, end, drain and are cleaned up after.

Everything is derived from what the store shows and from a clock. Kubelets know nothing of schedulers, of
owners, or of why a pod was deleted.
"""

from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.agenda import Agenda
from reprieve.cluster.mini.conditions import Condition, get_condition, set_condition, set_condition_of
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.history import Change, Key, Stored, Verb
from reprieve.cluster.mini.kinds import section
from reprieve.cluster.mini.kubelet import pod_status
from reprieve.cluster.mini.kubelet.critical import standing_of
from reprieve.cluster.mini.kubelet.evictions import Evictions
from reprieve.cluster.mini.kubelet.guests import RUN_SECONDS, Guest, guest_in
from reprieve.cluster.mini.kubelet.pace import DEFAULT_PACE, Pace
from reprieve.cluster.mini.kubelet.policy import policy_of
from reprieve.cluster.mini.kubelet.resizes import Resizes
from reprieve.cluster.mini.kubelet.rooms import Room, footprint_in, offered_in, weight_of
from reprieve.cluster.mini.observer import Observer
from reprieve.cluster.mini.store import Part, Store, parsed
from reprieve.model.json import Json


class Task(Enum):
    ADMIT = "look whether it fits"
    START = "report it running"
    FINISH = "its work is done"
    STOP = "it has drained"
    COLLECT = "its node is gone"


class Kubelets:
    def __init__(self, store: Store, clock: Clock, pace: Pace = DEFAULT_PACE) -> None:
        self._store = store
        self._clock = clock
        self._pace = pace
        self._guests: dict[Key, Guest] = {}
        self._rooms: dict[str, Room] = {}
        self._started: dict[Key, float] = {}
        self._agenda: Agenda[Key, Task] = Agenda()
        self._held_up: dict[str, dict[Key, None]] = {}  # critical pods, until others have made room
        self._evictions = Evictions(store, clock, pace, self._guests)
        self._resizes = Resizes(store, clock, pace, self._rooms, self._evictions)
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
        self._evictions.end_due()
        self._resizes.enforce_due()
        self._resizes.serve()
        moments = (self._agenda.next_at(), self._evictions.next_at(), self._resizes.next_at())
        return min((moment for moment in moments if moment is not None), default=None)

    # --- what changed ----------------------------------------------------------------------------

    def _see_node(self, change: Change) -> None:
        name = change.object.key.name
        room = self._room(name)
        was_there = room.offered is not None
        if change.verb is Verb.DELETED:
            room.offered = None
        else:
            self._see_offer(name, room, change.object)
        if was_there != (room.offered is not None):
            for key in room.guests:
                self._plan(key)

    def _see_offer(self, name: str, room: Room, node: Stored) -> None:
        room.offered = offered_in(node.raw)
        body = parsed(node)
        self._resizes.follow(name, policy_of(body))
        self._resizes.touch(name)
        if get_condition(section(body, "status"), "Ready") is None:
            self._report_ready(node.key)

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
        guest = None if change.verb is Verb.DELETED else guest_in(change.object.raw)
        known = self._guests.get(key)
        if known is not None and (guest is None or guest.metadata.uid != known.metadata.uid):
            self._forget(key, known)
            known = None
        if guest is None or not guest.spec.node_name:
            return
        generation = known.metadata.generation if known is not None else None
        self._guests[key] = guest
        self._seat(key, guest, change)
        if guest.metadata.generation != generation:
            self._look_at_resources(key, guest, change)
        self._plan(key)

    def _seat(self, key: Key, guest: Guest, change: Change) -> None:
        node = guest.spec.node_name
        room = self._room(node)
        if guest.is_over:
            room.charge(key, {})
            self._let_go(key, node)
            return
        if guest.is_running and not room.guests.get(key):
            room.charge(key, _weight(change.object))
        room.guests.setdefault(key, {})
        if guest.is_leaving:
            self._resizes.forget(key, node)

    def _look_at_resources(self, key: Key, guest: Guest, change: Change) -> None:
        """What was admitted may be asking for something else now."""
        node = guest.spec.node_name
        if self._room(node).guests[key] and not guest.is_leaving:
            self._resizes.consider(key, node, change.before)

    def _forget(self, key: Key, guest: Guest) -> None:
        del self._guests[key]
        self._room(guest.spec.node_name).release(key)
        self._started.pop(key, None)
        self._agenda.clear(key)
        self._held_up.get(guest.spec.node_name, {}).pop(key, None)
        self._let_go(key, guest.spec.node_name)

    def _let_go(self, key: Key, node: str) -> None:
        """Its room is free, and others may have been waiting for that."""
        self._evictions.forget(key)
        self._resizes.forget(key, node)
        self._resizes.touch(node)
        for waiting in self._held_up.pop(node, {}):
            self._plan(waiting)

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
        if guest.is_leaving:
            return Task.STOP, now + guest.drain_seconds() / speed
        if guest.is_over or key in self._held_up.get(guest.spec.node_name, {}):
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
        stored = self._store.get(key)
        weight = footprint_in(stored.raw)
        if weight is None:
            self._reject(key, guest, "UnexpectedAdmissionError", "the kubelet cannot read the pod")
            return
        room, asked = self._room(guest.spec.node_name), weight_of(weight)
        lacks = list(room.shortages(key, asked))
        if not lacks:
            room.charge(key, asked)
            self._evictions.forget(key)
            if guest.metadata.generation > 1:  # kubelets that ran before may have been at it
                self._resizes.consider(key, guest.spec.node_name, None)
            self._plan(key)
        elif self._evictions.make_room(standing_of(key, parsed(stored), asked), room, lacks):
            self._held_up.setdefault(guest.spec.node_name, {})[key] = None
        else:
            self._reject(key, guest, lacks[0].reason, str(lacks[0]))

    def _reject(self, key: Key, guest: Guest, reason: str, message: str) -> None:
        self._write(key, guest, "Pending", lambda body, now: pod_status.rejected(body, reason, message, now))

    def _start(self, key: Key, guest: Guest) -> None:
        self._started[key] = self._clock()
        allocation = self._resizes.taken_by_start(key)
        self._write(key, guest, "Pending", lambda body, now: pod_status.running(body, allocation, now))
        if allocation is not None:
            self._resizes.recount(key, guest.spec.node_name)

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


def _weight(pod: Stored) -> dict[str, int]:
    weight = footprint_in(pod.raw)
    return weight_of(weight) if weight is not None else {}


def _collected(body: Json, now: float) -> Json:
    gone = Condition("DisruptionTarget", "True", "DeletionByPodGC", "the node of the pod no longer exists")
    set_condition_of(body, gone, now)
    return pod_status.stopped(body, now)
