"""Reviews: access reviews, rules reviews and token reviews. Creating one is answered, and nothing is
stored."""

from collections.abc import Callable, Mapping

import msgspec

from reprieve.cluster.api.values import texts
from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import AUDIENCES, UserInfo
from reprieve_minicluster.auth.policy_rules import RequestAttributes
from reprieve_minicluster.errors import bad_request, invalid
from reprieve_minicluster.kinds import peek
from reprieve_minicluster.rest.api_call import ApiCall
from reprieve_minicluster.rest.field_validation import validated
from reprieve_minicluster.rest.http_messages import ApiResponse, answer
from reprieve_minicluster.rest.request_bodies import read_object
from reprieve_minicluster.rest.routes import with_type_meta


def review(call: ApiCall) -> ApiResponse:
    sent = with_type_meta(call.place, read_object(call.request))
    read = validated(call.place, call.request, call.query.field_validation, sent)
    status = _ANSWERS[call.place.kind.kind](call, peek(read.body, "spec"))
    meta = {**peek(read.body, "metadata"), "creationTimestamp": None}
    return answer({**read.body, "metadata": meta, "status": status}, 201, read.warnings)


# --- authorization.k8s.io --------------------------------------------------------------------------


def _self_access(call: ApiCall, spec: Json) -> Json:
    return _judged(call, call.request.user, spec)


def _subject_access(call: ApiCall, spec: Json) -> Json:
    groups = tuple(texts(spec, "groups"))
    if not (spec.get("user") or groups):
        raise invalid(call.place.kind.kind, "spec.user", "expected at least one of user and groups")
    inside = call.place.namespace
    if inside and peek(spec, "resourceAttributes").get("namespace") != inside:
        raise invalid(
            call.place.kind.kind, "spec.resourceAttributes.namespace", f"expected {inside}, as in the URL"
        )
    user = UserInfo(str(spec.get("user") or ""), groups, str(spec.get("uid") or ""))
    return _judged(call, user, spec)


def _judged(call: ApiCall, user: UserInfo, spec: Json) -> Json:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if isinstance(resource, dict) == isinstance(path, dict):
        raise invalid(
            call.place.kind.kind,
            "spec.resourceAttributes",
            "expected exactly one of resourceAttributes and nonResourceAttributes",
        )
    attributes = (
        _resource_attributes(resource) if isinstance(resource, dict) else _path_attributes(path or {})
    )
    return (
        {"allowed": True}
        if call.api.authorizer.allows(user, attributes)
        else {"allowed": False, "reason": ""}
    )


def _resource_attributes(attributes: Json) -> RequestAttributes:
    said = {name: str(value or "") for name, value in attributes.items()}
    resource, part = said.get("resource", ""), said.get("subresource", "")
    return RequestAttributes(
        said.get("verb", ""),
        said.get("group", ""),
        f"{resource}/{part}" if part else resource,
        said.get("name", ""),
        said.get("namespace", ""),
    )


def _path_attributes(attributes: Json) -> RequestAttributes:
    return RequestAttributes(str(attributes.get("verb") or ""), path=str(attributes.get("path") or "/"))


def _self_rules(call: ApiCall, spec: Json) -> Json:
    namespace = spec.get("namespace")
    if not isinstance(namespace, str) or not namespace:
        raise bad_request("spec.namespace: expected the namespace to review")
    rules = [msgspec.to_builtins(rule) for rule in call.api.authorizer.rules_of(call.request.user, namespace)]
    return {
        "resourceRules": [rule for rule in rules if "resources" in rule],
        "nonResourceRules": [rule for rule in rules if "nonResourceURLs" in rule],
        "incomplete": False,
    }


# --- authentication.k8s.io -------------------------------------------------------------------------


def _self_subject(call: ApiCall, spec: Json) -> Json:
    return {"userInfo": _described(call.request.user)}


def _token(call: ApiCall, spec: Json) -> Json:
    token = spec.get("token")
    if not isinstance(token, str) or not token:
        raise invalid("TokenReview", "spec.token", "expected the token to review")
    known = call.api.issuer.verified(token, call.api.store, call.api.clock())
    if known is None:
        return _not_authenticated("not issued by this cluster, or expired")
    asked = tuple(texts(spec, "audiences")) or AUDIENCES
    shared = [audience for audience in known.audiences if audience in asked]
    if not shared:
        return _not_authenticated(f"it is for {', '.join(known.audiences)}, and not for {', '.join(asked)}")
    return {"authenticated": True, "user": _described(known.user), "audiences": shared}


def _not_authenticated(why: str) -> Json:
    return {"authenticated": False, "error": f"invalid bearer token: {why}", "user": {}}


def _described(user: UserInfo) -> Json:
    extra = {key: list(values) for key, values in user.extra.items()}
    info: Json = {"username": user.name, "groups": list(user.groups), "uid": user.uid, "extra": extra}
    return {name: value for name, value in info.items() if value}


_ANSWERS: Mapping[str, Callable[[ApiCall, Json], Json]] = {
    "SelfSubjectAccessReview": _self_access,
    "SubjectAccessReview": _subject_access,
    "LocalSubjectAccessReview": _subject_access,
    "SelfSubjectRulesReview": _self_rules,
    "SelfSubjectReview": _self_subject,
    "TokenReview": _token,
}
