"""Which plugins a profile leaves on, with which weight, and which it may not name."""

from collections.abc import Sequence

import pytest
from tests.unit.config import complaints, configuration, profile

from reprieve.config import KubeSchedulerProfile


def sets(point: str, on: Sequence[str] = (), off: Sequence[str] = ()) -> dict[str, object]:
    enabled = [{"name": name} for name in on]
    return {point: {"enabled": enabled, "disabled": [{"name": name} for name in off]}}


def with_plugins(*parts: dict[str, object]) -> KubeSchedulerProfile:
    return profile(plugins={point: s for part in parts for point, s in part.items()})


def test_the_default_weights_are_upstreams() -> None:
    assert profile().score_weights == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_a_star_turns_everything_off_at_one_point() -> None:
    only = profile(plugins={"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "ImageLocality"}]}})
    assert only.score_weights == {"ImageLocality": 1}
    assert "NodeAffinity" in only.filters


def test_a_specific_point_beats_multi_point_and_that_the_defaults() -> None:
    weighed = profile(
        plugins={
            "multiPoint": {
                "enabled": [
                    {"name": "NodeAffinity", "weight": 5},
                    {"name": "TaintToleration", "weight": 6},
                ]
            },
            "score": {"enabled": [{"name": "NodeAffinity", "weight": 7}]},
        }
    )
    assert weighed.score_weights["NodeAffinity"] == 7
    assert weighed.score_weights["TaintToleration"] == 6
    assert weighed.score_weights["InterPodAffinity"] == 2


def test_off_at_multi_point_is_off_everywhere_and_at_one_point_only_there() -> None:
    gone = with_plugins(sets("multiPoint", off=["InterPodAffinity"]))
    assert "InterPodAffinity" not in gone.filters
    assert "InterPodAffinity" not in gone.score_weights
    unscored = with_plugins(sets("score", off=["InterPodAffinity"]))
    assert "InterPodAffinity" in unscored.filters
    assert "InterPodAffinity" not in unscored.score_weights


@pytest.mark.parametrize("point", ["multiPoint", "postFilter", "podGroupPostFilter"])
def test_a_profile_that_disables_preemption_never_evicts(point: str) -> None:
    assert profile().preemption
    assert not with_plugins(sets(point, off=["DefaultPreemption"])).preemption


@pytest.mark.parametrize(
    ("plugins", "complaint"),
    [
        (
            sets("filter", on=["NodeResourceFit"]),
            ".filter.enabled[0].name: Reprieve has no plugin NodeResourceFit "
            '(did you mean "NodeResourcesFit"?)',
        ),
        (sets("multiPoint", on=["Zap"]), ".multiPoint.enabled[0].name: Reprieve has no plugin Zap"),
        (
            sets("multiPoint", on=["DynamicResources"]),
            ".multiPoint.enabled[0].name: Reprieve does not allocate ResourceClaims: "
            "pods with one stay pending",
        ),
        (
            sets("score", on=["NodePorts"]),
            ".score.enabled[0].name: NodePorts does not extend score, only preFilter, filter",
        ),
        (
            sets("score", on=["ImageLocality", "ImageLocality"]),
            ".score.enabled[1].name: ImageLocality is listed twice",
        ),
        (
            sets("queueSort", off=["*"]),
            ".queueSort: PrioritySort cannot be disabled: Reprieve needs it",
        ),
        (
            sets("multiPoint", off=["DefaultBinder"]),
            ".bind: DefaultBinder cannot be disabled: Reprieve needs it",
        ),
        (
            sets("filter", off=["VolumeBinding"]),
            ".filter: VolumeBinding cannot be disabled: Reprieve needs it",
        ),
        (
            {"score": {"enabled": [{"name": "NodeAffinity", "weight": -1}]}},
            ".score.enabled[0].weight: expected a whole number of at least 0, got -1",
        ),
        ({"scores": {}}, '.scores: unknown field (did you mean "score"?)'),
    ],
)
def test_what_reprieve_cannot_do_is_refused(plugins: dict[str, object], complaint: str) -> None:
    said = complaints(lambda: with_plugins(plugins))
    assert said == [f"profiles[0].plugins{complaint}"]


def test_a_scoring_plugin_that_is_missing_is_a_warning() -> None:
    read = configuration(
        profiles=[
            {
                "plugins": sets("score", on=["Trimaran"], off=["Nod", "DynamicResources", "*"]),
                "pluginConfig": [{"name": "Trimaran", "args": {"anything": 1}}],
            }
        ]
    )
    assert read.profiles[0].score_weights == {}
    assert [str(warning) for warning in read.warnings] == [
        "profiles[0].plugins.score.enabled[0].name: Reprieve has no scoring plugin Trimaran: it is ignored",
        "profiles[0].plugins.score.disabled[0].name: there is no plugin Nod to disable",
    ]


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ([{"name": "Reprieve"}, {"name": "Reprieve"}], "[1].name: Reprieve is configured twice"),
        (
            [{"name": "Reprive"}],
            '[0].name: Reprieve has no plugin Reprive (did you mean "Reprieve"?)',
        ),
        ([{"name": "NodeName", "args": {"a": 1}}], "[0].args: NodeName takes no arguments"),
        ([{"args": {}}], "[0].name: required: expected a non-empty string"),
    ],
)
def test_arguments_belong_to_a_plugin(entries: list[object], complaint: str) -> None:
    said = complaints(lambda: profile(pluginConfig=entries))
    assert said == [f"profiles[0].pluginConfig{complaint}"]


@pytest.mark.parametrize("point", ["score", "filter", "multiPoint"])
@pytest.mark.parametrize("switch", ["enabled", "disabled"])
def test_a_misspelt_plugin_is_an_error_with_a_suggestion(point: str, switch: str) -> None:
    (said,) = complaints(lambda: with_plugins({point: {switch: [{"name": "NodeResourceFit"}]}}))
    assert said.startswith(f"profiles[0].plugins.{point}.{switch}[0].name: ")
    assert said.endswith('(did you mean "NodeResourcesFit"?)')


def test_filters_that_are_off_are_warned_of() -> None:
    read = configuration(profiles=[{"plugins": sets("filter", off=["TaintToleration"])}])
    assert [str(warning) for warning in read.warnings] == [
        "profiles[0].plugins.filter: the filter TaintToleration is disabled: "
        "nodes are not checked for what it rejects"
    ]
    assert not configuration().warnings
