"""Which node is better for its room, its taints, its labels, its images: worked examples."""

from typing import Any

import msgspec
import pytest
from tests.unit.model.things import a_node, a_pod, container
from tests.unit.placement.asking import ask_about, scores

from reprieve.model.objects import KubernetesObject, Node, NodeStatus
from reprieve.model.score_cache import ALL
from reprieve.placement.profile import Profile, ResourceWeight, ShapePoint, Strategy
from reprieve.placement.resource_scores import allocation, balance, balance_by_row, balance_on
from reprieve.placement.scoring import image_score, node_affinity_score, taint_score

MI = 1 << 20
HALF_FULL: list[KubernetesObject] = [
    a_node("empty", cpu="4", memory="8Gi"),
    a_node("used", cpu="4", memory="8Gi"),
    a_pod("old", on="used", containers=[container(cpu="2", memory="1Gi")]),
]
NEW = a_pod(containers=[container(cpu="1", memory="1Gi")])


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        # (3/4 and 7/8 of cpu and memory free) and (1/4 and 6/8)
        (Strategy.LEAST_ALLOCATED, {"empty": 81, "used": 50}),
        (Strategy.MOST_ALLOCATED, {"empty": 18, "used": 50}),
    ],
)
def test_emptier_or_fuller_nodes(strategy: Strategy, expected: dict[str, int]) -> None:
    assert scores(allocation, ask_about(NEW, HALF_FULL, Profile(strategy=strategy))) == expected


def test_a_shape_of_ones_own() -> None:
    """Cpu is used to 25 and 75 percent, which the line makes 5 and 6 of 10 points."""
    profile = Profile(
        strategy=Strategy.REQUESTED_TO_CAPACITY_RATIO,
        strategy_resources=(ResourceWeight("cpu"),),
        strategy_shape=(ShapePoint(0, 0), ShapePoint(50, 10), ShapePoint(100, 2)),
    )
    assert scores(allocation, ask_about(NEW, HALF_FULL, profile)) == {"empty": 50, "used": 60}


def test_a_pod_that_asks_nothing_still_counts_a_little() -> None:
    nodes = [a_node("n", cpu="1", memory="1000Mi")]
    assert scores(allocation, ask_about(a_pod(), nodes)) == {"n": 85}


def test_a_pod_that_evens_out_a_node_is_welcome_there() -> None:
    nodes = [a_node(name, cpu="4", memory="4Gi") for name in ("cpu-heavy", "even")]
    old = a_pod("old", on="cpu-heavy", containers=[container(cpu="2")])
    new = a_pod(containers=[container(memory="2Gi")])
    # Use of cpu and memory: from 50/0 to 50/50 percent, and from 0/0 to 0/50.
    assert scores(balance, ask_about(new, [*nodes, old])) == {"cpu-heavy": 87, "even": 62}


def test_balance_says_nothing_of_pods_without_requests() -> None:
    assert scores(balance, ask_about(a_pod(), HALF_FULL)) is None


@pytest.mark.parametrize("others", [(), ("ephemeral-storage",)], ids=["alone", "with another"])
def test_balance_says_nothing_of_how_many_pods_there_are(others: tuple[str, ...]) -> None:
    """For kube-scheduler a pod requests none of them, and is not scored if that is all it could request."""
    profile = Profile(balanced_resources=tuple(map(ResourceWeight, ("pods", *others))))
    ask = ask_about(NEW, HALF_FULL, profile)
    assert scores(balance, ask) is None
    assert balance_by_row(ask, ALL) is None
    assert balance_on(ask, ask.shape, 0) == 0


def test_fewer_unwelcoming_taints_are_better() -> None:
    def advised(name: str, *keys: str) -> Node:
        return a_node(name, spec={"taints": [{"key": k, "effect": "PreferNoSchedule"} for k in keys]})

    nodes = [advised("a"), advised("b", "x"), advised("c", "x", "y"), advised("d", "x", "fine")]
    pod = a_pod(tolerations=[{"key": "fine", "operator": "Exists"}])
    assert scores(taint_score, ask_about(pod, nodes)) == {"a": 100, "b": 50, "c": 0, "d": 50}


def test_preferred_labels_by_weight() -> None:
    def wish(weight: int, key: str) -> Any:
        return {"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": "Exists"}]}}

    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [wish(30, "a"), wish(10, "b")]}
    nodes = [a_node("both", {"a": "", "b": ""}), a_node("one", {"b": ""}), a_node("neither")]
    ask = ask_about(a_pod(affinity={"nodeAffinity": preferred}), nodes)
    assert scores(node_affinity_score, ask) == {"both": 100, "one": 25, "neither": 0}


def holding(name: str, **images: int) -> Node:
    held = [{"names": [f"{image}:latest"], "sizeBytes": size} for image, size in images.items()]
    status = {"allocatable": {"pods": "9"}, "images": held}
    return msgspec.structs.replace(a_node(name), status=msgspec.convert(status, NodeStatus))


def test_nodes_that_hold_large_images_are_better_the_more_nodes_do() -> None:
    pod = a_pod(containers=[{"name": "c", "image": "big"}, {"name": "d", "image": "small"}])
    nodes = [
        holding("a", big=1023 * MI),
        holding("b", big=1023 * MI),
        holding("c", small=10 * MI),
        a_node("d"),
    ]
    # Half of the nodes hold it: 511.5 MiB of at most 2000, less the 23 that are not worth it.
    assert scores(image_score, ask_about(pod, nodes)) == {"a": 24, "b": 24, "c": 0, "d": 0}
