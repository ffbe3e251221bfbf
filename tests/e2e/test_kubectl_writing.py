"""kubectl changes things: create, apply, label, annotate, patch, scale, delete."""

import yaml

from reprieve.model.json import Json
from tests.e2e.up import Kubectl, deployment, pod


def test_creating_from_a_file(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", stdin=yaml.safe_dump(pod("a"))) == "pod/a created\n"
    again = kubectl.run("create", "-f", "-", stdin=yaml.safe_dump(pod("a")))
    assert "(AlreadyExists)" in again.stderr


def test_applying_twice_changes_nothing(kubectl: Kubectl) -> None:
    assert kubectl.apply(deployment("web")) == "deployment.apps/web created\n"
    assert kubectl.apply(deployment("web")) == "deployment.apps/web unchanged\n"


def test_applying_a_change(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web"))
    assert kubectl.apply(deployment("web", image="example/app:2")) == "deployment.apps/web configured\n"
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    images = {p["spec"]["containers"][0]["image"] for p in kubectl.get("pods")["items"] if _stays(p)}
    assert images == {"example/app:2"}


def _stays(found: dict[str, dict[str, object]]) -> bool:
    return "deletionTimestamp" not in found["metadata"]


def test_applying_groups_in_both_spellings(kubectl: Kubectl) -> None:
    for version, mode in (("v1beta1", {"all": {}}), ("v1alpha2", "PodGroup")):
        spec: Json = {"schedulingPolicy": {"gang": {"minCount": 2}}, "disruptionMode": mode}
        group = {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup", "spec": spec}
        named = {**group, "metadata": {"name": version}}
        assert "created" in kubectl.apply(named)
        assert "unchanged" in kubectl.apply(named)
        newest = kubectl.get("podgroups.v1beta1.scheduling.k8s.io", version)
        assert newest["spec"]["disruptionMode"] == {"all": {}}


def test_the_policy_may_hold_the_mode(kubectl: Kubectl) -> None:
    policy = {"gang": {"minCount": 2}, "disruptionMode": "PodGroup"}
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g"},
        "spec": {"schedulingPolicy": policy},
    }
    for _ in range(2):
        kubectl.apply(group)
    assert kubectl.get("podgroup", "g")["spec"]["disruptionMode"] == {"all": {}}


def test_a_misspelt_field_is_told(kubectl: Kubectl) -> None:
    refused = kubectl.run("apply", "-f", "-", stdin=yaml.safe_dump(pod("a", tolerationz=[])))
    assert 'strict decoding error: unknown field "spec.tolerationz"' in refused.stderr
    warned = kubectl.run(
        "apply", "--validate=warn", "-f", "-", stdin=yaml.safe_dump(pod("a", tolerationz=[]))
    )
    assert 'Warning: unknown field "spec.tolerationz"' in warned.stderr
    assert warned.returncode == 0


def test_what_is_wrong_is_named(kubectl: Kubectl) -> None:
    refused = kubectl.run("apply", "-f", "-", stdin=yaml.safe_dump(pod("a", restartPolicy="Sometimes")))
    assert 'The Pod "a" is invalid: spec.restartPolicy: Unsupported value: "Sometimes"' in refused.stderr


def test_trying_on_the_server(kubectl: Kubectl) -> None:
    tried = kubectl("apply", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump(pod("a")))
    assert tried == "pod/a created (server dry run)\n"
    assert kubectl.names("pods") == []
    kubectl.apply(deployment("web"))
    changed = kubectl.run("diff", "-f", "-", stdin=yaml.safe_dump(deployment("web", replicas=5)))
    assert changed.returncode == 1
    assert "+  replicas: 5" in changed.stdout


def test_labels_and_annotations(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    kubectl("label", "pod", "a", "tier=web")
    kubectl("annotate", "pod", "a", "note=hello")
    meta = kubectl.get("pod", "a")["metadata"]
    assert meta["labels"] == {"app": "a", "tier": "web"}
    assert meta["annotations"]["note"] == "hello"
    kubectl("label", "pod", "a", "tier-")
    assert "tier" not in kubectl.get("pod", "a")["metadata"]["labels"]
    assert kubectl.run("label", "pod", "a", "app=b").returncode, "a label is not overwritten by accident"


def test_patches_of_each_type(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web"))
    kubectl("patch", "deployment", "web", "-p", '{"spec": {"paused": true}}')
    kubectl("patch", "deployment", "web", "--type=merge", "-p", '{"metadata": {"labels": {"m": "1"}}}')
    operations = '[{"op": "replace", "path": "/spec/replicas", "value": 3}]'
    kubectl("patch", "deployment", "web", "--type=json", "-p", operations)
    container = '{"spec": {"template": {"spec": {"containers": [{"name": "main", "tty": true}]}}}}'
    kubectl("patch", "deployment", "web", "--type=strategic", "-p", container)
    found = kubectl.get("deployment", "web")
    assert found["spec"]["paused"] is True
    assert found["metadata"]["labels"] == {"m": "1"}
    assert found["spec"]["replicas"] == 3
    (main,) = found["spec"]["template"]["spec"]["containers"]
    assert (main["tty"], main["image"]) == (True, "example/app:1")


def test_subresources_are_patched(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    kubectl("wait", "--for=condition=Ready", "pod/a", "--timeout=20s")
    change = '{"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}}'
    assert "Forbidden" in kubectl.run("patch", "pod", "a", "-p", change).stderr
    kubectl("patch", "pod", "a", "--subresource=resize", "-p", change)
    spec = kubectl.get("pod", "a")["spec"]
    assert spec["containers"][0]["resources"]["requests"]["cpu"] == "2"
    kubectl(
        "patch", "pod", "a", "--subresource=status", "--type=merge", "-p", '{"status": {"message": "hi"}}'
    )
    assert kubectl.get("pod", "a", "--subresource=status")["status"]["message"] == "hi"


def test_scaling(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", replicas=1))
    assert kubectl("scale", "deployment/web", "--replicas=3") == "deployment.apps/web scaled\n"
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    assert len(kubectl.names("pods")) == 3
    refused = kubectl.run("scale", "deployment/web", "--replicas=5", "--current-replicas=2")
    assert refused.returncode


def test_rolling_out_and_back(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web"))
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    kubectl("set", "image", "deployment/web", "main=example/app:2")
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    kubectl("rollout", "undo", "deployment/web")
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    (container,) = kubectl.get("deployment/web")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example/app:1"
    kubectl("rollout", "restart", "deployment/web")
    assert "successfully rolled out" in kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    words = kubectl("rollout", "history", "deployment/web").split()
    assert [word for word in words if word.isdigit()] == ["2", "3", "4"]


def test_deleting_waits_until_it_is_gone(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    kubectl("wait", "--for=condition=Ready", "pod/a", "--timeout=20s")
    kubectl("delete", "pod", "a", "--timeout=20s")
    assert kubectl.names("pods") == []
    assert kubectl("delete", "pod", "a", "--ignore-not-found") == ""
    kubectl.apply(pod("b", nodeName="cpu-0"))
    kubectl("delete", "pod", "b", "--grace-period=0", "--force")
    assert kubectl.names("pods") == []


def test_deleting_an_owner(kubectl: Kubectl) -> None:
    for policy in ("background", "foreground"):
        kubectl.apply(deployment("web"))
        kubectl("rollout", "status", "deployment/web", "--timeout=20s")
        kubectl("delete", "deployment", "web", f"--cascade={policy}", "--timeout=20s")
        kubectl("wait", "--for=delete", "pods", "-l", "app=web", "--timeout=20s")
        assert kubectl.names("replicasets") == []
    kubectl.apply(deployment("web"))
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    kubectl("delete", "deployment", "web", "--cascade=orphan", "--timeout=20s")
    assert len(kubectl.names("replicasets")) == 1
    assert len(kubectl.names("pods")) == 2


def test_deleting_many_and_a_namespace(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"), pod("b"), pod("c"))
    kubectl("delete", "pods", "-l", "app=a", "--timeout=20s")
    kubectl("delete", "pods", "--all", "--timeout=20s")
    assert kubectl.names("pods") == []
    kubectl.apply(deployment("web"))
    kubectl("delete", "namespace", kubectl.namespace, "--timeout=20s")
    assert kubectl.run("get", "namespace", kubectl.namespace).returncode


def test_a_job_runs_and_ends(kubectl: Kubectl) -> None:
    template = {
        "metadata": {"annotations": {"reprieve.dev/run-seconds": "5"}},
        "spec": {**pod("j")["spec"], "restartPolicy": "Never"},
    }
    spec = {"completions": 2, "parallelism": 2, "template": template}
    kubectl.apply({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": spec})
    kubectl("wait", "--for=condition=Complete", "job/j", "--timeout=20s")
    assert "2/2" in kubectl("get", "job", "j")
