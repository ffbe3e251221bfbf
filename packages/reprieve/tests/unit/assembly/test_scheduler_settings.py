"""What is configured arrives where pods are scheduled."""

import numpy as np
import pytest
from tests.unit.config import configuration, profile, with_args

from reprieve.assembly.scheduler_settings import DEFAULT_GATES, limits_of, pace_of, profile_of, settings_of
from reprieve.model.objects import Node, NodeSpec, NodeStatus, ObjectMeta, Pod
from reprieve.model.selectors import NodeQuery, NodeTerm, Operator, Requirement
from reprieve.model.shape import WeightedNodeTerm
from reprieve.model.snapshot import build
from reprieve.placement.demand import Ask
from reprieve.placement.place import Placement, Unplaceable, place, pod_demand
from reprieve.placement.profile import (
    DEFAULT_PROFILE,
    DefaultSpread,
    Preference,
    ResourceWeight,
    ShapePoint,
    Strategy,
)
from reprieve.placement.rating import rate


@pytest.mark.parametrize(("rate", "at_once"), [(50.0, 64), (-1.0, 64), (0.0, 64), (5.0, 10), (0.1, 1)])
def test_no_more_is_under_way_than_may_be_sent_soon(rate: float, at_once: int) -> None:
    assert limits_of(DEFAULT_GATES, rate).at_once == at_once


@pytest.mark.parametrize(
    ("wanted", "pace"),
    [({}, (50.0, 100)), ({"qps": 0, "burst": 0}, (50.0, 100)), ({"qps": -1, "burst": 7}, (-1.0, 7))],
)
def test_how_fast_requests_may_follow_each_other(wanted: dict[str, float], pace: tuple[float, int]) -> None:
    assert pace_of(configuration(clientConnection=wanted)) == pace


def test_whose_pods_and_how_patient() -> None:
    settings = settings_of(
        configuration(
            podInitialBackoffSeconds=2,
            podMaxBackoffSeconds=60,
            profiles=[{"schedulerName": "one"}, {"schedulerName": "two"}],
        )
    )
    assert list(settings.profiles) == ["one", "two"]
    assert (settings.backoff.first, settings.backoff.longest) == (2, 60)
    assert settings.volume_seconds == 600


def test_how_long_volumes_may_take() -> None:
    args = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 30}}
    assert settings_of(configuration(profiles=[{"pluginConfig": [args]}])).volume_seconds == 30


# --- placement -------------------------------------------------------------------------------------


SSD = {"key": "disk", "operator": "In", "values": ["ssd"]}
SSD_NODES = NodeTerm((Requirement("disk", Operator.IN, frozenset({"ssd"})),))


def test_nothing_configured_is_the_default_profile() -> None:
    assert profile_of(profile()) == DEFAULT_PROFILE


def test_weights() -> None:
    score = {
        "disabled": [{"name": "ImageLocality"}],
        "enabled": [{"name": "NodeAffinity", "weight": 7}],
    }
    weights = dict(profile_of(profile(plugins={"score": score})).weights)
    assert weights[Preference.NODE_AFFINITY] == 7
    assert weights[Preference.TAINTS] == 3
    assert Preference.IMAGES not in weights


def test_how_full_nodes_are_rated() -> None:
    strategy = {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "nvidia.com/gpu", "weight": 5}],
        "requestedToCapacityRatio": {
            "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
        },
    }
    made = profile_of(with_args("NodeResourcesFit", scoringStrategy=strategy))
    assert made.strategy is Strategy.REQUESTED_TO_CAPACITY_RATIO
    assert made.strategy_resources == (ResourceWeight("nvidia.com/gpu", 5),)
    assert made.strategy_shape == (ShapePoint(0, 0), ShapePoint(100, 10))


def test_resources_that_are_balanced() -> None:
    made = profile_of(with_args("NodeResourcesBalancedAllocation", resources=[{"name": "cpu"}]))
    assert made.balanced_resources == (ResourceWeight("cpu"),)


def test_resources_that_are_ignored() -> None:
    made = profile_of(
        with_args(
            "NodeResourcesFit", ignoredResources=["example.com/a"], ignoredResourceGroups=["example.org"]
        )
    )
    assert made.ignored_resources == {"example.com/a"}
    assert made.ignored_resource_groups == {"example.org"}


def test_node_affinity_for_every_pod() -> None:
    added = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [SSD]}]
        },
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 10, "preference": {"matchExpressions": [SSD]}}
        ],
    }
    made = profile_of(with_args("NodeAffinity", addedAffinity=added))
    assert made.added_node_affinity == NodeQuery(terms=(SSD_NODES,))
    assert made.added_preferred_nodes == (WeightedNodeTerm(10, SSD_NODES),)


def test_a_wish_for_every_pod_is_rated() -> None:
    wish = {"weight": 10, "preference": {"matchExpressions": [SSD]}}
    added = {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}
    nodes = [Node(metadata=ObjectMeta(name=disk, labels={"disk": disk})) for disk in ("hdd", "ssd")]
    view = build([*nodes, Pod(metadata=ObjectMeta(name="new"))]).snapshot
    ask = Ask(view, 0, profile_of(with_args("NodeAffinity", addedAffinity=added)))
    assert rate(ask, np.ones(2, np.bool_)).parts[Preference.NODE_AFFINITY].tolist() == [0, 200]


def test_pod_affinity() -> None:
    made = profile_of(
        with_args("InterPodAffinity", hardPodAffinityWeight=30, ignorePreferredTermsOfExistingPods=True)
    )
    assert made.hard_pod_affinity_weight == 30
    assert made.ignore_preferences_of_existing_pods


def test_spreading_of_ones_own() -> None:
    constraint = {
        "maxSkew": 2,
        "topologyKey": "rack",
        "whenUnsatisfiable": "DoNotSchedule",
        "minDomains": 3,
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
    }
    made = profile_of(with_args("PodTopologySpread", defaultingType="List", defaultConstraints=[constraint]))
    assert not made.system_default_spread
    assert made.default_spread == (
        DefaultSpread("rack", 2, required=True, min_domains=3, honors_affinity=False, honors_taints=True),
    )


def test_no_spreading_at_all() -> None:
    assert profile_of(with_args("PodTopologySpread", defaultingType="List")).default_spread == ()


def test_the_effort_of_a_decision() -> None:
    assert profile_of(with_args("Reprieve", planningEffort=50)).planning_effort == 50
    assert profile_of(with_args("Reprieve", policy="Upstream")).planning_effort == 0
    assert profile_of(with_args("Reprieve", policy="Upstream", planningEffort=7)).planning_effort == 7


def test_a_filter_that_is_disabled_does_not_hold() -> None:
    off = profile_of(profile(plugins={"filter": {"disabled": [{"name": "NodeUnschedulable"}]}}))
    room = NodeStatus(allocatable={"pods": "1"})
    cordoned = Node(metadata=ObjectMeta(name="n"), spec=NodeSpec(unschedulable=True), status=room)
    view = build([cordoned, Pod(metadata=ObjectMeta(name="p"))]).snapshot
    assert isinstance(place(pod_demand(view, 0), view), Unplaceable)
    assert place(pod_demand(view, 0, off), view, off) == Placement((0,))
