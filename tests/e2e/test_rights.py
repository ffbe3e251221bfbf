"""RBAC, as users of kubectl see it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.up import Kubectl, cluster_up, pod


@pytest.fixture(scope="module")
def owner(home: Path) -> Iterator[Kubectl]:
    with cluster_up("--nodes", "1", "--user", "alice:dev", "--user", "bob") as kubeconfig:
        yield Kubectl(kubeconfig, home)


def test_what_a_user_may_do(owner: Kubectl) -> None:
    refused = owner.run("--context", "alice", "get", "pods")
    assert (
        'User "alice" cannot list resource "pods" in API group "" in the namespace "default"'
        in refused.stderr
    )
    owner("create", "-f", "-", stdin=BINDING)
    assert owner("--context", "alice", "get", "pods").strip() == ""
    assert owner.run("--context", "bob", "get", "pods").returncode == 1
    assert owner.run("--context", "alice", "get", "nodes").returncode == 1
    owner.apply(pod("a"))
    assert owner.run("--context", "alice", "delete", "pods", "--all").returncode == 1
    assert owner("--as", "carol", "--as-group", "dev", "get", "pod", "a", "-o", "name") == "pod/a\n"


BINDING = """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: developers}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: dev}]
"""
