"""The keys of Reprieve under `pluginConfig`: name, type and default of each, the choices, and the presets.

For users they are described in `docs/reference/configuration.md`; a test compares the two. Searches, criteria
and ways of counting budgets have their names where they are defined; what a choice means is for `assembly`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import msgspec

from reprieve.config.decoding import (
    ConfigError,
    NonEmpty,
    NonNegative,
    Positive,
    Seconds,
    new_errors,
    one_of,
    read_record,
    spelling_hint,
    value_text,
)
from reprieve.config.former_args import FORMER_CRITERIA, without_former
from reprieve.model.objects import Int32, Record
from reprieve.preemption import searches
from reprieve.preemption.criteria import AS_UPSTREAM, CRITERIA, DISTURBANCE, Criterion
from reprieve.preemption.policy import BudgetCounting
from reprieve.preemption.searches import LEAST_DISTURBANCE, SEARCHES

API_VERSION = "reprieve.dev/v1alpha1"

SearchName = Annotated[str, one_of(SEARCHES)]  # how victims are found
CriterionName = Annotated[str, one_of(CRITERIA)]  # by what plans are compared
_TIE_BREAK = "Name"


def names_of(criteria: Iterable[Criterion]) -> tuple[str, ...]:
    return tuple(criterion.name for criterion in criteria)


class Preset(StrEnum):
    """The defaults of the other arguments."""

    REPRIEVE = "Reprieve"
    UPSTREAM = "Upstream"


class RespectBudgets(StrEnum):
    """Whether a plan may break a disruption budget when nothing else helps."""

    BEST_EFFORT = "BestEffort"
    ALWAYS = "Always"


class GangPreemption(StrEnum):
    """The number of members for which a gang preempts."""

    MIN_COUNT = "MinCount"
    ALL = "All"


class Divergence(StrEnum):
    """What happens to pods whose priority differs from their group's."""

    REJECT = "Reject"
    REPORT = "Report"


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
    search: SearchName = LEAST_DISTURBANCE.name
    budgets: BudgetCounting = BudgetCounting.JOINT
    respect_budgets: RespectBudgets = RespectBudgets.BEST_EFFORT
    gang_preemption: GangPreemption = GangPreemption.MIN_COUNT
    group_resize_window: Seconds = Seconds(1)  # in which members of a gang that grow wait for each other
    divergence: Divergence = Divergence.REJECT
    disturbance: tuple[CriterionName, ...] = names_of(
        DISTURBANCE
    )  # by what plans are compared, the first one first
    lost_work_cap: Seconds = Seconds(3600)  # how much time since a checkpoint counts as lost at most
    planning_effort: NonNegative = (
        10_000  # placements of one pod that the searches of a decision may evaluate
    )
    planning_patience: Seconds = Seconds(1)  # how long a plan may be improved before its evictions begin
    stuck_victim_seconds: Positive = 300  # after which a victim that does not leave is not counted on
    longest_grace: Positive | None = None  # seconds that a victim gets to stop at most
    eviction_limit: EvictionLimitArgs | None = None  # how often a workload may be evicted
    preemption_priority_classes: tuple[PreemptionPriorityClass, ...] = ()  # that a group may name as a victim


UPSTREAM = ReprieveArgs(
    policy=Preset.UPSTREAM,
    search=searches.UPSTREAM.name,
    budgets=BudgetCounting.UPSTREAM,
    gang_preemption=GangPreemption.ALL,
    group_resize_window=Seconds(0),
    divergence=Divergence.REJECT,
    disturbance=names_of(AS_UPSTREAM),
    planning_effort=0,
)


def read_reprieve_args(
    document: Mapping[str, object], path: str, errors: list[ConfigError], warnings: list[ConfigError]
) -> ReprieveArgs | None:
    """Arguments in the document win over the preset, and the preset over the defaults."""
    present = {key: value for key, value in document.items() if value is not None}
    given = without_former(present, path, errors, warnings)
    is_upstream = given.get("policy") == Preset.UPSTREAM
    wrong = [*_disturbance_errors(given.get("disturbance"), f"{path}.disturbance", is_upstream=is_upstream)]
    errors.extend(wrong)
    preset = msgspec.to_builtins(UPSTREAM, enc_hook=_written) if is_upstream else {}
    sound = {key: value for key, value in given.items() if key != "disturbance" or not wrong}
    args = read_record(ReprieveArgs, {**preset, **sound}, path, errors)
    if args is not None:
        found = [*_contradictions(args, path), *_empty_window(args, path), *_class_errors(args, path)]
        errors.extend(new_errors(found, errors))
    return args


def _written(seconds: Seconds) -> str:
    """Write the only type that msgspec does not know, as a document has it."""
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
            message = f"{value_text(entry.priority_class)} is listed twice: give one entry all its namespaces"
            yield ConfigError(path=f"{where}.class", message=message)
        if not entry.namespaces:
            message = 'expected at least one namespace, or "*" for all of them'
            yield ConfigError(path=f"{where}.namespaces", message=message)
        known.add(entry.priority_class)


# --- keys that do not go together ----------------------------------------------------------------


def _contradictions(args: ReprieveArgs, path: str) -> Iterator[ConfigError]:
    is_least = args.search == LEAST_DISTURBANCE.name
    if is_least and args.budgets is not BudgetCounting.JOINT:
        message = (
            "search: LeastDisturbance counts the evictions of a plan together: "
            "write budgets: Joint, or search: PriorityCeiling"
        )
        yield ConfigError(path=f"{path}.budgets", message=message)
    # A key without an effect accepts its default only: otherwise the user would not notice.
    usual = ReprieveArgs()
    if not is_least and args.planning_patience != usual.planning_patience:
        message = "has no effect unless search is LeastDisturbance"
        yield ConfigError(path=f"{path}.planningPatience", message=message)


# --- the list of criteria ------------------------------------------------------------------------


def _disturbance_errors(names: object, path: str, *, is_upstream: bool) -> Iterator[ConfigError]:
    """What is wrong with a list of criteria. What is no list of strings is left to ``read``."""
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return
    texts = [_name_error(name, names[:i]) for i, name in enumerate(names)]
    yield from (ConfigError(path=f"{path}[{i}]", message=text) for i, text in enumerate(texts) if text)
    if any(texts):
        return
    if not names:
        message = "expected at least one criterion; without the key, the default order applies"
        yield ConfigError(path=path, message=message)
    elif is_upstream and tuple(names) != names_of(AS_UPSTREAM):
        message = "policy: Upstream fixes the criteria and their order: remove the key"
        yield ConfigError(path=path, message=message)


def _name_error(name: str, before: Sequence[str]) -> str:
    """What is wrong with one name in a list; empty if nothing is."""
    if name == _TIE_BREAK:
        return "the name always decides last and is not listed: remove it"
    if name in FORMER_CRITERIA:
        return f"{name} is no longer a criterion: remove it; {FORMER_CRITERIA[name]}"
    if name not in CRITERIA:
        hint = spelling_hint(name, CRITERIA) or f": expected one of {', '.join(CRITERIA)}"
        return f"no criterion is called {value_text(name)}{hint}"
    return f"{name} is listed twice" if name in before else ""
