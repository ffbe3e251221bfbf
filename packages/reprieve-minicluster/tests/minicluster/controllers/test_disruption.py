"""PodDisruptionBudget status: healthy pods, allowed disruptions, and how long a granted one counts."""

import pytest
from tests.minicluster.scene import Scene, node, pod, pod_key, template

from reprieve.cluster.api.timestamps import stamp
from reprieve.model.json import Json
from reprieve_minicluster.store import Key

BUDGET = Key("poddisruptionbudgets.policy", "default", "web")


def budget(**spec: object) -> Json:
    whole = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    return {"kind": "PodDisruptionBudget", "metadata": {"name": "web"}, "spec": whole}


def replica_set(replicas: int) -> Json:
    spec = {"replicas": replicas, "template": template()}
    return {"kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec}


def scene_with(body: Json, pods: int) -> Scene:
    """Running pods of a ReplicaSet that wants one more than there are ready."""
    scene = Scene()
    scene.add(node("n1"), replica_set(pods + 1), body)
    scene.pass_time(0.2)
    for made in scene.all("pods")[:pods]:
        key = pod_key(made["metadata"]["name"])
        scene.change(key, lambda found: found["spec"].update(nodeName="n1", containers=[]))
    scene.pass_time(2)
    return scene


def status(scene: Scene) -> tuple[int, int, int, int]:
    found = scene.read(BUDGET)["status"]
    names = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    expected, desired, healthy, allowed = (found[name] for name in names)
    return expected, desired, healthy, allowed


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 2}, (5, 2, 4, 2)),
        ({"minAvailable": 9}, (5, 9, 4, 0)),
        ({"minAvailable": "50%"}, (5, 3, 4, 1)),
        ({"maxUnavailable": 2}, (5, 3, 4, 1)),
        ({"maxUnavailable": "50%"}, (5, 2, 4, 2)),
        ({"maxUnavailable": "some"}, (5, 5, 4, 0)),
        ({"minAvailable": "some"}, (5, 5, 4, 0)),
    ],
)
def test_a_budget_counts(spec: Json, expected: tuple[int, int, int, int]) -> None:
    scene = scene_with(budget(**spec), pods=4)
    assert status(scene) == expected


def test_a_pod_that_leaves_no_longer_counts() -> None:
    scene = scene_with(budget(maxUnavailable=2), pods=4)
    scene.store.delete(pod_key(_ready(scene)))
    scene.pass_time(0.2)
    assert status(scene)[2:] == (3, 0)


def test_a_budget_without_pods_allows_nothing() -> None:
    scene = Scene()
    scene.add(budget(minAvailable=0), pod("other", labels={"app": "db"}))
    scene.pass_time(1)
    assert status(scene) == (0, 0, 0, 0)


def grant(scene: Scene, *names: str) -> None:
    """As the eviction call does before it deletes the pod."""
    granted = dict.fromkeys(names, stamp(scene.clock.now))
    scene.write(BUDGET, status={**scene.read(BUDGET)["status"], "disruptedPods": granted})


def test_a_granted_disruption_counts_until_the_pod_leaves() -> None:
    scene = scene_with(budget(minAvailable=1), pods=3)
    name = _ready(scene)
    grant(scene, name, "ghost")
    scene.pass_time(1)
    assert status(scene)[2:] == (2, 1)
    assert list(scene.read(BUDGET)["status"]["disruptedPods"]) == [name]
    scene.store.delete(pod_key(name), grace=1)
    scene.pass_time(0.5)
    assert scene.read(BUDGET)["status"]["disruptedPods"] == {}
    assert status(scene)[2:] == (2, 1)


def test_a_granted_disruption_that_never_comes_is_forgotten() -> None:
    scene = scene_with(budget(minAvailable=1), pods=3)
    grant(scene, _ready(scene))
    scene.pass_time(60)
    assert status(scene)[2:] == (2, 1)
    scene.pass_time(61)
    assert status(scene)[2:] == (3, 2)


def _ready(scene: Scene) -> str:
    found = next(b for b in scene.all("pods") if b["status"]["phase"] == "Running")
    return str(found["metadata"]["name"])


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicationController"])
def test_other_owners_count_too(kind: str) -> None:
    scene = Scene()
    labels = {"app": "web"}
    selector = {"matchLabels": labels} if kind == "StatefulSet" else labels
    spec = {"replicas": 5, "selector": selector, "template": template(), "podManagementPolicy": "Parallel"}
    body = {"kind": kind, "metadata": {"name": "web", "namespace": "default"}, "spec": spec}
    scene.add(budget(maxUnavailable="40%"), body)
    scene.pass_time(2)
    assert status(scene) == (5, 3, 0, 0)
