"""The keys of a `KubeSchedulerConfiguration` that apply to the whole scheduler, with types and defaults.

For users they are described in `docs/reference/configuration.md`; a test compares the two. Rules between two
keys are in `parsing`.
"""

from typing import Any, Literal

from reprieve.config.decoding import NonEmpty, NonNegative, Percentage, Positive, Seconds
from reprieve.model.objects import Record

KIND = "KubeSchedulerConfiguration"
NAME = "reprieve"


class LeaderElection(Record, frozen=True):
    leader_elect: bool = True  # whether replicas elect a leader: two that decide would conflict
    lease_duration: Seconds = Seconds(15)  # how long a lease may go unrenewed before another replica leads
    renew_deadline: Seconds = Seconds(10)  # how long a leader tries to renew before it stops
    retry_period: Seconds = Seconds(2)  # how often the lease is renewed or requested
    resource_lock: Literal["leases"] = "leases"  # no other kind of lock is supported
    resource_name: NonEmpty = NAME  # of the lease: not kube-scheduler's, so that both can run
    resource_namespace: NonEmpty = "kube-system"


class ClientConnection(Record, frozen=True):
    kubeconfig: str = ""  # wins over --kubeconfig; empty: that flag, or the usual places
    accept_content_types: str = ""  # no effect
    content_type: str = "application/json"  # no effect
    qps: float = 50.0  # requests per second, and as many for events; 0: the default, negative: no limit
    burst: NonNegative = 100  # requests at once; 0: the default


class GlobalSettings(Record, frozen=True):
    """The fields that apply to the whole scheduler, and not to one profile."""

    parallelism: Positive = 16  # no effect: all nodes are evaluated in one step
    percentage_of_nodes_to_score: Percentage = 0  # no effect: all nodes are scored
    pod_initial_backoff_seconds: Positive = (
        1  # after the first failure of a demand; doubled for each further one
    )
    pod_max_backoff_seconds: Positive = 10
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    delay_cache_until_active: bool = False  # whether a replica starts its watches only when it leads
    enable_profiling: bool = False  # no effect
    enable_contention_profiling: bool = False  # no effect


class Document(GlobalSettings, frozen=True, kw_only=True):
    """The document; profiles and extenders are decoded one by one."""

    api_version: Literal["kubescheduler.config.k8s.io/v1"]
    kind: Literal["KubeSchedulerConfiguration"]
    profiles: tuple[Any, ...] = ()
    extenders: tuple[Any, ...] = ()
