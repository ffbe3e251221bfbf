"""DaemonSet: one pod on each eligible node, and rolling updates."""

import json
from collections import Counter

import pytest
from tests.minicluster.scene import Scene, node, template

from reprieve.model.json import Json
from reprieve_minicluster.controllers.node_lifecycle import FAIL
from reprieve_minicluster.store import Key

SET = Key("daemonsets.apps", "default", "agent")


def daemon_set(**spec: object) -> Json:
    return {
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent"), **spec},
    }


def scene_of(body: Json, *nodes: Json) -> Scene:
    scene = Scene()
    scene.add(*(nodes or [node(f"n{i}") for i in range(3)]), body)
    return scene


def meant_for(pod: Json) -> str:
    near = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = near["nodeSelectorTerms"]
    (field,) = term["matchFields"]
    assert (field["key"], field["operator"]) == ("metadata.name", "In")
    name: str = field["values"][0]
    return name


def settle(scene: Scene, seconds: float) -> int:
    """A scheduler that does as pods tell it; how many were gone or not ready at worst."""
    worst = 0
    for _ in range(int(seconds * 5)):
        for body in scene.all("pods"):
            if "nodeName" not in body["spec"]:
                key = Key("pods", "default", body["metadata"]["name"])
                scene.change(key, lambda found: found["spec"].update(nodeName=meant_for(found)))
        scene.pass_time(0.2)
        worst = max(worst, scene.read(SET)["status"].get("numberUnavailable", 0))
    return worst


def places(scene: Scene) -> Counter[str]:
    alive = [b for b in scene.all("pods") if "deletionTimestamp" not in b["metadata"]]
    return Counter(meant_for(b) for b in alive)


def images(scene: Scene) -> Counter[str]:
    return Counter(b["spec"]["containers"][0]["image"] for b in scene.all("pods"))


def use(scene: Scene, image: str) -> None:
    scene.change(SET, lambda body: body["spec"].update(template=template("agent", image=image)))


def test_one_for_each_node_also_for_those_that_come_later() -> None:
    scene = scene_of(daemon_set())
    settle(scene, 3)
    assert places(scene) == {"n0": 1, "n1": 1, "n2": 1}
    scene.add(node("n3"))
    settle(scene, 3)
    assert places(scene) == {"n0": 1, "n1": 1, "n2": 1, "n3": 1}
    status = scene.read(SET)["status"]
    counts = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable")
    assert {status[name] for name in (*counts, "updatedNumberScheduled")} == {4}
    assert (status["numberMisscheduled"], status["numberUnavailable"], status["observedGeneration"]) == (
        0,
        0,
        1,
    )


def test_they_are_left_to_the_scheduler() -> None:
    scene = scene_of(daemon_set())
    scene.pass_time(5)
    assert all("nodeName" not in body["spec"] for body in scene.all("pods"))
    assert scene.read(SET)["status"]["currentNumberScheduled"] == 3


def test_labels_and_taints_say_where() -> None:
    spec = template("agent")
    spec["spec"]["nodeSelector"] = {"disk": "fast"}
    fast = [node(name) for name in ("n0", "n1")]
    for one in fast:
        one["metadata"]["labels"] = {"disk": "fast"}
    fast[1]["spec"] = {"taints": [{"key": "mine", "effect": "NoSchedule"}]}
    scene = scene_of(daemon_set(template=spec), *fast, node("n2"))
    settle(scene, 3)
    assert places(scene) == {"n0": 1}
    scene.change(Key("nodes", "", "n0"), lambda body: body["metadata"].update(labels={}))
    settle(scene, 60)
    assert places(scene) == {}
    assert scene.read(SET)["status"]["desiredNumberScheduled"] == 0


def test_running_pods_stay_when_a_taint_only_repels_new_ones() -> None:
    scene = scene_of(daemon_set(), node("n0"))
    settle(scene, 3)
    taint = {"key": "mine", "effect": "NoSchedule"}
    scene.change(Key("nodes", "", "n0"), lambda body: body.update(spec={"taints": [taint]}))
    settle(scene, 60)
    assert places(scene) == {"n0": 1}
    status = scene.read(SET)["status"]
    assert (status["desiredNumberScheduled"], status["numberMisscheduled"]) == (0, 1)


def test_they_stay_on_a_node_that_fails() -> None:
    scene = scene_of(daemon_set(), node("n0"))
    settle(scene, 3)
    scene.change(Key("nodes", "", "n0"), lambda body: body["metadata"].update(annotations={FAIL: "yes"}))
    settle(scene, 600)
    (pod,) = scene.all("pods")
    assert "deletionTimestamp" not in pod["metadata"]


def test_failed_pods_are_replaced_after_a_rest() -> None:
    scene = scene_of(daemon_set(), node("n0"))
    settle(scene, 3)
    (pod,) = scene.all("pods")
    scene.write(Key("pods", "default", pod["metadata"]["name"]), status={"phase": "Failed"})
    settle(scene, 3)
    assert [b["metadata"]["uid"] for b in scene.all("pods")] == [pod["metadata"]["uid"]]
    settle(scene, 10)
    assert scene.read(SET)["status"]["numberReady"] == 1


@pytest.mark.parametrize(
    ("rolling", "worst"), [({}, 1), ({"maxUnavailable": 2}, 2), ({"maxSurge": 1, "maxUnavailable": 0}, 0)]
)
def test_a_new_template_leaves_enough_available(rolling: Json, worst: int) -> None:
    scene = scene_of(daemon_set(updateStrategy={"type": "RollingUpdate", "rollingUpdate": rolling}))
    settle(scene, 5)
    use(scene, "example/app:2")
    assert settle(scene, 200) == worst
    assert images(scene) == {"example/app:2": 3}
    assert scene.read(SET)["status"]["updatedNumberScheduled"] == 3


def test_on_delete_waits() -> None:
    scene = scene_of(daemon_set(updateStrategy={"type": "OnDelete"}))
    settle(scene, 5)
    use(scene, "example/app:2")
    settle(scene, 60)
    assert images(scene) == {"example/app:1": 3}
    scene.store.delete(Key("pods", "default", scene.all("pods")[0]["metadata"]["name"]), grace=0)
    settle(scene, 5)
    assert images(scene) == {"example/app:1": 2, "example/app:2": 1}


def test_its_pods_go_with_it() -> None:
    scene = scene_of(daemon_set())
    settle(scene, 5)
    scene.store.delete(SET)
    scene.pass_time(60)
    assert scene.all("pods") == scene.all("controllerrevisions.apps") == []


def test_a_revision_has_the_bytes_that_upstream_compares() -> None:
    scene = scene_of(daemon_set())
    settle(scene, 1)
    (found,) = scene.all("controllerrevisions.apps")
    template = found["data"]["spec"]["template"]
    assert template["$patch"] == "replace"
    assert [one["resources"] for one in template["spec"]["containers"]]
    assert json.dumps(template) == json.dumps(template, sort_keys=True)
