"""Forty commands that a person types in the first hour with `reprieve up`, and what they show."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.up import Kubectl, cluster_up

DATABASE = """
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {selector: {app: db}, ports: [{port: 5432}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      containers: [{name: main, image: postgres, volumeMounts: [{name: data, mountPath: /data}]}]
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
"""
BATCH = """
apiVersion: v1
kind: Pod
metadata: {name: batch}
spec:
  nodeName: cpu-0
  containers: [{name: main, image: batch, resources: {requests: {cpu: 10}}}]
"""
URGENT = """
apiVersion: v1
kind: Pod
metadata: {name: urgent}
spec:
  priorityClassName: urgent
  nodeSelector: {kubernetes.io/hostname: cpu-0}
  containers: [{name: main, image: urgent, resources: {requests: {cpu: 10}}}]
"""
REPORT = """
apiVersion: batch/v1
kind: Job
metadata: {name: report}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox}]
"""
# What is typed, what kubectl reads from stdin, and words of the answer; `…` separates several.
TYPED = (
    ("version", "", "Server Version: v1.37"),
    ("cluster-info", "", "is running at https://127.0.0.1"),
    ("get nodes", "", "NAME …cpu-0 …Ready"),
    ("get nodes -o wide", "", "cpu-1"),
    ("describe node cpu-0", "", "InternalIP:…Hostname:    cpu-0…KubeletReady"),
    ("get namespaces", "", "default …kube-system"),
    ("get all", "", ""),
    ("get storageclass", "", "standard (default)…reprieve.dev/simulated"),
    ("create deployment web --image=nginx --replicas=3", "", "deployment.apps/web created"),
    ("rollout status deployment/web --timeout=25s", "", "successfully rolled out"),
    ("get pods", "", "NAME  …READY   STATUS    RESTARTS   AGE…1/1     Running   0"),
    ("get pods -o wide", "", "IP …NODE …NOMINATED NODE   READINESS GATES   PRIORITY   GROUP"),
    ("get deployment web", "", "3/3"),
    ("get rs", "", "DESIRED   CURRENT   READY"),
    ("scale deployment web --replicas=2", "", "deployment.apps/web scaled"),
    ("expose deployment web --port=80", "", "service/web exposed"),
    ("get service web", "", "ClusterIP   10."),
    ("get endpointslices -l kubernetes.io/service-name=web", "", "web-…80"),
    ("describe service web", "", "IP:                       10."),
    ("set image deployment/web nginx=nginx:2", "", "image updated"),
    ("rollout history deployment/web", "", "REVISION"),
    ("rollout undo deployment/web", "", "rolled back"),
    ("apply -f -", DATABASE, "service/db created…statefulset.apps/db created"),
    ("rollout status statefulset/db --timeout=25s", "", "2 new pods"),
    ("get pvc", "", "data-db-0   Bound …data-db-1   Bound"),
    ("create job hello --image=busybox", "", "job.batch/hello created"),
    ("wait --for=condition=complete job/hello --timeout=25s", "", "condition met"),
    ("get jobs", "", "hello   Complete   1/1"),
    ("apply -f -", REPORT, "job.batch/report created"),
    ("apply --server-side -f -", REPORT, "job.batch/report serverside-applied"),
    ("create priorityclass urgent --value=1000", "", "priorityclass.scheduling.k8s.io/urgent created"),
    ("apply -f -", BATCH, "pod/batch created"),
    ("apply -f -", URGENT, "pod/urgent created"),
    ("wait --for=condition=Ready pod/urgent --timeout=25s", "", "condition met"),
    ("describe pod urgent", "", "Preempting …preempting 1 pod on cpu-0: batch (decision d-"),
    (
        "events --for pod/batch",
        "",
        "Preempted by pod urgent on node cpu-0: the preemptor's priority is 1000 (decision d-"
        "…more: reprieve why pod/batch -n default",
    ),
    ("get pods --sort-by=.spec.priority", "", "urgent"),
    ("top nodes", "", None),
    ("explain pod.spec.priorityClassName", "", "priorityClassName"),
    ("get serviceaccounts -A", "", "kube-system …default"),
    ("auth can-i create pods", "", "yes"),
    ("cordon cpu-1", "", "node/cpu-1 cordoned"),
    ("drain cpu-1 --ignore-daemonsets --timeout=25s", "", "node/cpu-1 drained"),
    ("uncordon cpu-1", "", "node/cpu-1 uncordoned"),
    ("get events --field-selector reason=Preempted", "", "pod/batch"),
    ("delete deployment web", "", 'deployment.apps "web" deleted'),
)


@pytest.fixture(scope="module")
def kubectl(home: Path) -> Iterator[Kubectl]:
    with cluster_up("--nodes", "2", "--job-seconds", "10") as kubeconfig:
        yield Kubectl(kubeconfig, home)


def test_there_are_forty() -> None:
    assert len(TYPED) >= 40


def test_each_command_shows_what_a_person_expects(kubectl: Kubectl) -> None:
    """All are typed, whatever one of them shows."""
    wrong = []
    for typed, stdin, words in TYPED:
        done = kubectl.run(*typed.split(), stdin=stdin)
        shown = f"$ kubectl {typed}\n{done.stdout}{done.stderr}"
        print(shown)
        if words is None:
            continue  # metrics are not simulated: kubectl says so
        missing = [part for part in words.split("…") if part not in shown]
        if done.returncode or missing:
            wrong.append(f"{shown}\nexit code {done.returncode}, lacks {missing}")
    assert not wrong, "\n".join(wrong)
