"""The keys of Reprieve under `pluginConfig`: name, type and default of each, the choices, and the presets.

For users they are described in `docs/reference/configuration.md`; a test compares the two. The code behind a
choice is not known here.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec

from reprieve.config.decoding import (
    ConfigError,
    NonEmpty,
    NonNegative,
    Positive,
    Seconds,
    newly_wrong,
    read,
    shown,
)
from reprieve.config.keys.criteria import DISTURBANCE, UPSTREAM_DISTURBANCE, CriterionName, disturbance_errors
from reprieve.config.keys.former_args import without_former
from reprieve.model.objects import Record
from reprieve.model.objects.meta import Int32

API_VERSION = "reprieve.dev/v1alpha1"


class Preset(StrEnum):
    """The defaults of the other arguments."""

    REPRIEVE = "Reprieve"
    UPSTREAM = "Upstream"


class SearchAlgorithm(StrEnum):
    """How victims are found."""

    PRIORITY_CEILING = "PriorityCeiling"
    UPSTREAM = "Upstream"
    LEAST_DISTURBANCE = "LeastDisturbance"


class Budgets(StrEnum):
    """How evictions are counted against disruption budgets."""

    JOINT = "Joint"
    UPSTREAM = "Upstream"


class RespectBudgets(StrEnum):
    """Whether a plan may break a disruption budget when nothing else helps."""

    BEST_EFFORT = "BestEffort"
    ALWAYS = "Always"


class GangPreemption(StrEnum):
    """For how many members of a gang it preempts."""

    MIN_COUNT = "MinCount"
    ALL = "All"


class ResizeAccounting(StrEnum):
    """How to compute whether a resize fits: as the kubelet does, or as kube-scheduler does."""

    KUBELET = "Kubelet"
    UPSTREAM = "Upstream"


class Divergence(StrEnum):
    """What happens to pods whose priority differs from their group's."""

    REJECT = "Reject"
    REPORT = "Report"


class BudgetSelectors(StrEnum):
    """What an empty selector of a PodDisruptionBudget selects: every pod, or (upstream) none."""

    POLICY_V1 = "PolicyV1"
    UPSTREAM = "Upstream"


DEFAULT_SEARCH = SearchAlgorithm.LEAST_DISTURBANCE


class EvictionLimitArgs(Record, frozen=True):
    """How often a workload may be evicted within a window, before lower priorities must let it run."""

    evictions: Positive
    window: Seconds
    below_priority: Int32


class PreemptionPriorityClass(Record, frozen=True):
    """A priority class that groups may name for their role as victims, and in which namespaces."""

    priority_class: NonEmpty = msgspec.field(name="class")
    namespaces: tuple[NonEmpty, ...]


class ReprieveArgs(Record, frozen=True):
    """The keys; those whose type is an enum are described there."""

    policy: Preset = Preset.REPRIEVE
    search: SearchAlgorithm = DEFAULT_SEARCH
    budgets: Budgets = Budgets.JOINT
    respect_budgets: RespectBudgets = RespectBudgets.BEST_EFFORT
    gang_preemption: GangPreemption = GangPreemption.MIN_COUNT
    resize_accounting: ResizeAccounting = ResizeAccounting.KUBELET
    group_resize_window: Seconds = Seconds(1)  # in which members of a gang that grow wait for each other
    divergence: Divergence = Divergence.REJECT
    disturbance: tuple[CriterionName, ...] = DISTURBANCE  # by what plans are compared, the first one first
    placements_tried: Positive = 2  # of a group, that PriorityCeiling compares
    lost_work_cap: Seconds = Seconds(3600)  # how much time since a checkpoint counts as lost at most
    planning_effort: NonNegative = (
        10_000  # placements of one pod that the searches of a decision may evaluate
    )
    planning_patience: Seconds = Seconds(1)  # how long a plan may be improved before its evictions begin
    stuck_victim_seconds: Positive = 300  # after which a victim that does not leave is not counted on
    eviction_limit: EvictionLimitArgs | None = None  # how often a workload may be evicted
    preemption_priority_classes: tuple[PreemptionPriorityClass, ...] = ()  # that a group may name as a victim

    @property
    def budget_selectors(self) -> BudgetSelectors:
        upstream = self.policy is Preset.UPSTREAM
        return BudgetSelectors.UPSTREAM if upstream else BudgetSelectors.POLICY_V1


