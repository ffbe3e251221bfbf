"""Quotas: requests that would exceed one are refused, and usage follows the objects."""

import pytest
from tests.minicluster.scene import Scene, pod, pod_key, template

from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.model.json import Json
from reprieve_minicluster.admission import admitted, create_admitted
from reprieve_minicluster.errors import ApiError
from reprieve_minicluster.kinds import BY_NAME
from reprieve_minicluster.store import Key

TEAM = Key("resourcequotas", "default", "team")


def quota(hard: Json, **spec: object) -> Json:
    meta = {"name": "team", "namespace": "default"}
    return {"kind": "ResourceQuota", "metadata": meta, "spec": {"hard": hard, **spec}}


def scene_of(hard: Json, **spec: object) -> Scene:
    scene = Scene()
    scene.add(quota(hard, **spec))
    scene.pass_time(1)
    return scene


def send(scene: Scene, *bodies: Json) -> None:
    for body in bodies:
        resource = BY_NAME[body["kind"]].resource
        create_admitted(scene.store, resource, admitted(scene.store, resource, body, ALL_FEATURES))


def refusal(scene: Scene, body: Json) -> str:
    with pytest.raises(ApiError) as refused:
        send(scene, body)
    assert (refused.value.status, refused.value.reason) == (403, "Forbidden")
    return refused.value.message


def used(scene: Scene) -> Json:
    found: Json = scene.read(TEAM)["status"]["used"]
    return found


def test_what_is_full_is_full() -> None:
    scene = scene_of({"requests.cpu": "2", "pods": "5"})
    send(scene, pod("a"), pod("b", cpu="500m"))
    assert used(scene) == {"requests.cpu": "1500m", "pods": "2"}
    assert refusal(scene, pod("c")) == (
        'pods "c" is forbidden: exceeded quota: team, requested: requests.cpu=1, used: requests.cpu=1500m, '
        "limited: requests.cpu=2"
    )
    send(scene, pod("d", cpu="500m"))
    assert used(scene) == {"requests.cpu": "2", "pods": "3"}


def test_what_goes_or_ends_makes_room() -> None:
    scene = scene_of({"pods": "2", "count/pods": "9"})
    send(scene, pod("a"), pod("b"))
    scene.store.delete(pod_key("a"))
    scene.write(pod_key("b"), status={"phase": "Succeeded"})
    scene.pass_time(1)
    assert used(scene) == {"pods": "0", "count/pods": "1"}


def test_every_container_must_say_what_is_limited() -> None:
    scene = scene_of({"limits.memory": "1Gi", "cpu": "4"})
    told = 'pods "a" is forbidden: failed quota: team: must specify limits.memory for: main'
    assert refusal(scene, pod("a")) == told


def test_an_uncounted_quota_refuses() -> None:
    scene = Scene()
    scene.add(quota({"pods": "5"}))
    assert (
        refusal(scene, pod("a")) == 'pods "a" is forbidden: status unknown for quota: team, resources: pods'
    )


def test_a_quota_for_a_priority_class() -> None:
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}
    scene = scene_of({"pods": "1"}, scopeSelector=selector)
    scene.add({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 10})
    important = pod("a")
    important["spec"]["priorityClassName"] = "high"
    send(scene, pod("other"), pod("another"), important)
    assert used(scene) == {"pods": "1"}
    assert "exceeded quota: team, requested: pods=1" in refusal(
        scene, {**important, "metadata": {"name": "b", "namespace": "default"}}
    )
    scene.pass_time(1)
    assert used(scene) == {"pods": "1"}


@pytest.mark.parametrize(
    ("scope", "fits"), [("BestEffort", False), ("NotBestEffort", True), ("Terminating", False)]
)
def test_scopes(scope: str, fits: bool) -> None:
    scene = scene_of({"pods": "5"}, scopes=[scope])
    send(scene, pod("a"))
    assert used(scene) == {"pods": str(int(fits))}


def test_objects_are_counted() -> None:
    scene = scene_of({"count/deployments.apps": "1", "configmaps": "0"})
    meta = {"name": "web", "namespace": "default"}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template()}
    web = {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": meta, "spec": spec}
    send(scene, web)
    told = refusal(scene, {**web, "metadata": {**meta, "name": "more"}})
    assert told.startswith('deployments.apps "more" is forbidden: exceeded quota: team, requested: count/')
    assert "configmaps=1" in refusal(scene, {"kind": "ConfigMap", "metadata": meta})


def test_storage_of_a_class() -> None:
    name = "fast.storageclass.storage.k8s.io/requests.storage"
    scene = scene_of({name: "2Gi", "persistentvolumeclaims": "9"})
    spec: Json = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    spec["resources"] = {"requests": {"storage": "1536Mi"}}
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "a", "namespace": "default"}, "spec": spec}
    send(scene, claim)
    assert used(scene) == {name: "1536Mi", "persistentvolumeclaims": "1"}
    assert "limited" in refusal(scene, {**claim, "metadata": {"name": "b", "namespace": "default"}})


def test_controllers_stop_at_the_quota_and_go_on_when_there_is_room() -> None:
    scene = scene_of({"pods": "2"})
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template()}
    scene.add({"kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default"}, "spec": spec})
    scene.pass_time(10)
    assert len(scene.all("pods")) == 2
    scene.write(TEAM, spec={"hard": {"pods": "4"}})
    scene.pass_time(10)
    assert len(scene.all("pods")) == 3


def test_a_job_still_knows_its_pods() -> None:
    """Charging takes a version, and objects are named after theirs."""
    scene = scene_of({"count/jobs.batch": "5"})
    spec = {"template": {**template(), "spec": {**template()["spec"], "restartPolicy": "Never"}}}
    send(scene, {"kind": "Job", "metadata": {"name": "j", "namespace": "default"}, "spec": spec})
    job = scene.read(Key("jobs.batch", "default", "j"))
    assert list(job["spec"]["selector"]["matchLabels"].values()) == [job["metadata"]["uid"]]
