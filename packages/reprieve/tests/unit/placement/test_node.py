"""Cordons, taints, node selectors and affinity, declared features."""

from typing import Any

import msgspec
from tests.unit.model.things import a_node, a_pod
from tests.unit.placement.asking import ask_about, refused

from reprieve.model.objects import Node, NodeStatus
from reprieve.model.selectors import NodeQuery, Operator, Requirement
from reprieve.placement.constraints import node
from reprieve.placement.profile import Profile

CORDONED = {"unschedulable": True}


def tainted(name: str, *taints: str) -> Node:
    """Taints are written key=value:effect."""
    parts = [(text.partition(":")[0].partition("="), text.partition(":")[2]) for text in taints]
    return a_node(
        name, spec={"taints": [{"key": kv[0], "value": kv[2], "effect": effect} for kv, effect in parts]}
    )


def test_a_cordoned_node_is_refused() -> None:
    nodes = [a_node("open"), a_node("closed", spec=CORDONED)]
    assert refused(node.unschedulable, ask_about(a_pod(), nodes)) == {"closed": ["NodeUnschedulable"]}


def test_a_cordon_can_be_tolerated() -> None:
    pod = a_pod(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}])
    assert refused(node.unschedulable, ask_about(pod, [a_node("closed", spec=CORDONED)])) == {}


def test_taints_that_keep_out_and_taints_that_only_advise() -> None:
    nodes = [tainted("a", "k=v:NoSchedule"), tainted("b", "k:NoExecute"), tainted("c", "k:PreferNoSchedule")]
    assert refused(node.taints, ask_about(a_pod(), nodes)) == {
        "a": ["UntoleratedTaint k=v:NoSchedule"],
        "b": ["UntoleratedTaint k:NoExecute"],
    }


def test_the_first_taint_that_is_not_tolerated_is_named() -> None:
    pod = a_pod(tolerations=[{"key": "fine", "operator": "Exists"}])
    nodes = [tainted("n", "fine:NoSchedule", "first:NoSchedule", "second:NoSchedule")]
    assert refused(node.taints, ask_about(pod, nodes)) == {"n": ["UntoleratedTaint first:NoSchedule"]}


def wanting(*terms: Any, **spec: Any) -> Any:
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]} for term in terms]}
    name = "requiredDuringSchedulingIgnoredDuringExecution"
    return a_pod(affinity={"nodeAffinity": {name: required}}, **spec)


def test_a_node_must_have_the_selected_labels_and_one_of_the_terms() -> None:
    ssd = {"key": "disk", "operator": "In", "values": ["ssd"]}
    new = {"key": "generation", "operator": "Gt", "values": ["2"]}
    labels = {
        "good": {"zone": "z", "disk": "ssd"},
        "also-good": {"zone": "z", "generation": "3"},
        "elsewhere": {"disk": "ssd"},
        "old": {"zone": "z", "generation": "2"},
    }
    nodes = [a_node(name, some) for name, some in labels.items()]
    ask = ask_about(wanting(ssd, new, nodeSelector={"zone": "z"}), nodes)
    assert refused(node.affinity, ask) == {"elsewhere": ["NodeAffinity"], "old": ["NodeAffinity"]}


def test_required_affinity_without_any_term_suits_no_node() -> None:
    assert refused(node.affinity, ask_about(wanting(), [a_node("n")])) == {"n": ["NodeAffinity"]}


def test_a_profile_can_add_affinity_to_every_pod() -> None:
    added = NodeQuery(selector=(Requirement("pool", Operator.EXISTS),))
    ask = ask_about(a_pod(), [a_node("in", {"pool": "x"}), a_node("out")], Profile(added_node_affinity=added))
    assert refused(node.affinity, ask) == {"out": ["NodeAffinity"]}


def test_a_node_must_declare_what_the_pod_cannot_do_without() -> None:
    status = NodeStatus(declared_features=("UserNamespacesHostNetworkSupport",))
    able = msgspec.structs.replace(a_node("able"), status=status)
    ask = ask_about(a_pod(hostNetwork=True, hostUsers=False), [able, a_node("plain")])
    assert refused(node.features, ask) == {"plain": ["NodeFeature UserNamespacesHostNetworkSupport"]}
