"""Selectors, node terms and tolerations: what is compiled agrees with the plain reading."""

import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from reprieve.model.nodes import nodes_table
from reprieve.model.objects import LabelSelector, Node, Pod, Ref
from reprieve.model.pod_compilation import compile_pod
from reprieve.model.resources import Problems
from reprieve.model.selectors import compile_selector, tolerates
from tests.properties.agreement import cluster_of
from tests.properties.vocabulary import POD_LABELS, label_selector, labels_from
from tests.properties.worlds import World, worlds
from tests.reference.plain import selectors as plain

NODES = worlds(frozenset({"node"}))


@given(st.integers(0, 2**32 - 1))
def test_label_selectors(seed: int) -> None:
    rng = random.Random(seed)
    selector = msgspec.convert(label_selector(rng, POD_LABELS), LabelSelector)
    problems = Problems(Ref(kind="Pod", namespace="", name=""))
    compiled = compile_selector(selector, "", problems)
    assert problems.all() == ()
    for _ in range(10):
        labels = labels_from(rng, POD_LABELS, 0.6)
        assert compiled.matches(labels) == plain.selects(selector, labels)


@given(NODES)
def test_node_terms_one_by_one_and_as_masks(world: World) -> None:
    cluster = cluster_of(world)
    table = nodes_table(cluster.nodes)
    for pod in (thing for thing in cluster.objects if isinstance(thing, Pod)):
        query = compile_pod(pod).shape.nodes
        plainly = [_suits(pod, node) for node in cluster.nodes]
        assert [query.matches(n.metadata.labels, n.metadata.name) for n in cluster.nodes] == plainly
        assert table.matching(query).tolist() == plainly


def _suits(pod: Pod, node: Node) -> bool:
    required = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    selected = pod.spec.node_selector.items() <= node.metadata.labels.items()
    return selected and (
        required is None or any(plain.accepts(t, node) for t in required.node_selector_terms)
    )


@given(NODES)
def test_tolerations(world: World) -> None:
    cluster = cluster_of(world)
    pods = [thing for thing in cluster.objects if isinstance(thing, Pod)]
    taints = [taint for node in cluster.nodes for taint in node.spec.taints]
    for toleration in (t for pod in pods for t in pod.spec.tolerations):
        for taint in taints:
            assert tolerates(toleration, taint) == plain.tolerates(toleration, taint)
