"""Policy rules: which requests a rule allows, and which rules cover another."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import msgspec

ANY = "*"


@dataclass(frozen=True, slots=True)
class RequestAttributes:
    """A request to authorize: a verb on a resource (``pods``, ``pods/binding``) or on a non-resource path.

    An empty name means all objects, an empty namespace all namespaces or the cluster scope.
    """

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    namespace: str = ""
    path: str = ""


class PolicyRule(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")


def allows(rule: PolicyRule, attributes: RequestAttributes) -> bool:
    if not _has(rule.verbs, attributes.verb):
        return False
    if attributes.path:
        return any(_matches_path(url, attributes.path) for url in rule.non_resource_urls)
    return (
        _has(rule.api_groups, attributes.group)
        and any(_matches_resource(resource, attributes.resource) for resource in rule.resources)
        and (not rule.resource_names or attributes.name in rule.resource_names)
    )


def uncovered(wanted: Iterable[PolicyRule], owned: Iterable[PolicyRule]) -> list[PolicyRule]:
    """The wanted rules, split into single permissions, that no owned rule covers."""
    have = list(owned)
    return [part for rule in wanted for part in _split(rule) if not any(_covers(rule, part) for rule in have)]


def _has(listed: Iterable[str], one: str) -> bool:
    return any(entry in (ANY, one) for entry in listed)


def _matches_resource(listed: str, resource: str) -> bool:
    if listed in (ANY, resource):
        return True
    kind, _, part = listed.partition("/")
    return kind == ANY and bool(part) and resource.partition("/")[2] == part


def _matches_path(listed: str, path: str) -> bool:
    return listed in (ANY, path) or (listed.endswith(ANY) and path.startswith(listed[:-1]))


def _split(rule: PolicyRule) -> Iterator[PolicyRule]:
    for verb, url in product(rule.verbs, rule.non_resource_urls):
        yield PolicyRule((verb,), non_resource_urls=(url,))
    for verb, group, resource in product(rule.verbs, rule.api_groups, rule.resources):
        whole = PolicyRule((verb,), (group,), (resource,))
        named = [msgspec.structs.replace(whole, resource_names=(name,)) for name in rule.resource_names]
        yield from named or [whole]


def _covers(owned: PolicyRule, part: PolicyRule) -> bool:
    """Whether a rule covers a single permission; only a wildcard covers a wildcard."""
    if not _has(owned.verbs, part.verbs[0]):
        return False
    if part.non_resource_urls:
        return any(_matches_path(url, part.non_resource_urls[0]) for url in owned.non_resource_urls)
    return (
        _has(owned.api_groups, part.api_groups[0])
        and any(_matches_resource(resource, part.resources[0]) for resource in owned.resources)
        and (not owned.resource_names or set(part.resource_names) <= set(owned.resource_names))
        and (not owned.resource_names or bool(part.resource_names))
    )
