"""Claims and volumes: binding modes, provisioning, reclaiming and protection."""

import pytest
from tests.minicluster.scene import Scene, node, pod, pod_key

from reprieve.model.effects import Target
from reprieve.model.json import Json
from reprieve_minicluster.store import Key
from reprieve_minicluster.store.scheduler_calls import SELECTED_NODE, reserve_volume, select_node

CLAIM = Key("persistentvolumeclaims", "default", "data")
VOLUME = Key("persistentvolumes", "", "disk")


def storage_class(provisioner: str) -> Json:
    body = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    return {"kind": "StorageClass", "metadata": {"name": "local"}, **body}


def claim(**spec: object) -> Json:
    asked = {"resources": {"requests": {"storage": "5Gi"}}, "accessModes": ["ReadWriteOnce"]}
    meta = {"name": "data", "namespace": "default"}
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": meta,
        "spec": {"storageClassName": "local", **asked, **spec},
    }


def volume() -> Json:
    spec = {"capacity": {"storage": "10Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local"}
    return {"kind": "PersistentVolume", "metadata": {"name": "disk"}, "spec": spec}


def target(scene: Scene, kind: str, key: Key) -> Target:
    return Target(kind, key.namespace, key.name, scene.store.get(key).uid)


def scene_with(*bodies: Json) -> Scene:
    scene = Scene()
    scene.add(node("n1"), *bodies)
    scene.pass_time(2)
    return scene


def promise(scene: Scene) -> None:
    reserve_volume(
        scene.store, target(scene, "PersistentVolume", VOLUME), target(scene, "PersistentVolumeClaim", CLAIM)
    )


def test_a_claim_that_waits_is_left_alone() -> None:
    scene = scene_with(storage_class("kubernetes.io/no-provisioner"), volume(), claim())
    scene.pass_time(60)
    assert scene.read(CLAIM)["status"] == {"phase": "Pending"}
    assert scene.read(VOLUME)["status"] == {"phase": "Available"}


def test_a_promised_volume_is_bound_after_a_moment() -> None:
    scene = scene_with(storage_class("kubernetes.io/no-provisioner"), volume(), claim())
    promise(scene)
    scene.pass_time(0.9)
    assert "volumeName" not in scene.read(CLAIM)["spec"]
    scene.pass_time(3)
    bound = scene.read(CLAIM)
    assert bound["spec"]["volumeName"] == "disk"
    assert bound["status"] == {
        "phase": "Bound",
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
    }
    assert scene.read(VOLUME)["status"] == {"phase": "Bound"}


def test_a_claim_that_names_its_volume_gets_it() -> None:
    scene = scene_with(volume(), claim(volumeName="disk"))
    scene.pass_time(5)
    reference = scene.read(VOLUME)["spec"]["claimRef"]
    assert reference["kind"] == "PersistentVolumeClaim"
    assert reference["uid"] == scene.store.get(CLAIM).uid
    assert scene.read(CLAIM)["status"]["phase"] == "Bound"
    annotations = scene.read(CLAIM)["metadata"]["annotations"]
    assert annotations == {"pv.kubernetes.io/bind-completed": "yes"}, "schedulers wait for the mark"


def test_the_volume_of_a_claim_that_is_gone_is_released() -> None:
    scene = scene_with(volume(), claim())
    promise(scene)
    scene.pass_time(5)
    scene.store.delete(CLAIM)
    scene.pass_time(2)
    assert scene.read(VOLUME)["status"] == {"phase": "Released"}
    scene.add(claim())
    scene.pass_time(5)
    assert scene.read(CLAIM)["status"] == {"phase": "Pending"}


def test_a_volume_is_made_for_the_selected_node() -> None:
    labels = {"topology.example.com/zone": "z1"}
    drivers = [{"name": "csi.example.com", "nodeID": "n2", "topologyKeys": ["topology.example.com/zone"]}]
    csi_node = {"kind": "CSINode", "metadata": {"name": "n2"}, "spec": {"drivers": drivers}}
    place = {"kind": "Node", "metadata": {"name": "n2", "labels": labels}}
    scene = scene_with(storage_class("csi.example.com"), place, csi_node, claim())
    select_node(scene.store, target(scene, "PersistentVolumeClaim", CLAIM), "n2")
    scene.pass_time(5)
    (made,) = scene.all("persistentvolumes")
    assert made["metadata"]["name"] == f"pvc-{scene.store.get(CLAIM).uid}"
    assert made["spec"]["capacity"] == {"storage": "5Gi"}
    (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "topology.example.com/zone", "operator": "In", "values": ["z1"]},
    ]
    assert made["status"] == {"phase": "Bound"}
    assert scene.read(CLAIM)["status"]["phase"] == "Bound"
    scene.store.delete(CLAIM)
    scene.pass_time(5)
    assert scene.all("persistentvolumes") == []


def test_without_a_provisioner_no_volume_is_created() -> None:
    scene = scene_with(storage_class("kubernetes.io/no-provisioner"), claim())
    select_node(scene.store, target(scene, "PersistentVolumeClaim", CLAIM), "n1")
    scene.pass_time(5)
    assert scene.all("persistentvolumes") == []


def test_a_selected_node_that_is_gone_is_unselected() -> None:
    scene = scene_with(storage_class("csi.example.com"), claim())
    select_node(scene.store, target(scene, "PersistentVolumeClaim", CLAIM), "lost")
    scene.pass_time(5)
    assert SELECTED_NODE not in scene.read(CLAIM)["metadata"]["annotations"]
    assert scene.all("persistentvolumes") == []


