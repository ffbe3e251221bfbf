"""Questions about rights, which are asked by creating them: they are answered, and never stored."""

from collections.abc import Callable, Mapping

import msgspec

from reprieve.cluster.api.timestamps import stamp
from reprieve.cluster.mini.errors import ApiError, bad_request, invalid
from reprieve.cluster.mini.kinds import peek
from reprieve.cluster.mini.rest.bodies import read_object
from reprieve.cluster.mini.rest.exchange import Response, answer
from reprieve.cluster.mini.rest.heads import check_type, headed
from reprieve.cluster.mini.rest.writing import Call
from reprieve.cluster.mini.rights.rules import Act
from reprieve.cluster.mini.rights.users import User
from reprieve.model.json import Json

_SHORTEST, _LONGEST, _USUAL = 600, 1 << 32, 3600  # seconds that a token may be asked for
_TOKEN_REQUEST = "authentication.k8s.io/v1"


def review(call: Call) -> Response:
    body = headed(call.place, read_object(call.request))
    spec = peek(body, "spec")
    status = _ANSWERS[call.place.kind.kind](call, spec)
    meta = {**peek(body, "metadata"), "creationTimestamp": None}
    return answer({**body, "metadata": meta, "status": status}, 201)


# --- may I, may they -------------------------------------------------------------------------------


def _about_oneself(call: Call, spec: Json) -> Json:
    return _judged(call, call.request.user, spec)


def _about_somebody(call: Call, spec: Json) -> Json:
    groups = spec.get("groups") or []
    if not isinstance(groups, list) or not (spec.get("user") or groups):
        raise invalid(call.place.kind.kind, "spec.user", "expected at least one of user and groups")
    inside = call.place.namespace
    if inside and peek(spec, "resourceAttributes").get("namespace") != inside:
        raise invalid(
            call.place.kind.kind, "spec.resourceAttributes.namespace", f"expected {inside}, as in the URL"
        )
    user = User(str(spec.get("user") or ""), tuple(map(str, groups)), str(spec.get("uid") or ""))
    return _judged(call, user, spec)


def _judged(call: Call, user: User, spec: Json) -> Json:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if isinstance(resource, dict) == isinstance(path, dict):
        raise invalid(
            call.place.kind.kind,
            "spec.resourceAttributes",
            "expected exactly one of resourceAttributes and nonResourceAttributes",
        )
    act = _act(resource) if isinstance(resource, dict) else _path(path or {})
    return {"allowed": True} if call.api.rights.may(user, act) else {"allowed": False, "reason": ""}


def _act(attributes: Json) -> Act:
    said = {name: str(value or "") for name, value in attributes.items()}
    resource, part = said.get("resource", ""), said.get("subresource", "")
    return Act(
        said.get("verb", ""),
        said.get("group", ""),
        f"{resource}/{part}" if part else resource,
        said.get("name", ""),
        said.get("namespace", ""),
    )


def _path(attributes: Json) -> Act:
    return Act(str(attributes.get("verb") or ""), path=str(attributes.get("path") or "/"))


def _all_of_mine(call: Call, spec: Json) -> Json:
    namespace = spec.get("namespace")
    if not isinstance(namespace, str) or not namespace:
        raise bad_request("spec.namespace: expected the namespace that is asked about")
    rules = [msgspec.to_builtins(rule) for rule in call.api.rights.rules_of(call.request.user, namespace)]
    return {
        "resourceRules": [rule for rule in rules if "resources" in rule],
        "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
        "incomplete": False,
    }


# --- who is it -------------------------------------------------------------------------------------


def _who_am_i(call: Call, spec: Json) -> Json:
    return {"userInfo": _described(call.request.user)}


def _whose_token(call: Call, spec: Json) -> Json:
    token = spec.get("token")
    if not isinstance(token, str) or not token:
        raise invalid("TokenReview", "spec.token", "expected the token that is asked about")
    user = call.api.issuer.user_of(token, call.api.store, call.api.clock())
    if user is None:
        return {
            "authenticated": False,
            "error": "the token is not of this cluster, or no longer good",
            "user": {},
        }
    return {"authenticated": True, "user": _described(user), "audiences": list(spec.get("audiences") or ())}


def _described(user: User) -> Json:
    who: Json = {"username": user.name, "groups": list(user.groups)}
    return {**who, "uid": user.uid} if user.uid else who


_ANSWERS: Mapping[str, Callable[[Call, Json], Json]] = {
    "SelfSubjectAccessReview": _about_oneself,
    "SubjectAccessReview": _about_somebody,
    "LocalSubjectAccessReview": _about_somebody,
    "SelfSubjectRulesReview": _all_of_mine,
    "SelfSubjectReview": _who_am_i,
    "TokenReview": _whose_token,
}


# --- tokens for service accounts -------------------------------------------------------------------


def create_token(call: Call) -> Response:
    account = call.api.store.get(call.place.key)
    body = read_object(call.request)
    check_type(body, _TOKEN_REQUEST, "TokenRequest")
    spec = peek(body, "spec")
    seconds = spec.get("expirationSeconds", _USUAL)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not _SHORTEST <= seconds <= _LONGEST:
        raise invalid("TokenRequest", "spec.expirationSeconds", f"expected {_SHORTEST} to {_LONGEST}")
    if spec.get("boundObjectRef"):
        raise ApiError(422, "Invalid", "TokenRequest is invalid: spec.boundObjectRef: not supported here")
    until = call.api.clock() + seconds
    token = call.api.issuer.account_token(account.key, account.uid, until, list(spec.get("audiences") or ()))
    status = {"token": token, "expirationTimestamp": stamp(until)}
    head = {"kind": "TokenRequest", "apiVersion": _TOKEN_REQUEST, "metadata": peek(body, "metadata")}
    return answer({**head, "spec": {**spec, "expirationSeconds": seconds}, "status": status}, 201)
