"""StatefulSet: pods with ordinals, in order, with their own claims, and rolling updates."""

import pytest
from tests.minicluster.scene import Scene, node, pod_key, template

from reprieve.model.json import Json
from reprieve_minicluster.controllers.garbage_collector import ORPHAN
from reprieve_minicluster.store import Key

SET = Key("statefulsets.apps", "default", "db")
DISK = {
    "metadata": {"name": "disk"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def stateful_set(replicas: int, **spec: object) -> Json:
    return {
        "kind": "StatefulSet",
        "metadata": {"name": "db", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "db"}},
            "serviceName": "db",
            "template": template("db"),
            **spec,
        },
    }


def scene_of(body: Json) -> Scene:
    scene = Scene()
    scene.add(node("n1", cpu="1000", pods="2000"), body)
    return scene


def names(scene: Scene) -> list[str]:
    return [body["metadata"]["name"] for body in scene.all("pods")]


def settle(scene: Scene, seconds: float, blocked: str = "") -> list[list[str]]:
    """Bind every new pod except the blocked one; returns each set of names that existed, in order."""
    seen = [names(scene)]
    for _ in range(int(seconds * 5)):
        for body in scene.all("pods"):
            if "nodeName" not in body["spec"] and body["metadata"]["name"] != blocked:
                key = pod_key(body["metadata"]["name"])
                scene.change(key, lambda found: found["spec"].update(nodeName="n1"))
        scene.pass_time(0.2)
        if names(scene) != seen[-1]:
            seen.append(names(scene))
    return seen


def images(scene: Scene) -> dict[str, str]:
    return {b["metadata"]["name"]: b["spec"]["containers"][0]["image"] for b in scene.all("pods")}


def use(scene: Scene, image: str) -> None:
    scene.change(SET, lambda body: body["spec"].update(template=template("db", image=image)))


def scale(scene: Scene, replicas: int) -> None:
    scene.change(SET, lambda body: body["spec"].update(replicas=replicas))


def test_pods_come_one_after_another() -> None:
    scene = scene_of(stateful_set(3))
    assert settle(scene, 10) == [[], ["db-0"], ["db-0", "db-1"], ["db-0", "db-1", "db-2"]]
    first = scene.read(pod_key("db-0"))
    assert (first["spec"]["hostname"], first["spec"]["subdomain"]) == ("db-0", "db")
    labels = first["metadata"]["labels"]
    assert labels["statefulset.kubernetes.io/pod-name"] == "db-0"
    assert labels["apps.kubernetes.io/pod-index"] == "0"
    status = scene.read(SET)["status"]
    assert labels["controller-revision-hash"] == status["currentRevision"] == status["updateRevision"]
    assert {status[f"{name}Replicas"] for name in ("ready", "available", "current", "updated")} == {3}
    assert (status["replicas"], status["observedGeneration"]) == (3, 1)


def test_an_unready_pod_blocks_the_next() -> None:
    scene = scene_of(stateful_set(3))
    settle(scene, 10, blocked="db-1")
    assert names(scene) == ["db-0", "db-1"]


def test_in_parallel_all_come_at_once() -> None:
    scene = scene_of(stateful_set(3, podManagementPolicy="Parallel"))
    settle(scene, 5, blocked="db-0")
    assert names(scene) == ["db-0", "db-1", "db-2"]


def test_numbers_can_begin_elsewhere() -> None:
    scene = scene_of(stateful_set(2, ordinals={"start": 5}))
    settle(scene, 5)
    assert names(scene) == ["db-5", "db-6"]


def test_the_highest_go_first_and_one_at_a_time() -> None:
    scene = scene_of(stateful_set(3))
    settle(scene, 10)
    scale(scene, 1)
    assert settle(scene, 120) == [["db-0", "db-1", "db-2"], ["db-0", "db-1"], ["db-0"]]


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_lost_and_ended_pods_come_back_under_their_names(policy: str) -> None:
    scene = scene_of(stateful_set(3, podManagementPolicy=policy))
    settle(scene, 10)
    before = {b["metadata"]["name"]: b["metadata"]["uid"] for b in scene.all("pods")}
    scene.store.delete(pod_key("db-0"), grace=0)
    scene.write(pod_key("db-1"), status={"phase": "Failed"})
    settle(scene, 10)
    after = {b["metadata"]["name"]: b["metadata"]["uid"] for b in scene.all("pods")}
    assert [name for name in after if after[name] != before[name]] == ["db-0", "db-1"]
    assert scene.read(SET)["status"]["readyReplicas"] == 3


# --- claims --------------------------------------------------------------------------------------


def claims(scene: Scene) -> list[str]:
    return [body["metadata"]["name"] for body in scene.all("persistentvolumeclaims")]


def test_every_pod_has_its_claim_and_finds_it_again() -> None:
    scene = scene_of(stateful_set(2, volumeClaimTemplates=[DISK]))
    settle(scene, 10)
    assert claims(scene) == ["disk-db-0", "disk-db-1"]
    (volume,) = scene.read(pod_key("db-1"))["spec"]["volumes"]
    assert volume == {"name": "disk", "persistentVolumeClaim": {"claimName": "disk-db-1"}}
    uid = scene.store.get(Key("persistentvolumeclaims", "default", "disk-db-1")).uid
    scale(scene, 1)
    settle(scene, 60)
    scale(scene, 2)
    settle(scene, 10)
    assert scene.store.get(Key("persistentvolumeclaims", "default", "disk-db-1")).uid == uid


