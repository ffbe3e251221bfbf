"""What do a configuration and its feature gates mean for the scheduler?

The one place that knows both the keys of a configuration and what they mean. It must not know any cluster.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf

from reprieve import config
from reprieve.assembly.group_strategies import gang_strategy_of, group_rules_of
from reprieve.assembly.placement_profiles import profile_of
from reprieve.config.keys import reprieve_args as config_args
from reprieve.config.keys.reprieve_args import BudgetSelectors, Preset, RespectBudgets
from reprieve.model.groups import Groups
from reprieve.model.objects import CompositePodGroup, Pod, PodGroup
from reprieve.model.snapshot import Snapshot
from reprieve.preemption.budgets import accounts, accounts_as_upstream
from reprieve.preemption.criteria import CRITERIA
from reprieve.preemption.eligibility import TIMELESS, Rule
from reprieve.preemption.eviction_limit import EvictionLimit
from reprieve.preemption.policy import RULES, BudgetCounting, Policy
from reprieve.preemption.preemption_priority import PermittedClasses
from reprieve.preemption.resize import Accounting, DeferredResizes
from reprieve.preemption.searches import SEARCHES
from reprieve.preemption.units import GroupUnits, Units, pods_alone
from reprieve.preemption.within_limit import WithinLimit
from reprieve.runtime.performer import PerformerLimits
from reprieve.scheduler.demand_key import DemandKey, by_itself, with_its_group, with_its_tree
from reprieve.scheduler.queue import Backoff
from reprieve.scheduler.settings import Settings
from reprieve.scheduler.toleration_rules import HONOURED, IGNORED, POD_BY_POD, TolerationRules

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
        policies={p.scheduler_name: policy_of(p, gates) for p in configured.profiles if p.preemption},
        demand_of_pod=_demand_of_pod(gates, together=together),
        gangs=gang_strategy_of(args, gates),
        group_rules=group_rules_of(args, gates),
        tolerations=_tolerations_of(args, gates),
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
    return replace(limits, at_once=min(limits.at_once, max(1, int(2 * rate))))


def pace_of(configured: config.Configuration) -> tuple[float, int]:
    """Requests per second, and the burst. 0 means the default, as for kube-scheduler."""
    wanted, usual = configured.settings.client_connection, config.ClientConnection()
    return wanted.qps or usual.qps, wanted.burst or usual.burst


def policy_of(configured: config.KubeSchedulerProfile, gates: config.Gates = DEFAULT_GATES) -> Policy:
    """What a configured profile means for preemption."""
    args = configured.args.reprieve
    resizes = gates.in_place_pod_vertical_scaling_scheduler_preemption
    by_group = gates.workload_aware_preemption and configured.gang_scheduling
    search = SEARCHES[args.search]
    return Policy(
        search=search,
        units=_units_of(args) if by_group else pods_alone,
        rules=_rules_of(args, gates),
        accounts=accounts_as_upstream if args.budget_selectors is BudgetSelectors.UPSTREAM else accounts,
        budgets=BudgetCounting(args.budgets),
        breaks_no_budget=args.respect_budgets is RespectBudgets.ALWAYS,
        disturbance=tuple(CRITERIA[name] for name in args.disturbance),
        placements_tried=args.placements_tried,
        lost_work_cap=args.lost_work_cap,
        # A plain float: it is sent to the solver process, and ``Seconds`` cannot be encoded.
        patience=float(args.planning_patience) if search.may_be_improved else None,
        resizes=_resizes_of(args) if resizes else None,
    )


def _units_of(args: config_args.ReprieveArgs) -> Callable[[Snapshot], Units]:
    named = {entry.priority_class: entry.namespaces for entry in args.preemption_priority_classes}
    return GroupUnits(
        as_upstream=args.policy is Preset.UPSTREAM,
        permitted=PermittedClasses({name: frozenset(spaces) for name, spaces in named.items()}),
    )


def _resizes_of(args: config_args.ReprieveArgs) -> DeferredResizes:
    spares_gangs = args.policy is not Preset.UPSTREAM
    return DeferredResizes(Accounting(args.resize_accounting), spares_gangs=spares_gangs)


def _rules_of(args: config_args.ReprieveArgs, gates: config.Gates) -> tuple[Rule, ...]:
    rules = RULES if gates.preemption_toleration else TIMELESS
    limit = args.eviction_limit
    if limit is None:
        return rules
    return (*rules, WithinLimit(EvictionLimit(limit.evictions, limit.window, limit.below_priority)))


def _tolerations_of(args: config_args.ReprieveArgs, gates: config.Gates) -> TolerationRules:
    if not gates.preemption_toleration:
        return IGNORED
    as_one = gates.workload_aware_preemption and args.policy is not Preset.UPSTREAM
    return HONOURED if as_one else POD_BY_POD


def _unseen(gates: config.Gates, *, together: bool) -> frozenset[type]:
    """Kinds that the scheduler ignores: without gang scheduling, pods of groups are scheduled one by one."""
    if not together:
        return frozenset({PodGroup, CompositePodGroup})
    return frozenset() if gates.composite_pod_group else frozenset({CompositePodGroup})
