"""A waiting pod is woken by the one change that lets it fit, and runs a moment later."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from reprieve.model.json import Json
from reprieve_minicluster.cluster import MiniCluster
from reprieve_minicluster.store import Key, Part
from tests.simulation.objects import HOST, ZONE, alone, node, pod, pod_spec
from tests.simulation.small import MINUTE, lived, phases, store

Change = Callable[[MiniCluster], None]

SOON = 12.0  # the longest backoff, the start of a pod, and a moment
TAINT = {"key": "example.com/ill", "effect": "NoSchedule"}
NEAR_WEB = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
        ]
    }
}


def spec(kind: str, name: str, **changes: Any) -> Change:
    resource, namespace = ("pods", "default") if kind == "Pod" else ("nodes", "")
    key = Key(resource, namespace, name)
    return lambda cluster: _done(
        cluster.store.patch(key, lambda body: {**body, "spec": {**body["spec"], **changes}}, Part.MAIN)
    )


def labels(name: str, **changes: str) -> Change:
    def relabelled(body: Json) -> Json:
        meta = body["metadata"]
        return {**body, "metadata": {**meta, "labels": {**meta["labels"], **changes}}}

    return lambda cluster: _done(cluster.store.patch(Key("nodes", "", name), relabelled, Part.MAIN))


def offers(cpu: str) -> Change:
    def grown(body: Json) -> Json:
        status = body["status"]
        return {**body, "status": {**status, "allocatable": {**status["allocatable"], "cpu": cpu}}}

    return lambda cluster: _done(cluster.store.patch(Key("nodes", "", "n1"), grown, Part.STATUS))


def comes(thing: Json) -> Change:
    return lambda cluster: store(cluster, [thing])


def leaves(name: str) -> Change:
    return lambda cluster: cluster.delete("Pod", "default", name, grace=0)


def _done(_: object) -> None:
    pass


N1 = node("n1", "z1", cpu=2)
CASES: dict[str, tuple[list[Json], Json, Change]] = {
    "a node comes": ([], pod_spec("1"), comes(N1)),
    "a node grows": ([N1], pod_spec("3"), offers("4")),
    "a pod leaves": ([N1, pod("big", pod_spec("2"))], pod_spec("1"), leaves("big")),
    "a cordon is lifted": (
        [node("n1", "z1", unschedulable=True)],
        pod_spec("1"),
        spec("Node", "n1", unschedulable=False),
    ),
    "a taint goes": ([node("n1", "z1", taints=[TAINT])], pod_spec("1"), spec("Node", "n1", taints=[])),
    "a label appears": ([N1], pod_spec("1", nodeSelector={"disk": "ssd"}), labels("n1", disk="ssd")),
    "a host port is free": (
        [N1, pod("web", pod_spec("0", host_port=80))],
        pod_spec("0", host_port=80),
        leaves("web"),
    ),
    "anti-affinity ends": (
        [N1, pod("web", pod_spec("0", affinity=alone("web")), labels={"alone": "web"})],
        pod_spec("0", affinity=alone("web")),
        leaves("web"),
    ),
    "company arrives": (
        [N1],
        pod_spec("0", affinity=NEAR_WEB),
        comes(pod("web", pod_spec("0"), labels={"app": "web"})),
    ),
    "a gate opens": (
        [N1],
        pod_spec("0", schedulingGates=[{"name": "example.com/quota"}]),
        spec("Pod", "waits", schedulingGates=[]),
    ),
    "it asks for less": ([node("n1", "z1", cpu=2)], pod_spec("3"), spec("Pod", "waits", **pod_spec("1"))),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("patience", [0.5, 3 * MINUTE])
def test_the_change_that_helps_is_enough(case: str, patience: float) -> None:
    beginning, asked, change = CASES[case]

    async def story(cluster: MiniCluster) -> None:
        store(cluster, beginning)
        await asyncio.sleep(5.0)
        store(cluster, [pod("waits", asked, labels={"alone": "web"} if HOST in str(asked) else {})])
        await asyncio.sleep(patience)
        assert phases(cluster)["waits"] == "Pending"
        change(cluster)
        await asyncio.sleep(SOON)

    assert phases(lived(story))["waits"] == "Running"