UPSTREAM = ReprieveArgs(
    policy=Preset.UPSTREAM,
    search=SearchAlgorithm.UPSTREAM,
    budgets=Budgets.UPSTREAM,
    gang_preemption=GangPreemption.ALL,
    resize_accounting=ResizeAccounting.UPSTREAM,
    group_resize_window=Seconds(0),
    divergence=Divergence.REJECT,
    disturbance=UPSTREAM_DISTURBANCE,
    placements_tried=1,
    planning_effort=0,
)


def read_reprieve_args(
    document: Mapping[str, object], path: str, errors: list[ConfigError], warnings: list[ConfigError]
) -> ReprieveArgs | None:
    """Arguments in the document win over the preset, and the preset over the defaults."""
    present = {key: value for key, value in document.items() if value is not None}
    given = without_former(present, path, errors, warnings)
    is_upstream = given.get("policy") == Preset.UPSTREAM
    wrong = [*disturbance_errors(given.get("disturbance"), f"{path}.disturbance", is_upstream=is_upstream)]
    errors.extend(wrong)
    preset = msgspec.to_builtins(UPSTREAM, enc_hook=_written) if is_upstream else {}
    sound = {key: value for key, value in given.items() if key != "disturbance" or not wrong}
    args = read(ReprieveArgs, {**preset, **sound}, path, errors)
    if args is not None:
        found = [*_contradictions(args, path), *_empty_window(args, path), *_class_errors(args, path)]
        errors.extend(newly_wrong(found, errors))
    return args


def _written(seconds: Seconds) -> str:
    """As a document has it; the only type that msgspec does not know."""
    return f"{seconds:g}s"


def _empty_window(args: ReprieveArgs, path: str) -> Iterator[ConfigError]:
    if args.eviction_limit is not None and args.eviction_limit.window <= 0:
        message = "expected more than 0s: no eviction is within an empty window"
        yield ConfigError(path=f"{path}.evictionLimit.window", message=message)


def _class_errors(args: ReprieveArgs, path: str) -> Iterator[ConfigError]:
    """An entry without namespaces permits nothing, and of two entries for a class one would be overlooked."""
    known: set[str] = set()
    for i, entry in enumerate(args.preemption_priority_classes):
        where = f"{path}.preemptionPriorityClasses[{i}]"
        if entry.priority_class in known:
            message = f"{shown(entry.priority_class)} is listed twice: give one entry all its namespaces"
            yield ConfigError(path=f"{where}.class", message=message)
        if not entry.namespaces:
            message = 'expected at least one namespace, or "*" for all of them'
            yield ConfigError(path=f"{where}.namespaces", message=message)
        known.add(entry.priority_class)


# --- keys that do not go together ----------------------------------------------------------------


def _contradictions(args: ReprieveArgs, path: str) -> Iterator[ConfigError]:
    is_least = args.search is SearchAlgorithm.LEAST_DISTURBANCE
    if is_least and args.budgets is not Budgets.JOINT:
        message = (
            "search: LeastDisturbance counts the evictions of a plan together: "
            "write budgets: Joint, or search: PriorityCeiling"
        )
        yield ConfigError(path=f"{path}.budgets", message=message)
    # A key without an effect accepts its default only: otherwise the user would not notice.
    usual = ReprieveArgs()
    if args.search is SearchAlgorithm.UPSTREAM and args.placements_tried > usual.placements_tried:
        message = "has no effect if search is Upstream: one placement of a group is tried"
        yield ConfigError(path=f"{path}.placementsTried", message=message)
    if not is_least and args.planning_patience != usual.planning_patience:
        message = "has no effect unless search is LeastDisturbance"
        yield ConfigError(path=f"{path}.planningPatience", message=message)
