"""Whether whoever asks may have it: a request as an act, and the refusal that names the missing right."""

from collections.abc import Iterator, Mapping

from reprieve.cluster.mini.errors import ApiError
from reprieve.cluster.mini.kinds import peek
from reprieve.cluster.mini.rest.exchange import Request
from reprieve.cluster.mini.rest.query import Query
from reprieve.cluster.mini.rest.routes import Page, Place
from reprieve.cluster.mini.rights.roles import GROUP, Rights
from reprieve.cluster.mini.rights.rules import Act, Rule, covered
from reprieve.cluster.mini.rights.users import AUTHENTICATED, User, account_user
from reprieve.model.json import Json

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_AS_USER, _AS_GROUP, _AS_UID = "Impersonate-User", "Impersonate-Group", "Impersonate-Uid"


def act_of(place: Place | Page, request: Request) -> Act:
    if isinstance(place, Page):
        return Act("get" if request.method == "GET" else request.method.lower(), path=request.path)
    query = Query(request.query)
    name = place.name or query.text("fieldSelector").partition("metadata.name=")[2].partition(",")[0]
    resource = f"{place.kind.plural}/{place.part}" if place.part else place.kind.plural
    if place.part == "binding" and not place.name:
        resource = "bindings"
    return Act(_verb(place, request, query), place.group, resource, name, place.namespace)


def _verb(place: Place, request: Request, query: Query) -> str:
    if request.method in ("GET", "HEAD"):
        if place.name:
            return "get"
        return "watch" if query.flag("watch") else "list"
    verb = _VERBS.get(request.method, request.method.lower())
    return "deletecollection" if verb == "delete" and not place.name else verb


def check(rights: Rights, user: User, act: Act) -> None:
    if not rights.may(user, act):
        raise forbidden(user, act)


def forbidden(user: User, act: Act, why: str = "") -> ApiError:
    who = f'User "{user.name}" cannot {act.verb}'
    if act.path:
        return ApiError(403, "Forbidden", f'forbidden: {who} path "{act.path}"')
    resource, _, _ = act.resource.partition("/")
    what = f"{resource}.{act.group}" if act.group else resource
    named = f'{what} "{act.name}"' if act.name else what
    where = f'in the namespace "{act.namespace}"' if act.namespace else "at the cluster scope"
    cannot = f'{who} resource "{act.resource}" in API group "{act.group}" {where}'
    return ApiError(403, "Forbidden", f"{named} is forbidden: {cannot}{why}")


# --- in the name of others -------------------------------------------------------------------------


def impersonated(rights: Rights, user: User, headers: Mapping[str, str]) -> User:
    """Whom somebody speaks for, if they may: the headers that `kubectl --as` sends."""
    name, groups = headers.get(_AS_USER, ""), _listed(headers.get(_AS_GROUP, ""))
    if not name:
        return user
    for act in _impersonations(name, groups):
        check(rights, user, act)
    _, account, *rest = (*name.split(":"), "", "")
    if account == "serviceaccount" and not groups and len(rest) > 1 and rest[1]:
        return account_user(rest[0], rest[1])
    return User(name, (*groups, AUTHENTICATED), headers.get(_AS_UID, ""))


def _impersonations(name: str, groups: tuple[str, ...]) -> Iterator[Act]:
    match name.split(":"):
        case ["system", "serviceaccount", namespace, account]:
            yield Act("impersonate", "", "serviceaccounts", account, namespace)
        case _:
            yield Act("impersonate", "", "users", name)
    for group in groups:
        yield Act("impersonate", "", "groups", group)


def _listed(header: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in header.split(",") if part.strip())


# --- nobody gives what they do not have ------------------------------------------------------------


def check_gift(rights: Rights, user: User, place: Place, body: Json) -> None:
    """Roles and bindings can only hand on rights that their author has, unless explicitly allowed to."""
    if user.is_master or place.part or place.kind.group != GROUP:
        return
    meta, resource = peek(body, "metadata"), place.kind.plural
    name = str(meta.get("name") or place.name)
    if resource.endswith("roles"):
        wanted, act = _rules(body), Act("escalate", GROUP, resource, name, place.namespace)
    else:
        ref = peek(body, "roleRef")
        kind, role = str(ref.get("kind")), str(ref.get("name"))
        wanted = rights.rules_in(kind, role, place.namespace)
        plural = "roles" if kind == "Role" else "clusterroles"
        act = Act("bind", GROUP, plural, role, place.namespace)
    missing = covered(wanted, rights.rules_of(user, place.namespace))
    if missing and not rights.may(user, act):
        change = Act("update" if place.name else "create", GROUP, resource, name, place.namespace)
        raise forbidden(user, change, f", since it gives rights that the user has not: {_told(missing[0])}")


def _rules(body: Json) -> list[Rule]:
    found = body.get("rules")
    return [_rule(rule) for rule in found if isinstance(rule, dict)] if isinstance(found, list) else []


def _rule(body: Json) -> Rule:
    fields = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return Rule(*(tuple(map(str, body.get(field) or ())) for field in fields))


def _told(rule: Rule) -> str:
    verb = rule.verbs[0]
    if rule.non_resource_urls:
        return f"{verb} {rule.non_resource_urls[0]}"
    group = f".{rule.api_groups[0]}" if rule.api_groups[0] else ""
    name = f' "{rule.resource_names[0]}"' if rule.resource_names else ""
    return f"{verb} {rule.resources[0]}{group}{name}"
