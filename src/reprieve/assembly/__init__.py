"""How configuration becomes the parts that work by it.

The one place that knows both what can be written and what it means.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
)
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from reprieve import config
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.mini import disk, registry, restoring, setup
from reprieve.cluster.mini.admitted import admitted
from reprieve.cluster.mini.cluster import MiniCluster
from reprieve.cluster.mini.history import Key
from reprieve.cluster.mini.kinds import BY_NAME, Json
from reprieve.cluster.mini.rights import users
from reprieve.cluster.mini.store import Part
from reprieve.config import args as config_args
from reprieve.config.args import BudgetSelectors, Divergence, GangPreemption, Preset, RespectBudgets
from reprieve.config.plugin_args import DefaultingType, PodTopologySpreadArgs, ResourceSpec, ScoringStrategy
from reprieve.model.objects import CompositePodGroup, NodeAffinity, PodGroup, Ref, TopologySpreadConstraint
from reprieve.model.resources import Problems
from reprieve.model.selectors import NodeQuery, compile_node_selector
from reprieve.model.shape import WeightedNodeTerm, compile_preferred_nodes
from reprieve.placement.constraints import BY_PLUGIN
from reprieve.placement.profile import (
    SYSTEM_SPREAD,
    DefaultSpread,
    Preference,
    Profile,
    ResourceWeight,
    ShapePoint,
    Strategy,
)
from reprieve.preemption.budgets import stocks, stocks_as_upstream
from reprieve.preemption.eligibility import RULES, TIMELESS
from reprieve.preemption.policy import BudgetCounting, Policy, Search
from reprieve.preemption.resize import Accounting, DeferredResizes
from reprieve.preemption.units import pods_alone, pods_and_groups
from reprieve.runtime.journal import Headless, Journal, Journaled, JournalError, Replayed, replay
from reprieve.runtime.loop import Loop, ignore
from reprieve.runtime.observers import Machine, ObservedScheduler, Onlooker
from reprieve.runtime.performer import Limits
from reprieve.runtime.telemetry import Telemetry
from reprieve.scheduler.core import Scheduler
from reprieve.scheduler.decision import Decision
from reprieve.scheduler.demands import GroupRules
from reprieve.scheduler.queue import Backoff
from reprieve.scheduler.settings import Settings

if TYPE_CHECKING:
    from reprieve.cluster.kube.cluster import KubeCluster  # HTTP, as below

DEFAULT_GATES = config.Gates()
EVERYTHING = config.Gates(**dict.fromkeys(config.Gates.__struct_fields__, True))

# --- a scheduler, and a cluster for it -----------------------------------------------------------


def settings_of(configured: config.Configuration, gates: config.Gates = DEFAULT_GATES) -> Settings:
    """What a configuration means for the scheduler; raises InvalidConfigurationError if it cannot be had."""
    _refuse_what_is_not_there(configured.profiles)
    settings, args = configured.settings, configured.profiles[0].args.reprieve
    # Profiles agree about whatever is taken from the first: the configuration was checked for that.
    together = gates.gang_scheduling and configured.profiles[0].gang_scheduling
    return Settings(
        profiles={profile.scheduler_name: profile_of(profile) for profile in configured.profiles},
        backoff=Backoff(settings.pod_initial_backoff_seconds, settings.pod_max_backoff_seconds),
        volume_seconds=configured.profiles[0].args.volume_binding.bind_timeout_seconds,
        policies={p.scheduler_name: policy_of(p, gates) for p in configured.profiles if p.preemption},
        groups=together,
        whole_gangs=args.gang_preemption is GangPreemption.ALL,
        gangs_preempt=gates.workload_aware_preemption,
        group_rules=GroupRules(
            divergence_allowed=args.divergence is Divergence.REPORT,
            own_policy=gates.pod_group_preemption_policy,
            trees=gates.composite_pod_group,
            priorities=gates.workload_aware_preemption,
        ),
        topology=gates.topology_aware_workload_scheduling,
        tolerations=gates.preemption_toleration,
        stuck_victim_seconds=args.stuck_victim_seconds,
        unseen=_unseen(gates, together=together),
    )


def limits_of(gates: config.Gates, rate: float = inf) -> Limits:
    """How effects are carried out, of which so many may be sent in a second."""
    limits = Limits(decide_meanwhile=gates.scheduler_async_preemption)
    if not 0 < rate < inf:
        return limits
    # As many as are sent in two seconds: further ones would only wait for their turn, and hang.
    return replace(limits, at_once=min(limits.at_once, max(1, int(2 * rate))))


def pace_of(configured: config.Configuration) -> tuple[float, int]:
    """Requests in a second, and at once. 0 is as good as not written, as for kube-scheduler."""
    wanted, usual = configured.settings.client_connection, config.ClientConnection()
    return wanted.qps or usual.qps, wanted.burst or usual.burst


@asynccontextmanager
async def cluster_in_process(
    configured: config.Configuration,
    clock: Callable[[], float],
    record: Callable[[Decision], None] = ignore,
    telemetry: Telemetry | None = None,
) -> AsyncIterator[MiniCluster]:
    """A cluster that lives in this process, and is scheduled, for as long as the context is open.

    It is for trying things: every feature is on.
    """
    cluster, scheduler = MiniCluster(clock), Scheduler(settings_of(configured, EVERYTHING))
    loop = Loop(watched(scheduler, clock, telemetry), cluster, clock, record, limits_of(EVERYTHING))
    cluster.start()
    try:
        async with loop.running():
            yield cluster
    finally:
        await cluster.stop()


def watched(
    scheduler: Scheduler,
    clock: Callable[[], float],
    telemetry: Telemetry | None = None,
    journal: Journal | None = None,
    others: Sequence[Onlooker] = (),
) -> Machine:
    """The scheduler, and whoever learns from it."""
    machine: Machine = scheduler if journal is None else Journaled(scheduler, journal)
    if telemetry is not None:
        telemetry.asks(scheduler.pending, scheduler.known)
        others = (telemetry, *others)
    return ObservedScheduler(machine, clock, others) if others else machine


@asynccontextmanager
async def reached(
    configured: config.Configuration,
    access: Access,
    clock: Callable[[], float],
    may_write_for: Callable[[], float] = lambda: inf,
) -> AsyncIterator["KubeCluster"]:
    """The cluster behind an API server, for as long as the context is open.

    ``may_write_for``: for how many seconds something may be written from now on.
    """
    from reprieve.cluster.kube import client, cluster  # HTTP, which most who come here do not need

    rate, burst = pace_of(configured)
    limits = client.ClientLimits(rate=rate, burst=burst)
    async with cluster.kube_cluster(access, clock, limits, may_write_for) as there:
        yield there


def scheduled(
    there: "KubeCluster",
    configured: config.Configuration,
    clock: Callable[[], float],
    gates: config.Gates = DEFAULT_GATES,
    watch: Callable[[Scheduler], Machine] = lambda scheduler: scheduler,
) -> AbstractAsyncContextManager[None]:
    """Schedules a cluster for as long as the context is open. ``watch``: adds onlookers."""
    machine, (rate, _) = watch(Scheduler(settings_of(configured, gates))), pace_of(configured)
    return Loop(machine, there, clock, limits=limits_of(gates, rate)).running()


@asynccontextmanager
async def scheduling(
    configured: config.Configuration,
    access: Access,
    clock: Callable[[], float],
    gates: config.Gates = DEFAULT_GATES,
    watch: Callable[[Scheduler], Machine] = lambda scheduler: scheduler,
) -> AsyncIterator[None]:
    """Both: the cluster behind an API server, scheduled by nobody else."""
    async with reached(configured, access, clock) as there, scheduled(there, configured, clock, gates, watch):
        yield


def submit(cluster: MiniCluster, objects: Iterable[Json]) -> None:
    """Creates objects as a client would: priority classes are resolved, and mistakes are refused."""
    for body in objects:
        resource = BY_NAME[body["kind"]].resource
        cluster.apply([admitted(cluster.store, resource, body, cluster.features)])


def change(cluster: MiniCluster, kind: str, name: tuple[str, str], patch: Json) -> None:
    """Changes an object as kubectl patch does."""
    from reprieve.cluster.mini.rest.patches.strategic import merge_strategically  # as above

    known = BY_NAME[kind]
    key = Key(known.resource, *name)
    cluster.store.patch(key, lambda body: merge_strategically(known, body, patch), Part.MAIN)


# --- what was written down -----------------------------------------------------------------------

JOURNAL = "journal"  # below the directory in which a cluster is kept


@contextmanager
def journal_in(
    directory: Path | None,
    configured: config.Configuration,
    gates: config.Gates,
    complain: Callable[[str], None],
) -> Iterator[Journal | None]:
    """A journal for as long as the context is open; none without a directory."""
    if directory is None:
        yield None
        return
    head = {"configuration": msgspec.to_builtins(configured), "gates": msgspec.to_builtins(gates)}
    with closing(Journal(directory, head, complain)) as journal:
        yield journal


def replayed(directory: Path) -> Iterator[Replayed | Headless]:
    """Repeats every run of a journal, each as it was configured; raises JournalError."""
    return replay(directory, _scheduler_of)


def _scheduler_of(head: Json) -> Scheduler:
    try:
        configured = msgspec.convert(head.get("configuration"), config.Configuration)
        gates = msgspec.convert(head.get("gates"), config.Gates)
    except msgspec.ValidationError as error:
        raise JournalError(f"the configuration of a run cannot be read: {error}") from error
    return Scheduler(settings_of(configured, gates))


# --- a cluster on this machine -------------------------------------------------------------------

# In these words commands say what they want.
Cluster = MiniCluster
LocalCluster = setup.LocalCluster
SHAPES = setup.SHAPES
User = users.User
DiskError = disk.DiskError
SnapshotError = restoring.SnapshotError
Running = registry.Entry
RegistryError = registry.RegistryError
clusters_that_are_up = registry.entries
ask_to_stop = registry.ask_to_stop


@dataclass(frozen=True, slots=True)
class Up:
    """A cluster that has just begun; and, by kind, what of a snapshot it could not begin with."""

    address: str
    nodes: int
    left_out: Mapping[str, int]


@asynccontextmanager
async def cluster_up(
    wanted: LocalCluster, complain: Callable[[str], None], *, scheduled: bool
) -> AsyncIterator[Up]:
    """A cluster that kubectl can reach, for as long as the context is open.

    It is for trying things: every feature is on. Where there is no other scheduler, ours also takes the pods
    that name none. If the cluster is kept, so is the journal; ``complain`` is told when that ends.
    """
    from reprieve.cluster.mini.local import served  # a web server, which most who come here do not need

    profiles = [{"schedulerName": name} for name in ("reprieve", "default-scheduler")]
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    configured = config.parse_configuration({**head, "profiles": profiles})
    scheduler = Scheduler(settings_of(configured, EVERYTHING))
    async with served(wanted) as there, AsyncExitStack() as more:
        cluster = there.cluster
        more.enter_context(_entered(wanted, there.address))
        if scheduled:
            kept = wanted.data_dir / JOURNAL if wanted.data_dir is not None else None
            journal = more.enter_context(journal_in(kept, configured, EVERYTHING, complain))
            machine = watched(scheduler, cluster.clock, journal=journal)
            loop = Loop(machine, cluster, cluster.clock, limits=limits_of(EVERYTHING))
            await more.enter_async_context(loop.running())
        yield Up(there.address, len(cluster.store.list(("nodes",)).items), there.left_out)


def _entered(wanted: LocalCluster, address: str) -> AbstractContextManager[None]:
    where = str(wanted.data_dir.resolve()) if wanted.data_dir is not None else ""
    return registry.entered(registry.Entry(os.getpid(), address, str(wanted.kubeconfig), where, time.time()))


# --- who gives way -------------------------------------------------------------------------------


def policy_of(configured: config.KubeSchedulerProfile, gates: config.Gates = DEFAULT_GATES) -> Policy:
    """What a configured profile means for preemption."""
    args = configured.args.reprieve
    as_upstream = args.policy is Preset.UPSTREAM
    resizes = gates.in_place_pod_vertical_scaling_scheduler_preemption
    by_group = gates.workload_aware_preemption and configured.gang_scheduling
    return Policy(
        units=partial(pods_and_groups, members_rank_as_groups=as_upstream) if by_group else pods_alone,
        rules=RULES if gates.preemption_toleration else TIMELESS,
        search=Search(args.search),
        stocks=stocks_as_upstream if args.budget_selectors is BudgetSelectors.UPSTREAM else stocks,
        budgets=BudgetCounting(args.budgets),
        breaks_no_budget=args.respect_budgets is RespectBudgets.ALWAYS,
        in_place=DeferredResizes(Accounting(args.resize_accounting)) if resizes else None,
    )


def _unseen(gates: config.Gates, *, together: bool) -> frozenset[type]:
    """Groups that are not looked at say nothing: their pods speak for themselves."""
    if not together:
        return frozenset({PodGroup, CompositePodGroup})
    return frozenset() if gates.composite_pod_group else frozenset({CompositePodGroup})


# Keys that have a place in the configuration, and what may be written there until they have a meaning.
_NOT_YET = {
    "placementsTried": "expected 1: one placement of a group is tried for each set of victims",
    "disturbance": "expected nothing: it is for search: LeastDisturbance, which is not available yet",
    "planningEffort": "expected 10000: no decision is cut short yet",
    "preemptionPriorityClasses": "expected nothing: nobody can set one apart yet",
}


def _refuse_what_is_not_there(profiles: Sequence[config.KubeSchedulerProfile]) -> None:
    """What is written and would change nothing is a mistake that nobody notices, so it is told."""
    defaults, errors = config_args.ReprieveArgs(), []
    for i, profile in enumerate(profiles):
        args = profile.args.reprieve
        wrong = {
            field.encode_name: _NOT_YET[field.encode_name]
            for field in msgspec.structs.fields(args)
            if field.encode_name in _NOT_YET and getattr(args, field.name) != getattr(defaults, field.name)
        }
        if args.search is config_args.SearchAlgorithm.LEAST_DISTURBANCE:
            wrong["search"] = "LeastDisturbance is not available yet: expected PriorityCeiling or Upstream"
        where = f"profiles[{i}]: {{}} in the arguments of Reprieve"
        errors += [config.ConfigError(path=where.format(key), message=text) for key, text in wrong.items()]
    if errors:
        raise config.InvalidConfigurationError(errors)


# --- profiles ------------------------------------------------------------------------------------


def profile_of(configured: config.KubeSchedulerProfile) -> Profile:
    """What a configured profile means for placement."""
    args = configured.args
    fit, neighbours, spread = args.node_resources_fit, args.inter_pod_affinity, args.pod_topology_spread
    added, added_preferred = _added_affinity(args.node_affinity.added_affinity or NodeAffinity())
    weights = configured.score_weights
    return Profile(
        waived=frozenset(plugin for plugin, _ in BY_PLUGIN if plugin not in configured.filters),
        weights=tuple((p, weights[p]) for p in Preference if p in weights),
        strategy=Strategy(fit.scoring_strategy.type),
        strategy_resources=_resource_weights(fit.scoring_strategy.resources),
        strategy_shape=_strategy_shape(fit.scoring_strategy),
        balanced_resources=_resource_weights(args.node_resources_balanced_allocation.resources),
        ignored_resources=frozenset(fit.ignored_resources),
        ignored_resource_groups=frozenset(fit.ignored_resource_groups),
        added_node_affinity=added,
        added_preferred_nodes=added_preferred,
        hard_pod_affinity_weight=neighbours.hard_pod_affinity_weight,
        ignore_preferences_of_existing_pods=neighbours.ignore_preferred_terms_of_existing_pods,
        default_spread=_default_spread(spread),
        system_default_spread=spread.defaulting_type is DefaultingType.SYSTEM,
    )


def _resource_weights(resources: Iterable[ResourceSpec]) -> tuple[ResourceWeight, ...]:
    return tuple(ResourceWeight(r.name, r.weight) for r in resources)


def _strategy_shape(strategy: ScoringStrategy) -> tuple[ShapePoint, ...]:
    ratio = strategy.requested_to_capacity_ratio
    return tuple(ShapePoint(p.utilization, p.score) for p in ratio.shape) if ratio is not None else ()


def _added_affinity(affinity: NodeAffinity) -> tuple[NodeQuery, tuple[WeightedNodeTerm, ...]]:
    """Configuration was checked when it was read: there is nothing left to find wrong here."""
    unused = Problems(Ref(kind="NodeAffinityArgs", namespace="", name=""))
    required = affinity.required_during_scheduling_ignored_during_execution
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    query = NodeQuery(terms=compile_node_selector(required, "addedAffinity", unused))
    return query, compile_preferred_nodes(preferred, "addedAffinity", unused)


def _default_spread(args: PodTopologySpreadArgs) -> tuple[DefaultSpread, ...]:
    if args.defaulting_type is DefaultingType.SYSTEM:
        return SYSTEM_SPREAD
    return tuple(map(_spread_constraint, args.default_constraints))


def _spread_constraint(constraint: TopologySpreadConstraint) -> DefaultSpread:
    return DefaultSpread(
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        required=constraint.when_unsatisfiable == "DoNotSchedule",
        min_domains=constraint.min_domains or 1,
        honors_affinity=constraint.node_affinity_policy == "Honor",
        honors_taints=constraint.node_taints_policy == "Honor",
    )
