"""A malformed object never stops the scheduler: its event names the field, and all other pods run."""

import asyncio
from typing import Any

import pytest

from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.store import Key, Part
from tests.simulation.objects import HOST, claim, local_volume, node, pod, pod_spec, storage_class, volumes
from tests.simulation.small import MINUTE, after, lived, phases, store, warnings

TERM = {"matchExpressions": [{"key": HOST, "operator": "Near", "values": ["n1"]}]}
SPREAD = {"maxSkew": 0, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule"}

# Parts of a pod's spec, and the field that is wrong in each.
WRONG: list[tuple[Json, str]] = [
    ({"containers": 3}, "spec.containers"),
    ({"containers": [{"name": "c", "resources": {"requests": {"cpu": "lots"}}}]}, "requests.cpu"),
    ({"containers": [{"name": "c", "resources": {"requests": {"cpu": "-1"}}}]}, "requests.cpu"),
    ({"containers": [{"name": "c", "resources": {"requests": {"memory": {}}}}]}, "requests[memory]"),
    ({"containers": [{"name": "c", "ports": [{"hostPort": 70000}]}]}, "ports[0].hostPort"),
    ({"initContainers": "none"}, "spec.initContainers"),
    ({"priority": "high"}, "spec.priority"),
    ({"tolerations": "all"}, "spec.tolerations"),
    ({"tolerations": [{"key": "k", "operator": "Sometimes"}]}, "tolerations[0].operator"),
    ({"nodeSelector": ["n1"]}, "spec.nodeSelector"),
    (
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}
                }
            }
        },
        "nodeSelectorTerms[0].matchExpressions[0].operator",
    ),
    ({"topologySpreadConstraints": [SPREAD]}, "topologySpreadConstraints[0].maxSkew"),
    ({"schedulingGates": 1}, "spec.schedulingGates"),
    ({"volumes": {"name": "v"}}, "spec.volumes"),
    ({"overhead": {"cpu": "some"}}, "spec.overhead.cpu"),
    ({"resourceClaims": [{"name": "gpu"}]}, "spec.resourceClaims"),
]


def spoiled(part: Json) -> Json:
    return pod("odd", {**pod_spec("1"), **part})


@pytest.mark.parametrize(("part", "field"), WRONG, ids=[field for _, field in WRONG])
def test_a_pod_with_a_wrong_field_waits_and_is_told_which(part: Json, field: str) -> None:
    cluster = after(MINUTE, [node("n1", "z"), spoiled(part), pod("sound", pod_spec("1"))])
    assert phases(cluster) == {"odd": "Pending", "sound": "Running"}
    (told,) = warnings(cluster, "odd")
    assert field in told


@pytest.mark.parametrize("labels", [{"app": 1}, ["app"], "app"])
def test_wrong_metadata(labels: Any) -> None:
    cluster = after(
        MINUTE, [node("n1", "z"), pod("odd", pod_spec("1"), labels=labels), pod("p", pod_spec("1"))]
    )
    assert phases(cluster) == {"odd": "Pending", "p": "Running"}
    (told,) = warnings(cluster, "odd")
    assert "metadata.labels" in told


def test_all_at_once_and_the_others_run() -> None:
    odd = [pod(f"odd-{i}", {**pod_spec("1"), **part}) for i, (part, _) in enumerate(WRONG)]
    sound = [pod(f"sound-{i}", pod_spec("100m")) for i in range(10)]
    mixed = [thing for pair in zip(odd, sound, strict=False) for thing in pair]
    found = phases(after(MINUTE, [node("n1", "z"), *mixed]))
    assert found == {p["metadata"]["name"]: "Pending" for p in odd[:10]} | {
        p["metadata"]["name"]: "Running" for p in sound
    }


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "Node", "metadata": {"name": "odd"}, "spec": {"taints": 5}},
        {
            "kind": "Node",
            "metadata": {"name": "odd"},
            "status": {"allocatable": {"cpu": "many", "pods": "9"}},
        },
        {"kind": "PodDisruptionBudget", "metadata": {"name": "odd"}, "spec": {"selector": "all"}},
        {"kind": "PersistentVolumeClaim", "metadata": {"name": "odd"}, "spec": 7},
        {"kind": "PersistentVolume", "metadata": {"name": "odd"}, "spec": {"capacity": "large"}},
        {"kind": "StorageClass", "metadata": {"name": "odd"}, "provisioner": []},
        {"kind": "Service", "metadata": {"name": "odd"}, "spec": {"selector": 1}},
        {"kind": "PodGroup", "metadata": {"name": "odd"}, "spec": {"schedulingPolicy": "all"}},
        {"kind": "Deployment", "metadata": {"name": "odd"}, "spec": {"replicas": "few"}},
        {"kind": "Job", "metadata": {"name": "odd"}, "spec": {"template": []}},
    ],
    ids=lambda body: body["kind"],
)
def test_another_kind_of_object_with_a_wrong_field_is_in_the_way_of_none(other: Json) -> None:
    data = [
        storage_class("local", "kubernetes.io/no-provisioner"),
        local_volume("v", "n1"),
        claim("c", "local"),
    ]
    user = pod("user", pod_spec("1", volumes=volumes("c")))
    found = phases(after(MINUTE, [other, node("n1", "z"), *data, user, pod("p", pod_spec("1"))]))
    assert {found["user"], found["p"]} == {"Running"}


def test_a_pod_that_is_put_right_runs() -> None:
    async def story(cluster: MiniCluster) -> None:
        store(cluster, [node("n1", "z"), spoiled({"tolerations": 3})])
        await asyncio.sleep(MINUTE)
        assert phases(cluster) == {"odd": "Pending"}
        cluster.store.patch(Key("pods", "default", "odd"), _put_right, Part.MAIN)
        await asyncio.sleep(5.0)

    assert phases(lived(story)) == {"odd": "Running"}


def _put_right(body: Json) -> Json:
    return {**body, "spec": {**body["spec"], "tolerations": []}}


def test_a_pod_that_is_spoiled_while_it_runs_still_needs_its_room() -> None:
    async def story(cluster: MiniCluster) -> None:
        store(cluster, [node("n1", "z", cpu=1), pod("first", pod_spec("1"))])
        await asyncio.sleep(5.0)
        cluster.store.patch(
            Key("pods", "default", "first"),
            lambda body: {**body, "spec": {**body["spec"], "tolerations": 3}},
            Part.MAIN,
        )
        store(cluster, [pod("second", pod_spec("1"))])
        await asyncio.sleep(MINUTE)

    assert phases(lived(story)) == {"first": "Running", "second": "Pending"}
