"""StatefulSets and DaemonSets with kubectl."""

from reprieve.model.json import Json
from tests.e2e.up import PATIENCE, Kubectl

WAIT = f"--timeout={PATIENCE}s"


def _set(kind: str, image: str = "example/app:1", **spec: object) -> Json:
    container: Json = {"name": "main", "image": image}
    if "volumeClaimTemplates" in spec:
        container["volumeMounts"] = [{"name": "disk", "mountPath": "/disk"}]
    template = {
        "metadata": {"labels": {"app": "it"}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "it"},
        "spec": {"selector": {"matchLabels": {"app": "it"}}, "template": template, **spec},
    }


def test_a_stateful_set(kubectl: Kubectl) -> None:
    size = {"requests": {"storage": "1Gi"}}
    disk = {"metadata": {"name": "disk"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": size}}
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": "simulated",
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "simulated.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    kubectl.apply(storage_class, _set("StatefulSet", replicas=2, volumeClaimTemplates=[disk]))
    kubectl("rollout", "status", "statefulset/it", WAIT)
    assert kubectl.names("pods") == ["it-0", "it-1"]
    assert kubectl.names("pvc") == ["disk-it-0", "disk-it-1"]
    assert "2/2" in kubectl("get", "sts")
    assert "disk" in kubectl("describe", "sts", "it")
    kubectl("scale", "sts/it", "--replicas=3")
    kubectl("wait", "sts/it", "--for=jsonpath={.status.readyReplicas}=3", WAIT)
    kubectl("delete", "sts/it", WAIT)
    kubectl("wait", "pod", "--all", "--for=delete", WAIT)
    assert len(kubectl.names("pvc")) == 3, "claims outlive the set"


def test_a_way_back(kubectl: Kubectl) -> None:
    for kind in ("StatefulSet", "DaemonSet"):
        kubectl.apply(_set(kind))
        kubectl("rollout", "status", f"{kind}/it", WAIT)
        kubectl.apply(_set(kind, "example/app:2"))
        kubectl("rollout", "status", f"{kind}/it", WAIT)
        history = kubectl("rollout", "history", f"{kind}/it")
        assert [line.split()[0] for line in history.splitlines() if line[:1].isdigit()] == ["1", "2"]
        kubectl("rollout", "undo", f"{kind}/it")
        kubectl("rollout", "status", f"{kind}/it", WAIT)
        images = {pod["spec"]["containers"][0]["image"] for pod in kubectl.get("pods")["items"]}
        assert images == {"example/app:1"}
        assert "Pods Status" in kubectl("describe", kind, "it")
        kubectl("delete", kind, "it", WAIT)
        kubectl("wait", "pod", "--all", "--for=delete", WAIT)


def test_a_daemon_set(kubectl: Kubectl) -> None:
    kubectl.apply(_set("DaemonSet"))
    kubectl("rollout", "status", "ds/it", WAIT)
    pods = kubectl.get("pods")["items"]
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == kubectl.names("nodes")
    head, row = kubectl("get", "ds").splitlines()
    assert head.split()[:6] == ["NAME", "DESIRED", "CURRENT", "READY", "UP-TO-DATE", "AVAILABLE"]
    assert row.split()[1:6] == ["3"] * 5
    kubectl("rollout", "restart", "ds/it")
    kubectl("rollout", "status", "ds/it", WAIT)


def test_what_cannot_be(kubectl: Kubectl) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    refused = kubectl.run("apply", "-f", "-", stdin=str(_set("DaemonSet", updateStrategy=rolling)))
    assert "spec.updateStrategy.rollingUpdate.maxSurge" in refused.stderr


def test_a_replication_controller(kubectl: Kubectl) -> None:
    template = _set("DaemonSet")["spec"]["template"]
    kubectl.apply(
        {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "metadata": {"name": "it"},
            "spec": {"template": template},
        }
    )
    kubectl("scale", "rc/it", "--replicas=2")
    kubectl("wait", "rc/it", "--for=jsonpath={.status.readyReplicas}=2", WAIT)
    assert kubectl("get", "rc").splitlines()[1].split()[1:4] == ["2", "2", "2"]
    assert "2 Running" in kubectl("describe", "rc", "it")
    kubectl("delete", "rc/it", WAIT)
    kubectl("wait", "pod", "--all", "--for=delete", WAIT)
