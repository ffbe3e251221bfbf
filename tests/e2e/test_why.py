"""`reprieve decisions` and `reprieve why` against a running cluster, and for users with few rights."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reprieve.model.json import Json
from tests.e2e.up import PATIENCE, REPRIEVE, Kubectl, cluster_up, deployment, pod
from tests.processes import started

READER = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: decisions-reader}
rules: [{nonResourceURLs: [/debug/decisions], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: alice-reads-decisions}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: decisions-reader}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: alice}]
"""


@pytest.fixture(scope="module")
def owner(home: Path) -> Iterator[Kubectl]:
    """A Deployment whose pod was preempted, its replacement that waits, and a preemptor that runs."""
    with cluster_up("--nodes", "1", "--user", "alice", "--user", "bob") as kubeconfig:
        kubectl = Kubectl(kubeconfig, home)
        web = deployment("web", replicas=1)
        web["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "9"
        kubectl.apply(web)
        kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=20s")
        kubectl("create", "priorityclass", "urgent", "--value=1000")
        kubectl.apply(pod("urgent", cpu="9", priorityClassName="urgent"))
        kubectl("wait", "--for=condition=Ready", "pod/urgent", "--timeout=20s")
        kubectl("create", "-f", "-", stdin=READER)
        yield kubectl


def reprieve(kubectl: Kubectl, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [REPRIEVE, *arguments, "--kubeconfig", str(kubectl.kubeconfig)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env={**os.environ, "NO_COLOR": "1"},
    )


def preemption(kubectl: Kubectl, *flags: str) -> Json:
    """The decision for the pod urgent; its plan may still be on its way to its end."""
    done = reprieve(kubectl, "decisions", "-o", "json", *flags)
    assert done.returncode == 0, done.stderr
    (found,) = [item for item in json.loads(done.stdout)["items"] if item["outcome"] == "Preempts"]
    decision: Json = found
    return decision


def test_the_decision_is_listed_and_its_victim_knows_why(owner: Kubectl) -> None:
    decision = preemption(owner)
    assert decision["demand"]["name"] == "urgent"
    victim = decision["preemption"]["victims"][0]["pod"]["name"]
    table = reprieve(owner, "decisions", "--victim", victim).stdout.splitlines()
    assert table[0].split() == ["TIME", "ID", "PREEMPTOR", "OUTCOME", "VICTIMS", "NODE"]
    assert decision["id"] in table[1]
    told = reprieve(owner, "why", f"pod/{victim}")
    assert told.returncode == 0, told.stderr
    first, *_ = told.stdout.splitlines()
    assert first.startswith(f"Pod default/{victim} was preempted on cpu-0 at ")
    assert "Pod default/urgent. Its priority is 1000, the victim's is 0. [decision]" in told.stdout
    assert "priorityClassName: urgent (value 1000)" in told.stdout
    (replacement,) = [name for name in owner.names("pods") if name.startswith("web-")]
    assert f"Pod default/{replacement} waits for a node. [cluster now]" in told.stdout
    whole = reprieve(owner, "why", decision["id"])
    assert f"decision {decision['id']}" in whole.stdout


def test_what_lets_the_replacement_run_is_true(owner: Kubectl) -> None:
    (waiting,) = [name for name in owner.names("pods") if name.startswith("web-")]
    told = reprieve(owner, "why", f"pod/{waiting}", "-o", "json")
    assert told.returncode == 0, told.stderr
    report = json.loads(told.stdout)
    assert report["state"] == "Pending"
    remedies = {remedy["code"]: remedy["text"] for remedy in report["remedies"]}
    assert "without Pod default/urgent" in remedies["FreeRoom"]
    assert remedies["RequestLess"].startswith("Request at most 7 cpu: then it runs on cpu-0")


def test_names_are_for_those_that_may_read_them(owner: Kubectl) -> None:
    hidden = preemption(owner, "--context", "alice")
    assert hidden["demand"]["name"] == ""
    assert hidden["priority"] == 1000
    assert hidden["preemption"]["victims"][0]["pod"]["name"] == ""
    refused = reprieve(owner, "decisions", "--context", "bob")
    assert refused.returncode == 1
    assert "expected a role that allows get on the nonResourceURL /debug/decisions" in refused.stderr


def test_a_watch_shows_what_comes(owner: Kubectl) -> None:
    command = [REPRIEVE, "decisions", "-w", "--no-headers", "--preemptor", "late"]
    with started(
        [*command, "--kubeconfig", str(owner.kubeconfig)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as watch:
        time.sleep(2)
        owner.apply(pod("late", cpu="99"))
        assert watch.stdout is not None
        assert "Pod default/late  unschedulable" in watch.stdout.readline()
        watch.send_signal(signal.SIGINT)
        _, told = watch.communicate(timeout=PATIENCE)
    assert "Traceback" not in told


def test_an_object_that_never_was(owner: Kubectl) -> None:
    told = reprieve(owner, "why", "pod/never")
    assert told.returncode == 1
    assert told.stderr.startswith("Error: Pod default/never is not known: ")
