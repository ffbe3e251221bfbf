"""The arguments of kube-scheduler's plugins, and the rules between them."""

import pytest
from tests.unit.config import complaints, with_args


def test_the_other_arguments_are_read() -> None:
    affinity = with_args("InterPodAffinity", hardPodAffinityWeight=0).args.inter_pod_affinity
    assert affinity.hard_pod_affinity_weight == 0
    preemption = with_args("DefaultPreemption", minCandidateNodesAbsolute=7).args.default_preemption
    assert preemption.min_candidate_nodes_absolute == 7
    assert (
        with_args("VolumeBinding", bindTimeoutSeconds=5).args.volume_binding
        == with_args("VolumeBinding", bindTimeoutSeconds=5, shape=None).args.volume_binding
    )


@pytest.mark.parametrize(
    ("plugin", "args", "complaint"),
    [
        (
            "NodeResourcesFit",
            {"ignoredResourceGroups": ["a/b"]},
            'ignoredResourceGroups[0]: expected no "/", got "a/b"',
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "Most"}},
            "scoringStrategy.type: expected one of LeastAllocated, MostAllocated, "
            'RequestedToCapacityRatio, got "Most"',
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}},
            "scoringStrategy.resources[0].weight: expected a whole number from 1 to 100, got 101",
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"resources": []}},
            "scoringStrategy.resources: expected at least one resource",
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            "scoringStrategy.requestedToCapacityRatio.shape: expected at least one point, "
            "because type is RequestedToCapacityRatio",
        ),
        (
            "NodeResourcesFit",
            {"scoringStrategy": {"requestedToCapacityRatio": {}}},
            "scoringStrategy.requestedToCapacityRatio: expected nothing, because type is LeastAllocated",
        ),
        (
            "NodeResourcesFit",
            {
                "scoringStrategy": {
                    "type": "RequestedToCapacityRatio",
                    "requestedToCapacityRatio": {"shape": [{"utilization": 5, "score": 1}] * 2},
                }
            },
            "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: "
            "expected more than the 5 before it, got 5",
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu", "weight": 2}]},
            "resources[0].weight: expected 1, got 2",
        ),
        (
            "NodeResourcesBalancedAllocation",
            {"resources": [{"name": "cpu"}, {"name": "cpu"}]},
            "resources[1].name: cpu is listed twice",
        ),
        (
            "PodTopologySpread",
            {"defaultConstraints": [{"topologyKey": "zone"}]},
            "defaultingType: expected List, because defaultConstraints are given",
        ),
        (
            "PodTopologySpread",
            {
                "defaultingType": "List",
                "defaultConstraints": [{"topologyKey": "zone", "labelSelector": {}}],
            },
            "defaultConstraints[0].labelSelector: expected nothing: it is derived for each pod",
        ),
        (
            "PodTopologySpread",
            {"defaultingType": "List", "defaultConstraints": [{"topologyKey": "zone"}] * 2},
            "defaultConstraints[1]: zone DoNotSchedule is listed twice",
        ),
        (
            "NodeAffinity",
            {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
            "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
            "expected at least one term",
        ),
        (
            "NodeAffinity",
            {
                "addedAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "preference": {}}]
                }
            },
            "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
            "expected 1 to 100, got 0",
        ),
        (
            "DefaultPreemption",
            {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
            "minCandidateNodesPercentage: expected more than 0, because minCandidateNodesAbsolute is 0",
        ),
        (
            "VolumeBinding",
            {"shape": [{"utilization": 0, "score": 0}]},
            "shape: Reprieve does not score storage capacity: remove it",
        ),
    ],
)
def test_a_broken_rule_is_named(plugin: str, args: dict[str, object], complaint: str) -> None:
    said = complaints(lambda: with_args(plugin, **args))
    assert said == [f"profiles[0].pluginConfig[0].args.{complaint}"]


def test_a_wrong_operator_is_named() -> None:
    wrong = {"matchExpressions": [{"key": "pool", "operator": "Is", "values": []}]}
    (said,) = complaints(
        lambda: with_args(
            "NodeAffinity",
            addedAffinity={"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [wrong]}},
        )
    )
    assert "nodeSelectorTerms[0].matchExpressions[0].operator: expected one of In, NotIn" in said
