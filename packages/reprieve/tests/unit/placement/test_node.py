"""Cordons, taints, node selectors and affinity, declared features."""

from typing import Any

from tests.unit.model.things import a_node, a_pod
from tests.unit.placement.asking import ask_about, refused

from reprieve.model.objects import Node
from reprieve.placement.constraints import node


def tainted(name: str, *taints: str) -> Node:
    """Taints are written key=value:effect."""
    parts = [(text.partition(":")[0].partition("="), text.partition(":")[2]) for text in taints]
    return a_node(
        name, spec={"taints": [{"key": kv[0], "value": kv[2], "effect": effect} for kv, effect in parts]}
    )


def test_taints_that_keep_out_and_taints_that_only_advise() -> None:
    nodes = [tainted("a", "k=v:NoSchedule"), tainted("b", "k:NoExecute"), tainted("c", "k:PreferNoSchedule")]
    assert refused(node.taints, ask_about(a_pod(), nodes)) == {
        "a": ["UntoleratedTaint k=v:NoSchedule"],
        "b": ["UntoleratedTaint k:NoExecute"],
    }


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
