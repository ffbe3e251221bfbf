"""What kubectl makes without a file. It sends it all as protobuf, as it does its questions about rights."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.up import Kubectl, cluster_up


def test_namespaces_and_cluster_scoped_objects(kubectl: Kubectl) -> None:
    more = f"{kubectl.namespace}-more"
    assert kubectl("create", "namespace", more) == f"namespace/{more} created\n"
    high = ("--value=1000", "--description=first", "--preemption-policy=Never")
    kubectl("create", "priorityclass", more, *high)
    found = kubectl.get("priorityclass", more)
    assert (found["value"], found["description"], found["preemptionPolicy"]) == (1000, "first", "Never")
    assert "(AlreadyExists)" in kubectl.run("create", "namespace", more).stderr


def test_deployments_and_jobs_run(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=example/app:1", "--replicas=2", "--port=80")
    kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    (container,) = kubectl.get("deployment", "web")["spec"]["template"]["spec"]["containers"]
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    kubectl("create", "job", "once", "--image=example/app:1", "--", "sleep", "1")
    kubectl("wait", "--for=jsonpath={.status.active}=1", "job/once", "--timeout=20s")
    (command,) = (c["command"] for c in kubectl.get("job", "once")["spec"]["template"]["spec"]["containers"])
    assert command == ["sleep", "1"]


def test_budgets(kubectl: Kubectl) -> None:
    kubectl("create", "pdb", "half", "--selector=app=web", "--min-available=50%")
    kubectl("create", "pdb", "none", "--selector=app=web", "--max-unavailable=0")
    assert kubectl.get("pdb", "half")["spec"]["minAvailable"] == "50%"
    assert kubectl.get("pdb", "none")["spec"]["maxUnavailable"] == 0


def test_quotas_and_jobs_at_their_times(kubectl: Kubectl) -> None:
    kubectl("create", "quota", "small", "--hard=pods=3,requests.cpu=2", "--scopes=NotTerminating")
    spec = kubectl.get("quota", "small")["spec"]
    assert spec == {"hard": {"pods": "3", "requests.cpu": "2"}, "scopes": ["NotTerminating"]}
    kubectl("create", "cronjob", "nightly", "--image=example/app:1", "--schedule=0 3 * * *", "--", "true")
    found = kubectl.get("cronjob", "nightly")["spec"]
    (container,) = found["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert (found["schedule"], container["command"]) == ("0 3 * * *", ["true"])


def test_data(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "settings", "--from-literal=a=1", "--from-literal=b=")
    assert kubectl.get("configmap", "settings")["data"] == {"a": "1", "b": ""}
    kubectl("create", "secret", "generic", "password", "--from-literal=p=hello")
    assert kubectl.get("secret", "password")["data"] == {"p": "aGVsbG8="}


def test_pods_and_services(kubectl: Kubectl) -> None:
    kubectl("run", "one", "--image=example/app:1", "--restart=Never", "--port=80", "--expose")
    kubectl("wait", "--for=condition=Ready", "pod/one", "--timeout=20s")
    kubectl("create", "service", "clusterip", "two", "--tcp=80:8080")
    ports = kubectl.get("service", "two")["spec"]["ports"]
    assert [(port["port"], port["targetPort"]) for port in ports] == [(80, 8080)]


@pytest.fixture(scope="module")
def owner(home: Path) -> Iterator[Kubectl]:
    with cluster_up("--nodes", "1", "--user", "alice:dev") as kubeconfig:
        yield Kubectl(kubeconfig, home)


def test_roles_bindings_and_the_questions_about_them(owner: Kubectl) -> None:
    owner("create", "role", "reader", "--verb=get,list", "--resource=pods,deployments.apps")
    owner("create", "rolebinding", "readers", "--role=reader", "--group=dev")
    owner("create", "clusterrole", "seer", "--verb=get", "--resource=nodes", "--resource-name=cpu-0")
    owner("create", "clusterrole", "prober", "--verb=get", "--non-resource-url=/metrics")
    owner("create", "clusterrolebinding", "seers", "--clusterrole=seer", "--user=alice")
    owner("create", "clusterrolebinding", "probers", "--clusterrole=prober", "--group=probers")
    alice = ("--context", "alice", "auth")
    assert owner(*alice, "can-i", "list", "deployments.apps") == "yes\n"
    assert owner.run(*alice, "can-i", "delete", "pods").stdout == "no\n"
    assert "yes" in owner(*alice, "can-i", "get", "nodes/cpu-0")
    rights = owner(*alice, "can-i", "--list")
    assert "deployments.apps" in rights
    assert "[cpu-0]" in rights
    assert "alice" in owner(*alice, "whoami")
    assert owner("auth", "can-i", "get", "/metrics", "--as", "bob", "--as-group", "probers") == "yes\n"


def test_tokens_of_service_accounts(owner: Kubectl) -> None:
    owner("create", "serviceaccount", "robot")
    token = owner("create", "token", "robot", "--duration=20m").strip()
    told = owner("--token", token, "--user", "", "auth", "whoami")
    assert "system:serviceaccount:default:robot" in told
