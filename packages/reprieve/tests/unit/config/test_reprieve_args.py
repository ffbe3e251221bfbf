"""The arguments of Reprieve itself: presets, and what wins over what."""

import pytest
from tests.unit.config import complaints, with_args

from reprieve.config.decoding import Seconds
from reprieve.config.reprieve_args import (
    Divergence,
    EvictionLimitArgs,
    GangPreemption,
    PreemptionPriorityClass,
    Preset,
    ReprieveArgs,
    names_of,
)
from reprieve.preemption.criteria import AS_UPSTREAM
from reprieve.preemption.policy import BudgetCounting

UPSTREAM_DISTURBANCE = names_of(AS_UPSTREAM)


def test_one_word_chooses_what_kube_scheduler_does() -> None:
    args = with_args("Reprieve", policy="Upstream").args.reprieve
    assert args.policy is Preset.UPSTREAM
    assert args.search == "Upstream"
    assert args.budgets is BudgetCounting.UPSTREAM
    assert args.gang_preemption is GangPreemption.ALL
    assert args.divergence is Divergence.REJECT
    assert args.disturbance == UPSTREAM_DISTURBANCE
    assert args.planning_effort == 0


def test_a_written_key_wins_over_the_preset_and_a_null_does_not() -> None:
    args = with_args("Reprieve", policy="Upstream", budgets="Joint", search=None).args.reprieve
    assert args.budgets is BudgetCounting.JOINT
    assert args.search == "Upstream"


@pytest.mark.parametrize("order", [("Pods",), UPSTREAM_DISTURBANCE[::-1], ReprieveArgs().disturbance])
def test_the_preset_fixes_the_order_of_the_criteria(order: tuple[str, ...]) -> None:
    assert complaints(lambda: with_args("Reprieve", policy="Upstream", disturbance=[*order])) == [
        "profiles[0].pluginConfig[0].args.disturbance: "
        "policy: Upstream fixes the criteria and their order: remove the key"
    ]


def test_the_order_that_the_preset_fixes_may_be_written() -> None:
    args = with_args("Reprieve", policy="Upstream", disturbance=[*UPSTREAM_DISTURBANCE]).args.reprieve
    assert args == with_args("Reprieve", policy="Upstream").args.reprieve


def test_mistakes_in_a_list_hide_no_others() -> None:
    path = "profiles[0].pluginConfig[0].args"
    assert complaints(lambda: with_args("Reprieve", disturbance=["Name", "Pod"], serach="Upstream")) == [
        f"{path}.disturbance[0]: the name always decides last and is not listed: remove it",
        f'{path}.disturbance[1]: no criterion is called "Pod" (did you mean "Pods"?)',
        f'{path}.serach: unknown field (did you mean "search"?)',
    ]


def test_every_key_is_read() -> None:
    args = with_args(
        "Reprieve",
        apiVersion="reprieve.dev/v1alpha1",
        kind="ReprieveArgs",
        respectBudgets="Always",
        search="LeastDisturbance",
        disturbance=["BudgetsBroken", "Cascade", "LostWork"],
        planningEffort=50,
        planningPatience="1.5s",
        stuckVictimSeconds=60,
        longestGrace=600,
        evictionLimit={"evictions": 3, "window": "10m", "belowPriority": 1000},
        preemptionPriorityClasses=[{"class": "steady", "namespaces": ["train", "serve"]}],
    ).args.reprieve
    assert args.respect_budgets == "Always"
    assert args.search == "LeastDisturbance"
    assert args.disturbance == ("BudgetsBroken", "Cascade", "LostWork")
    assert (args.planning_effort, args.planning_patience, args.stuck_victim_seconds) == (50, 1.5, 60)
    assert args.longest_grace == 600
    assert args.eviction_limit == EvictionLimitArgs(evictions=3, window=Seconds(600), below_priority=1000)
    steady = PreemptionPriorityClass(priority_class="steady", namespaces=("train", "serve"))
    assert args.preemption_priority_classes == (steady,)


