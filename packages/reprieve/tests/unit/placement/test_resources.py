"""Room on a node: what is free, what never will be, and how many pods there may be."""

from tests.unit.model.things import a_node, a_pod, container
from tests.unit.placement.asking import ask_about, refused

from reprieve.placement.constraints import resources
from reprieve.placement.profile import Profile

GPU = {"example.com/gpu": "1"}


def test_what_is_left_must_be_enough() -> None:
    nodes = [a_node("roomy", cpu="3"), a_node("full", cpu="2")]
    pods = [a_pod(f"on-{n}", on=n, containers=[container(cpu="1")]) for n in ("roomy", "full")]
    ask = ask_about(a_pod(containers=[container(cpu="2")]), [*nodes, *pods])
    assert refused(resources.resources, ask) == {"full": ["InsufficientResource cpu?"]}


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


def test_every_resource_that_is_short_is_named() -> None:
    ask = ask_about(
        a_pod(containers=[container(cpu="2", memory="1Gi", **GPU)]), [a_node("n", cpu="1", memory="2Gi")]
    )
    assert refused(resources.resources, ask) == {
        "n": ["ExceedsCapacity cpu", "ExceedsCapacity example.com/gpu"]
    }


def test_pods_are_counted_too() -> None:
    ask = ask_about(a_pod(), [a_node("n", pods="1"), a_pod("other", on="n"), a_node("m", pods="1")])
    assert refused(resources.resources, ask) == {"n": ["TooManyPods?"]}


def test_an_overcommitted_node_takes_pods_that_ask_nothing_of_what_is_short() -> None:
    giant = a_pod("giant", on="n", containers=[container(cpu="8")])
    ask = ask_about(
        a_pod(containers=[container(cpu="0", memory="1Mi")]), [a_node("n", cpu="1", memory="1Gi"), giant]
    )
    assert refused(resources.resources, ask) == {}


def test_ignored_resources_are_not_counted() -> None:
    pod = a_pod(containers=[container(**GPU)])
    for profile in (
        Profile(ignored_resources=frozenset({"example.com/gpu"})),
        Profile(ignored_resource_groups=frozenset({"example.com"})),
    ):
        assert refused(resources.resources, ask_about(pod, [a_node("n")], profile)) == {}
    assert refused(resources.resources, ask_about(pod, [a_node("n")]))
