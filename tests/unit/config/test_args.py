"""The arguments of Reprieve itself: presets, and what wins over what."""

import pytest

from reprieve.config.args import (
    Budgets,
    BudgetSelectors,
    Divergence,
    GangPreemption,
    Preset,
    ReprieveArgs,
    ResizeAccounting,
    SearchAlgorithm,
)
from tests.unit.config import complaints, with_args


def test_without_a_word_the_choices_are_reprieves_own() -> None:
    args = with_args("Reprieve").args.reprieve
    assert args == ReprieveArgs()
    assert args.search is SearchAlgorithm.PRIORITY_CEILING
    assert args.budget_selectors is BudgetSelectors.POLICY_V1


def test_one_word_chooses_what_kube_scheduler_does() -> None:
    args = with_args("Reprieve", policy="Upstream").args.reprieve
    assert args.policy is Preset.UPSTREAM
    assert args.search is SearchAlgorithm.UPSTREAM
    assert args.budgets is Budgets.UPSTREAM
    assert args.gang_preemption is GangPreemption.ALL
    assert args.resize_accounting is ResizeAccounting.UPSTREAM
    assert args.divergence is Divergence.REJECT
    assert args.budget_selectors is BudgetSelectors.UPSTREAM


def test_a_written_key_wins_over_the_preset_and_a_null_does_not() -> None:
    args = with_args("Reprieve", policy="Upstream", budgets="Joint", search=None).args.reprieve
    assert args.budgets is Budgets.JOINT
    assert args.search is SearchAlgorithm.UPSTREAM


def test_every_key_is_read() -> None:
    args = with_args(
        "Reprieve",
        apiVersion="reprieve.dev/v1alpha1",
        kind="ReprieveArgs",
        respectBudgets="Always",
        placementsTried=4,
        disturbance={"restart": 3},
        planningEffort=50,
        stuckVictimSeconds=60,
        preemptionPriorityClasses=["urgent"],
    ).args.reprieve
    assert (args.respect_budgets, args.placements_tried) == ("Always", 4)
    assert args.disturbance == {"restart": 3}
    assert (args.planning_effort, args.stuck_victim_seconds) == (50, 60)
    assert args.preemption_priority_classes == ("urgent",)


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("serach", "Upstream", '.serach: unknown field (did you mean "search"?)'),
        (
            "search",
            "Binary",
            '.search: expected one of PriorityCeiling, Upstream, LeastDisturbance, got "Binary"',
        ),
        ("policy", "upstream", '.policy: expected one of Reprieve, Upstream, got "upstream"'),
        ("placementsTried", 0, ".placementsTried: expected a whole number of at least 1, got 0"),
        (
            "stuckVictimSeconds",
            True,
            ".stuckVictimSeconds: expected a whole number of at least 1, got true",
        ),
        ("disturbance", [], ".disturbance: expected a mapping, got a list"),
        (
            "disturbance",
            {"restart": -1},
            ".disturbance.restart: expected a whole number of at least 0, got -1",
        ),
        (
            "preemptionPriorityClasses",
            [""],
            '.preemptionPriorityClasses[0]: expected a non-empty string, got ""',
        ),
        ("kind", "OtherArgs", '.kind: expected "ReprieveArgs", got "OtherArgs"'),
        ("apiVersion", "v1", '.apiVersion: expected "reprieve.dev/v1alpha1", got "v1"'),
    ],
)
def test_a_mistake_is_named_with_its_path(key: str, value: object, complaint: str) -> None:
    path = "profiles[0].pluginConfig[0].args"
    assert complaints(lambda: with_args("Reprieve", **{key: value})) == [path + complaint]
