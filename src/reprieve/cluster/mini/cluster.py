"""The mini cluster as the scheduler's port, in this process, and a surface for those who set it up.

Between the scheduler and the store stands only what a plan of faults puts there.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import get_args

from reprieve.cluster.api.codec import Decoded, decode
from reprieve.cluster.api.features import DEFAULT_FEATURES, Features
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.calls import call, key_of_target
from reprieve.cluster.mini.cascade import Cascade
from reprieve.cluster.mini.controllers import Controllers, delays_at
from reprieve.cluster.mini.definitions import Definitions
from reprieve.cluster.mini.disk import Disk, DiskError
from reprieve.cluster.mini.errors import ApiError, not_found
from reprieve.cluster.mini.event_recorder import Teller
from reprieve.cluster.mini.faults import NO_FAULTS, CallFault, FaultPlan, WatchFault
from reprieve.cluster.mini.faulty_watch import Line
from reprieve.cluster.mini.history import Change, Key, Stored, Verb
from reprieve.cluster.mini.kinds import BY_NAME, BY_RESOURCE, KINDS, Json, Kind, Status
from reprieve.cluster.mini.kubelet import DEFAULT_PACE, Kubelets, Pace
from reprieve.cluster.mini.life import Inhabitant, live
from reprieve.cluster.mini.metadata import key_of, metadata_of
from reprieve.cluster.mini.namespaces import Namespaces
from reprieve.cluster.mini.quotas import Quotas
from reprieve.cluster.mini.spelling import stored_form
from reprieve.cluster.mini.store import Part, Store, parsed, without_status
from reprieve.cluster.port import Answer, Lost, Refused, Succeeded, WatchEvent
from reprieve.model.effects import Effect, Target, WriteStatus
from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.model.objects import KubernetesObject

_READ = {kind.__name__ for kind in get_args(KubernetesObject)}
WATCHED = tuple(kind.resource for kind in KINDS if kind.kind in _READ)


class MiniCluster:
    def __init__(
        self,
        clock: Clock,
        faults: FaultPlan = NO_FAULTS,
        pace: Pace = DEFAULT_PACE,
        features: Features = DEFAULT_FEATURES,
        disk: Disk | None = None,
    ) -> None:
        self.store = Store(clock, disk=disk)
        self.clock = clock
        self.features = features
        self._faults = faults
        self._pace = pace
        self._calls = 0
        self._opened = 0
        self._lines: list[Line] = []
        self._tasks: list[asyncio.Task[None]] = []

    # --- the port --------------------------------------------------------------------------------

    async def watch(self) -> AsyncIterator[WatchEvent]:
        self._opened += 1
        line = Line(self.store, WATCHED, self.clock, self._faults, self._opened)
        self._lines.append(line)
        try:
            for change in line.first():
                yield sight_of(change)
            yield Synced()
            while True:
                for change in await line.next():
                    yield sight_of(change)
        finally:
            self._lines.remove(line)
            line.close()

    async def perform(self, effect: Effect | WriteStatus) -> Answer:
        self._calls += 1
        fault = self._faults.on_call(self._calls, self.clock())
        match fault:
            case None:
                return self._call(effect)
            case CallFault.TIMEOUT_BEFORE | CallFault.TIMEOUT_AFTER:
                if fault is CallFault.TIMEOUT_AFTER:
                    self._call(effect)
                await asyncio.sleep(self._faults.timeout_seconds)
                return Lost(f"{effect.target}: no answer within {self._faults.timeout_seconds:g} s")
            case _:
                return Refused(f"{effect.target}: {fault.value}", again=fault is not CallFault.FORBIDDEN)

    def _call(self, effect: Effect | WriteStatus) -> Answer:
        try:
            call(self.store, effect, self.clock())
        except ApiError as error:
            return Refused(error.message, again=False, missing=not self._has(effect.target))
        except DiskError as error:
            return Refused(str(error), again=True)
        return Succeeded()

    def _has(self, target: Target) -> bool:
        found = self.store.find(key_of_target(target))
        return found is not None and found.uid == target.uid

    # --- for those who set it up -----------------------------------------------------------------

    def start(self) -> None:
        """Kubelets and controllers begin to live, on the running event loop."""
        store, clock, delays = self.store, self.clock, delays_at(self._pace.speed)
        inhabitants: dict[str, Callable[[], Inhabitant]] = {
            "kubelets": lambda: Kubelets(store, clock, self._pace),
            "controllers": lambda: Controllers(store, clock, delays, self.features),
            "cascade": lambda: Cascade(store),
            "namespaces": lambda: Namespaces(store, clock),
            "quotas": lambda: Quotas(store, clock),
            "definitions": lambda: Definitions(store, clock),
            "teller": lambda: Teller(store, clock),
        }
        self._tasks = [
            asyncio.create_task(live(enter, clock), name=name) for name, enter in inhabitants.items()
        ]

    async def stop(self) -> None:
        """They end; if one had failed before, this tells."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended

    def apply(self, objects: Iterable[Json]) -> list[Stored]:
        """Creates what is not there and replaces what is; a status that is given is written, too."""
        return [self._apply(body) for body in objects]

    def _apply(self, body: Json) -> Stored:
        kind = _kind(str(body.get("kind")))
        body = stored_form(kind, str(body.get("apiVersion")), body)
        named = bool(metadata_of(body).get("name"))
        if named and self.store.find(key_of(kind, body)) is not None:
            stored = self.store.update(kind.resource, body)
        else:
            stored = self.store.create(kind.resource, without_status(kind, body))
        if kind.status is Status.NONE or "status" not in body:
            return stored
        return self.store.patch(stored.key, lambda now: {**now, "status": body["status"]}, Part.STATUS)

    def delete(self, kind: str, namespace: str, name: str, grace: int | None = None) -> None:
        self.store.delete(Key(_kind(kind).resource, namespace, name), grace=grace)

    def read(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self.store.find(Key(_kind(kind).resource, namespace, name))
        return parsed(found) if found is not None else None

    def list(self, kind: str, namespace: str = "") -> list[Json]:
        return [parsed(item) for item in self.store.list((_kind(kind).resource,), namespace).items]

    def disconnect(self, fault: WatchFault = WatchFault.DROP) -> None:
        """Breaks every watch that is open now."""
        for line in self._lines:
            line.break_off(fault)


def _kind(name: str) -> Kind:
    kind = BY_NAME.get(name)
    if kind is None:
        raise not_found(f"the kind {name}")
    return kind


def sight_of(change: Change) -> WatchEvent:
    target = target_of(change.object)
    if change.verb is Verb.DELETED:
        return Gone(target, str(change.version))
    read = decode(change.object.raw)
    if isinstance(read, Decoded):
        return Seen(read.object, read.unserved)
    return Unread(target, read.problem)


def target_of(stored: Stored) -> Target:
    key = stored.key
    return Target(BY_RESOURCE[key.resource].kind, key.namespace, key.name, stored.uid)
