"""Claims and volumes with kubectl."""

from reprieve.model.json import Json
from tests.e2e.up import PATIENCE, Kubectl, pod

WAIT = f"--timeout={PATIENCE}s"


def _class(name: str, **more: object) -> Json:
    meta = {"name": name}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta, **more}


def _claim(name: str, storage_class: str) -> Json:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {**spec, "storageClassName": storage_class},
    }


def test_at_once_or_when_a_pod_comes(kubectl: Kubectl) -> None:
    waits = _class("late", provisioner="csi.example.com", volumeBindingMode="WaitForFirstConsumer")
    kubectl.apply(
        _class("now", provisioner="csi.example.com"), waits, _claim("a", "now"), _claim("b", "late")
    )
    kubectl("wait", "pvc/a", "--for=jsonpath={.status.phase}=Bound", WAIT)
    assert kubectl.get("pvc/b")["status"]["phase"] == "Pending"
    user = pod("user")
    user["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "b"}}]
    kubectl.apply(user)
    kubectl("wait", "pod/user", "--for=condition=Ready", WAIT)
    assert kubectl.get("pvc/b")["status"]["phase"] == "Bound"
    kubectl("delete", "pvc", "b", "--wait=false")
    assert "Terminating" in kubectl("get", "pvc", "b"), "a pod still has it"
    kubectl("delete", "pod", "user", "--now")
    kubectl("wait", "pvc/b", "--for=delete", WAIT)
    volume = kubectl.get("pvc/a")["spec"]["volumeName"]
    assert f"{kubectl.namespace}/a" in kubectl("get", "pv", volume)
    kubectl("delete", "pvc", "a", WAIT)
    kubectl("wait", f"pv/{volume}", "--for=delete", WAIT)


def test_what_drivers_tell(kubectl: Kubectl) -> None:
    head = {"apiVersion": "storage.k8s.io/v1"}
    name = kubectl.namespace
    driver = {**head, "kind": "CSIDriver", "metadata": {"name": name}, "spec": {"attachRequired": False}}
    capacity = {
        **head,
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name},
        "storageClassName": "fast",
        "capacity": "5Gi",
    }
    source = {"persistentVolumeName": "disk"}
    attachment = {
        **head,
        "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {"attacher": "csi.example.com", "nodeName": "n1", "source": source},
    }
    kubectl.apply(driver, capacity, attachment)
    assert "Persistent" in kubectl("get", "csidriver", name)
    assert "5Gi" in kubectl("get", "csistoragecapacity")
    assert kubectl("get", "volumeattachment", name).splitlines()[1].split()[1:5] == [
        *("csi.example.com", "disk", "n1", "false"),
    ]
    refused = kubectl.run("patch", "volumeattachment", name, "-p", '{"spec": {"nodeName": "n2"}}')
    assert "spec" in refused.stderr
    for kind in ("csidriver", "csistoragecapacity", "volumeattachment"):
        kubectl("describe", kind, name)