# --- at once -------------------------------------------------------------------------------------


def immediate(provisioner: str, **more: object) -> Json:
    return {**storage_class(provisioner), "volumeBindingMode": "Immediate", **more}


def disk(name: str, size: str, **spec: object) -> Json:
    body = volume()
    body["spec"] |= {"capacity": {"storage": size}, **spec}
    return {**body, "metadata": {"name": name, "labels": {"kind": name}}}


def test_the_smallest_that_fits_is_bound_at_once() -> None:
    sizes = {"small": "1Gi", "middle": "6Gi", "large": "10Gi"}
    disks = [disk(name, size) for name, size in sizes.items()]
    scene = scene_with(immediate("kubernetes.io/no-provisioner"), *disks, claim())
    scene.pass_time(5)
    bound = scene.read(CLAIM)
    assert (bound["spec"]["volumeName"], bound["status"]["phase"]) == ("middle", "Bound")
    phases = {body["metadata"]["name"]: body["status"]["phase"] for body in scene.all("persistentvolumes")}
    assert phases == {"small": "Available", "middle": "Bound", "large": "Available"}


def test_the_older_annotation_names_the_class() -> None:
    older = {"annotations": {"volume.beta.kubernetes.io/storage-class": "local"}}
    asked, offered = claim(storageClassName="other"), volume()
    asked["metadata"] |= older
    offered["metadata"] |= older
    del offered["spec"]["storageClassName"]
    scene = scene_with(immediate("kubernetes.io/no-provisioner"), offered, asked)
    scene.pass_time(5)
    assert scene.read(CLAIM)["spec"]["volumeName"] == "disk"


def test_what_does_not_fit_is_not_bound() -> None:
    wrong = (
        disk("class", "9Gi", storageClassName="other"),
        disk("mode", "9Gi", volumeMode="Block"),
        disk("access", "9Gi", accessModes=["ReadOnlyMany"]),
        disk("label", "9Gi"),
    )
    wanted = claim(selector={"matchLabels": {"kind": "mine"}})
    scene = scene_with(immediate("kubernetes.io/no-provisioner"), *wrong, wanted)
    scene.pass_time(10)
    assert scene.read(CLAIM)["status"] == {"phase": "Pending"}
    scene.add(disk("mine", "9Gi"))
    scene.pass_time(10)
    assert scene.read(CLAIM)["spec"]["volumeName"] == "mine"


def test_two_claims_never_get_one_volume() -> None:
    other = claim()
    other["metadata"] = {"name": "other", "namespace": "default"}
    scene = scene_with(immediate("kubernetes.io/no-provisioner"), disk("only", "9Gi"), claim(), other)
    scene.pass_time(30)
    phases = sorted(body["status"]["phase"] for body in scene.all("persistentvolumeclaims"))
    assert phases == ["Bound", "Pending"]


def test_a_volume_is_made_at_once_as_its_class_says() -> None:
    topology = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
    scene = scene_with(
        immediate("csi.example.com", reclaimPolicy="Retain", allowedTopologies=topology), claim()
    )
    scene.pass_time(5)
    (made,) = scene.all("persistentvolumes")
    assert made["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "zone", "operator": "In", "values": ["a"]}]
    assert scene.read(CLAIM)["status"]["phase"] == "Bound"
    scene.store.delete(CLAIM)
    scene.pass_time(5)
    assert [body["status"]["phase"] for body in scene.all("persistentvolumes")] == ["Released"]


def test_a_claim_that_lost_its_volume_is_lost() -> None:
    scene = scene_with(immediate("kubernetes.io/no-provisioner"), disk("only", "9Gi"), claim())
    scene.pass_time(5)
    scene.store.delete(Key("persistentvolumes", "", "only"))
    scene.pass_time(5)
    assert scene.read(CLAIM)["status"]["phase"] == "Lost"


@pytest.mark.parametrize(("allowed", "size"), [(True, "8Gi"), (False, "5Gi")])
def test_a_claim_grows_where_its_class_allows_it(allowed: bool, size: str) -> None:
    scene = scene_with(immediate("csi.example.com", allowVolumeExpansion=allowed), claim())
    scene.pass_time(5)
    larger = {"requests": {"storage": "8Gi"}}
    scene.change(CLAIM, lambda body: body["spec"].update(resources=larger))
    scene.pass_time(5)
    (made,) = scene.all("persistentvolumes")
    assert made["spec"]["capacity"] == scene.read(CLAIM)["status"]["capacity"] == {"storage": size}


# --- in use --------------------------------------------------------------------------------------


def test_a_claim_stays_while_a_pod_has_it() -> None:
    held = claim()
    held["metadata"]["finalizers"] = ["kubernetes.io/pvc-protection"]
    user = pod("user", on="n1")
    user["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    scene = scene_with(held, user)
    scene.store.delete(CLAIM)
    scene.pass_time(5)
    assert "deletionTimestamp" in scene.read(CLAIM)["metadata"]
    scene.store.delete(pod_key("user"), grace=0)
    scene.pass_time(5)
    assert scene.all("persistentvolumeclaims") == []


def test_a_pod_can_bring_its_claim_along() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    user = pod("user")
    user["spec"]["volumes"] = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    scene = scene_with(user)
    (made,) = scene.all("persistentvolumeclaims")
    assert made["metadata"]["name"] == "user-v"
    scene.store.delete(pod_key("user"), grace=0)
    scene.pass_time(5)
    assert scene.all("persistentvolumeclaims") == []
