"""Heartbeats of simulated nodes: a Lease for each, renewed at intervals, and now and then its status.

Without them a kube-controller-manager beside the cluster takes nodes for lost.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from hashlib import blake2b

from reprieve.cluster.api.timestamps import Clock, micro_stamp, stamp
from reprieve.model.json import Json
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import section
from reprieve_minicluster.store import Key, Part, StorageError, Store
from reprieve_minicluster.store.conditions import get_condition

_LEASES, _NAMESPACE = "leases.coordination.k8s.io", "kube-node-lease"
_LEASE_SECONDS = 40  # as kubelets set it; nodes count as lost some time later
_STATUS_EVERY = 300.0
_MOST_PER_SECOND = 50  # in a cluster of thousands of nodes, leases are renewed less often


class NodeHeartbeats:
    """``every``: seconds between renewals; None: there are no heartbeats."""

    def __init__(self, store: Store, clock: Clock, every: float | None) -> None:
        self._store = store
        self._clock = clock
        self._every = every
        self._next = clock() if every is not None else None
        self._status_at = clock() + _STATUS_EVERY

    def next_at(self) -> float | None:
        return self._next

    def beat_if_due(self, all_nodes: Callable[[], Collection[str]]) -> None:
        now = self._clock()
        if self._every is None or self._next is None or now < self._next:
            return
        nodes, with_status = all_nodes(), now >= self._status_at
        for node in nodes:
            with suppress(ApiError, StorageError):  # the node is gone already, or the disk is full
                self._renew(node, now)
                if with_status:
                    self._report(node, now)
        self._next = now + max(self._every, len(nodes) / _MOST_PER_SECOND)
        self._status_at = now + _STATUS_EVERY if with_status else self._status_at

    def _renew(self, node: str, now: float) -> None:
        key = Key(_LEASES, _NAMESPACE, node)
        if self._store.find(key) is None:
            uid = self._store.get(Key("nodes", "", node)).uid
            self._store.create(_LEASES, _lease(node, uid, now))
        else:
            self._store.patch(key, lambda body: _renewed(body, now), Part.MAIN)

    def _report(self, node: str, now: float) -> None:
        self._store.patch(Key("nodes", "", node), lambda body: reported(body, now), Part.STATUS)


def reported(node: Json, now: float) -> Json:
    """Set the time of this heartbeat; whether the node is ready stays as it is."""
    ready = get_condition(section(node, "status"), "Ready")
    if ready is not None:
        ready["lastHeartbeatTime"] = stamp(now)
    return node


def _lease(node: str, uid: str, now: float) -> Json:
    owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid}
    spec = {"holderIdentity": node, "leaseDurationSeconds": _LEASE_SECONDS, "renewTime": micro_stamp(now)}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node, "namespace": _NAMESPACE, "ownerReferences": [owner]},
        "spec": spec,
    }


def _renewed(lease: Json, now: float) -> Json:
    section(lease, "spec")["renewTime"] = micro_stamp(now)
    return lease


# What pods may need of a node, among the features that kubelets declare: nothing is executed, so it has them.
DECLARED_FEATURES = (
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
)


# --- addresses ------------------------------------------------------------------------------------


def addresses_of(node: str) -> list[Json]:
    return [
        {"type": "InternalIP", "address": internal_ip(node)},
        {"type": "Hostname", "address": node},
    ]


def internal_ip(node: str) -> str:
    """An address that follows from the name: a node that comes again has the same."""
    first, second, third = blake2b(node.encode(), digest_size=3).digest()
    return f"10.{64 + first % 32}.{second}.{third}"
