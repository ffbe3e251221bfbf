"""Claims that wait for their first consumer: the pods run, and the claims are bound to fitting volumes."""

import asyncio

import pytest
from tests.minicluster.faulty_cluster import everything

from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.virtual_time import EPOCH
from tests.simulation.objects import (
    DRIVER,
    claim,
    csi_node,
    local_volume,
    node,
    pod,
    pod_spec,
    storage_class,
    volumes,
)
from tests.simulation.small import MINUTE, after, lived, phases

NODES = ("n0", "n1", "n2")
CLASSES = [storage_class("made", DRIVER), storage_class("local", "kubernetes.io/no-provisioner")]


def cluster_with(*objects: Json) -> list[Json]:
    nodes = [node(name, f"z-{name}") for name in NODES]
    disks = [local_volume(f"disk-{name}", name) for name in NODES]
    return [*nodes, *map(csi_node, NODES), *CLASSES, *disks, *objects]


def user(name: str, *claims: str, cpu: str = "1") -> Json:
    return pod(name, pod_spec(cpu, volumes=volumes(*claims)))


def check_volumes(cluster: MiniCluster) -> None:
    """Every claim of a running pod is bound, to a volume of its own that its node can reach."""
    bound: set[str] = set()
    for one in cluster.list("Pod"):
        place = cluster.read("Node", "", one["spec"]["nodeName"])
        assert place is not None
        for name in (v["persistentVolumeClaim"]["claimName"] for v in one["spec"].get("volumes", ())):
            its = cluster.read("PersistentVolumeClaim", "default", name)
            assert its is not None
            assert its["status"]["phase"] == "Bound"
            volume = cluster.read("PersistentVolume", "", its["spec"]["volumeName"])
            assert volume is not None
            assert volume["spec"]["claimRef"]["uid"] == its["metadata"]["uid"]
            assert is_reachable(volume, place)
            assert volume["metadata"]["name"] not in bound
            bound.add(volume["metadata"]["name"])


def is_reachable(volume: Json, place: Json) -> bool:
    terms = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    labels = place["metadata"]["labels"]
    return any(all(labels[e["key"]] in e["values"] for e in term["matchExpressions"]) for term in terms)


def test_an_existing_volume_is_taken_where_the_pod_goes() -> None:
    cluster = after(MINUTE, cluster_with(claim("data", "local"), user("db", "data")))
    assert phases(cluster) == {"db": "Running"}
    check_volumes(cluster)


def test_a_volume_is_made_where_the_pod_goes() -> None:
    cluster = after(MINUTE, cluster_with(claim("data", "made"), user("db", "data")))
    assert phases(cluster) == {"db": "Running"}
    check_volumes(cluster)


def test_one_of_each_in_one_pod() -> None:
    claims = [claim("scratch", "local"), claim("data", "made")]
    cluster = after(MINUTE, cluster_with(*claims, user("db", "scratch", "data")))
    assert phases(cluster) == {"db": "Running"}
    check_volumes(cluster)


def test_a_pod_that_finds_no_volume_waits_for_one() -> None:
    """Four pods want local disks, and there are three; then a node brings another."""
    claims = [claim(f"c{i}", "local") for i in range(4)]

    async def story(cluster: MiniCluster) -> None:
        cluster.apply(cluster_with(*claims, *(user(f"p{i}", f"c{i}") for i in range(4))))
        await asyncio.sleep(MINUTE)
        assert sorted(phases(cluster).values()) == ["Pending", "Running", "Running", "Running"]
        cluster.apply([node("n3", "z-n3"), local_volume("disk-n3", "n3")])
        await asyncio.sleep(MINUTE)

    cluster = lived(story)
    assert set(phases(cluster).values()) == {"Running"}
    check_volumes(cluster)


def test_a_node_that_vanishes_while_a_volume_is_made_for_it() -> None:
    """The claim is asked for again where the pod goes next."""

    async def story(cluster: MiniCluster) -> None:
        cluster.apply(cluster_with(claim("data", "made"), user("db", "data")))
        await asyncio.sleep(0.5)
        chosen = _selected_node(cluster)
        cluster.delete("Node", "", chosen)
        await asyncio.sleep(MINUTE)
        (one,) = cluster.list("Pod")
        assert one["spec"]["nodeName"] not in ("", chosen)

    check_volumes(lived(story))


def _selected_node(cluster: MiniCluster) -> str:
    (asked,) = cluster.list("PersistentVolumeClaim")
    return str(asked["metadata"]["annotations"]["volume.kubernetes.io/selected-node"])


def test_claims_that_come_after_their_pods() -> None:
    async def story(cluster: MiniCluster) -> None:
        cluster.apply(cluster_with(user("db", "data")))
        await asyncio.sleep(MINUTE)
        assert phases(cluster) == {"db": "Pending"}
        cluster.apply([claim("data", "local")])
        await asyncio.sleep(MINUTE)

    cluster = lived(story)
    assert phases(cluster) == {"db": "Running"}
    check_volumes(cluster)


@pytest.mark.parametrize("seed", range(40))
def test_under_faults(seed: int) -> None:
    """Every disk is wanted, some pods want two kinds of volume, and everything is late, lost or refused."""
    claims = [claim(f"c{i}", "made") for i in range(12)] + [claim(f"d{i}", "local") for i in range(3)]
    users = [user(f"p{i}", f"c{i}", *([f"d{i}"] if i < 3 else []), cpu="100m") for i in range(12)]
    faults = everything(seed, rate=0.05 + seed % 3 * 0.04, until=EPOCH + MINUTE)
    cluster = after(4 * MINUTE, cluster_with(*claims, *users), faults)
    assert set(phases(cluster).values()) == {"Running"}
    check_volumes(cluster)
