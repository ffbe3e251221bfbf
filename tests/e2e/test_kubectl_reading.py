"""kubectl looks around: get in all its forms, describe, wait, explain, api-resources."""

import json
import subprocess

import yaml

from tests.e2e.up import Kubectl, deployment, pod
from tests.processes import started


def test_versions(kubectl: Kubectl) -> None:
    assert json.loads(kubectl("version", "-o", "json"))["serverVersion"]["minor"] == "37"


def test_a_wrong_token(kubectl: Kubectl) -> None:
    refused = kubectl.run("--token=wrong", "get", "nodes")
    assert refused.returncode
    assert "Unauthorized" in refused.stderr


def test_what_there_is(kubectl: Kubectl) -> None:
    rows = {line.split()[0]: line for line in kubectl("api-resources").splitlines()}
    assert "scheduling.k8s.io/v1beta1" in rows["podgroups"]
    assert rows["pods"].split()[1:] == ["po", "v1", "true", "Pod"]
    assert "deploy" in rows["deployments"]
    assert "scheduling.k8s.io/v1alpha2" in kubectl("api-versions").splitlines()


def test_the_table_of_pods_is_kubectls_and_the_wide_one_tells_of_priority_and_group(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    kubectl("wait", "--for=condition=Ready", "pod/a", "--timeout=20s")
    head, row = kubectl("get", "pods").splitlines()
    assert "Scheduled" in kubectl("get", "events", "--sort-by=.lastTimestamp")
    assert head.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row.split()[:4] == ["a", "1/1", "Running", "0"]
    wide, row = kubectl("get", "pods", "-o", "wide").splitlines()
    assert wide.split()[5:] == ["IP", "NODE", "NOMINATED", "NODE", "READINESS", "GATES", "PRIORITY", "GROUP"]
    *_, node, nominated, gates, priority, group = row.split()
    assert (nominated, gates, priority, group) == ("<none>", "<none>", "0", "<none>")
    assert node.startswith("cpu-")
    everywhere = kubectl("get", "pods", "--all-namespaces").splitlines()
    assert everywhere[0].startswith("NAMESPACE")


def test_the_same_in_json_in_yaml_and_in_part(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    as_json = json.loads(kubectl("get", "pod", "a", "-o", "json"))
    as_yaml = yaml.safe_load(kubectl("get", "pod", "a", "-o", "yaml"))
    assert as_json["metadata"]["uid"] == as_yaml["metadata"]["uid"]
    assert kubectl("get", "pod", "a", "-o", "jsonpath={.metadata.uid}") == as_json["metadata"]["uid"]
    assert kubectl("get", "pods", "-o", "name").strip() == "pod/a"
    columns = kubectl("get", "pods", "-o", "custom-columns=N:.metadata.name,U:.metadata.uid")
    assert columns.split() == ["N", "U", "a", as_json["metadata"]["uid"]]


def test_selectors(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"), pod("b"))
    assert kubectl.names("pods", "-l", "app in (a,c)") == ["a"]
    assert kubectl.names("pods", "-l", "app!=a") == ["b"]
    assert kubectl.names("pods", "--field-selector", "metadata.name=b") == ["b"]
    refused = kubectl.run("get", "pods", "--field-selector", "spec.colour=red")
    assert "field label not supported" in refused.stderr


def test_all_that_belongs_to_it(kubectl: Kubectl) -> None:
    kubectl.apply(deployment("web"))
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    kinds = {line.split("/")[0] for line in kubectl("get", "all", "-o", "name").splitlines()}
    assert kinds == {"deployment.apps", "replicaset.apps", "pod"}


def test_a_long_list_comes_in_portions(kubectl: Kubectl) -> None:
    maps = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"m{i}"}} for i in range(12)]
    kubectl.apply(*maps)
    names = kubectl("get", "configmaps", "--chunk-size=5", "-o", "name").splitlines()
    assert sorted(names) == sorted(["configmap/kube-root-ca.crt", *(f"configmap/m{i}" for i in range(12))])


def test_watching(kubectl: Kubectl) -> None:
    command = kubectl.command("get", "pods", "-w")
    with started(command, stdout=subprocess.PIPE, env=kubectl.environment) as watch:
        assert watch.stdout is not None
        kubectl.apply(pod("a"))
        assert watch.stdout.readline().split()[:3] == ["NAME", "READY", "STATUS"]
        seen = []
        while "Running" not in seen:
            seen.append(watch.stdout.readline().split()[2])
        kubectl("delete", "pod", "a")
        while "Terminating" not in seen:
            seen.append(watch.stdout.readline().split()[2])
        watch.kill()
    assert seen[0] == "Pending"


def test_describing(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    kubectl("wait", "--for=condition=Ready", "pod/a", "--timeout=20s")
    told = kubectl("describe", "pod", "a")
    assert "Scheduled" in told.partition("Events:")[2]
    assert "example/app:1" in told
    node = kubectl.get("pod", "a")["spec"]["nodeName"]
    assert "Non-terminated Pods" in kubectl("describe", "node", node)
    assert kubectl("describe", "namespace", kubectl.namespace)


def test_what_is_not_there(kubectl: Kubectl) -> None:
    refused = kubectl.run("get", "pod", "nobody")
    assert refused.returncode == 1
    assert 'Error from server (NotFound): pods "nobody" not found' in refused.stderr
    assert "the server doesn't have a resource type" in kubectl.run("get", "widgets").stderr


def test_explaining(kubectl: Kubectl) -> None:
    told = kubectl("explain", "pod.spec.priorityClassName")
    assert "FIELD: priorityClassName <string>" in told
    assert "Only one class can have it." in kubectl("explain", "priorityclass.globalDefault")
    assert "disruptionMode" in kubectl("explain", "podgroup.spec")
    assert "FIELD: maxSurge" in kubectl("explain", "deployment.spec.strategy.rollingUpdate.maxSurge")
    assert "secretKeyRef" in kubectl("explain", "job", "--recursive")
    assert "schedulingPolicy" in kubectl(
        "explain", "podgroup.spec", "--api-version=scheduling.k8s.io/v1alpha2"
    )
    assert 'field "nothing" does not exist' in kubectl.run("explain", "pod.spec.nothing").stderr


def test_a_simulated_kubelet_has_no_logs(kubectl: Kubectl) -> None:
    kubectl.apply(pod("a"))
    for command in (("logs", "a"), ("exec", "a", "--", "ls")):
        refused = kubectl.run(*command)
        assert refused.returncode
        assert "simulated kubelet" in refused.stderr
