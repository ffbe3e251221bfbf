"""The keys of Reprieve under `pluginConfig`: name, type and default of each, the choices, and the presets.

For users they are described in `docs/reference/configuration.md`; a test compares the two. The code behind a
choice is not known here.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from reprieve.config.decoding import (
    ConfigError,
    NonEmpty,
    NonNegative,
    Positive,
    Seconds,
    did_you_mean,
    newly_wrong,
    read,
    shown,
)
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


class LeastDisturbanceFor(StrEnum):
    """Which demands the search LeastDisturbance serves; PriorityCeiling serves the others."""

    GROUPS = "Groups"
    ALL = "All"


class Divergence(StrEnum):
    """What happens to pods whose priority differs from their group's."""

    REJECT = "Reject"
    REPORT = "Report"


class BudgetSelectors(StrEnum):
    """What an empty selector of a PodDisruptionBudget selects: every pod, or (upstream) none."""

    POLICY_V1 = "PolicyV1"
    UPSTREAM = "Upstream"


class CriterionName(StrEnum):
    """By what plans are compared."""

    BUDGETS_BROKEN = "BudgetsBroken"
    HIGHEST_PRIORITY = "HighestPriority"
    GANGS_BROKEN = "GangsBroken"
    DISRUPTION_COST = "DisruptionCost"
    PRIORITY_SUM = "PrioritySum"
    PODS = "Pods"
    DELETION_COST = "DeletionCost"
    LATEST_START = "LatestStart"
    # In ``disturbance`` only
    PODS_STOPPED = "PodsStopped"
    WORKLOADS_ENDED = "WorkloadsEnded"
    CASCADE = "Cascade"
    LOST_WORK = "LostWork"


RANKING = (
    CriterionName.BUDGETS_BROKEN,
    CriterionName.HIGHEST_PRIORITY,
    CriterionName.GANGS_BROKEN,
    CriterionName.DISRUPTION_COST,
    CriterionName.PRIORITY_SUM,
    CriterionName.PODS,
    CriterionName.DELETION_COST,
    CriterionName.LATEST_START,
)


DISTURBANCE = (
    CriterionName.BUDGETS_BROKEN,
    CriterionName.HIGHEST_PRIORITY,
    CriterionName.DISRUPTION_COST,
    CriterionName.PODS_STOPPED,
    CriterionName.WORKLOADS_ENDED,
    CriterionName.CASCADE,
    CriterionName.LOST_WORK,
)


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
    search: SearchAlgorithm = SearchAlgorithm.PRIORITY_CEILING
    budgets: Budgets = Budgets.JOINT
    respect_budgets: RespectBudgets = RespectBudgets.BEST_EFFORT
    gang_preemption: GangPreemption = GangPreemption.MIN_COUNT
    resize_accounting: ResizeAccounting = ResizeAccounting.KUBELET
    group_resize_window: Seconds = Seconds(1)  # in which members of a gang that grow wait for each other
    divergence: Divergence = Divergence.REJECT
    ranking: tuple[CriterionName, ...] = RANKING  # by what plans are compared, the most important first
    placements_tried: Positive = 2  # of a group, that PriorityCeiling compares
    disturbance: tuple[CriterionName, ...] = DISTURBANCE  # the same as ``ranking``, for LeastDisturbance
    least_disturbance_for: LeastDisturbanceFor = LeastDisturbanceFor.GROUPS
    lost_work_cap: Seconds = Seconds(3600)  # how much time since a checkpoint counts as lost at most
    planning_effort: NonNegative = (
        10_000  # placements of one pod that the searches of a decision may evaluate
    )
    planning_patience: Seconds = Seconds(6)  # how long a plan may be improved before its evictions begin
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
    placements_tried=1,
    planning_effort=0,
)


