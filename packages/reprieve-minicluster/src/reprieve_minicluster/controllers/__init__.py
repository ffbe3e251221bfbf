"""The controllers of the mini cluster: each is a function of the cached objects, called after changes.

A change enqueues the keys that it affects, and each is reconciled when it is due: a moment after the change,
so that a burst of changes costs one reconcile. The queue has keys and no changes: a controller acts on the
state of the cache at that time. A step makes a bounded number of writes: what is left over waits for the next
one, after the rest of the cluster has had its turn.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from reprieve.cluster.admission.admission import DEFAULT_FEATURES, Features
from reprieve.model.effects import Announce, Target, Tone
from reprieve.supervision.supervisor import log_mishap
from reprieve_minicluster.auth.authentication import account_user
from reprieve_minicluster.control.control_loop import GuardedLoop, earliest
from reprieve_minicluster.control.delaying_queue import DelayingQueue
from reprieve_minicluster.control.object_guard import ObjectWork, accepts_events
from reprieve_minicluster.controllers import (
    cron_job,
    daemon_set,
    deployment,
    disruption,
    endpoint_slice,
    job,
    node_lifecycle,
    persistent_volume,
    replica_set,
    small_controllers,
    stateful_set,
    volume_protection,
    workload,
)
from reprieve_minicluster.controllers.api_writes import (
    Create,
    Execution,
    RequeueAt,
    UpdateStatus,
    Write,
    execute,
)
from reprieve_minicluster.controllers.controller_cache import ControllerCache
from reprieve_minicluster.controllers.objects import (
    CompositeGroupFacts,
    PodFacts,
    PodGroupFacts,
    ReplicaSetFacts,
    ReplicationControllerFacts,
    Thing,
)
from reprieve_minicluster.controllers.owners import BURST
from reprieve_minicluster.controllers.selection import ALL_CONTROLLERS, ControllerName
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import BY_NAME, section
from reprieve_minicluster.store import Key, Store, WatchEvent, parsed
from reprieve_minicluster.store.conditions import StatusCondition, get_condition
from reprieve_minicluster.store.metadata import Identity
from reprieve_minicluster.store.scheduler_calls import announce
from reprieve_minicluster.webhooks.calls import Replies, UnansweredError, Webhooks
from reprieve_minicluster.webhooks.client import WebhookClient
from reprieve_minicluster.webhooks.reviews import RequestOrigin

_MOST_REVIEWS = 300  # writes that wait for webhooks
_KEYS_PER_STEP = 300
_REPLICATING = (ReplicaSetFacts.resource, ReplicationControllerFacts.resource)
_WRITES_PER_STEP = 300
# A reconcile that makes more is ended, and begun again later. Writes that belong together come first: pods of
# a Job that are counted in its status and not released would be counted twice.
_WRITES_PER_KEY = 2 * BURST


@dataclass(frozen=True, slots=True)
class Delays:
    """Seconds from a change to the reconcile; for volumes, this also simulates how long provisioning takes.

    ``speed``: how many times as fast schedules and deadlines run.
    """

    reconcile: float = 0.1
    volumes: float = 1.0
    retry: float = 5.0
    speed: float = 1.0


DEFAULT_DELAYS = Delays()


def delays_at(speed: float) -> Delays:
    usual = DEFAULT_DELAYS
    return Delays(usual.reconcile / speed, usual.volumes / speed, usual.retry / speed, speed)


@dataclass(frozen=True, slots=True)
class Controller:
    """``affected``: the keys to reconcile for an object before or after its change."""

    name: ControllerName
    affected: Callable[[ControllerCache, Thing], Iterable[Key]]
    reconcile: Callable[[ControllerCache, Key, float], Iterable[Write]]
    delay: float


def controllers(delays: Delays) -> tuple[Controller, ...]:
    usual = partial(Controller, delay=delays.reconcile)
    speed = delays.speed
    return (
        usual(ControllerName.DEPLOYMENT, deployment.affected, partial(deployment.reconcile, speed=speed)),
        usual(ControllerName.REPLICA_SET, replica_set.affected, replica_set.reconcile),
        usual(ControllerName.DAEMON_SET, daemon_set.affected, daemon_set.reconcile),
        usual(ControllerName.STATEFUL_SET, stateful_set.affected, stateful_set.reconcile),
        usual(ControllerName.CRON_JOB, cron_job.affected, partial(cron_job.reconcile, speed=speed)),
        usual(ControllerName.JOB, job.affected, partial(job.reconcile, speed=speed)),
        usual(ControllerName.DISRUPTION, disruption.affected, disruption.reconcile),
        usual(ControllerName.WORKLOAD, workload.affected, workload.reconcile),
        usual(
            ControllerName.POD_GROUP_PROTECTION,
            small_controllers.protected_groups,
            small_controllers.protect_used_group,
        ),
        usual(ControllerName.NODE_LIFECYCLE, node_lifecycle.affected, node_lifecycle.reconcile),
        usual(
            ControllerName.CLUSTER_ROLE_AGGREGATION,
            small_controllers.aggregated_roles,
            small_controllers.aggregate_rules,
        ),
        usual(ControllerName.ENDPOINT_SLICE, endpoint_slice.affected, endpoint_slice.reconcile),
        usual(
            ControllerName.SERVICE_ACCOUNT,
            small_controllers.namespaces_for_account,
            small_controllers.create_default_account,
        ),
        usual(
            ControllerName.ROOT_CA_PUBLISHER,
            small_controllers.namespaces_for_root_ca,
            small_controllers.publish_root_ca,
        ),
        usual(ControllerName.VOLUME_PROTECTION, volume_protection.affected, volume_protection.reconcile),
        Controller(
            ControllerName.PERSISTENT_VOLUME,
            persistent_volume.affected,
            persistent_volume.reconcile,
            delays.volumes,
        ),
    )


class ControllerManager(GuardedLoop):
    def __init__(
        self,
        store: Store,
        delays: Delays = DEFAULT_DELAYS,
        features: Features = DEFAULT_FEATURES,
        selected: Collection[str] = ALL_CONTROLLERS,
    ) -> None:
        self._cache = ControllerCache()
        super().__init__(store, "controllers", self._cache.resources)
        self._delays = delays
        self._features = features
        self._controllers = [one for one in controllers(delays) if one.name in selected]
        self._queue: DelayingQueue[tuple[int, Key], None] = DelayingQueue()
        self._left = 0  # writes that this step may still make
        self._webhooks = WebhookClient()
        self._reviews: dict[asyncio.Task[None], tuple[int, Key]] = {}

    def close(self) -> None:
        super().close()
        for task in self._reviews:
            task.cancel()

    def _work(self) -> None:
        """Reconcile the keys that are due."""
        self._left = _WRITES_PER_STEP
        now = self._clock()
        for (number, key), _ in self._queue.due(now, _KEYS_PER_STEP):
            if self._left > 0:
                work = ObjectWork(f"{self._controllers[number].name}: reconcile", key)
                self._guard.run(work, partial(self._reconcile, number, key))
            else:
                self._queue.add((number, key), None, now)

    def _next_at(self) -> float | None:
        """The end of a review is no change that the loop would wake for."""
        reviewed = self._clock() + self._delays.reconcile if self._reviews else None
        return earliest(self._queue.next_at(), reviewed)

    def _on_change(self, change: WatchEvent) -> None:
        for thing in self._cache.apply(change):
            if thing is not None:
                self._enqueue(change.object.key, thing)

    def _enqueue(self, key: Key, thing: Thing) -> None:
        now = self._clock()  # once: every change passes by every controller
        for number, controller in enumerate(self._controllers):
            try:
                self._enqueue_for(number, thing, now)
            except Exception:
                # Only now under guard, where it fails again: for every object and controller that is slow.
                work = ObjectWork(f"{controller.name}: observe", key)
                self._guard.run(work, partial(self._enqueue_for, number, thing, now))

    def _enqueue_for(self, number: int, thing: Thing, now: float) -> None:
        controller = self._controllers[number]
        for key in controller.affected(self._cache, thing):
            self._queue.add((number, key), None, now + controller.delay)

    def _reconcile(self, number: int, key: Key) -> None:
        if (number, key) in self._reviews.values():
            return  # what it has begun to create would be created again: it is requeued then
        now, controller, writes = self._clock(), self._controllers[number], 0
        for write in islice(controller.reconcile(self._cache, key, now), _WRITES_PER_KEY):
            writes += 1
            self._left -= 1
            requeue_at = self._executed(write, now, (number, key))
            if requeue_at is not None:
                self._queue.add((number, key), None, requeue_at)
        if writes == _WRITES_PER_KEY:
            self._queue.add((number, key), None, now + controller.delay)

    def _executed(self, write: Write, now: float, work: tuple[int, Key]) -> float | None:
        """When to requeue the key, or None. A refused write is retried and does not stop the others."""
        if isinstance(write, RequeueAt):
            return write.at
        origin = self._origin(work[0])
        try:
            execute(self._store, write, now, self._features, origin)
        except ApiError as error:
            self._report(write, error, now)
            return now + self._delays.retry
        except UnansweredError:
            if len(self._reviews) >= _MOST_REVIEWS:
                return now + self._delays.retry
            self._reviews[asyncio.ensure_future(self._reviewed(write, origin, work))] = work
        return None

    def _origin(self, number: int) -> RequestOrigin:
        user = account_user("kube-system", f"{self._controllers[number].name}-controller")
        described = {"username": user.name, "groups": list(user.groups)}
        return RequestOrigin(described, Webhooks(self._store))

    async def _reviewed(self, write: Execution, origin: RequestOrigin, work: tuple[int, Key]) -> None:
        """Execute a write that webhooks have to review first."""
        again = 0.0

        def attempt(replies: Replies, identity: Identity | None) -> None:
            known = replace(origin, webhooks=Webhooks(self._store, replies), identity=identity)
            execute(self._store, write, self._clock(), self._features, known)

        try:
            await self._webhooks.attempted(attempt, self._store)
        except ApiError as error:
            self._report(write, error, self._clock())
            again = self._delays.retry
        except Exception as error:
            log_mishap(f"{self._controllers[work[0]].name}: create what webhooks reviewed", error)
            again = self._delays.retry
        finally:
            task = asyncio.current_task()
            assert task is not None
            del self._reviews[task]
            self._queue.add(work, None, self._clock() + again)

    def _report(self, write: Write, error: ApiError, now: float) -> None:
        """A group that cannot be created is reported on its Workload, once for each reason.

        A pod of a ReplicaSet that cannot be created is reported in its status, and once in an event.
        """
        if not isinstance(write, Create):
            return
        if write.resource in (PodGroupFacts.resource, CompositeGroupFacts.resource):
            meta = write.body["metadata"]
            text = f"Error creating {write.body['kind']} {meta['name']}: {error.message}"
            event = Announce(_owner(write), Tone.WARNING, "FailedCreate", "Create", text, once=text)
            announce(self._store, event, now, "workload-controller")
        elif write.resource == PodFacts.resource:
            self._report_failure(_owner(write), error, now)

    def _report_failure(self, owner: Target, error: ApiError, now: float) -> None:
        key = Key(BY_NAME[owner.kind].resource, owner.namespace, owner.name)
        stored = self._store.find(key) if key.resource in _REPLICATING else None
        if stored is None or stored.uid != owner.uid or not accepts_events(self._store, key.namespace):
            return
        if get_condition(section(parsed(stored), "status"), replica_set.REPLICA_FAILURE) is None:
            failed = StatusCondition(replica_set.REPLICA_FAILURE, "True", "FailedCreate", error.message)
            update = UpdateStatus(key, owner.uid, conditions=(failed,))
            execute(self._store, update, now, self._features)
        text = f"Error creating: {error.message}"
        event = Announce(owner, Tone.WARNING, "FailedCreate", "Create", text, once=error.reason)
        announce(self._store, event, now, ControllerName.REPLICA_SET)


def _owner(write: Create) -> Target:
    meta = write.body["metadata"]
    (owner,) = meta["ownerReferences"]
    return Target(owner["kind"], meta["namespace"], owner["name"], owner["uid"])
