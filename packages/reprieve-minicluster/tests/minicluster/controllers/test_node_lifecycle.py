"""Nodes that fail by annotation, and pods that taints evict."""

import pytest
from tests.minicluster.scene import Scene, condition, node, pod, pod_key

from reprieve.model.json import Json
from reprieve_minicluster.store import Key

NODE = Key("nodes", "", "n1")
NOT_READY = "node.kubernetes.io/not-ready"
FOREVER: Json = {"operator": "Exists"}


def tolerating(name: str, *tolerations: Json) -> Json:
    body = pod(name, on="n1")
    return {**body, "spec": {**body["spec"], "tolerations": list(tolerations)}}


def for_seconds(seconds: int, key: str = NOT_READY) -> Json:
    return {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}


@pytest.fixture
def scene() -> Scene:
    made = Scene()
    made.add(node())
    made.pass_time(1)
    return made


def told(scene: Scene, fail: bool) -> None:
    def change(body: Json) -> None:
        body["metadata"]["annotations"] = {"reprieve.dev/fail": "it burns"} if fail else {}

    scene.change(NODE, change)
    scene.pass_time(1)


def names(scene: Scene) -> list[str]:
    return [body["metadata"]["name"] for body in scene.all("pods")]


def test_a_node_that_is_told_to_fail_fails_and_recovers(scene: Scene) -> None:
    told(scene, fail=True)
    body = scene.read(NODE)
    ready = condition(body, "Ready")
    assert ready is not None and (ready["status"], ready["reason"]) == ("False", "ToldToFail")
    taints = body["spec"]["taints"]
    assert [(t["key"], t["effect"]) for t in taints] == [(NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")]
    assert "timeAdded" in taints[1]
    told(scene, fail=False)
    body = scene.read(NODE)
    assert body["spec"]["taints"] == []
    ready = condition(body, "Ready")
    assert ready is not None and ready["status"] == "True"


def test_the_taints_of_others_stay(scene: Scene) -> None:
    mine = {"key": "gpu", "effect": "NoSchedule"}
    scene.write(NODE, spec={"taints": [mine]})
    told(scene, fail=True)
    assert scene.read(NODE)["spec"]["taints"][0] == mine
    told(scene, fail=False)
    assert scene.read(NODE)["spec"]["taints"] == [mine]


def test_pods_leave_when_their_toleration_ends(scene: Scene) -> None:
    scene.add(
        pod("none", on="n1"),
        tolerating("short", for_seconds(20)),
        tolerating("shortest", for_seconds(60), for_seconds(20)),
        tolerating("forever", FOREVER),
    )
    scene.pass_time(5)
    told(scene, fail=True)
    scene.pass_time(10)
    target = condition(scene.read(pod_key("none")), "DisruptionTarget")
    assert target is not None and target["reason"] == "DeletionByTaintManager"
    leaving = [b["metadata"]["name"] for b in scene.all("pods") if "deletionTimestamp" in b["metadata"]]
    assert leaving == ["none"]
    scene.pass_time(60)
    assert names(scene) == ["forever"]


def test_a_node_that_recovers_in_time_keeps_its_pods(scene: Scene) -> None:
    scene.add(tolerating("patient", for_seconds(30)))
    scene.pass_time(5)
    told(scene, fail=True)
    scene.pass_time(20)
    told(scene, fail=False)
    scene.pass_time(60)
    assert names(scene) == ["patient"]
    assert "deletionTimestamp" not in scene.all("pods")[0]["metadata"]


def test_any_taint_of_that_effect_drives_pods_out(scene: Scene) -> None:
    scene.add(pod("none", on="n1"), tolerating("short", for_seconds(20, "rust")))
    scene.pass_time(5)
    scene.write(NODE, spec={"taints": [{"key": "rust", "effect": "NoExecute"}]})
    scene.pass_time(2)
    assert "timeAdded" in scene.read(NODE)["spec"]["taints"][0]
    scene.pass_time(120)
    assert names(scene) == []


def test_pods_elsewhere_are_not_disturbed(scene: Scene) -> None:
    scene.add(node("n2"), pod("elsewhere", on="n2"), pod("nowhere"))
    told(scene, fail=True)
    scene.pass_time(60)
    assert names(scene) == ["elsewhere", "nowhere"]