@pytest.mark.parametrize(
    ("classes", "errors"),
    [
        ("steady", [': expected a list, got "steady"']),
        (["steady"], ['[0]: expected a mapping, got "steady"']),
        ([{}], ["[0].class: required: expected", "[0].namespaces: required: expected"]),
        (
            [{"class": "", "namespaces": [""]}],
            ["[0].class: expected a non-empty string", "[0].namespaces[0]: expected a non-empty string"],
        ),
        ([{"class": "a", "namespaces": "x"}], ['[0].namespaces: expected a list, got "x"']),
        (
            [{"class": "a", "namespaces": []}],
            ['[0].namespaces: expected at least one namespace, or "*" for all of them'],
        ),
        (
            [{"class": "a", "namespaces": ["x"]}, {"class": "a", "namespaces": ["y"]}],
            ['[1].class: "a" is listed twice: give one entry all its namespaces'],
        ),
        (
            [{"clas": "a", "class": "a", "namespaces": ["x"]}],
            ['[0].clas: unknown field (did you mean "class"?)'],
        ),
    ],
)
def test_one_sentence_for_each_mistake_in_classes(classes: object, errors: list[str]) -> None:
    path = "profiles[0].pluginConfig[0].args.preemptionPriorityClasses"
    found = complaints(lambda: with_args("Reprieve", preemptionPriorityClasses=classes))
    assert len(found) == len(errors)
    for said, expected in zip(found, errors, strict=True):
        assert said.startswith(f"{path}{expected}"), said


@pytest.mark.parametrize(
    ("limit", "errors"),
    [
        (5, [": expected a mapping, got 5"]),
        (
            {},
            [
                ".evictions: required: expected a whole number of at least 1",
                ".window: required: expected a duration",
                ".belowPriority: required: expected a whole number",
            ],
        ),
        (
            {"evictions": 0, "window": "soon", "belowPriority": "high"},
            [
                ".evictions: expected",
                ".window: expected a duration",
                ".belowPriority: expected a whole number",
            ],
        ),
        (
            {"evictions": 1, "window": "0s", "belowPriority": 1},
            [".window: expected more than 0s: no eviction is within an empty window"],
        ),
        (
            {"evictions": 1, "windwo": "1m", "window": "1m", "belowPriority": 1},
            ['.windwo: unknown field (did you mean "window"?)'],
        ),
    ],
)
def test_one_sentence_for_each_mistake_in_an_eviction_limit(limit: object, errors: list[str]) -> None:
    path = "profiles[0].pluginConfig[0].args.evictionLimit"
    found = complaints(lambda: with_args("Reprieve", evictionLimit=limit))
    assert len(found) == len(errors)
    for said, expected in zip(found, errors, strict=True):
        assert said.startswith(f"{path}{expected}")


@pytest.mark.parametrize("search", ["PriorityCeiling", "Upstream"])
def test_only_the_search_that_improves_plans_has_patience(search: str) -> None:
    path = "profiles[0].pluginConfig[0].args"
    assert complaints(lambda: with_args("Reprieve", search=search, planningPatience="30s")) == [
        f"{path}.planningPatience: has no effect unless search is LeastDisturbance"
    ]


@pytest.mark.parametrize(
    "args",
    [
        {"budgets": "Upstream", "search": "LeastDisturbance"},
        {"policy": "Upstream", "search": "LeastDisturbance"},
    ],
)
def test_the_least_disturbance_counts_budgets_jointly(args: dict[str, str]) -> None:
    path = "profiles[0].pluginConfig[0].args"
    assert complaints(lambda: with_args("Reprieve", **args)) == [
        f"{path}.budgets: search: LeastDisturbance counts the evictions of a plan together: "
        "write budgets: Joint, or search: PriorityCeiling"
    ]


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
        (
            "stuckVictimSeconds",
            True,
            ".stuckVictimSeconds: expected a whole number of at least 1, got true",
        ),
        ("disturbance", {"restart": 3}, ".disturbance: expected a list, got a mapping"),
        (
            "disturbance",
            ["Pods", "Cascades"],
            '.disturbance[1]: no criterion is called "Cascades" (did you mean "Cascade"?)',
        ),
        ("disturbance", ["Cascade", "Cascade"], ".disturbance[1]: Cascade is listed twice"),
        (
            "disturbance",
            ["Luck"],
            '.disturbance[0]: no criterion is called "Luck": expected one of BudgetsBroken, HighestPriority, '
            "PodsStopped, WorkloadsEnded, PrioritySum, Cascade, LostWork, Pods, LongestGrace, LatestStart",
        ),
        (
            "disturbance",
            [],
            ".disturbance: expected at least one criterion; without the key, the default order applies",
        ),
        ("kind", "OtherArgs", '.kind: expected "ReprieveArgs", got "OtherArgs"'),
        ("apiVersion", "v1", '.apiVersion: expected "reprieve.dev/v1alpha1", got "v1"'),
    ],
)
def test_a_mistake_is_named_with_its_path(key: str, value: object, complaint: str) -> None:
    path = "profiles[0].pluginConfig[0].args"
    assert complaints(lambda: with_args("Reprieve", **{key: value})) == [path + complaint]