def test_claims_can_go_with_the_pods_that_are_too_many() -> None:
    policy = {"whenScaled": "Delete", "whenDeleted": "Retain"}
    scene = scene_of(
        stateful_set(2, volumeClaimTemplates=[DISK], persistentVolumeClaimRetentionPolicy=policy)
    )
    settle(scene, 10)
    scale(scene, 1)
    settle(scene, 60)
    assert claims(scene) == ["disk-db-0"]
    scene.store.delete(SET)
    settle(scene, 60)
    assert (names(scene), claims(scene)) == ([], ["disk-db-0"])


def test_claims_can_go_with_the_set() -> None:
    policy = {"whenScaled": "Retain", "whenDeleted": "Delete"}
    scene = scene_of(
        stateful_set(2, volumeClaimTemplates=[DISK], persistentVolumeClaimRetentionPolicy=policy)
    )
    settle(scene, 10)
    scale(scene, 1)
    settle(scene, 60)
    assert claims(scene) == ["disk-db-0", "disk-db-1"]
    scene.store.delete(SET)
    settle(scene, 60)
    assert (names(scene), claims(scene), scene.all("controllerrevisions.apps")) == ([], [], [])


# --- new templates -------------------------------------------------------------------------------


def test_a_new_template_replaces_pods_from_the_top() -> None:
    scene = scene_of(stateful_set(3))
    settle(scene, 10)
    use(scene, "example/app:2")
    renewed: list[str] = []
    for _ in range(200):
        settle(scene, 1)
        new = sorted((n for n, image in images(scene).items() if image.endswith(":2")), reverse=True)
        if len(new) > len(renewed):
            renewed = new
            assert renewed == ["db-2", "db-1", "db-0"][: len(new)]
    assert len(renewed) == 3
    status = scene.read(SET)["status"]
    assert status["currentRevision"] == status["updateRevision"]
    assert sorted(r["revision"] for r in scene.all("controllerrevisions.apps")) == [1, 2]


def test_the_partition_stays_behind_even_when_a_pod_is_lost() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    scene = scene_of(stateful_set(3, updateStrategy=rolling))
    settle(scene, 10)
    use(scene, "example/app:2")
    settle(scene, 60)
    assert list(images(scene).values()) == ["example/app:1", "example/app:1", "example/app:2"]
    scene.store.delete(pod_key("db-1"), grace=0)
    settle(scene, 10)
    assert images(scene)["db-1"] == "example/app:1"
    status = scene.read(SET)["status"]
    assert (status["currentReplicas"], status["updatedReplicas"]) == (2, 1)
    assert status["currentRevision"] != status["updateRevision"]


def test_several_may_be_renewed_together() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    scene = scene_of(stateful_set(3, updateStrategy=rolling))
    settle(scene, 10)
    use(scene, "example/app:2")
    scene.pass_time(0.5)
    leaving = [b["metadata"]["name"] for b in scene.all("pods") if "deletionTimestamp" in b["metadata"]]
    assert leaving == ["db-1", "db-2"]


def test_on_delete_waits_for_a_client_to_delete() -> None:
    scene = scene_of(stateful_set(2, updateStrategy={"type": "OnDelete"}))
    settle(scene, 10)
    use(scene, "example/app:2")
    settle(scene, 60)
    assert set(images(scene).values()) == {"example/app:1"}
    scene.store.delete(pod_key("db-0"), grace=0)
    settle(scene, 10)
    assert images(scene) == {"db-0": "example/app:2", "db-1": "example/app:1"}


def test_going_back_makes_no_new_revision() -> None:
    scene = scene_of(stateful_set(1))
    for image in ("example/app:2", "example/app:1"):
        settle(scene, 10)
        use(scene, image)
    settle(scene, 60)
    assert sorted(r["revision"] for r in scene.all("controllerrevisions.apps")) == [2, 3]


def test_min_ready_seconds_delay_availability() -> None:
    scene = scene_of(stateful_set(2, minReadySeconds=10))
    settle(scene, 8)
    assert names(scene) == ["db-0"]
    assert scene.read(SET)["status"]["availableReplicas"] == 0
    settle(scene, 10)
    assert names(scene) == ["db-0", "db-1"]


def test_pods_that_fit_by_name_and_label_are_adopted() -> None:
    scene = scene_of(stateful_set(2))
    settle(scene, 5)
    before = {b["metadata"]["name"]: b["metadata"]["uid"] for b in scene.all("pods")}
    scene.store.delete(SET, held_by=(ORPHAN,))
    settle(scene, 2)
    assert all(not body["metadata"].get("ownerReferences") for body in scene.all("pods"))
    scene.add(stateful_set(2))
    settle(scene, 5)
    after = scene.all("pods")
    assert {b["metadata"]["name"]: b["metadata"]["uid"] for b in after} == before
    uid = scene.store.get(SET).uid
    assert [body["metadata"]["ownerReferences"][0]["uid"] for body in after] == [uid, uid]
