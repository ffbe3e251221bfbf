"""Which requests does a webhook or a policy of admission concern? Rules and selectors, compiled once."""

from dataclasses import dataclass
from functools import partial

import msgspec

from reprieve.cluster.api.values import items, part, text_in, texts
from reprieve.model.json import Json
from reprieve.model.objects import LabelSelector, Ref
from reprieve.model.resources import Problems
from reprieve.model.selectors import EVERYTHING, NOTHING, Selector, compile_selector
from reprieve_minicluster.kinds import ResourceKind
from reprieve_minicluster.store import Key, Store, parsed

_decode_selector = msgspec.json.Decoder(LabelSelector | None).decode


@dataclass(frozen=True, slots=True)
class ReviewedRequest:
    """A write before it is stored, as webhooks and policies see it.

    ``api_version``: of the URL. ``new``, ``old``: in that version, or the body of a subresource, which has a
    type of its own. ``name``: empty if it is still to be generated.
    """

    operation: str
    kind: ResourceKind
    api_version: str
    subresource: str
    namespace: str
    name: str
    new: Json | None
    old: Json | None

    @property
    def type(self) -> tuple[str, str]:
        """The API version and kind of the object in the request."""
        body = self.new or self.old or {}
        return text_in(body, "apiVersion") or self.api_version, text_in(body, "kind") or self.kind.kind

    @property
    def has_own_type(self) -> bool:
        """Whether it is about the object itself: then it may be converted to other versions."""
        return self.type[1] == self.kind.kind

    @property
    def is_of_namespace(self) -> bool:
        return self.kind.resource == "namespaces"


@dataclass(frozen=True, slots=True)
class RequestRule:
    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str
    names: frozenset[str]

    def matches(self, request: ReviewedRequest, api_version: str) -> bool:
        """``api_version``: in which the request is looked at."""
        group, _, version = api_version.rpartition("/")
        return (
            _has(self.operations, request.operation)
            and _has(self.groups, group)
            and _has(self.versions, version)
            and (self.scope == "*" or (self.scope == "Namespaced") == request.kind.namespaced)
            and (not self.names or request.name in self.names)
            and any(
                resource in ("*", request.kind.plural) and part in ("*", request.subresource)
                for resource, part in self.resources
            )
        )


def _has(words: frozenset[str], word: str) -> bool:
    return "*" in words or word in words


@dataclass(frozen=True, slots=True)
class RequestMatch:
    """``equivalent``: whether a rule for one version of a kind is for all of them."""

    rules: tuple[RequestRule, ...]
    excluded: tuple[RequestRule, ...]
    namespaces: Selector
    objects: Selector
    equivalent: bool

    def version_for(self, request: ReviewedRequest, store: Store) -> str | None:
        """The API version that a rule names for this request; None if it is not concerned."""
        version = self.rule_version(request)
        return version if version is not None and self.selects(request, store) else None

    def rule_version(self, request: ReviewedRequest) -> str | None:
        """The same, whatever the selectors say."""
        return self._version(self.rules, request)

    def selects(self, request: ReviewedRequest, store: Store) -> bool:
        """Whether it is selected, whatever the rules say but for those that exclude it."""
        if self._version(self.excluded, request) is not None:
            return False
        labels = _namespace_labels(request, store)
        if labels is not None and not self.namespaces.matches(labels):
            return False
        if self.objects is EVERYTHING:
            return True
        return any(self.objects.matches(labels_of(b)) for b in (request.new, request.old) if b is not None)

    def _version(self, rules: tuple[RequestRule, ...], request: ReviewedRequest) -> str | None:
        if any(rule.matches(request, request.api_version) for rule in rules):
            return request.api_version
        others = [v for v in request.kind.served if v != request.api_version] if self.equivalent else []
        return next((v for rule in rules for v in others if rule.matches(request, v)), None)


def labels_of(body: Json) -> dict[str, str]:
    labels = part(body, "metadata", "labels")
    return {key: value for key, value in labels.items() if isinstance(value, str)}


def _namespace_labels(request: ReviewedRequest, store: Store) -> dict[str, str] | None:
    """None for what has no namespace; the labels of a namespace are also its own."""
    if request.is_of_namespace and request.new is not None:
        return labels_of(request.new)
    name = request.name if request.is_of_namespace else request.namespace
    if not name:
        return None
    found = store.find(Key("namespaces", "", name))
    return labels_of(parsed(found)) if found is not None else {}


# --- compiling -------------------------------------------------------------------------------------


def match_of(body: Json, rules: str, excluded: str = "") -> RequestMatch:
    """``rules``, ``excluded``: the names of the lists of rules. A malformed selector selects nothing."""
    return RequestMatch(
        tuple(map(_rule, items(body, rules))),
        tuple(map(_rule, items(body, excluded))),
        selector_of(body.get("namespaceSelector")),
        selector_of(body.get("objectSelector")),
        body.get("matchPolicy") != "Exact",
    )


def _rule(body: Json) -> RequestRule:
    words = partial(texts, body)
    resources = tuple(_resource(text) for text in words("resources"))
    return RequestRule(
        frozenset(words("operations")),
        frozenset(words("apiGroups")),
        frozenset(words("apiVersions")),
        resources,
        text_in(body, "scope") or "*",
        frozenset(words("resourceNames")),
    )


def _resource(text: str) -> tuple[str, str]:
    resource, _, subresource = text.partition("/")
    return resource, subresource


def selector_of(value: object) -> Selector:
    """Of what is left out, everything is selected."""
    if not value:
        return EVERYTHING
    problems = Problems(Ref(kind="LabelSelector", namespace="", name=""))
    try:
        return compile_selector(_decode_selector(msgspec.json.encode(value)), "selector", problems)
    except msgspec.ValidationError:
        return NOTHING
