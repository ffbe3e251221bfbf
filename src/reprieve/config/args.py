"""The arguments of Reprieve under `pluginConfig`, and their presets.

Defines the choices and their defaults; the code behind a choice is not known here.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from reprieve.config.decoding import ConfigError, NonEmpty, NonNegative, Positive, read
from reprieve.model.objects import Record

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


class ReprieveArgs(Record, frozen=True):
    policy: Preset = Preset.REPRIEVE
    search: SearchAlgorithm = SearchAlgorithm.PRIORITY_CEILING
    budgets: Budgets = Budgets.JOINT
    respect_budgets: RespectBudgets = RespectBudgets.BEST_EFFORT
    gang_preemption: GangPreemption = GangPreemption.MIN_COUNT
    resize_accounting: ResizeAccounting = ResizeAccounting.KUBELET
    divergence: Divergence = Divergence.REJECT
    placements_tried: Positive = 1
    disturbance: dict[str, NonNegative] = {}
    planning_effort: Positive = 10_000
    stuck_victim_seconds: Positive = 300
    preemption_priority_classes: tuple[NonEmpty, ...] = ()

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
    divergence=Divergence.REJECT,
)


def read_reprieve_args(document: object, path: str, errors: list[ConfigError]) -> ReprieveArgs | None:
    """Arguments in the document win over the preset, and the preset over the defaults."""
    match document:
        case Mapping() if document.get("policy") == Preset.UPSTREAM:
            given = {key: value for key, value in document.items() if value is not None}
            return read(ReprieveArgs, {**msgspec.to_builtins(UPSTREAM), **given}, path, errors)
    return read(ReprieveArgs, document, path, errors)
