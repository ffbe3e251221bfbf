"""Runs the controllers: which object needs a look after which change, when, and that it gets one.

A look comes a moment after the change that called for it, so that a burst of changes costs one look. Nothing
else is remembered: what is to be done follows from what the store holds then.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from reprieve.cluster.api.admission import DEFAULT_FEATURES, Features
from reprieve.cluster.api.timestamps import Clock
from reprieve.cluster.mini.controllers import (
    cluster_role_aggregation,
    cron_job,
    daemon_set,
    deployment,
    disruption,
    job,
    node_lifecycle,
    persistent_volume,
    pod_group_protection,
    replica_set,
    service_account,
    stateful_set,
    volume_protection,
    workload,
)
from reprieve.cluster.mini.controllers.api_writes import RequeueAt, Write, execute
from reprieve.cluster.mini.controllers.controller_cache import ControllerCache, HasMetadata
from reprieve.cluster.mini.delaying_queue import DelayingQueue
from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.informer import Informer
from reprieve.cluster.mini.store import Store
from reprieve.cluster.mini.stored_objects import Key


@dataclass(frozen=True, slots=True)
class Delays:
    """Seconds from a change to the look at what it means; for volumes, also the time it takes to make one.

    ``speed``: how many times as fast as usual schedules pass.
    """

    look: float = 0.1
    volumes: float = 1.0
    after_refusal: float = 5.0
    speed: float = 1.0


DEFAULT_DELAYS = Delays()


def delays_at(speed: float) -> Delays:
    usual = DEFAULT_DELAYS
    return Delays(usual.look / speed, usual.volumes / speed, usual.after_refusal / speed, speed)


@dataclass(frozen=True, slots=True)
class Controller:
    """``concerned``: whom a thing, as it was or as it is, may give something to do."""

    affected: Callable[[ControllerCache, HasMetadata], Iterable[Key]]
    reconcile: Callable[[ControllerCache, Key, float], Iterable[Write]]
    delay: float


def controllers(delays: Delays) -> tuple[Controller, ...]:
    return (
        Controller(deployment.affected, partial(deployment.reconcile, speed=delays.speed), delays.look),
        Controller(replica_set.affected, replica_set.reconcile, delays.look),
        Controller(daemon_set.affected, daemon_set.reconcile, delays.look),
        Controller(stateful_set.affected, stateful_set.reconcile, delays.look),
        Controller(cron_job.affected, partial(cron_job.reconcile, speed=delays.speed), delays.look),
        Controller(job.affected, partial(job.reconcile, speed=delays.speed), delays.look),
        Controller(disruption.affected, disruption.reconcile, delays.look),
        Controller(workload.affected, workload.reconcile, delays.look),
        Controller(pod_group_protection.affected, pod_group_protection.reconcile, delays.look),
        Controller(node_lifecycle.affected, node_lifecycle.reconcile, delays.look),
        Controller(cluster_role_aggregation.affected, cluster_role_aggregation.reconcile, delays.look),
        Controller(service_account.affected, service_account.reconcile, delays.look),
        Controller(volume_protection.affected, volume_protection.reconcile, delays.look),
        Controller(persistent_volume.affected, persistent_volume.reconcile, delays.volumes),
    )


class ControllerManager:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        delays: Delays = DEFAULT_DELAYS,
        features: Features = DEFAULT_FEATURES,
    ) -> None:
        self._store = store
        self._clock = clock
        self._delays = delays
        self._features = features
        self._cache = ControllerCache()
        self._controllers = controllers(delays)
        self._queue: DelayingQueue[tuple[int, Key], None] = DelayingQueue()
        self.informer = Informer(store, tuple(self._cache.tables))

    def step(self) -> float | None:
        """Takes in what changed and looks where it is due; says when the next look is."""
        for change in self.informer.poll():
            for thing in self._cache.take(change):
                if thing is not None:
                    self._call_for_looks(thing)
        for (number, key), _ in self._queue.due(self._clock()):
            self._look(number, key)
        return self._queue.next_at()

    def _call_for_looks(self, thing: HasMetadata) -> None:
        now = self._clock()
        for number, controller in enumerate(self._controllers):
            for key in controller.affected(self._cache, thing):
                self._queue.add((number, key), None, now + controller.delay)

    def _look(self, number: int, key: Key) -> None:
        now = self._clock()
        for write in self._controllers[number].reconcile(self._cache, key, now):
            again_at = self._carried_out(write, now)
            if again_at is not None:
                self._queue.add((number, key), None, again_at)

    def _carried_out(self, write: Write, now: float) -> float | None:
        """None, or when to look again. One write that is refused does not spoil the others."""
        if isinstance(write, RequeueAt):
            return write.at
        try:
            execute(self._store, write, now, self._features)
        except ApiError:
            return now + self._delays.after_refusal
        return None
