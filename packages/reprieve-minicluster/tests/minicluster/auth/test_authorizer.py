"""The authorizer: what is malformed grants nothing, and changes nothing else."""

from typing import Any

import pytest
from tests.minicluster.scene import HandClock

from reprieve_minicluster.auth.authentication import UserInfo
from reprieve_minicluster.auth.authorizer import (
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    ROLES,
    RbacAuthorizer,
)
from reprieve_minicluster.auth.policy_rules import RequestAttributes
from reprieve_minicluster.store import Key, Store

ALICE = UserInfo("alice", ("dev",))
READ_PODS: dict[str, Any] = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
READ_NODES = {**READ_PODS, "resources": ["nodes"]}
GET_POD, GET_NODE = RequestAttributes("get", "", "pods"), RequestAttributes("get", "", "nodes")


@pytest.fixture
def store() -> Store:
    return Store(HandClock())


def put_role(store: Store, name: str, rules: object, resource: str = CLUSTER_ROLES) -> None:
    store.create(resource, {"metadata": {"name": name}, "rules": rules})


def bind(store: Store, role: str, **more: object) -> None:
    ref = {"kind": "ClusterRole", "name": role}
    subjects = [{"kind": "User", "name": "alice"}]
    body = {"metadata": {"name": role}, "roleRef": ref, "subjects": subjects, **more}
    store.create(CLUSTER_BINDINGS, body)


def test_a_malformed_role_in_a_batch_keeps_no_revoked_right(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    put_role(store, "r", [READ_PODS])
    bind(store, "r")
    authorizer = RbacAuthorizer(store)
    assert authorizer.allows(ALICE, GET_POD)
    put_role(store, "broken", [{**READ_PODS, "resourceNames": [None]}])
    store.delete(Key(CLUSTER_BINDINGS, "", "r"))
    assert not authorizer.allows(ALICE, GET_POD)
    assert not authorizer.allows(ALICE, GET_POD)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "rules[0]" in caplog.text
    assert '"broken"' in caplog.text


def test_a_malformed_role_locks_no_user_out_after_a_restart(store: Store) -> None:
    put_role(store, "broken", [{**READ_PODS, "resourceNames": [None]}])
    put_role(store, "r", [READ_PODS])
    bind(store, "r")
    assert RbacAuthorizer(store).allows(ALICE, GET_POD)


@pytest.mark.parametrize(
    "malformed",
    [
        None,
        5,
        "x",
        [],
        {"verbs": "get"},
        {"verbs": [5]},
        {**READ_NODES, "resources": [None]},
        {**READ_NODES, "resourceNames": "all"},
        {**READ_NODES, "verbs": ["get", {}]},
    ],
)
def test_a_malformed_rule_grants_nothing_and_the_others_do(store: Store, malformed: object) -> None:
    """An aggregated role has the rules of others: one of them must not end the rest."""
    put_role(store, "r", [malformed, READ_PODS])
    bind(store, "r")
    authorizer = RbacAuthorizer(store)
    assert authorizer.allows(ALICE, GET_POD)
    assert not authorizer.allows(ALICE, GET_NODE)


@pytest.mark.parametrize("rules", [None, 5, "x", {}])
def test_rules_that_are_no_list_grant_nothing(store: Store, rules: object) -> None:
    put_role(store, "r", rules)
    bind(store, "r")
    assert RbacAuthorizer(store).rules_of(ALICE, "") == []


def test_a_field_that_is_null_counts_as_absent(store: Store) -> None:
    put_role(store, "r", [{**READ_PODS, "resourceNames": None}])
    bind(store, "r")
    assert RbacAuthorizer(store).allows(ALICE, GET_POD)


@pytest.mark.parametrize(
    "more",
    [
        {"roleRef": None},
        {"roleRef": 5},
        {"roleRef": {"kind": ["ClusterRole"], "name": "r"}},
        {"roleRef": {"kind": "Pod", "name": "r"}},
        {"roleRef": {"name": "r"}},
        {"subjects": None},
        {"subjects": "alice"},
        {"subjects": [None, 5, {"kind": "User", "name": ["alice"]}, {"kind": "user", "name": "alice"}]},
    ],
)
def test_a_malformed_binding_grants_nothing(store: Store, more: dict[str, object]) -> None:
    put_role(store, "r", [READ_PODS])
    bind(store, "r", **more)
    assert not RbacAuthorizer(store).allows(ALICE, GET_POD)


def test_a_malformed_subject_takes_nothing_from_the_others(store: Store) -> None:
    put_role(store, "r", [READ_PODS])
    bind(store, "r", subjects=[{"kind": "Group", "name": 5}, {"kind": "Group", "name": "dev"}])
    assert RbacAuthorizer(store).allows(ALICE, GET_POD)


def test_a_service_account_without_a_namespace_is_of_the_binding_s(store: Store) -> None:
    put_role(store, "r", [READ_PODS], ROLES)
    subject = {"kind": "ServiceAccount", "name": "robot"}
    bind(store, "r", subjects=[subject])
    body = {"metadata": {"name": "b"}, "roleRef": {"kind": "Role", "name": "r"}, "subjects": [subject]}
    store.create(BINDINGS, body)
    authorizer = RbacAuthorizer(store)
    at_home = RequestAttributes("get", "", "pods", namespace="default")
    assert authorizer.allows(UserInfo("system:serviceaccount:default:robot"), at_home)
    assert not authorizer.allows(UserInfo("system:serviceaccount:other:robot"), at_home)
    assert not authorizer.allows(UserInfo("system:serviceaccount::robot"), at_home)
