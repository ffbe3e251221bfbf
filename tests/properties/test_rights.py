"""Rights: the authorizer agrees with the plain reading, and no user's rights grow by its own writes."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from tests.minicluster.rest.api_client import JSON_PATCH, MERGE, STRATEGIC, ApiClient
from tests.minicluster.scene import HandClock

from reprieve.model.json import Json
from reprieve_minicluster.auth.authentication import UserInfo
from reprieve_minicluster.auth.authorizer import (
    BINDINGS,
    CLUSTER_BINDINGS,
    CLUSTER_ROLES,
    GROUP,
    ROLES,
    RbacAuthorizer,
)
from reprieve_minicluster.auth.policy_rules import PolicyRule, RequestAttributes, allows, uncovered
from reprieve_minicluster.controllers import ControllerManager
from reprieve_minicluster.kinds import BY_RESOURCE
from reprieve_minicluster.store import Key, Part, Store, parsed
from tests.properties.corruption import maybe_malformed
from tests.properties.random_rights import (
    ALICE,
    NAMESPACES,
    RBAC,
    RBAC_WRITES,
    REQUESTS,
    USERS,
    role_refs,
    rule_lists,
    rules,
    subjects,
)
from tests.reference.plain import rights as plain

KINDS = (ROLES, CLUSTER_ROLES, BINDINGS, CLUSTER_BINDINGS)
APPLY = "application/apply-patch+yaml"


def stored_in(store: Store) -> list[Json]:
    return [parsed(item) for item in store.list(KINDS).items]


def granted(store: Store, user: plain.User) -> set[plain.Request]:
    objects = stored_in(store)
    return {request for request in REQUESTS if plain.may(objects, user, request)}


# --- the cache -------------------------------------------------------------------------------------


@st.composite
def store_writes(draw: st.DrawFn) -> Any:
    """An object to put, or None to delete it, under one of a few keys; or a look at the rights."""
    if draw(st.integers(0, 4)) == 0:
        return "look"
    resource, name = draw(st.sampled_from(KINDS)), draw(st.sampled_from("ab"))
    namespace = draw(st.sampled_from(NAMESPACES)) if BY_RESOURCE[resource].namespaced else ""
    key = Key(resource, namespace, name)
    if draw(st.integers(0, 4)) == 0:
        return key, None
    if resource in (ROLES, CLUSTER_ROLES):
        return key, {"rules": draw(maybe_malformed(rule_lists()))}
    bound = {"roleRef": draw(maybe_malformed(role_refs())), "subjects": draw(maybe_malformed(subjects()))}
    return key, bound


def write(store: Store, key: Key, content: Json | None) -> None:
    """Past validation, as an earlier release may have stored it."""
    if store.find(key) is not None and content is not None:
        store.patch(key, lambda body: {**body, **content}, Part.MAIN)
    elif content is not None:
        store.create(key.resource, {"metadata": {"name": key.name, "namespace": key.namespace}, **content})
    elif store.find(key) is not None:
        store.delete(key)


def answers(authorizer: RbacAuthorizer) -> set[tuple[str, plain.Request]]:
    users = [UserInfo(user.name, tuple(user.groups)) for user in USERS]
    return {
        (user.name, request)
        for user, request in product(users, REQUESTS)
        if authorizer.allows(user, RequestAttributes(*request))
    }


@given(st.lists(store_writes(), max_size=12))
def test_the_cache_equals_rights_computed_afresh(writes: list[Any]) -> None:
    # Few changes are kept, so that the authorizer has to relist now and then.
    store = Store(HandClock(), kept_changes=3)
    authorizer = RbacAuthorizer(store)
    for one in writes:
        if one == "look":
            authorizer.rules_of(UserInfo("alice"), "default")
        else:
            write(store, *one)
    plainly = {(user.name, request) for user in USERS for request in granted(store, user)}
    assert answers(authorizer) == plainly
    assert answers(RbacAuthorizer(store)) == plainly


# --- covering --------------------------------------------------------------------------------------


@given(st.lists(rules(), max_size=3), st.lists(rules(), max_size=4))
def test_what_is_covered_allows_nothing_new(wanted: list[Json], owned: list[Json]) -> None:
    want, own = (msgspec.convert(bodies, list[PolicyRule]) for bodies in (wanted, owned))
    missing = uncovered(want, own)
    singly = [part for rule in wanted for part in single_permissions(rule)]
    lacking = [part for part in singly if not any(covers(rule, part) for rule in owned)]
    assert (missing is None) == (not lacking)
    if missing is None:
        for request in (RequestAttributes(*request) for request in REQUESTS):
            assert allows(own, request) or not allows(want, request)
    else:
        assert missing in msgspec.convert(lacking, list[PolicyRule])


def single_permissions(rule: Json) -> Iterator[Json]:
    for verb in rule["verbs"]:
        for path in rule.get("nonResourceURLs", ()):
            yield {"verbs": [verb], "nonResourceURLs": [path]}
        for group, resource in product(rule.get("apiGroups", ()), rule.get("resources", ())):
            single = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
            for name in rule.get("resourceNames", ()):
                yield {**single, "resourceNames": [name]}
            if "resourceNames" not in rule:
                yield single


def covers(rule: Json, part: Json) -> bool:
    """As a request for what the permission lists, wildcards to the letter; all names need a rule without."""
    if "nonResourceURLs" in part:
        return plain.permits(rule, plain.Request(part["verbs"][0], path=part["nonResourceURLs"][0]))
    if "resourceNames" not in part and rule.get("resourceNames"):
        return False
    name = part.get("resourceNames", [""])[0]
    single = plain.Request(part["verbs"][0], part["apiGroups"][0], part["resources"][0], name)
    return plain.permits(rule, single)


# --- growing ---------------------------------------------------------------------------------------

PART, STRONG = {"part": "yes"}, {"strong": "yes"}
OWN: Json = {"verbs": ["get", "create"], "apiGroups": [""], "resources": ["pods"]}
EVERYTHING: Json = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
# Without the verbs that let a user give more than it has.
MODEST = rules(("get", "create"), ("", GROUP))


def selecting(labels: dict[str, str]) -> Json:
    return {"clusterRoleSelectors": [{"matchLabels": labels}]}


@st.composite
def contents(draw: st.DrawFn, resource: str) -> Json:
    if resource in (BINDINGS, CLUSTER_BINDINGS):
        return {"roleRef": draw(role_refs()), "subjects": draw(subjects())}
    content: Json = {"rules": draw(st.lists(st.just(OWN), max_size=1) | rule_lists())}
    if draw(st.booleans()):
        content["metadata"] = {"labels": draw(st.sampled_from((PART, STRONG)))}
    if resource == CLUSTER_ROLES and draw(st.booleans()):
        content["aggregationRule"] = selecting(draw(st.sampled_from((PART, STRONG))))
    return content


# Those in the cluster before, and those named b, which are not.
TARGETS = [
    *(Key(CLUSTER_ROLES, "", name) for name in ("granted", "strong", "sum", "b")),
    *(Key(CLUSTER_BINDINGS, "", name) for name in ("granted", "sum", "b")),
    *(Key(resource, "default", name) for resource in (ROLES, BINDINGS) for name in ("a", "b")),
    *(Key(resource, "other", "b") for resource in (ROLES, BINDINGS)),
]
PATCHES = (MERGE, STRATEGIC, JSON_PATCH, APPLY)
Write = tuple[str, str, object, dict[str, str]]


@st.composite
def writes(draw: st.DrawFn) -> Write:
    """A write of a role or binding: its method, its path, its body and its parameters."""
    key = draw(st.sampled_from(TARGETS))
    kind, content = BY_RESOURCE[key.resource], draw(contents(key.resource))
    whole = {**content, "metadata": {**content.get("metadata", {}), "name": key.name}}
    inside = f"/namespaces/{key.namespace}" if key.namespace else ""
    path = f"/apis/{GROUP}/v1{inside}/{kind.plural}"
    if key.name == "b" and draw(st.booleans()):
        return ("POST", path, whole, {}) if draw(st.booleans()) else ("DELETE", f"{path}/b", None, {})
    media = draw(st.sampled_from(("", *PATCHES)))
    if not media:
        return "PUT", f"{path}/{key.name}", whole, {}
    field = draw(st.sampled_from(sorted(content)))
    bodies: Json = {
        MERGE: {field: content[field]},
        STRATEGIC: {field: content[field]},
        JSON_PATCH: [{"op": "add", "path": f"/{field}", "value": content[field]}],
        APPLY: {"apiVersion": f"{GROUP}/v1", "kind": kind.kind, **whole},
    }
    more = {"fieldManager": "me", "force": "true"} if media == APPLY else {}
    return "PATCH", f"{path}/{key.name}", bodies[media], {"content_type": media, **more}


def limited_client(everywhere: list[Json], at_home: list[Json]) -> ApiClient:
    """Alice has some rules everywhere, and others in one namespace; the other roles are stronger."""
    client = ApiClient()
    store = client.store
    for namespace in NAMESPACES:
        store.create("namespaces", {"metadata": {"name": namespace}})
    of_roles = {"verbs": [*RBAC_WRITES, "get"], "apiGroups": [GROUP], "resources": list(RBAC)}
    for body in (
        {"metadata": {"name": "granted"}, "rules": [of_roles, OWN, *everywhere]},
        {"metadata": {"name": "strong", "labels": STRONG}, "rules": [EVERYTHING]},
        {"metadata": {"name": "sum"}, "rules": [], "aggregationRule": selecting(PART)},
    ):
        store.create(CLUSTER_ROLES, body)
    for name in ("granted", "sum"):
        ref = {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}
        store.create(CLUSTER_BINDINGS, bound(name, "", ref))
    store.create(ROLES, {"metadata": {"name": "a", "namespace": "default"}, "rules": at_home})
    store.create(BINDINGS, bound("a", "default", {"apiGroup": GROUP, "kind": "Role", "name": "a"}))
    aggregate(client)
    client.user = UserInfo(ALICE.name, tuple(ALICE.groups))
    return client


def bound(name: str, namespace: str, ref: Json) -> Json:
    subjects = [{"kind": "User", "apiGroup": GROUP, "name": "alice"}]
    return {"metadata": {"name": name, "namespace": namespace}, "roleRef": ref, "subjects": subjects}


def aggregate(client: ApiClient) -> None:
    controllers = ControllerManager(client.store)
    for _ in range(3):
        controllers.step()
        client.clock.now += 1


def add_later_roles(store: Store) -> None:
    """An admin creates the roles that did not exist so far; only bindings to them would give their rules."""
    store.create(CLUSTER_ROLES, {"metadata": {"name": "later"}, "rules": [EVERYTHING]})
    for namespace in NAMESPACES:
        body = {"metadata": {"name": "later", "namespace": namespace}, "rules": [EVERYTHING]}
        store.create(ROLES, body)


@given(
    st.lists(MODEST, max_size=2), st.lists(MODEST, max_size=2), st.lists(writes(), min_size=4, max_size=12)
)
def test_no_user_s_rights_grow_by_its_own_writes(
    everywhere: list[Json], at_home: list[Json], sent: list[Write]
) -> None:
    client = limited_client(everywhere, [rule for rule in at_home if "resources" in rule])
    before = granted(client.store, ALICE)
    done = [client.ask(method, path, body, **more).status for method, path, body, more in sent]
    add_later_roles(client.store)
    aggregate(client)
    assert granted(client.store, ALICE) <= before
    assert all(status < 500 for status in done)
