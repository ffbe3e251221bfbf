"""kubectl day by day: describe, edit, diff, replace, prune, events, for whatever kind there is."""

import yaml

from reprieve.model.json import Json
from tests.e2e.up import Kubectl, deployment, pod


def _thing(api_version: str, kind: str, **content: object) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "it"}, **content}


GANG = {"gang": {"minCount": 1}}
THINGS = (
    _thing("v1", "ConfigMap", data={"a": "b"}),
    _thing("v1", "Secret", stringData={"a": "b"}),
    _thing("v1", "Service", spec={"ports": [{"port": 80}], "selector": {"app": "it"}}),
    _thing("v1", "ServiceAccount"),
    _thing(
        "v1",
        "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    ),
    _thing("policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1, "selector": {}}),
    _thing("scheduling.k8s.io/v1beta1", "PodGroup", spec={"schedulingPolicy": GANG}),
    _thing(
        "scheduling.k8s.io/v1beta1",
        "Workload",
        spec={"podGroupTemplates": [{"name": "workers", "schedulingPolicy": GANG}]},
    ),
    _thing("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "me"}),
)


def test_every_kind_can_be_listed_and_described(kubectl: Kubectl) -> None:
    kubectl.apply(*THINGS, deployment("web", replicas=1), pod("alone"))
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    for name in kubectl("api-resources", "--verbs=list", "-o", "name").split():
        assert "error" not in kubectl.run("get", name, "-o", "wide").stderr.lower(), name
        described = kubectl.run("describe", name)
        assert described.returncode == 0, described.stderr


def test_editing(kubectl: Kubectl) -> None:
    kubectl.apply(THINGS[0])
    edited = kubectl.run("edit", "configmap/it", KUBE_EDITOR="sed -i s/b$/c/")
    assert "edited" in edited.stdout, edited.stderr
    assert kubectl.get("configmap/it")["data"] == {"a": "c"}


def test_what_would_differ_and_replacing(kubectl: Kubectl) -> None:
    kubectl.apply(THINGS[0])
    other = yaml.safe_dump({**THINGS[0], "data": {"a": "z"}})
    told = kubectl.run("diff", "-f", "-", stdin=other)
    assert told.returncode == 1
    assert "+  a: z" in told.stdout
    assert kubectl.get("configmap/it")["data"] == {"a": "b"}, "a diff changes nothing"
    kubectl("replace", "-f", "-", stdin=other)
    assert kubectl.get("configmap/it")["data"] == {"a": "z"}
    kubectl("replace", "--force", "-f", "-", stdin=yaml.safe_dump(THINGS[5]))


def test_pruning(kubectl: Kubectl) -> None:
    labels = {"labels": {"set": "one"}}
    both = [{**THINGS[0], "metadata": {"name": name, **labels}} for name in "ab"]
    kubectl.apply(*both)
    flags = ("--prune", "-l", "set=one", "--prune-allowlist=core/v1/ConfigMap")
    kubectl("apply", "-f", "-", *flags, stdin=yaml.safe_dump(both[0]))
    assert kubectl.names("configmaps") == ["a", "kube-root-ca.crt"]


def test_pruning_of_whatever_kubectl_prunes(kubectl: Kubectl) -> None:
    labels = {"labels": {"set": "two"}}
    both = [{**THINGS[0], "metadata": {"name": name, **labels}} for name in "ab"]
    kubectl.apply(*both)
    kubectl("apply", "-f", "-", "--prune", "-l", "set=two", stdin=yaml.safe_dump(both[0]))
    assert kubectl.names("configmaps", "-l", "set=two") == ["a"]


def test_what_is_only_kept(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", replicas=1))
    kubectl("autoscale", "deployment/web", "--max=3")
    assert kubectl.get("hpa/web")["spec"]["minReplicas"] == 1
    kubectl("create", "ingress", "door", "--rule=a.example/*=web:80")
    assert "a.example" in kubectl("get", "ingress")


def test_nothing_is_debugged(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    refused = kubectl.run("debug", "a", "--image=busybox")
    assert "simulated kubelet" in refused.stderr


def test_owners_let_go_and_owners_that_wait(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web", replicas=1))
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    kubectl("delete", "deployment/web", "--cascade=orphan")
    (replica_set,) = kubectl.names("replicasets")
    assert not kubectl.get("replicaset", replica_set)["metadata"].get("ownerReferences")
    kubectl("delete", "replicaset", replica_set, "--cascade=foreground", "--timeout=20s")
    assert kubectl.names("pods") == []


def test_what_happened_to_a_pod(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    kubectl("wait", "--for=condition=Ready", "pod/a", "--timeout=20s")
    assert "Scheduled" in kubectl("events", "--for=pod/a")
    assert "Scheduled" in kubectl("get", "events", "--field-selector=involvedObject.name=a")


def test_a_wrong_type_is_named(kubectl: Kubectl) -> None:
    wrong = pod("a")
    wrong["spec"]["containers"][0]["command"] = "sleep"
    refused = kubectl.run("create", "-f", "-", stdin=yaml.safe_dump(wrong))
    assert "spec.containers[0].command: expected a list, got a string" in refused.stderr
