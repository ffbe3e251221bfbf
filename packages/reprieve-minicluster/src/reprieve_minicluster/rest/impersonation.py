"""Impersonation: which user the headers of `kubectl --as` name, and the rights that acting as it needs.

The headers are parsed once, and refused unless they name exactly one user. As in kube-apiserver, each part of
that user needs the verb ``impersonate``: on the user or ServiceAccount, on each group, on the UID, and on
each value of its extra fields.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from reprieve_minicluster.auth.authentication import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    UserInfo,
    account_of,
    account_user,
)
from reprieve_minicluster.auth.authorizer import RbacAuthorizer
from reprieve_minicluster.auth.policy_rules import RequestAttributes
from reprieve_minicluster.errors import bad_request
from reprieve_minicluster.rest.authorization import authorize

_USER, _GROUP, _UID, _EXTRA = (
    "impersonate-user",
    "impersonate-group",
    "impersonate-uid",
    "impersonate-extra-",
)
_AUTHENTICATION = "authentication.k8s.io"


def impersonated(authorizer: RbacAuthorizer, user: UserInfo, headers: Mapping[str, str]) -> UserInfo:
    """The user that a request acts as; an ApiError 400 for malformed headers, 403 without the rights."""
    wanted = requested_user(headers)
    if wanted is None:
        return user
    for right in needed_rights(wanted):
        authorize(authorizer, user, right)
    return _completed(wanted)


def requested_user(headers: Mapping[str, str]) -> UserInfo | None:
    """The user as the headers name it, without the groups that follow from its name; None if they name none.

    ``headers``: in any case; the items of a multi-mapping have a repeated header as often as it was sent.
    """
    given: dict[str, list[str]] = {}
    for name, value in headers.items():
        if _is_ours(name.lower()):
            given.setdefault(name.lower(), []).append(_checked(name, value))
    if not given:
        return None
    if _USER not in given:
        raise bad_request(f"{', '.join(sorted(given))} without {_USER}: impersonation needs a user")
    return UserInfo(
        _single(given, _USER), tuple(given.get(_GROUP, ())), _single(given, _UID), dict(_extra(given))
    )


def needed_rights(wanted: UserInfo) -> Iterator[RequestAttributes]:
    account = account_of(wanted.name)
    if account is not None:
        namespace, name = account
        yield RequestAttributes("impersonate", "", "serviceaccounts", name, namespace)
    else:
        yield RequestAttributes("impersonate", "", "users", wanted.name)
    for group in wanted.groups:
        yield RequestAttributes("impersonate", "", "groups", group)
    for key, values in wanted.extra.items():
        for value in values:
            yield RequestAttributes("impersonate", _AUTHENTICATION, f"userextras/{key}", value)
    if wanted.uid:
        yield RequestAttributes("impersonate", _AUTHENTICATION, "uids", wanted.uid)


def _completed(wanted: UserInfo) -> UserInfo:
    """With the groups that its authentication would have given it."""
    account = account_of(wanted.name)
    groups = wanted.groups
    if account is not None and not groups:
        groups = account_user(*account).groups
    if wanted.name == ANONYMOUS.name:
        implied = () if UNAUTHENTICATED in groups else (UNAUTHENTICATED,)
    else:
        implied = () if {AUTHENTICATED, UNAUTHENTICATED} & set(groups) else (AUTHENTICATED,)
    return UserInfo(wanted.name, (*groups, *implied), wanted.uid, wanted.extra)


# --- headers ---------------------------------------------------------------------------------------


def _is_ours(header: str) -> bool:
    return header in (_USER, _GROUP, _UID) or header.startswith(_EXTRA)


def _checked(header: str, value: str) -> str:
    if not value:
        raise bad_request(f"{header} must not be empty")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise bad_request(f"{header} must be UTF-8")
    return value


def _single(given: dict[str, list[str]], header: str) -> str:
    first, *more = given.get(header, [""])
    if more:
        raise bad_request(f"{header} must be given once, not {len(more) + 1} times")
    return first


def _extra(given: dict[str, list[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Keys are percent-encoded, since they may have characters that a header may not."""
    for header, values in given.items():
        if header.startswith(_EXTRA):
            key = unquote(header.removeprefix(_EXTRA))
            if not key:
                raise bad_request(f"{header} must end with a key")
            yield key, tuple(values)
