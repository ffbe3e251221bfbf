"""Room on a node: what is free, what never will be, and how many pods there may be."""

from tests.unit.model.things import a_node, a_pod, container
from tests.unit.placement.asking import ask_about, refused

from reprieve.placement.constraints import resources


def test_a_node_smaller_than_the_pod_is_hopeless() -> None:
    ask = ask_about(a_pod(containers=[container(cpu="2")]), [a_node("small", cpu="1"), a_node("none")])
    assert refused(resources.resources, ask) == {
        "small": ["ExceedsCapacity cpu"],
        "none": ["ExceedsCapacity cpu"],
    }


def test_a_node_of_exactly_the_pods_size_could_be_emptied() -> None:
    other = a_pod("other", on="n", containers=[container(cpu="1m")])
    ask = ask_about(a_pod(containers=[container(cpu="2")]), [a_node("n", cpu="2"), other])
    assert refused(resources.resources, ask) == {"n": ["InsufficientResource cpu?"]}
