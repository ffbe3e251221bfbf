"""The initial content of a cluster."""

from tests.minicluster.scene import HandClock

from reprieve.cli.input_files import SHAPES
from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve_minicluster.admission import admitted
from reprieve_minicluster.bootstrap import nodes_of, standard_objects
from reprieve_minicluster.store import Store


def test_nodes_are_made_after_a_template() -> None:
    nodes = nodes_of([SHAPES["gpu8"]], 3)
    assert [node["metadata"]["name"] for node in nodes] == ["gpu-0", "gpu-1", "gpu-2"]
    assert nodes[2]["metadata"]["labels"]["kubernetes.io/hostname"] == "gpu-2"
    assert nodes[0]["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert "kubernetes.io/hostname" not in SHAPES["gpu8"]["metadata"]["labels"]


def test_several_templates_take_turns() -> None:
    nodes = nodes_of(list(SHAPES.values()), 3)
    assert [node["metadata"]["name"] for node in nodes] == ["gpu-0", "cpu-0", "gpu-1"]


def test_every_shape_is_a_node_that_clients_could_send() -> None:
    for template in SHAPES.values():
        (node,) = nodes_of([template], 1)
        assert admitted(Store(HandClock()), "nodes", node, ALL_FEATURES)["kind"] == "Node"


def test_the_system_has_its_namespaces_and_classes() -> None:
    names = {body["metadata"]["name"] for body in standard_objects()}
    assert {"default", "kube-system", "system-node-critical", "system-cluster-critical"} <= names
