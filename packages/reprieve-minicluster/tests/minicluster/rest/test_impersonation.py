"""Impersonation: the headers name exactly one user, and every part of it needs its right."""

import pytest
from multidict import CIMultiDict
from tests.minicluster.rest.api_client import SECRET, ApiClient
from tests.minicluster.rest.limited_user import ALICE, alice_s_client, grant_everywhere, rule

from reprieve_minicluster.auth.authentication import ADMIN, AUTHENTICATED, TokenIssuer, UserInfo
from reprieve_minicluster.errors import ApiError

AUTHENTICATION = "authentication.k8s.io"
BOSS = "system:serviceaccount:kube-system:boss"


@pytest.fixture
def client() -> ApiClient:
    return alice_s_client()


def acting(client: ApiClient, *headers: tuple[str, str], sender: UserInfo = ALICE) -> UserInfo:
    """The user as which a request of the sender acts."""
    token = SECRET if sender is ADMIN else TokenIssuer(SECRET).token_of(sender)
    given = CIMultiDict([("Authorization", f"Bearer {token}"), *headers])
    return client.front.authenticate("/", given)


def refused(client: ApiClient, *headers: tuple[str, str], sender: UserInfo = ALICE) -> tuple[int, str]:
    with pytest.raises(ApiError) as error:
        acting(client, *headers, sender=sender)
    return error.value.status, error.value.message


def test_every_group_counts(client: ApiClient) -> None:
    """kubectl sends a header for each; a group may have commas in its name."""
    groups = [("Impersonate-Group", group) for group in ("a", "cn=b,ou=c")]
    found = acting(client, ("Impersonate-User", "bob"), *groups, sender=ADMIN)
    assert found == UserInfo("bob", ("a", "cn=b,ou=c", AUTHENTICATED))


def test_every_group_needs_its_right(client: ApiClient) -> None:
    grant_everywhere(client, rule("impersonate", "users"), rule("impersonate", "groups", "", "a"))
    bob = ("Impersonate-User", "bob")
    assert acting(client, bob, ("Impersonate-Group", "a")).groups == ("a", AUTHENTICATED)
    status, message = refused(
        client, bob, ("Impersonate-Group", "a"), ("Impersonate-Group", "system:masters")
    )
    assert status == 403
    assert 'groups "system:masters" is forbidden' in message


def test_without_the_right_there_is_no_impersonation(client: ApiClient) -> None:
    status, message = refused(client, ("Impersonate-User", "bob"))
    assert status == 403
    assert 'User "alice" cannot impersonate resource "users"' in message


# --- service accounts ------------------------------------------------------------------------------


def test_a_service_account_needs_a_right_of_its_own(client: ApiClient) -> None:
    grant_everywhere(client, rule("impersonate", "users"))
    status, message = refused(client, ("Impersonate-User", BOSS))
    assert status == 403
    assert 'impersonate resource "serviceaccounts" in API group "" in the namespace "kube-system"' in message
    found = acting(client, ("Impersonate-User", BOSS), sender=ADMIN)
    assert found.groups == ("system:serviceaccounts", "system:serviceaccounts:kube-system", AUTHENTICATED)


@pytest.mark.parametrize(
    "name",
    [
        "x:serviceaccount:kube-system:boss",
        f"{BOSS}:",
        f":{BOSS}",
        f"{BOSS}:x",
        "system:serviceaccount::boss",
        "system:serviceaccount:kube-system:",
        "system:serviceaccount:kube-system:Boss",
        "system:serviceaccounts:kube-system:boss",
    ],
)
def test_what_only_looks_like_a_service_account_is_a_user(client: ApiClient, name: str) -> None:
    grant_everywhere(client, rule("impersonate", "users"))
    assert acting(client, ("Impersonate-User", name)) == UserInfo(name, (AUTHENTICATED,))


