"""What stands in ``deploy/`` can be applied, and the scheduler works with the rights that it gives."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from reprieve.model.json import Json
from tests.architecture.source import ROOT
from tests.e2e.daemon import HASTY, UNSERVED, daemon, is_running, refused, until
from tests.e2e.install_kubectl import HERE
from tests.e2e.up import REPRIEVE, Kubectl, cluster_up, pod
from tests.processes import run_process

DEPLOY = ROOT / "deploy"
FOLDERS = ("base", "overlays/beside", "overlays/replacing")


@pytest.fixture(scope="module")
def owner(home: Path) -> Iterator[Kubectl]:
    with cluster_up("--nodes", "2", "--scheduler", "none") as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        applied(kubectl, "base")
        yield kubectl


@pytest.fixture
def as_reprieve(owner: Kubectl, tmp_path: Path) -> Path:
    return account_kubeconfig(owner, tmp_path)


def account_kubeconfig(owner: Kubectl, folder: Path) -> Path:
    """A kubeconfig of the service account that the scheduler has."""
    token = replace(owner, namespace="kube-system")("create", "token", "reprieve").strip()
    kubeconfig = yaml.safe_load(owner.kubeconfig.read_text())
    (user,) = (user for user in kubeconfig["users"] if user["name"] == "reprieve")
    user["user"] = {"token": token}
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(kubeconfig))
    return path


def applied(kubectl: Kubectl, folder: str) -> str:
    return replace(kubectl, namespace="kube-system")("apply", "-k", str(DEPLOY / folder))


def rendered(folder: str) -> list[Json]:
    done = run_process([HERE, "kustomize", str(DEPLOY / folder)], check=True)
    return list(yaml.safe_load_all(done.stdout))


def of_kind(objects: list[Json], kind: str) -> Json:
    (found,) = (body for body in objects if body["kind"] == kind)
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_renders_with_a_configuration_that_is_right(folder: str, tmp_path: Path) -> None:
    objects = rendered(folder)
    config = of_kind(objects, "ConfigMap")
    pods = of_kind(objects, "Deployment")["spec"]["template"]["spec"]
    assert pods["volumes"][0]["configMap"]["name"] == config["metadata"]["name"]
    written = tmp_path / "config.yaml"
    written.write_text(config["data"]["config.yaml"])
    command = [REPRIEVE, "config", "validate", str(written)]
    told = run_process(command, check=True)
    assert "reprieve" in told.stdout
    assert ("default-scheduler" in told.stdout) == (folder == "overlays/replacing")


def test_what_a_container_may(owner: Kubectl) -> None:
    deployed = of_kind(rendered("base"), "Deployment")["spec"]
    template = deployed["template"]["spec"]
    (container,) = template["containers"]
    assert deployed["replicas"] == 2
    # What the level "restricted" of the Pod Security Standards asks for, and a root that cannot be written.
    assert template["securityContext"]["runAsNonRoot"] is True
    assert template["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert {kind for volume in template["volumes"] for kind in volume} == {"name", "configMap", "emptyDir"}
    assert template.keys().isdisjoint({"hostNetwork", "hostPID", "hostIPC"})
    assert container["image"] == "reprieve:0.1"
    # The command line is one that the scheduler accepts: it gets as far as the file, which is not there.
    assert "/etc/reprieve/config.yaml: cannot be read: no such file" in refused(*container["args"][1:]).stderr


def test_in_place_of_kube_scheduler_it_runs_on_the_control_plane() -> None:
    template = of_kind(rendered("overlays/replacing"), "Deployment")["spec"]["template"]["spec"]
    assert template["nodeSelector"] == {
        "kubernetes.io/os": "linux",
        "node-role.kubernetes.io/control-plane": "",
    }


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_can_be_applied_and_taken_back(owner: Kubectl, folder: str) -> None:
    assert "deployment.apps/reprieve" in applied(owner, folder)
    assert "deployment.apps/reprieve unchanged" in applied(owner, folder)
    applied(owner, "base")


def test_groups_for_clusters_that_have_none(owner: Kubectl) -> None:
    assert "podgroups.reprieve.dev" in applied(owner, "crds")
    owner("wait", "--for=condition=Established", "crd/podgroups.reprieve.dev", "--timeout=20s")
    group = {"apiVersion": "reprieve.dev/v1alpha1", "kind": "PodGroup", "metadata": {"name": "g"}}
    owner.apply({**group, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 7}})
    assert owner("get", "podgroups.reprieve.dev", "--no-headers").split()[:3] == ["g", "7", "2"]
    wrong = json.dumps({**group, "spec": {"schedulingPolicy": {"gang": {"minCount": 0}}}})
    assert "spec.schedulingPolicy.gang.minCount" in owner.run("apply", "-f", "-", stdin=wrong).stderr


def test_everything_works_with_the_rights_of_the_role(
    owner: Kubectl, as_reprieve: Path, tmp_path: Path
) -> None:
    with daemon(tmp_path / "log", as_reprieve, *HASTY, *UNSERVED) as running:
        running.begins()
        owner.apply(*yaml.safe_load_all(GANG), *yaml.safe_load_all(VOLUMES))
        names = ("member-0", "member-1", "local", "made")
        until(lambda: all(is_running(owner, name) for name in names))
        owner.apply(pod("urgent", "12", schedulerName="reprieve", priorityClassName="urgent"))
        until(lambda: is_running(owner, "urgent"))
        until(lambda: "Preempted" in owner("get", "events", "-o", "jsonpath={.items[*].reason}"))
        assert running.ends() == 0
        assert [line for line in running.lines if line["level"] != "info"] == []


def test_a_check_says_that_it_can(owner: Kubectl, as_reprieve: Path) -> None:
    done = checked(as_reprieve, "-o", "json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["kind"], report["canSchedule"]) == (0, "CheckReport", True)
    assert [f["text"] for f in report["findings"] if f["grade"] == "Bad"] == []
    assert {"Version", "Kind", "Right", "Lease"} <= {f["code"] for f in report["findings"]}


def test_a_check_names_what_is_missing(owner: Kubectl, as_reprieve: Path) -> None:
    owner("delete", "clusterrole", "reprieve")
    done = checked(as_reprieve)
    applied(owner, "base")
    assert done.returncode == 1
    assert "bad     Right: we may not create pods/binding\n" in done.stdout
    assert "Reprieve cannot be the scheduler of https://" in done.stdout


def test_a_check_reports_another_default_scheduler(owner: Kubectl, tmp_path: Path) -> None:
    """Unless they share a lease: then only one of them ever is."""
    shared = DEPLOY / "overlays" / "replacing" / "config.yaml"
    apart = tmp_path / "config.yaml"
    apart.write_text(yaml.safe_dump(yaml.safe_load(shared.read_text()) | {"leaderElection": {}}))
    assert "default-scheduler" not in checked(owner.kubeconfig, "--config", str(apart)).stdout
    replace(owner, namespace="kube-system").apply(*yaml.safe_load_all(OTHER))
    done = checked(owner.kubeconfig, "--config", str(apart))
    assert done.returncode == 0
    assert "warning Lease: lease kube-system/kube-scheduler is held by other-replica" in done.stdout
    told = checked(owner.kubeconfig, "--config", str(shared)).stdout
    assert "good    Lease: lease kube-system/kube-scheduler: held by other-replica" in told
    assert "two would be" not in told


def test_a_replacement_of_kube_scheduler_may_hold_its_lease(owner: Kubectl) -> None:
    objects = rendered("overlays/replacing")
    config = yaml.safe_load(of_kind(objects, "ConfigMap")["data"]["config.yaml"])
    rules = of_kind(objects, "Role")["rules"]
    name = config["leaderElection"]["resourceName"]
    assert [rule["resourceNames"] for rule in rules if "update" in rule["verbs"]] == [[name]]


def test_a_check_without_a_server(tmp_path: Path) -> None:
    done = checked(tmp_path / "nothing")
    assert done.returncode == 1
    assert "nothing: cannot be read" in done.stderr


def checked(kubeconfig: Path, *flags: str) -> "subprocess.CompletedProcess[str]":
    command = [REPRIEVE, "check", "--kubeconfig", str(kubeconfig), *flags]
    return run_process(command)


OTHER = """
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: kube-scheduler, namespace: kube-system}
spec: {holderIdentity: other-replica, leaseDurationSeconds: 15}
"""

GANG = """
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 1000}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: gang}
spec: {schedulingPolicy: {gang: {minCount: 2}}}
---
apiVersion: v1
kind: Pod
metadata: {name: member-0}
spec:
  schedulerName: reprieve
  schedulingGroup: {podGroupName: gang}
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: example/app:1, resources: {requests: {cpu: "8"}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: member-1}
spec:
  schedulerName: reprieve
  schedulingGroup: {podGroupName: gang}
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: example/app:1, resources: {requests: {cpu: "8"}}}]
"""

VOLUMES = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: made}
provisioner: example.com/maker
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: local}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  hostPath: {path: /data}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: local}
spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: made}
spec: {accessModes: [ReadWriteOnce], storageClassName: made, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: local}
spec:
  schedulerName: reprieve
  containers: [{name: main, image: example/app:1}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: local}}]
---
apiVersion: v1
kind: Pod
metadata: {name: made}
spec:
  schedulerName: reprieve
  containers: [{name: main, image: example/app:1}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: made}}]
"""
