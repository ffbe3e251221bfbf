"""The cache of the controllers: the objects that they read, indexed by name, UID, namespace and owner."""

from collections.abc import Collection, Iterator
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

from reprieve.cluster.mini.controllers import objects
from reprieve.cluster.mini.stored_objects import Key
from reprieve.cluster.mini.watch_cache import EventType, WatchEvent
from reprieve.model.objects import ObjectMeta

VOLUMES, CLAIMS = "persistentvolumes", "persistentvolumeclaims"
DEPLOYMENTS, REPLICA_SETS, JOBS = "deployments.apps", "replicasets.apps", "jobs.batch"
CRON_JOBS = "cronjobs.batch"
REPLICATION_CONTROLLERS = "replicationcontrollers"
DAEMON_SETS = "daemonsets.apps"
STATEFUL_SETS, REVISIONS = "statefulsets.apps", "controllerrevisions.apps"
BUDGETS, PODS, NODES = "poddisruptionbudgets.policy", "pods", "nodes"
WORKLOADS, GROUPS = "workloads.scheduling.k8s.io", "podgroups.scheduling.k8s.io"
COMPOSITES = "compositepodgroups.scheduling.k8s.io"
SERVICES, SLICES = "services", "endpointslices.discovery.k8s.io"
CLUSTER_ROLES = "clusterroles.rbac.authorization.k8s.io"
NAMESPACES, ACCOUNTS, CONFIG_MAPS = "namespaces", "serviceaccounts", "configmaps"


class NamespacedName(NamedTuple):
    namespace: str
    name: str


class HasMetadata(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


T = TypeVar("T", bound=HasMetadata)


class Indexer(Generic[T]):
    """Objects of one type. An object that cannot be decoded counts as absent."""

    def __init__(self, kind: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(kind)
        self._in: dict[str, dict[str, T]] = {}
        self._by_uid: dict[str, NamespacedName] = {}
        self._owned: dict[str, dict[NamespacedName, T]] = {}
        self._free: dict[str, dict[str, T]] = {}

    def get(self, name: NamespacedName) -> T | None:
        return self._in.get(name.namespace, {}).get(name.name)

    def by_uid(self, uid: str) -> T | None:
        name = self._by_uid.get(uid)
        return self.get(name) if name is not None else None

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
        name = NamespacedName(change.object.key.namespace, change.object.key.name)
        old = self.get(name)
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

    def _drop(self, name: NamespacedName, thing: T) -> None:
        del self._in[name.namespace][name.name]
        if self._by_uid.get(thing.metadata.uid) == name:  # a snapshot may give one UID to two objects
            del self._by_uid[thing.metadata.uid]
        owner = objects.controller_uid(thing.metadata)
        if owner:
            del self._owned[owner][name]
            if not self._owned[owner]:
                del self._owned[owner]
        else:
            del self._free[name.namespace][name.name]

    def _insert(self, name: NamespacedName, thing: T) -> None:
        self._in.setdefault(name.namespace, {})[name.name] = thing
        self._by_uid[thing.metadata.uid] = name
        owner = objects.controller_uid(thing.metadata)
        if owner:
            self._owned.setdefault(owner, {})[name] = thing
        else:
            self._free.setdefault(name.namespace, {})[name.name] = thing


class AnyIndexer(Protocol):
    """An indexer of any type."""

    def apply(self, change: WatchEvent) -> tuple[HasMetadata | None, HasMetadata | None]: ...

    def get(self, name: NamespacedName) -> HasMetadata | None: ...

    def owned_by(self, uid: str) -> Collection[HasMetadata]: ...


class ControllerCache:
    def __init__(self) -> None:
        self.nodes = Indexer(objects.NodeFacts)
        self.storage_classes = Indexer(objects.StorageClassFacts)
        self.csi_nodes = Indexer(objects.CSINode)
        self.volumes = Indexer(objects.VolumeFacts)
        self.claims = Indexer(objects.PersistentVolumeClaim)
        self.deployments = Indexer(objects.DeploymentFacts)
        self.replica_sets = Indexer(objects.ReplicaSetFacts)
        self.replication_controllers = Indexer(objects.ReplicationControllerFacts)
        self.daemon_sets = Indexer(objects.DaemonSetFacts)
        self.stateful_sets = Indexer(objects.StatefulSetFacts)
        self.revisions = Indexer(objects.RevisionFacts)
        self.cron_jobs = Indexer(objects.CronJobFacts)
        self.jobs = Indexer(objects.JobFacts)
        self.budgets = Indexer(objects.BudgetFacts)
        self.workloads = Indexer(objects.WorkloadFacts)
        self.groups = Indexer(objects.PodGroupFacts)
        self.composites = Indexer(objects.CompositeGroupFacts)
        self.pods = Indexer(objects.PodFacts)
        self.roles = Indexer(objects.ClusterRoleFacts)
        self.namespaces = Indexer(objects.NamespaceFacts)
        self.accounts = Indexer(objects.ServiceAccountFacts)
        self.services = Indexer(objects.ServiceFacts)
        self.slices = Indexer(objects.EndpointSliceFacts)
        self.config_maps = Indexer(objects.ConfigMapFacts)
        self.tables: dict[str, AnyIndexer] = {
            NODES: self.nodes,
            "storageclasses.storage.k8s.io": self.storage_classes,
            "csinodes.storage.k8s.io": self.csi_nodes,
            VOLUMES: self.volumes,
            CLAIMS: self.claims,
            DEPLOYMENTS: self.deployments,
            REPLICA_SETS: self.replica_sets,
            REPLICATION_CONTROLLERS: self.replication_controllers,
            DAEMON_SETS: self.daemon_sets,
            STATEFUL_SETS: self.stateful_sets,
            REVISIONS: self.revisions,
            CRON_JOBS: self.cron_jobs,
            JOBS: self.jobs,
            BUDGETS: self.budgets,
            WORKLOADS: self.workloads,
            GROUPS: self.groups,
            COMPOSITES: self.composites,
            PODS: self.pods,
            CLUSTER_ROLES: self.roles,
            NAMESPACES: self.namespaces,
            ACCOUNTS: self.accounts,
            SERVICES: self.services,
            SLICES: self.slices,
            CONFIG_MAPS: self.config_maps,
        }

    def apply(self, change: WatchEvent) -> tuple[HasMetadata | None, HasMetadata | None]:
        return self.tables[change.object.key.resource].apply(change)


def key_in(resource: str, thing: HasMetadata) -> Key:
    return Key(resource, thing.metadata.namespace, thing.metadata.name)
