"""Tokens: their users and their expiry."""

import pytest
from tests.minicluster.scene import HandClock

from reprieve_minicluster.auth.authentication import ADMIN, AUDIENCES, AUTHENTICATED, TokenIssuer, UserInfo
from reprieve_minicluster.store import Key, Store

ISSUER = TokenIssuer("a secret")
ROBOT = Key("serviceaccounts", "team", "robot")


@pytest.fixture
def store() -> Store:
    store = Store(HandClock())
    store.create("serviceaccounts", {"metadata": {"name": "robot", "namespace": "team"}})
    return store


def test_the_owner_has_the_secret(store: Store) -> None:
    assert ISSUER.user_of("a secret", store, 0) is ADMIN


def test_a_token_names_its_user(store: Store) -> None:
    token = ISSUER.token_of(UserInfo("alice", ("dev",)))
    assert ISSUER.user_of(token, store, 1e12) == UserInfo("alice", ("dev", AUTHENTICATED))


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "ä", "a secret2", "\udcff\udcfe", "\ud800.x"])
def test_foreign_tokens_are_refused(store: Store, token: str) -> None:
    assert ISSUER.user_of(token, store, 0) is None
    assert ISSUER.user_of(TokenIssuer("another").token_of(ADMIN), store, 0) is None


def test_a_token_that_was_tampered_with(store: Store) -> None:
    head, claims, signature = ISSUER.token_of(UserInfo("alice")).split(".")
    other = ISSUER.token_of(UserInfo("mallory")).split(".")[1]
    assert ISSUER.user_of(f"{head}.{other}.{signature}", store, 0) is None
    assert ISSUER.user_of(f"{head}.{claims}.", store, 0) is None


def test_an_account_s_token_ends_with_its_time(store: Store) -> None:
    token = ISSUER.account_token(ROBOT, store.get(ROBOT).uid, 100, [])
    user = ISSUER.user_of(token, store, 99)
    assert user is not None
    assert user.name == "system:serviceaccount:team:robot"
    assert "system:serviceaccounts:team" in user.groups
    assert ISSUER.user_of(token, store, 100) is None


def test_a_token_is_for_its_audience(store: Store) -> None:
    uid = store.get(ROBOT).uid
    token = ISSUER.account_token(ROBOT, uid, 100, ["vault"])
    assert ISSUER.user_of(token, store, 0) is None
    known = ISSUER.verified(token, store, 0)
    assert known is not None
    assert known.audiences == ("vault",)
    assert ISSUER.user_of(ISSUER.account_token(ROBOT, uid, 100, ["vault", *AUDIENCES]), store, 0) is not None


def test_an_account_s_token_ends_with_the_account(store: Store) -> None:
    token = ISSUER.account_token(ROBOT, store.get(ROBOT).uid, 100, [])
    store.delete(ROBOT)
    assert ISSUER.user_of(token, store, 0) is None
    store.create("serviceaccounts", {"metadata": {"name": "robot", "namespace": "team"}})
    assert ISSUER.user_of(token, store, 0) is None
