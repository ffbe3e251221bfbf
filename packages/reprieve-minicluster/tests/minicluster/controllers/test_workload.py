"""Workload: groups from its templates, protected while pods refer to them."""

import pytest
from tests.minicluster.scene import Scene, node, pod, pod_key

from reprieve.cluster.admission.features import ALL_FEATURES
from reprieve.model.json import Json
from reprieve_minicluster.store import Key

WORKLOAD = Key("workloads.scheduling.k8s.io", "default", "job")
GROUP = Key("podgroups.scheduling.k8s.io", "default", "job-workers")
GROUPS = "podgroups.scheduling.k8s.io"
PROTECTION = "scheduling.k8s.io/podgroup-protection"


def workload(**template: object) -> Json:
    policy = {"gang": {"minCount": 4}}
    spec = {"podGroupTemplates": [{"name": "workers", "schedulingPolicy": policy, **template}]}
    return {"kind": "Workload", "metadata": {"name": "job", "namespace": "default"}, "spec": spec}


def member(name: str, on: str = "", group: str = "job-workers") -> Json:
    body = pod(name, on)
    return {**body, "spec": {**body["spec"], "schedulingGroup": {"podGroupName": group}}}


@pytest.fixture
def scene() -> Scene:
    made = Scene()
    made.add({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 900})
    return made


def test_a_template_becomes_a_group(scene: Scene) -> None:
    scene.add(workload(priorityClassName="high", disruptionMode={"all": {}}))
    scene.pass_time(1)
    group = scene.read(GROUP)
    assert group["spec"] == {
        "schedulingPolicy": {"gang": {"minCount": 4}},
        "disruptionMode": {"all": {}},
        "priorityClassName": "high",
        "priority": 900,
        "workloadRef": {"workloadName": "job", "templateName": "workers"},
    }
    assert group["metadata"]["finalizers"] == [PROTECTION]
    assert group["metadata"]["ownerReferences"][0]["uid"] == scene.read(WORKLOAD)["metadata"]["uid"]


def test_a_group_that_cannot_be_created_is_reported_once(scene: Scene) -> None:
    scene.add(workload(priorityClassName="none"))
    scene.pass_time(60)
    (event,) = [e for e in scene.all("events") if e["reason"] == "FailedCreate"]
    assert event["involvedObject"]["kind"] == "Workload"
    assert event["message"] == (
        "Error creating PodGroup job-workers: there is no PriorityClass with the name none"
    )
    scene.add({"kind": "PriorityClass", "metadata": {"name": "none"}, "value": 5})
    scene.pass_time(60)
    assert scene.read(GROUP)["spec"]["priority"] == 5


def test_a_class_that_never_preempts_gives_a_group() -> None:
    scene = Scene(features=ALL_FEATURES)
    quiet = {"kind": "PriorityClass", "metadata": {"name": "quiet"}, "value": 5, "preemptionPolicy": "Never"}
    scene.add(quiet, workload(priorityClassName="quiet"))
    scene.pass_time(1)
    assert scene.read(GROUP)["spec"]["preemptionPolicy"] == "Never"


def test_an_older_workload_is_understood(scene: Scene) -> None:
    older = {**workload(disruptionMode="PodGroup"), "apiVersion": "scheduling.k8s.io/v1alpha2"}
    scene.add(older)
    scene.pass_time(1)
    spec = scene.read(GROUP)["spec"]
    assert spec["disruptionMode"] == {"all": {}}
    assert spec["workloadRef"] == {"workloadName": "job", "templateName": "workers"}


def test_a_group_of_another_client_is_left_alone(scene: Scene) -> None:
    spec = {
        "schedulingPolicy": {"gang": {"minCount": 2}},
        "workloadRef": {"workloadName": "job", "templateName": "workers"},
    }
    scene.add({"kind": "PodGroup", "metadata": {"name": "mine", "namespace": "default"}, "spec": spec})
    scene.add(workload())
    scene.pass_time(1)
    (group,) = scene.all(GROUPS)
    assert (group["metadata"]["name"], group["spec"]) == ("mine", spec)


