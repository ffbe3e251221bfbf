"""The mini cluster as the scheduler's port, in this process, and an interface to set it up.

The port reads and writes the store directly.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import closing
from functools import partial
from typing import get_args

from reprieve.cluster.admission.features import DEFAULT_FEATURES, Features
from reprieve.cluster.api.codec import Decoded, decode
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.port import Answer, ClusterEvent, Refused, Succeeded
from reprieve.model.effects import Effect, Target, WriteStatus
from reprieve.model.events import Gone, Seen, Synced, Unread
from reprieve.model.json import Json
from reprieve.model.objects import KubernetesObject, Problem, Ref
from reprieve.model.urgency import FIRST, Urgency
from reprieve.supervision.supervisor import HealthCheck, Supervisor, log_mishap
from reprieve_minicluster.control.control_loop import ControlLoop, run_forever
from reprieve_minicluster.control.object_guard import report_unreadable
from reprieve_minicluster.controllers import ControllerManager, delays_at
from reprieve_minicluster.controllers.content_deletion import CrdController, NamespaceController
from reprieve_minicluster.controllers.event_recorder import EventRecorder
from reprieve_minicluster.controllers.garbage_collector import GarbageCollector
from reprieve_minicluster.controllers.resource_quota import ResourceQuotaController
from reprieve_minicluster.controllers.selection import ALL_CONTROLLERS, ControllerName
from reprieve_minicluster.errors import ApiError, not_found
from reprieve_minicluster.kinds import BY_NAME, BY_RESOURCE, KINDS, ResourceKind, StatusSubresource
from reprieve_minicluster.kinds.conversion import to_storage_version
from reprieve_minicluster.kubelet import DEFAULT_TIMING, Kubelets, KubeletTiming
from reprieve_minicluster.store import (
    EventType,
    Informer,
    Key,
    Part,
    SqliteBackend,
    StorageError,
    Store,
    Stored,
    WatchEvent,
    parsed,
    without_status,
)
from reprieve_minicluster.store.metadata import key_of_body, metadata_of
from reprieve_minicluster.store.scheduler_calls import call, key_of_target

_READ = {kind.__name__ for kind in get_args(KubernetesObject)}
WATCHED = tuple(kind.resource for kind in KINDS if kind.kind in _READ)


class MiniCluster:
    def __init__(
        self,
        clock: Clock,
        timing: KubeletTiming = DEFAULT_TIMING,
        features: Features = DEFAULT_FEATURES,
        backend: SqliteBackend | None = None,
        controllers: Collection[str] = ALL_CONTROLLERS,
    ) -> None:
        self.store = Store(clock, backend=backend)
        self.clock = clock
        self.features = features
        self._timing = timing
        self._selected = controllers
        self.supervisor = Supervisor()

    # --- the port --------------------------------------------------------------------------------

    async def watch(self) -> AsyncIterator[ClusterEvent]:
        with closing(Informer(self.store, WATCHED)) as informer:
            for change in informer.poll():
                yield sight_of(change)
            yield Synced()
            while True:
                changes = informer.poll()
                for change in changes:
                    yield sight_of(change)
                if not changes:
                    await informer.wait()

    async def perform(self, effect: Effect | WriteStatus, urgency: Urgency = FIRST) -> Answer:
        try:
            call(self.store, effect, self.clock())
        except ApiError as error:
            return Refused(error.message, again=False, missing=not self._has(effect.target))
        except StorageError as error:
            return Refused(str(error), again=True)
        return Succeeded()

    def _has(self, target: Target) -> bool:
        found = self.store.find(key_of_target(target))
        return found is not None and found.uid == target.uid

    async def events(self, reason: str) -> list[Json]:
        return [body for body in self.list("Event") if body.get("reason") == reason]

    # --- setting it up ---------------------------------------------------------------------------

    def start(self) -> None:
        """Start kubelets and controllers on the running event loop."""
        report_unreadable(self.store)
        store, clock, delays = self.store, self.clock, delays_at(self._timing.speed)
        selected = self._selected
        loops: dict[str, Callable[[], ControlLoop]] = {
            "kubelets": lambda: Kubelets(store, clock, self._timing, self.features),
            "controllers": lambda: ControllerManager(store, delays, self.features, selected),
            "CRD controller": lambda: CrdController(store),
            "event recorder": lambda: EventRecorder(store, selected),
        }
        if ControllerName.GARBAGE_COLLECTOR in selected:
            loops["garbage collector"] = lambda: GarbageCollector(store)
        if ControllerName.NAMESPACE in selected:
            loops["namespace controller"] = lambda: NamespaceController(store)
        if ControllerName.RESOURCE_QUOTA in selected:
            loops["quota controller"] = lambda: ResourceQuotaController(store)
        for name, enter in loops.items():
            self.supervisor.start(name, partial(run_forever, enter, clock))

    async def stop(self) -> None:
        """Stop them, and whatever else the supervisor runs."""
        await self.supervisor.stop()

    def alive(self) -> Iterator[HealthCheck]:
        """Checks that the cluster can answer, and that every task can go on."""
        yield "ping", ""
        yield from self.supervisor.checks()

    def ready(self) -> Iterator[HealthCheck]:
        """Checks that it can also store what clients write."""
        yield from self.alive()
        yield "storage", self.store.check_writable()

    def apply(self, objects: Iterable[Json]) -> list[Stored]:
        """Create or replace each object; a status in it is written as well."""
        return [self._apply(body) for body in objects]

    def _apply(self, body: Json) -> Stored:
        kind = _kind(str(body.get("kind")))
        body = to_storage_version(kind, str(body.get("apiVersion")), body)
        named = bool(metadata_of(body).get("name"))
        if named and self.store.find(key_of_body(kind, body)) is not None:
            stored = self.store.update(kind.resource, body)
        else:
            stored = self.store.create(kind.resource, without_status(kind, body))
        if kind.status is StatusSubresource.NONE or "status" not in body:
            return stored
        return self.store.patch(stored.key, lambda now: {**now, "status": body["status"]}, Part.STATUS)

    def delete(self, kind: str, namespace: str, name: str, grace: int | None = None) -> None:
        self.store.delete(Key(_kind(kind).resource, namespace, name), grace=grace)

    def read(self, kind: str, namespace: str, name: str) -> Json | None:
        found = self.store.find(Key(_kind(kind).resource, namespace, name))
        return parsed(found) if found is not None else None

    def list(self, kind: str, namespace: str = "") -> list[Json]:
        return [parsed(item) for item in self.store.list((_kind(kind).resource,), namespace).items]


def _kind(name: str) -> ResourceKind:
    kind = BY_NAME.get(name)
    if kind is None:
        raise not_found(f"kind {name}")
    return kind


def sight_of(change: WatchEvent) -> ClusterEvent:
    target = target_of(change.object)
    if change.type is EventType.DELETED:
        return Gone(target, str(change.version))
    try:
        read = decode(change.object.raw)
    except Exception as error:  # one object must not end the watch of all others
        log_mishap(f"watch of the scheduler: decoding {target}", error)
        ref = Ref(kind=target.kind, namespace=target.namespace, name=target.name)
        return Unread(target, Problem(ref=ref, path="", expected="an object that can be decoded"))
    if isinstance(read, Decoded):
        return Seen(read.object, read.unserved)
    return Unread(target, read.problem)


def target_of(stored: Stored) -> Target:
    key = stored.key
    return Target(BY_RESOURCE[key.resource].kind, key.namespace, key.name, stored.uid)
