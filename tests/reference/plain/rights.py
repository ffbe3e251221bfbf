"""What may a user do? Roles and bindings read straight from their JSON, by the documentation of RBAC."""

from collections.abc import Sequence
from typing import NamedTuple

from reprieve.model.json import Json

LISTS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


class User(NamedTuple):
    name: str
    groups: Sequence[str] = ()


class Request(NamedTuple):
    """A verb on a resource, or, with a path, on that path. Without a name it is for no single object."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""


def may(objects: Sequence[Json], user: User, request: Request) -> bool:
    bindings = [thing for thing in objects if counts(thing, request.namespace) and is_bound(thing, user)]
    return any(permits(rule, request) for binding in bindings for rule in rules_of(objects, binding))


def counts(thing: Json, namespace: str) -> bool:
    """A ClusterRoleBinding counts everywhere, a RoleBinding in its namespace."""
    match thing["kind"]:
        case "ClusterRoleBinding":
            return True
        case "RoleBinding":
            return namespace_of(thing) == namespace
    return False


def namespace_of(thing: Json) -> str:
    return str(thing["metadata"].get("namespace", ""))


def is_bound(binding: Json, user: User) -> bool:
    subjects = binding.get("subjects")
    if not isinstance(subjects, list):
        return False
    for subject in subjects:
        if not isinstance(subject, dict) or not are_texts(subject, "kind", "name", "namespace"):
            continue
        name = subject.get("name") or ""
        if subject.get("kind") == "User" and user.name == name:
            return True
        if subject.get("kind") == "Group" and name in user.groups:
            return True
        home = subject.get("namespace") or namespace_of(binding)
        account = f"system:serviceaccount:{home}:{name}"
        if subject.get("kind") == "ServiceAccount" and home and user.name == account:
            return True
    return False


def are_texts(thing: Json, *fields: str) -> bool:
    return all(thing.get(field) is None or isinstance(thing[field], str) for field in fields)


def rules_of(objects: Sequence[Json], binding: Json) -> list[Json]:
    ref = binding.get("roleRef")
    if not isinstance(ref, dict) or not are_texts(ref, "kind", "name"):
        return []
    home = namespace_of(binding) if ref.get("kind") == "Role" else ""
    rules: list[Json] = []
    for role in objects:
        is_meant = role["kind"] == ref.get("kind") and role["kind"] in ("Role", "ClusterRole")
        if is_meant and role["metadata"]["name"] == (ref.get("name") or "") and namespace_of(role) == home:
            listed = role.get("rules")
            rules += [rule for rule in listed if is_sound(rule)] if isinstance(listed, list) else []
    return rules


def is_sound(rule: object) -> bool:
    """Whether all of its lists are lists of strings. A rule that is not grants nothing."""
    if not isinstance(rule, dict):
        return False
    for field in LISTS:
        listed = rule.get(field)
        if listed is None:
            continue
        if not isinstance(listed, list) or not all(isinstance(entry, str) for entry in listed):
            return False
    return True


def permits(rule: Json, request: Request) -> bool:
    verbs, groups, resources, names, paths = (rule.get(field) or [] for field in LISTS)
    if "*" not in verbs and request.verb not in verbs:
        return False
    if request.path:
        return any(fits(path, request.path) for path in paths)
    if "*" not in groups and request.group not in groups:
        return False
    subresource = request.resource.split("/")[1] if "/" in request.resource else None
    listed = "*" in resources or request.resource in resources
    if not listed and (subresource is None or f"*/{subresource}" not in resources):
        return False
    return names == [] or request.name in names


def fits(pattern: str, path: str) -> bool:
    return path == pattern or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))
