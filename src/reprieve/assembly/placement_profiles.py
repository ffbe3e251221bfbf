"""What does a configured profile mean for placement?

It reads no feature gate and must not know any cluster.
"""

from collections.abc import Iterable

from reprieve import config
from reprieve.config.keys.plugin_args import (
    DefaultingType,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
)
from reprieve.model.objects import NodeAffinity, Ref, TopologySpreadConstraint
from reprieve.model.pod_compilation import compile_preferred_nodes
from reprieve.model.resources import Problems
from reprieve.model.selectors import NodeQuery, compile_node_selector
from reprieve.model.shape import WeightedNodeTerm
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
