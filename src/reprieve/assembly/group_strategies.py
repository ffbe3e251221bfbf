"""Which functions do the feature gates and arguments about groups of pods stand for?

It must not know any cluster, and reads nothing but gates and arguments.
"""

from reprieve import config
from reprieve.config.keys.reprieve_args import Divergence, GangPreemption, ReprieveArgs
from reprieve.scheduler.demands.group_priority import priority_of_group, priority_of_pods
from reprieve.scheduler.demands.group_rules import (
    CONSISTENT,
    GroupRules,
    divergence,
    no_divergence,
    no_policy,
    no_topology,
    one_priority,
    policy_of_group,
    topology_of_group,
)
from reprieve.scheduler.gang_strategy import ALL_MEMBERS, MIN_COUNT, POD_BY_POD, GangStrategy


def gang_strategy_of(args: ReprieveArgs, gates: config.Gates) -> GangStrategy:
    if not gates.workload_aware_preemption:
        return POD_BY_POD
    return ALL_MEMBERS if args.gang_preemption is GangPreemption.ALL else MIN_COUNT


def group_rules_of(args: ReprieveArgs, gates: config.Gates) -> GroupRules:
    """Without workload-aware preemption pods have their own priorities, which need not agree."""
    as_one = gates.workload_aware_preemption
    return GroupRules(
        priority=priority_of_group if as_one else priority_of_pods,
        preemption_policy=policy_of_group if gates.pod_group_preemption_policy else no_policy,
        topology_key=topology_of_group if gates.topology_aware_workload_scheduling else no_topology,
        checks=(*CONSISTENT, one_priority) if as_one and args.divergence is Divergence.REJECT else CONSISTENT,
        divergence=divergence if as_one else no_divergence,
    )