def read_reprieve_args(document: object, path: str, errors: list[ConfigError]) -> ReprieveArgs | None:
    """Arguments in the document win over the preset, and the preset over the defaults."""
    if not isinstance(document, Mapping):
        return read(ReprieveArgs, document, path, errors)
    given = {key: value for key, value in document.items() if value is not None}
    wrong = {key: found for key in _LISTS if (found := list(_list_errors(key, given, path)))}
    errors.extend(error for found in wrong.values() for error in found)
    preset = (
        msgspec.to_builtins(UPSTREAM, enc_hook=_written) if given.get("policy") == Preset.UPSTREAM else {}
    )
    sound = {key: value for key, value in given.items() if key not in wrong}
    args = read(ReprieveArgs, {**preset, **sound}, path, errors)
    if args is not None:
        found = [*_reserved(args, path), *_empty_window(args, path), *_class_errors(args, path)]
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


# --- keys without a meaning ----------------------------------------------------------------------

# Each of them accepts its default only: otherwise the user would not notice that the key does nothing.
_LEAST_ONLY = dict.fromkeys(
    ("disturbance", "leastDisturbanceFor", "lostWorkCap", "planningPatience"),
    "has no effect unless search is LeastDisturbance",
)


def _reserved(args: ReprieveArgs, path: str) -> Iterator[ConfigError]:
    if args.search is SearchAlgorithm.LEAST_DISTURBANCE and args.budgets is not Budgets.JOINT:
        message = "expected Joint: search: LeastDisturbance counts the evictions of a plan together"
        yield ConfigError(path=f"{path}.budgets", message=message)
    if args.search is SearchAlgorithm.UPSTREAM and args.placements_tried > ReprieveArgs().placements_tried:
        message = "has no effect if search is Upstream: one placement of a group is tried"
        yield ConfigError(path=f"{path}.placementsTried", message=message)
    reserved = {} if args.search is SearchAlgorithm.LEAST_DISTURBANCE else _LEAST_ONLY
    for field in msgspec.structs.fields(args):
        if field.encode_name in reserved and getattr(args, field.name) != field.default:
            yield ConfigError(path=f"{path}.{field.encode_name}", message=reserved[field.encode_name])


# --- lists of criteria ---------------------------------------------------------------------------


_LISTS: Mapping[str, tuple[CriterionName, ...]] = {
    "ranking": RANKING,
    "disturbance": (*DISTURBANCE, CriterionName.PODS),
}
_TIE_BREAK = "Name"


def _list_errors(key: str, given: Mapping[str, object], path: str) -> Iterator[ConfigError]:
    """What is wrong with a list of criteria. What is no list of strings is left to ``read``."""
    names = given.get(key)
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return
    mistakes = [
        (f"{path}.{key}[{i}]", text)
        for i, name in enumerate(names)
        if (text := _criterion_error(key, name, names[:i]))
    ]
    if not mistakes:
        mistakes = [(f"{path}.{key}", text) for text in (_order_error(key, names, given),) if text]
    yield from (ConfigError(path=where, message=text) for where, text in mistakes)


def _criterion_error(key: str, name: str, before: Sequence[str]) -> str:
    """What is wrong with one name in a list; empty if nothing is."""
    if name == _TIE_BREAK:
        return "the name always decides last and is not listed: remove it"
    if name not in list(CriterionName):
        hint = did_you_mean(name, CriterionName) or f": expected one of {', '.join(_LISTS[key])}"
        return f"no criterion is called {shown(name)}{hint}"
    if name in before:
        return f"{name} is listed twice"
    if name not in _LISTS[key]:
        other = next(list_of for list_of, names in _LISTS.items() if name in names)
        return f"{name} belongs to {other}: expected one of {', '.join(_LISTS[key])}"
    return ""


def _order_error(key: str, names: Sequence[str], given: Mapping[str, object]) -> str:
    """What is wrong with an order of criteria that exist; empty if nothing is."""
    if not names:
        return "expected at least one criterion; without the key, the default order applies"
    if key == "ranking" and given.get("policy") == Preset.UPSTREAM and tuple(names) != RANKING:
        return "policy: Upstream fixes the order of the criteria: remove the key"
    return ""