def test_a_class_that_comes_later_is_waited_for(scene: Scene) -> None:
    scene.add(workload(priorityClassName="urgent"))
    scene.pass_time(1)
    assert scene.all(GROUPS) == []
    scene.add({"kind": "PriorityClass", "metadata": {"name": "urgent"}, "value": 1000})
    scene.pass_time(10)
    assert scene.read(GROUP)["spec"]["priority"] == 1000


def test_the_size_of_a_gang_follows_its_template(scene: Scene) -> None:
    scene.add(workload())
    scene.pass_time(1)
    scene.write(WORKLOAD, spec=workload(schedulingPolicy={"gang": {"minCount": 6}})["spec"])
    scene.pass_time(1)
    assert scene.read(GROUP)["spec"]["schedulingPolicy"] == {"gang": {"minCount": 6}}


def test_the_groups_go_with_their_workload(scene: Scene) -> None:
    scene.add(workload())
    scene.pass_time(1)
    scene.store.delete(WORKLOAD)
    scene.pass_time(1)
    assert scene.all(GROUPS) == []


# --- protection ----------------------------------------------------------------------------------


SOLO = Key(GROUPS, "default", "solo")


def solo(*finalizers: str) -> Json:
    meta = {"name": "solo", "namespace": "default", "finalizers": [PROTECTION, *finalizers]}
    return {"kind": "PodGroup", "metadata": meta, "spec": {"schedulingPolicy": {"basic": {}}}}


def test_a_group_stays_until_its_last_pod_is_gone(scene: Scene) -> None:
    scene.add(node(), solo(), member("a", "n1", "solo"), member("b", "", "solo"), member("other", "", "else"))
    scene.pass_time(2)
    scene.store.delete(SOLO)
    scene.store.delete(pod_key("b"))
    scene.pass_time(1)
    assert scene.read(SOLO)["metadata"]["finalizers"] == [PROTECTION]
    scene.store.delete(pod_key("a"), grace=0)
    scene.pass_time(1)
    assert scene.all(GROUPS) == []


def test_the_groups_around_it_stay_as_long() -> None:
    scene = Scene(features=ALL_FEATURES)
    inner, root = (Key("compositepodgroups.scheduling.k8s.io", "default", name) for name in ("inner", "root"))
    scene.add(node(), composite("root"), composite("inner", "root"), within(solo(), "inner"))
    scene.add(member("a", "n1", "solo"))
    scene.pass_time(2)
    for key in (root, inner, SOLO):
        scene.store.delete(key)
    scene.pass_time(2)
    assert all(scene.read(key)["metadata"]["deletionTimestamp"] for key in (root, inner, SOLO))
    scene.store.delete(pod_key("a"), grace=0)
    scene.pass_time(2)
    assert scene.all(GROUPS) == scene.all("compositepodgroups.scheduling.k8s.io") == []


def composite(name: str, parent: str = "") -> Json:
    spec = {"schedulingPolicy": {"basic": {}}, "workloadRef": {"workloadName": "job", "templateName": name}}
    meta = {"name": name, "namespace": "default"}
    body = {"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup", "metadata": meta}
    return within({**body, "spec": spec}, parent) if parent else {**body, "spec": spec}


def within(group: Json, parent: str) -> Json:
    reference = {"workloadName": "job", "templateName": group["metadata"]["name"]}
    more = {"parentCompositePodGroupName": parent, "workloadRef": reference}
    return {**group, "spec": {**group["spec"], **more}}


def test_a_pod_that_has_finished_holds_nothing(scene: Scene) -> None:
    scene.add(solo("example.com/mine"), member("a", "", "solo"))
    scene.store.delete(SOLO)
    scene.pass_time(1)
    assert PROTECTION in scene.read(SOLO)["metadata"]["finalizers"]
    scene.write(pod_key("a"), status={"phase": "Succeeded"})
    scene.pass_time(1)
    assert scene.read(SOLO)["metadata"]["finalizers"] == ["example.com/mine"]


def test_a_group_that_is_not_deleted_keeps_its_finalizer(scene: Scene) -> None:
    scene.add(workload())
    scene.pass_time(5)
    assert scene.read(GROUP)["metadata"]["finalizers"] == [PROTECTION]
