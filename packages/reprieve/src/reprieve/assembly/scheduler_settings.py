"""What do a configuration and its feature gates mean for the scheduler and for placement?

The one place that knows both the keys of a configuration and what they mean.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import inf

from reprieve import config
from reprieve.config.plugin_args import (
    DefaultingType,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
)
from reprieve.config.reprieve_args import (
    Divergence,
    GangPreemption,
    Preset,
    ReprieveArgs,
    RespectBudgets,
)
from reprieve.model.groups import Groups
from reprieve.model.objects import (
    CompositePodGroup,
    NodeAffinity,
    Pod,
    PodGroup,
    Ref,
    TopologySpreadConstraint,
)
from reprieve.model.pod_compilation import compile_preferred_nodes
from reprieve.model.resources import Problems
from reprieve.model.selectors import NodeQuery, compile_node_selector
from reprieve.model.shape import WeightedNodeTerm
from reprieve.model.snapshot import Snapshot
from reprieve.placement.constraints import BY_PLUGIN
from reprieve.placement.profile import (
    SYSTEM_SPREAD,
    DefaultSpread,
    Preference,
    Profile,
    ResourceWeight,
    ShapePoint,
)
from reprieve.preemption.budgets import accounts, accounts_as_upstream
from reprieve.preemption.criteria import CRITERIA
from reprieve.preemption.eligibility import TIMELESS, Rule
from reprieve.preemption.eviction_limit import EvictionLimit, WithinLimit
from reprieve.preemption.policy import RULES, Policy
from reprieve.preemption.preemption_priority import PermittedClasses
from reprieve.preemption.resize import Accounting, DeferredResizes
from reprieve.preemption.searches import SEARCHES
from reprieve.preemption.units import GroupUnits, Units, pods_alone
from reprieve.runtime.performer import PerformerLimits
from reprieve.scheduler.demand_key import DemandKey, by_itself, with_its_group, with_its_tree
from reprieve.scheduler.demands.gang_strategy import ALL_MEMBERS, MIN_COUNT, POD_BY_POD, GangStrategy
from reprieve.scheduler.demands.group_rules import (
    CONSISTENT,
    GroupRules,
    divergence,
    no_divergence,
    no_policy,
    no_topology,
    one_priority,
    policy_of_group,
    priority_of_group,
    priority_of_pods,
    topology_of_group,
)
from reprieve.scheduler.plans import toleration_rules
from reprieve.scheduler.plans.toleration_rules import HONOURED, IGNORED, TolerationRules
from reprieve.scheduler.settings import Settings
from reprieve.supervision.backoff import Backoff

DEFAULT_GATES = config.Gates()
EVERYTHING = config.Gates(**dict.fromkeys(config.Gates.__struct_fields__, True))


def settings_of(configured: config.Configuration, gates: config.Gates = DEFAULT_GATES) -> Settings:
    """What a configuration means for the scheduler."""
    settings, args = configured.settings, configured.profiles[0].args.reprieve
    # Profiles agree about what is read from the first one: parsing the configuration checks it.
    together = gates.gang_scheduling and configured.profiles[0].gang_scheduling
    return Settings(
        profiles={profile.scheduler_name: profile_of(profile) for profile in configured.profiles},
        backoff=Backoff(settings.pod_initial_backoff_seconds, settings.pod_max_backoff_seconds),
        volume_seconds=configured.profiles[0].args.volume_binding.bind_timeout_seconds,
        policies={p.scheduler_name: policy_of_profile(p, gates) for p in configured.profiles if p.preemption},
        demand_of_pod=_demand_of_pod(gates, together=together),
        gangs=gang_strategy_of(args, gates),
        group_rules=group_rules_of(args, gates),
        tolerations=_tolerations_of(args, gates),
        longest_grace=args.longest_grace,
        stuck_victim_seconds=args.stuck_victim_seconds,
        resize_window=args.group_resize_window or None,
        unseen=_unseen(gates, together=together),
    )


def _demand_of_pod(gates: config.Gates, *, together: bool) -> Callable[[Pod, Groups], DemandKey]:
    if not together:
        return by_itself
    return with_its_tree if gates.composite_pod_group else with_its_group


def limits_of(gates: config.Gates, rate: float = inf) -> PerformerLimits:
    """The limits of the performer, for a client that sends at most ``rate`` requests per second."""
    limits = PerformerLimits(decide_meanwhile=gates.scheduler_async_preemption)
    if not 0 < rate < inf:
        return limits
    # As many as can be sent in two seconds: more would only wait for their turn, and time out.
    # Reports may have to do with a tenth of the rate.
    return replace(
        limits,
        at_once=min(limits.at_once, max(1, int(2 * rate))),
        reports_at_once=min(limits.reports_at_once, max(1, int(rate / 4))),
    )


def pace_of(configured: config.Configuration) -> tuple[float, int]:
    """Requests per second, and the burst. 0 means the default, as for kube-scheduler."""
    wanted, usual = configured.settings.client_connection, config.ClientConnection()
    return wanted.qps or usual.qps, wanted.burst or usual.burst


def policy_of_profile(configured: config.KubeSchedulerProfile, gates: config.Gates = DEFAULT_GATES) -> Policy:
    """What a configured profile means for preemption."""
    args = configured.args.reprieve
    resizes = gates.in_place_pod_vertical_scaling_scheduler_preemption
    by_group = gates.workload_aware_preemption and configured.gang_scheduling
    search, is_upstream = SEARCHES[args.search], args.policy is Preset.UPSTREAM
    return Policy(
        search=search,
        units=_units_of(args) if by_group else pods_alone,
        rules=_rules_of(args, gates),
        accounts=accounts_as_upstream if is_upstream else accounts,
        budgets=args.budgets,
        breaks_no_budget=args.respect_budgets is RespectBudgets.ALWAYS,
        disturbance=tuple(CRITERIA[name] for name in args.disturbance),
        placements_tried=1 if is_upstream else 2,
        lost_work_cap=args.lost_work_cap,
        # A plain float: it is sent to the solver process, and ``Seconds`` cannot be encoded.
        patience=float(args.planning_patience) if search.may_be_improved else None,
        resizes=_resizes_of(args) if resizes else None,
    )


def _units_of(args: ReprieveArgs) -> Callable[[Snapshot], Units]:
    named = {entry.priority_class: entry.namespaces for entry in args.preemption_priority_classes}
    return GroupUnits(
        as_upstream=args.policy is Preset.UPSTREAM,
        permitted=PermittedClasses({name: frozenset(spaces) for name, spaces in named.items()}),
    )


def _resizes_of(args: ReprieveArgs) -> DeferredResizes:
    is_upstream = args.policy is Preset.UPSTREAM
    accounting = Accounting.UPSTREAM if is_upstream else Accounting.KUBELET
    return DeferredResizes(accounting, spares_gangs=not is_upstream)


def _rules_of(args: ReprieveArgs, gates: config.Gates) -> tuple[Rule, ...]:
    rules = RULES if gates.preemption_toleration else TIMELESS
    limit = args.eviction_limit
    if limit is None:
        return rules
    return (*rules, WithinLimit(EvictionLimit(limit.evictions, limit.window, limit.below_priority)))


def _tolerations_of(args: ReprieveArgs, gates: config.Gates) -> TolerationRules:
    if not gates.preemption_toleration:
        return IGNORED
    as_one = gates.workload_aware_preemption and args.policy is not Preset.UPSTREAM
    return HONOURED if as_one else toleration_rules.POD_BY_POD


def _unseen(gates: config.Gates, *, together: bool) -> frozenset[type]:
    """Kinds that the scheduler ignores: without gang scheduling, pods of groups are scheduled one by one."""
    if not together:
        return frozenset({PodGroup, CompositePodGroup})
    return frozenset() if gates.composite_pod_group else frozenset({CompositePodGroup})


# --- groups of pods --------------------------------------------------------------------------------


def gang_strategy_of(args: ReprieveArgs, gates: config.Gates) -> GangStrategy:
    if not gates.workload_aware_preemption:
        return POD_BY_POD
    return ALL_MEMBERS if args.gang_preemption is GangPreemption.ALL else MIN_COUNT


def group_rules_of(args: ReprieveArgs, gates: config.Gates) -> GroupRules:
    """Pods have their own priorities, which need not agree, where preemption is not workload-aware."""
    as_one = gates.workload_aware_preemption
    return GroupRules(
        priority=priority_of_group if as_one else priority_of_pods,
        preemption_policy=policy_of_group if gates.pod_group_preemption_policy else no_policy,
        topology_key=topology_of_group if gates.topology_aware_workload_scheduling else no_topology,
        checks=(*CONSISTENT, one_priority) if as_one and args.divergence is Divergence.REJECT else CONSISTENT,
        divergence=divergence if as_one else no_divergence,
    )


# --- placement -------------------------------------------------------------------------------------


def profile_of(configured: config.KubeSchedulerProfile) -> Profile:
    """What a configured profile means for placement."""
    args = configured.args
    fit, neighbours, spread = args.node_resources_fit, args.inter_pod_affinity, args.pod_topology_spread
    added, added_preferred = _added_affinity(args.node_affinity.added_affinity or NodeAffinity())
    weights = configured.score_weights
    return Profile(
        waived=frozenset(plugin for plugin, _ in BY_PLUGIN if plugin not in configured.filters),
        weights=tuple((p, weights[p]) for p in Preference if p in weights),
        strategy=fit.scoring_strategy.type,
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
        planning_effort=args.reprieve.planning_effort,
    )


def _resource_weights(resources: Iterable[ResourceSpec]) -> tuple[ResourceWeight, ...]:
    return tuple(ResourceWeight(r.name, r.weight) for r in resources)


def _strategy_shape(strategy: ScoringStrategy) -> tuple[ShapePoint, ...]:
    ratio = strategy.requested_to_capacity_ratio
    return tuple(ShapePoint(p.utilization, p.score) for p in ratio.shape) if ratio is not None else ()


def _added_affinity(affinity: NodeAffinity) -> tuple[NodeQuery, tuple[WeightedNodeTerm, ...]]:
    """Parsing the configuration has checked the affinity, so that compiling it finds no problems."""
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
