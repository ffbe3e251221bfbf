"""Which node is better for its room, its taints, its labels, its images: worked examples."""

import msgspec
import pytest
from tests.unit.model.things import a_node, a_pod, container
from tests.unit.placement.asking import ask_about, scores

from reprieve.model.objects import KubernetesObject, Node, NodeStatus
from reprieve.placement.profile import Profile, Strategy
from reprieve.placement.resource_scores import allocation, balance
from reprieve.placement.scoring import image_score

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


def test_a_pod_that_evens_out_a_node_is_welcome_there() -> None:
    nodes = [a_node(name, cpu="4", memory="4Gi") for name in ("cpu-heavy", "even")]
    old = a_pod("old", on="cpu-heavy", containers=[container(cpu="2")])
    new = a_pod(containers=[container(memory="2Gi")])
    # Use of cpu and memory: from 50/0 to 50/50 percent, and from 0/0 to 0/50.
    assert scores(balance, ask_about(new, [*nodes, old])) == {"cpu-heavy": 87, "even": 62}


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
