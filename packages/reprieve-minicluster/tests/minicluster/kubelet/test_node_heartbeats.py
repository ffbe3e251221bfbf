"""Leases of simulated nodes: made, renewed, and seldom enough."""

from tests.minicluster.scene import Scene, node

from reprieve_minicluster.kubelet import Kubelets, KubeletTiming
from reprieve_minicluster.kubelet.node_status import addresses_of

LEASES = "leases.coordination.k8s.io"


def test_a_lease_is_made_and_renewed() -> None:
    scene = Scene()
    scene.kubelets = Kubelets(scene.store, scene.clock, KubeletTiming(heartbeat_seconds=10))
    scene.add(node("n1"))
    scene.pass_time(1)
    (lease,) = scene.all(LEASES)
    assert lease["metadata"]["namespace"] == "kube-node-lease"
    assert lease["metadata"]["ownerReferences"][0]["name"] == lease["spec"]["holderIdentity"] == "n1"
    scene.pass_time(5)
    assert scene.all(LEASES) == [lease], "not yet"
    scene.pass_time(310)
    (later,) = scene.all(LEASES)
    assert later["spec"]["renewTime"] > lease["spec"]["renewTime"]
    (found,) = scene.all("nodes")
    (ready,) = found["status"]["conditions"]
    assert ready["lastHeartbeatTime"] > ready["lastTransitionTime"]
    assert found["status"]["addresses"] == addresses_of("n1")


def test_without_heartbeats_there_are_no_leases() -> None:
    scene = Scene()
    scene.add(node("n1"))
    scene.pass_time(100)
    assert scene.all(LEASES) == []
