"""What a rule allows: plain records, and when one covers an act, or another rule."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import msgspec

ANY = "*"


@dataclass(frozen=True, slots=True)
class RequestAttributes:
    """What somebody is about to do with a resource (``pods``, ``pods/binding``) or with a path of the server.

    Without a name it concerns all of them, without a namespace all namespaces or none.
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


def allows(rule: PolicyRule, act: RequestAttributes) -> bool:
    if not _has(rule.verbs, act.verb):
        return False
    if act.path:
        return any(_leads(url, act.path) for url in rule.non_resource_urls)
    return (
        _has(rule.api_groups, act.group)
        and any(_names(resource, act.resource) for resource in rule.resources)
        and (not rule.resource_names or act.name in rule.resource_names)
    )


def uncovered(wanted: Iterable[PolicyRule], owned: Iterable[PolicyRule]) -> list[PolicyRule]:
    """What of the wanted, each about one thing only, is not in the owned."""
    have = list(owned)
    return [part for rule in wanted for part in _parts(rule) if not any(_covers(rule, part) for rule in have)]


def _has(listed: Iterable[str], one: str) -> bool:
    return any(entry in (ANY, one) for entry in listed)


def _names(listed: str, resource: str) -> bool:
    if listed in (ANY, resource):
        return True
    kind, _, part = listed.partition("/")
    return kind == ANY and bool(part) and resource.partition("/")[2] == part


def _leads(listed: str, path: str) -> bool:
    return listed in (ANY, path) or (listed.endswith(ANY) and path.startswith(listed[:-1]))


def _parts(rule: PolicyRule) -> Iterator[PolicyRule]:
    for verb, url in product(rule.verbs, rule.non_resource_urls):
        yield PolicyRule((verb,), non_resource_urls=(url,))
    for verb, group, resource in product(rule.verbs, rule.api_groups, rule.resources):
        whole = PolicyRule((verb,), (group,), (resource,))
        named = [msgspec.structs.replace(whole, resource_names=(name,)) for name in rule.resource_names]
        yield from named or [whole]


def _covers(owned: PolicyRule, part: PolicyRule) -> bool:
    """A star is covered by a star alone."""
    if not _has(owned.verbs, part.verbs[0]):
        return False
    if part.non_resource_urls:
        return any(_leads(url, part.non_resource_urls[0]) for url in owned.non_resource_urls)
    return (
        _has(owned.api_groups, part.api_groups[0])
        and any(_names(resource, part.resources[0]) for resource in owned.resources)
        and (not owned.resource_names or set(part.resource_names) <= set(owned.resource_names))
        and (not owned.resource_names or bool(part.resource_names))
    )
