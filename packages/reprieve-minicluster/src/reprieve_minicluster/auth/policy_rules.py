"""Policy rules: do rules allow a request, and do they cover another rule?"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

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
    """Grants every combination of what it lists. Without resource names it is for all names."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")


EVERYTHING = (PolicyRule((ANY,), (ANY,), (ANY,)), PolicyRule((ANY,), non_resource_urls=(ANY,)))


# --- which requests rules allow --------------------------------------------------------------------


def allows(rules: Iterable[PolicyRule], request: RequestAttributes) -> bool:
    return any(_allows(rule, request) for rule in rules)


def _allows(rule: PolicyRule, request: RequestAttributes) -> bool:
    if not _lists(rule.verbs, request.verb):
        return False
    if request.path:
        return any(_matches_path(url, request.path) for url in rule.non_resource_urls)
    return (
        _lists(rule.api_groups, request.group)
        and any(entry in rule.resources for entry in _spellings(request.resource))
        and (not rule.resource_names or request.name in rule.resource_names)
    )


def _lists(listed: Sequence[str], one: str) -> bool:
    return ANY in listed or one in listed


def _spellings(resource: str) -> tuple[str, ...]:
    """The entries that list a resource: ``*/scale`` is the subresource scale of every resource."""
    _, slash, part = resource.partition("/")
    return (ANY, resource, f"{ANY}/{part}") if slash else (ANY, resource)


def _matches_path(listed: str, path: str) -> bool:
    return listed == path or (listed.endswith(ANY) and path.startswith(listed.rstrip(ANY)))


# --- which rules cover another ---------------------------------------------------------------------


def uncovered(wanted: Iterable[PolicyRule], owned: Sequence[PolicyRule]) -> PolicyRule | None:
    """A single permission of the wanted rules that no owned rule covers; only a wildcard covers a wildcard.

    A rule of a few hundred bytes can stand for millions of permissions. They are not listed one by one:
    entries that the same owned rules cover are alike, and one of them stands for all.
    """
    owners = _Owners(owned)
    missing = (owners.uncovered(rule) for rule in wanted)
    return next((one for one in missing if one is not None), None)


class _Owners:
    """Which of the owned rules cover an entry of a list: a bit for each rule."""

    def __init__(self, owned: Sequence[PolicyRule]) -> None:
        self._all = (1 << len(owned)) - 1
        self._verbs = _index(rule.verbs for rule in owned)
        self._groups = _index(rule.api_groups for rule in owned)
        self._resources = _index(rule.resources for rule in owned)
        self._names = _index(rule.resource_names for rule in owned)
        self._urls = _index(rule.non_resource_urls for rule in owned)
        self._for_all_names = sum(1 << i for i, rule in enumerate(owned) if not rule.resource_names)

    def uncovered(self, rule: PolicyRule) -> PolicyRule | None:
        verbs = [(_union(self._verbs, (ANY, verb)), verb) for verb in rule.verbs]
        groups = [(_union(self._groups, (ANY, group)), group) for group in rule.api_groups]
        resources = [(_union(self._resources, _spellings(one)), one) for one in rule.resources]
        names = [(_union(self._names, (name,)) | self._for_all_names, name) for name in rule.resource_names]
        urls = [(self._covering_path(url), url) for url in rule.non_resource_urls]
        found = self._missing(verbs, groups, resources, names or [(self._for_all_names, "")])
        if found is not None:
            verb, group, resource, name = found
            return PolicyRule((verb,), (group,), (resource,), (name,) if names else ())
        found = self._missing(verbs, urls)
        return PolicyRule((found[0],), non_resource_urls=(found[1],)) if found is not None else None

    def _covering_path(self, url: str) -> int:
        return _union(self._urls, (listed for listed in self._urls if _matches_path(listed, url)))

    def _missing(self, *lists: list[tuple[int, str]]) -> tuple[str, ...] | None:
        """An entry of each list, such that no owned rule covers all of them."""
        reached: dict[int, tuple[str, ...]] = {self._all: ()}
        for entries in lists:
            distinct = dict(reversed(entries))
            reached = {
                owners & covering: (*chosen, entry)
                for owners, chosen in reached.items()
                for covering, entry in distinct.items()
            }
        return reached.get(0)


def _index(lists: Iterable[Sequence[str]]) -> dict[str, int]:
    index: defaultdict[str, int] = defaultdict(int)
    for i, listed in enumerate(lists):
        for entry in listed:
            index[entry] |= 1 << i
    return dict(index)


def _union(index: Mapping[str, int], entries: Iterable[str]) -> int:
    return reduce(or_, (index.get(entry, 0) for entry in entries), 0)
