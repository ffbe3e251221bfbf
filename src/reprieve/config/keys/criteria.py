"""The criteria by which plans are compared, in the one list that every search reads."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from reprieve.config.decoding import ConfigError, did_you_mean, shown


class CriterionName(StrEnum):
    """By what plans are compared."""

    BUDGETS_BROKEN = "BudgetsBroken"
    HIGHEST_PRIORITY = "HighestPriority"
    PODS_STOPPED = "PodsStopped"
    WORKLOADS_ENDED = "WorkloadsEnded"
    PRIORITY_SUM = "PrioritySum"
    CASCADE = "Cascade"
    LOST_WORK = "LostWork"
    LATEST_START = "LatestStart"
    PODS = "Pods"
    LONGEST_GRACE = "LongestGrace"


DISTURBANCE = (
    CriterionName.BUDGETS_BROKEN,
    CriterionName.HIGHEST_PRIORITY,
    CriterionName.PODS_STOPPED,
    CriterionName.WORKLOADS_ENDED,
    CriterionName.PRIORITY_SUM,
    CriterionName.CASCADE,
    CriterionName.LOST_WORK,
    CriterionName.LATEST_START,
)

# Those of kube-scheduler, which ``policy: Upstream`` fixes.
UPSTREAM_DISTURBANCE = (
    CriterionName.BUDGETS_BROKEN,
    CriterionName.HIGHEST_PRIORITY,
    CriterionName.PRIORITY_SUM,
    CriterionName.PODS,
    CriterionName.LATEST_START,
)

_TIE_BREAK = "Name"
_CHEAPER_FIRST = "of members of one group, those that cost it less go first where all criteria are equal"

# Criteria of earlier versions, and what does their work.
GONE: Mapping[str, str] = {
    "GangsBroken": "PodsStopped counts the pods that a gang loses and those that run on for nothing",
    "DisruptionCost": _CHEAPER_FIRST,
    "DeletionCost": _CHEAPER_FIRST,
}


def disturbance_errors(names: object, path: str, *, is_upstream: bool) -> Iterator[ConfigError]:
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
    elif is_upstream and tuple(names) != UPSTREAM_DISTURBANCE:
        message = "policy: Upstream fixes the criteria and their order: remove the key"
        yield ConfigError(path=path, message=message)


def _name_error(name: str, before: Sequence[str]) -> str:
    """What is wrong with one name in a list; empty if nothing is."""
    if name == _TIE_BREAK:
        return "the name always decides last and is not listed: remove it"
    if name in GONE:
        return f"{name} is no longer a criterion: remove it; {GONE[name]}"
    if name not in list(CriterionName):
        hint = did_you_mean(name, CriterionName) or f": expected one of {', '.join(CriterionName)}"
        return f"no criterion is called {shown(name)}{hint}"
    return f"{name} is listed twice" if name in before else ""