def test_given_groups_replace_those_of_a_service_account(client: ApiClient) -> None:
    found = acting(client, ("Impersonate-User", BOSS), ("Impersonate-Group", "g"), sender=ADMIN)
    assert found == UserInfo(BOSS, ("g", AUTHENTICATED))


# --- UID and extra fields --------------------------------------------------------------------------


def test_a_uid_and_extra_fields_need_their_rights(client: ApiClient) -> None:
    bob, uid = ("Impersonate-User", "bob"), ("Impersonate-Uid", "7")
    scope = ("Impersonate-Extra-Acme.com%2Fscope", "dev")
    grant_everywhere(client, rule("impersonate", "users"))
    assert 'resource "uids" in API group "authentication.k8s.io"' in refused(client, bob, uid)[1]
    assert 'resource "userextras/acme.com/scope"' in refused(client, bob, scope)[1]


def test_a_uid_and_extra_fields_are_part_of_the_user(client: ApiClient) -> None:
    grant_everywhere(
        client,
        rule("impersonate", "users"),
        rule("impersonate", "uids", AUTHENTICATION, "7"),
        rule("impersonate", "userextras/scope", AUTHENTICATION, "dev view"),
    )
    scopes = [("Impersonate-Extra-Scope", value) for value in ("dev", "view")]
    headers = [("Impersonate-User", "bob"), ("Impersonate-Uid", "7"), *scopes]
    client.user = acting(client, *headers)
    assert client.user == UserInfo("bob", (AUTHENTICATED,), "7", {"scope": ("dev", "view")})
    status = client.post(f"/apis/{AUTHENTICATION}/v1/selfsubjectreviews", {})["status"]
    assert status["userInfo"]["extra"] == {"scope": ["dev", "view"]}
    assert refused(client, *headers, ("Impersonate-Extra-Scope", "admin"))[0] == 403


# --- groups that follow ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "given", "groups"),
    [
        ("bob", (), (AUTHENTICATED,)),
        ("bob", (AUTHENTICATED,), (AUTHENTICATED,)),
        ("bob", ("system:unauthenticated",), ("system:unauthenticated",)),
        ("system:anonymous", (), ("system:unauthenticated",)),
        ("system:anonymous", ("g",), ("g", "system:unauthenticated")),
    ],
)
def test_whether_the_user_counts_as_authenticated(
    client: ApiClient, name: str, given: tuple[str, ...], groups: tuple[str, ...]
) -> None:
    headers = [("Impersonate-User", name), *(("Impersonate-Group", group) for group in given)]
    assert acting(client, *headers, sender=ADMIN).groups == groups


# --- headers that are refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        [("Impersonate-Group", "system:masters")],
        [("Impersonate-Uid", "7")],
        [("Impersonate-Extra-Scope", "dev")],
        [("Impersonate-User", ""), ("Impersonate-Group", "g")],
        [("Impersonate-User", "")],
        [("Impersonate-User", "bob"), ("Impersonate-Group", "")],
        [("Impersonate-User", "bob"), ("impersonate-user", "carol")],
        [("Impersonate-User", "bob"), ("Impersonate-Uid", "7"), ("Impersonate-Uid", "8")],
        [("Impersonate-User", "bob"), ("Impersonate-Extra-", "x")],
        [("Impersonate-User", "\udcff")],
        [("Impersonate-User", "bob"), ("Impersonate-Group", "g\udcfe")],
    ],
)
def test_headers_that_name_no_user_exactly(client: ApiClient, headers: list[tuple[str, str]]) -> None:
    """Not ignored: the request would run with the rights of its sender."""
    assert refused(client, *headers, sender=ADMIN)[0] == 400
    assert refused(client, *headers)[0] == 400


def test_an_anonymous_request_cannot_impersonate(client: ApiClient) -> None:
    with pytest.raises(ApiError) as error:
        client.front.authenticate("/version", {"Impersonate-User": "bob"})
    assert error.value.status == 403
