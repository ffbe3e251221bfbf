"""The keys of kube-scheduler 1.37's plugins under `pluginConfig`, and the rules between them.

For users they are described in `docs/reference/configuration.md`; a test compares the two. What a plugin
does with its arguments is for `placement` to know.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

import msgspec

from reprieve.config.decoding import NonEmpty, NonNegative, Percentage, value_text
from reprieve.model.objects import NodeAffinity, Record, Ref, TopologySpreadConstraint
from reprieve.model.resources import Problems
from reprieve.model.selectors import compile_node_selector, compile_node_term
from reprieve.placement.profile import Strategy

API_VERSION = "kubescheduler.config.k8s.io/v1"

ResourceWeight = Annotated[int, msgspec.Meta(ge=1, le=100)]
ShapeScore = Annotated[int, msgspec.Meta(ge=0, le=10)]


class DefaultingType(StrEnum):
    SYSTEM = "System"
    LIST = "List"


class PluginArgs(Record, frozen=True):
    """The arguments of one plugin; a subclass checks the rules between its fields."""

    def errors(self) -> Iterator[tuple[str, str]]:
        """Errors that no single field shows: a relative path, and a sentence."""
        return iter(())


class ResourceSpec(Record, frozen=True):
    name: NonEmpty
    weight: ResourceWeight = 1


CPU_AND_MEMORY = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


class UtilizationShapePoint(Record, frozen=True):
    utilization: Percentage
    score: ShapeScore


class RequestedToCapacityRatio(Record, frozen=True):
    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(Record, frozen=True):
    type: Strategy = Strategy.LEAST_ALLOCATED
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None


class NodeResourcesFitArgs(PluginArgs, frozen=True):
    ignored_resources: tuple[NonEmpty, ...] = ()
    ignored_resource_groups: tuple[NonEmpty, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()

    def errors(self) -> Iterator[tuple[str, str]]:
        for i, group in enumerate(self.ignored_resource_groups):
            if "/" in group:
                yield f"ignoredResourceGroups[{i}]", f'expected no "/", got {value_text(group)}'
        yield from _under("scoringStrategy", _strategy_errors(self.scoring_strategy))


class NodeResourcesBalancedAllocationArgs(PluginArgs, frozen=True):
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY

    def errors(self) -> Iterator[tuple[str, str]]:
        yield from _no_resources(self.resources)
        names = [resource.name for resource in self.resources]
        for i, resource in enumerate(self.resources):
            if resource.name in names[:i]:
                yield f"resources[{i}].name", f"{resource.name} is listed twice"
            if resource.weight != 1:
                yield f"resources[{i}].weight", f"expected 1, got {resource.weight}"


class InterPodAffinityArgs(PluginArgs, frozen=True):
    hard_pod_affinity_weight: Percentage = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class PodTopologySpreadArgs(PluginArgs, frozen=True):
    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: DefaultingType = DefaultingType.SYSTEM

    def errors(self) -> Iterator[tuple[str, str]]:
        if self.default_constraints and self.defaulting_type is DefaultingType.SYSTEM:
            yield "defaultingType", "expected List, because defaultConstraints are given"
        seen: set[tuple[str, str]] = set()
        for i, constraint in enumerate(self.default_constraints):
            yield from _under(f"defaultConstraints[{i}]", _constraint_errors(constraint))
            pair = (constraint.topology_key, constraint.when_unsatisfiable)
            if pair in seen:
                yield f"defaultConstraints[{i}]", f"{' '.join(pair)} is listed twice"
            seen.add(pair)


class NodeAffinityArgs(PluginArgs, frozen=True):
    added_affinity: NodeAffinity | None = None

    def errors(self) -> Iterator[tuple[str, str]]:
        if self.added_affinity is not None:
            yield from _under("addedAffinity", _affinity_errors(self.added_affinity))


class DefaultPreemptionArgs(PluginArgs, frozen=True):
    min_candidate_nodes_percentage: Percentage = 10
    min_candidate_nodes_absolute: NonNegative = 100

    def errors(self) -> Iterator[tuple[str, str]]:
        if not self.min_candidate_nodes_percentage and not self.min_candidate_nodes_absolute:
            yield (
                "minCandidateNodesPercentage",
                "expected more than 0, because minCandidateNodesAbsolute is 0",
            )


class VolumeBindingArgs(PluginArgs, frozen=True):
    bind_timeout_seconds: NonNegative = 600
    shape: tuple[UtilizationShapePoint, ...] = ()

    def errors(self) -> Iterator[tuple[str, str]]:
        if self.shape:
            yield "shape", "Reprieve does not score storage capacity: remove it"


def _under(base: str, found: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for path, message in found:
        yield f"{base}.{path}", message


def _no_resources(resources: tuple[ResourceSpec, ...]) -> Iterator[tuple[str, str]]:
    if not resources:
        yield "resources", "expected at least one resource"


def _strategy_errors(strategy: ScoringStrategy) -> Iterator[tuple[str, str]]:
    yield from _no_resources(strategy.resources)
    ratio = strategy.requested_to_capacity_ratio
    wants_ratio = strategy.type is Strategy.REQUESTED_TO_CAPACITY_RATIO
    if wants_ratio and (ratio is None or not ratio.shape):
        yield (
            "requestedToCapacityRatio.shape",
            f"expected at least one point, because type is {strategy.type}",
        )
    elif ratio is not None and not wants_ratio:
        yield "requestedToCapacityRatio", f"expected nothing, because type is {strategy.type}"
    elif ratio is not None:
        yield from _under("requestedToCapacityRatio", _shape_errors(ratio.shape))


def _shape_errors(shape: tuple[UtilizationShapePoint, ...]) -> Iterator[tuple[str, str]]:
    for i in range(1, len(shape)):
        last, this = shape[i - 1].utilization, shape[i].utilization
        if this <= last:
            yield f"shape[{i}].utilization", f"expected more than the {last} before it, got {this}"


def _constraint_errors(constraint: TopologySpreadConstraint) -> Iterator[tuple[str, str]]:
    if constraint.max_skew < 1:
        yield "maxSkew", f"expected a whole number of at least 1, got {constraint.max_skew}"
    if not constraint.topology_key:
        yield "topologyKey", "required: expected a non-empty string"
    if constraint.when_unsatisfiable not in ("DoNotSchedule", "ScheduleAnyway"):
        got = value_text(constraint.when_unsatisfiable)
        yield "whenUnsatisfiable", f"expected one of DoNotSchedule, ScheduleAnyway, got {got}"
    if constraint.label_selector is not None:
        yield "labelSelector", "expected nothing: it is derived for each pod"


def _affinity_errors(affinity: NodeAffinity) -> Iterator[tuple[str, str]]:
    problems = Problems(Ref(kind="NodeAffinityArgs", namespace="", name=""))
    required = affinity.required_during_scheduling_ignored_during_execution
    base = "requiredDuringSchedulingIgnoredDuringExecution"
    compile_node_selector(required, base, problems)
    if required is not None and not required.node_selector_terms:
        problems.add(f"{base}.nodeSelectorTerms", "expected at least one term")
    for i, preferred in enumerate(affinity.preferred_during_scheduling_ignored_during_execution):
        base = f"preferredDuringSchedulingIgnoredDuringExecution[{i}]"
        compile_node_term(preferred.preference, f"{base}.preference", problems)
        if not 1 <= preferred.weight <= 100:
            problems.add(f"{base}.weight", f"expected 1 to 100, got {preferred.weight}")
    yield from ((problem.path, problem.expected) for problem in problems.all())
