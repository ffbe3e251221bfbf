"""The role in ``deploy/`` gives the scheduler what it needs and nothing more; what is missing is named."""

from collections.abc import Iterator

import pytest
import yaml

from reprieve.assembly.cluster_reading import READ
from reprieve.assembly.daemon import missing_rights, missing_text, required_permissions, served_kinds
from reprieve.cluster.kube.auth import Access
from reprieve.cluster.kube.client import connected
from reprieve.cluster.kube.kubeconfig import KubeconfigCluster, KubeconfigUser, Login
from reprieve.cluster.kube.permissions import (
    Permission,
    client_ca_permissions,
    election_permissions,
    eviction_limit_permissions,
    review_permissions,
    scheduling_permissions,
)
from reprieve.cluster.kube.rest_mapping import CANDIDATES
from reprieve.config import default_configuration
from reprieve.model.json import Json
from reprieve_minicluster.virtual_time import clock, run
from tests.architecture.source import ROOT
from tests.contract.http import TOKEN, MiniOperator, living_cluster

BASE = ROOT / "deploy" / "base"
ACCOUNT = "system:serviceaccount:kube-system:reprieve"


def objects(file: str) -> dict[str, Json]:
    return {body["kind"]: body for body in yaml.safe_load_all((BASE / file).read_text())}


def given(rules: list[Json], namespace: str = "") -> Iterator[Permission]:
    for rule in rules:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        yield Permission(verb, group, resource, namespace, name)


def everywhere() -> set[Permission]:
    """On a server that has all kinds, in all groups that we know."""
    return set(scheduling_permissions(place for found in CANDIDATES.values() for place in found))


def test_the_role_is_what_the_scheduler_needs_and_no_more() -> None:
    role = objects("role.yaml")
    assert set(given(role["ClusterRole"]["rules"])) == everywhere() | set(review_permissions())
    election = default_configuration().settings.leader_election
    needed = {
        *election_permissions(election.resource_namespace, election.resource_name),
        *client_ca_permissions(),
    }
    assert set(given(role["Role"]["rules"], role["Role"]["metadata"]["namespace"])) == needed


def test_the_component_for_an_eviction_limit_adds_one_right() -> None:
    file = BASE.parent / "components" / "eviction-limit" / "role.yaml"
    role = {body["kind"]: body for body in yaml.safe_load_all(file.read_text())}["ClusterRole"]
    assert set(given(role["rules"])) == set(eviction_limit_permissions())
    assert not set(eviction_limit_permissions()) & everywhere()


def test_the_viewer_reads_what_the_scheduler_reads_and_writes_nothing() -> None:
    rights = set(given(objects("viewer.yaml")["ClusterRole"]["rules"]))
    assert {right.verb for right in rights} == {"get", "list", "watch"}
    read = {right for right in everywhere() if right.verb in ("list", "watch")}
    assert read <= rights
    asked = (mapping for found in READ.values() for mapping in found)
    listed = {Permission("list", m.api_version.rpartition("/")[0], m.plural) for m in asked}
    assert listed <= rights
    unused = {right.resource for right in rights} - {right.resource for right in listed}
    assert unused == set(), "the role must not grant what no question reads"


@pytest.mark.parametrize("kind", ["ClusterRole", "Role"])
def test_with_any_rule_missing_the_right_is_named(kind: str) -> None:
    async def main() -> None:
        async with living_cluster(clock) as operator:
            roles = objects("role.yaml")
            for body in roles.values():
                await operator.create(body)
            needed = await needed_of(operator)
            assert await missing(operator, needed) == set()
            role = roles[kind]
            namespace = role["metadata"].get("namespace", "")
            for left_out in role["rules"]:
                await operator.delete(kind, namespace, role["metadata"]["name"])
                await operator.create({**role, "rules": [r for r in role["rules"] if r != left_out]})
                named = await missing(operator, needed)
                assert named == set(given([left_out], namespace)) & set(needed)
                assert named or is_of_another_group(left_out)
                assert all(str(right) in missing_text([right]) for right in named)

    run(main())


def test_what_kube_scheduler_may_is_nearly_enough() -> None:
    """A scheduler that replaces it, as the same user: the page about deploying names the rest."""

    async def main() -> None:
        async with living_cluster(clock) as operator:
            needed = [
                *scheduling_permissions(await served_kinds(operator.connection)),
                *election_permissions("kube-system", "kube-scheduler"),
                *review_permissions(),
                *client_ca_permissions(),
            ]
            lacking = await missing(operator, needed, "system:kube-scheduler")
            verbs = ("list", "watch")
            assert lacking == {Permission(verb, "scheduling.k8s.io", "priorityclasses") for verb in verbs}

    run(main())


def is_of_another_group(rule: Json) -> bool:
    """The mini cluster has groups of pods in one place, and needs them in no other."""
    return "reprieve.dev" in rule["apiGroups"]


async def needed_of(operator: MiniOperator) -> list[Permission]:
    found = await served_kinds(operator.connection)
    return [
        *required_permissions(default_configuration(), found),
        *review_permissions(),
        *client_ca_permissions(),
    ]


async def missing(operator: MiniOperator, needed: list[Permission], user: str = ACCOUNT) -> set[Permission]:
    """What the user lacks."""
    login = Login(
        KubeconfigCluster(server=operator.access.server), KubeconfigUser(token=TOKEN, impersonate=user)
    )
    async with connected(Access(login)) as connection:
        return set(await missing_rights(connection, needed))


def test_rights_read_like_what_one_would_type() -> None:
    assert str(Permission("patch", "", "pods/status")) == "patch pods/status"
    assert str(Permission("list", "policy", "poddisruptionbudgets")) == "list poddisruptionbudgets.policy"
    lease = Permission("update", "coordination.k8s.io", "leases", "kube-system", "reprieve")
    assert str(lease) == "update leases.coordination.k8s.io reprieve in kube-system"
