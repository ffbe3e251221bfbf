"""A caller with rights in one namespace asks: it gets an answer about that, and no name from elsewhere."""

import json
import os
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.daemon import is_running, until
from tests.e2e.up import REPRIEVE, Kubectl, cluster_up, pod
from tests.processes import run_process

# Both may read one namespace; bob sees the nodes as well.
BINDING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: developers, namespace: team-a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
  - {kind: User, apiGroup: rbac.authorization.k8s.io, name: alice}
  - {kind: User, apiGroup: rbac.authorization.k8s.io, name: bob}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: nodes}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: nodes}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: nodes}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: bob}]
"""


@pytest.fixture(scope="module")
def owner(home: Path) -> Iterator[Kubectl]:
    with cluster_up("--nodes", "1", "--user", "alice", "--user", "bob") as kubeconfig:
        owner = Kubectl(kubeconfig, home)
        for team in ("team-a", "team-b"):
            owner.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team}})
            there = Kubectl(kubeconfig, home, team)
            there.apply(pod(f"of-{team}"))
            until(partial(is_running, there, f"of-{team}"))
        Kubectl(kubeconfig, home, "team-a")("apply", "-f", "-", stdin=BINDING)
        yield owner


def asked(
    owner: Kubectl, *flags: str, question: str = "exposure", stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    command = [REPRIEVE, question, "--kubeconfig", str(owner.kubeconfig), *flags]
    return run_process(command, input=stdin, env={**os.environ})


def test_the_owner_sees_both_teams(owner: Kubectl) -> None:
    done = asked(owner, "-A", "-o", "name")
    assert (sorted(done.stdout.split()), done.stderr) == (["pod/of-team-a", "pod/of-team-b"], "")


def test_a_caller_sees_the_namespace_that_it_may_read(owner: Kubectl) -> None:
    done = asked(owner, "--context", "alice", "-n", "team-a", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert [one["name"] for one in json.loads(done.stdout)["pods"]] == ["of-team-a"]
    assert "only namespace team-a was read of Pod, " in done.stderr
    assert "team-b" not in done.stdout + done.stderr


def test_a_caller_without_rights_gets_one_sentence(owner: Kubectl) -> None:
    done = asked(owner, "--context", "alice", "-n", "team-b")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: nothing of ")
    assert "of-team-b" not in done.stderr


def test_a_fit_in_a_partial_picture_is_no_promise(owner: Kubectl) -> None:
    new = json.dumps(pod("new"))
    whole = asked(owner, "-n", "team-a", "-f", "-", question="whatif", stdin=new)
    assert (whole.returncode, whole.stdout.startswith("Pod team-a/new ")) == (0, True), whole.stderr
    part = asked(owner, "--context", "bob", "-n", "team-a", "-f", "-", question="whatif", stdin=new)
    assert part.returncode == 12, part.stderr
    assert part.stdout.startswith("Only pods of namespace team-a were read: what runs elsewhere is unknown.")
    assert "fits as far as could be seen" in part.stdout
