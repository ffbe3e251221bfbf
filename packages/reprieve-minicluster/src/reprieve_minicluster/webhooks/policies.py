"""The review of a request by policies and webhooks. Policies are expressions that requests must follow where
a binding says so.

An expression that cannot be evaluated counts as the failurePolicy of its policy says. That is so for every
mutation: the mini cluster does not make the objects that their expressions consist of.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from reprieve.cluster.admission.cel import UnreadError
from reprieve.cluster.admission.cel_rules import PARSING_STEPS
from reprieve.cluster.admission.cel_values import CostBudget, CostError
from reprieve.cluster.api.values import items, name_of, part, text_in, texts
from reprieve.model.json import Json
from reprieve.model.sized_cache import cached_by_text
from reprieve_minicluster.kinds import ResourceKind
from reprieve_minicluster.store import Key, Store, Stored, parsed
from reprieve_minicluster.webhooks.admission import (
    CONFIGURATIONS,
    GROUP,
    mutated_by_webhooks,
    mutating_webhooks,
    validate_by_webhooks,
)
from reprieve_minicluster.webhooks.conversion import converted
from reprieve_minicluster.webhooks.matching import (
    RequestMatch,
    ReviewedRequest,
    labels_of,
    match_of,
    selector_of,
)
from reprieve_minicluster.webhooks.reviews import (
    REVIEW_STEPS,
    ExpressionError,
    Expressions,
    RequestOrigin,
    parsed_expression,
    refused_by_review,
)

_STATUS = {"Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}
_VALIDATING, _MUTATING = f"validatingadmissionpolicies.{GROUP}", f"mutatingadmissionpolicies.{GROUP}"
_VALIDATING_BINDINGS = f"validatingadmissionpolicybindings.{GROUP}"
_MUTATING_BINDINGS = f"mutatingadmissionpolicybindings.{GROUP}"
T = TypeVar("T")
__all__ = ["is_mutated", "is_reviewed", "mutated", "unread_expressions", "validate"]


@dataclass(frozen=True, slots=True)
class Validation:
    expression: str
    message: str
    message_expression: str
    reason: str


@dataclass(frozen=True, slots=True)
class AdmissionPolicy:
    """``mutations``: their expressions. ``params``: API version and kind of its parameters, if it has any."""

    kind: str
    name: str
    match: RequestMatch
    conditions: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    validations: tuple[Validation, ...]
    mutations: tuple[str, ...]
    params: tuple[str, str] | None
    fails: bool


@dataclass(frozen=True, slots=True)
class PolicyBinding:
    name: str
    policy: str
    match: RequestMatch | None
    params: Json
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Violation:
    message: str
    reason: str = "Invalid"


@cached_by_text(entries=256, size=8 << 20)
def _policy(raw: bytes) -> AdmissionPolicy:
    body: Json = msgspec.json.decode(raw)
    spec = part(body, "spec")
    kind = part(spec, "paramKind")
    return AdmissionPolicy(
        text_in(body, "kind"),
        name_of(body),
        match_of(part(spec, "matchConstraints"), "resourceRules", "excludeResourceRules"),
        tuple(text_in(one, "expression") for one in items(spec, "matchConditions")),
        tuple((text_in(one, "name"), text_in(one, "expression")) for one in items(spec, "variables")),
        tuple(map(_validation, items(spec, "validations"))),
        tuple(_mutation(one) for one in items(spec, "mutations")),
        (text_in(kind, "apiVersion"), text_in(kind, "kind")) if kind else None,
        spec.get("failurePolicy") != "Ignore",
    )


def _validation(body: Json) -> Validation:
    return Validation(
        text_in(body, "expression"),
        text_in(body, "message"),
        text_in(body, "messageExpression"),
        text_in(body, "reason") or "Invalid",
    )


def _mutation(body: Json) -> str:
    return next((text_in(one, "expression") for one in body.values() if isinstance(one, dict)), "")


@cached_by_text(entries=256, size=8 << 20)
def _binding(raw: bytes) -> PolicyBinding:
    body: Json = msgspec.json.decode(raw)
    spec = part(body, "spec")
    where = spec.get("matchResources")
    return PolicyBinding(
        name_of(body),
        text_in(spec, "policyName"),
        match_of(where, "resourceRules", "excludeResourceRules") if isinstance(where, dict) else None,
        part(spec, "paramRef"),
        tuple(texts(spec, "validationActions")),
    )


# --- checking ------------------------------------------------------------------------------------


_REVIEWING = (*CONFIGURATIONS, _VALIDATING, _MUTATING)


def is_reviewed(kind: ResourceKind, store: Store) -> bool:
    """Whether anything concerns objects of the kind: webhooks and policies do not concern one another, since
    nobody could correct one that refuses everything."""
    return kind.group != GROUP and store.has_any(_REVIEWING)


def is_mutated(request: ReviewedRequest, store: Store) -> bool:
    """Whether a webhook or a policy may change the object."""
    matches = [one.match for one in mutating_webhooks(store)]
    matches += [one.match for one in _compiled(store, _MUTATING, _policy)]
    return any(match.rule_version(request) for match in matches)


def mutated(request: ReviewedRequest, origin: RequestOrigin) -> ReviewedRequest:
    """The request with what webhooks make of its object.

    An ApiError if one refuses it, or a policy would have to change the object, too.
    """
    _check(request, origin, _MUTATING, _MUTATING_BINDINGS)
    return mutated_by_webhooks(request, origin)


def validate(request: ReviewedRequest, origin: RequestOrigin) -> None:
    """An ApiError for a request that a policy or a webhook refuses; what they warn of is noted."""
    _check(request, origin, _VALIDATING, _VALIDATING_BINDINGS)
    validate_by_webhooks(request, origin)


def _check(request: ReviewedRequest, origin: RequestOrigin, policies: str, bindings: str) -> None:
    store = origin.webhooks.store
    bound = _compiled(store, bindings, _binding)
    for policy in _compiled(store, policies, _policy) if bound else ():
        version = policy.match.version_for(request, store)
        if version is None:
            continue
        for binding in bound:
            if binding.policy == policy.name and _concerns(binding, request, store):
                _act(request, origin, policy, binding, version)


def _compiled(store: Store, resource: str, compiled: Callable[[bytes], T]) -> list[T]:
    return [compiled(stored.raw) for stored in store.list((resource,)).items]


def _concerns(binding: PolicyBinding, request: ReviewedRequest, store: Store) -> bool:
    """A binding without rules leaves them to its policy."""
    match = binding.match
    if match is None:
        return True
    return match.version_for(request, store) is not None if match.rules else match.selects(request, store)


def _act(
    request: ReviewedRequest,
    origin: RequestOrigin,
    policy: AdmissionPolicy,
    binding: PolicyBinding,
    version: str,
) -> None:
    actions = binding.actions or ("Deny",)
    named = f"{policy.kind} '{policy.name}' with binding '{binding.name}'"
    for violation in _violations(request, origin, policy, binding, version):
        if "Warn" in actions:
            origin.warnings.append(f"Validation failed for {named}: {violation.message}")
        if "Deny" in actions:
            why = f"{named} denied request: {violation.message}"
            raise refused_by_review(request, why, _STATUS.get(violation.reason, 422), violation.reason)


def _violations(
    request: ReviewedRequest,
    origin: RequestOrigin,
    policy: AdmissionPolicy,
    binding: PolicyBinding,
    version: str,
) -> Iterator[Violation]:
    try:
        plain = Expressions.about(request, version, origin)
        for params in _params(policy, binding, request, origin):
            expressions = plain.with_params(params, policy.variables)
            if expressions.all_hold(policy.conditions):
                yield from _violated(policy, expressions)
    except ExpressionError as error:
        if policy.fails:
            yield Violation(str(error))


def _violated(policy: AdmissionPolicy, expressions: Expressions) -> Iterator[Violation]:
    for validation in policy.validations:
        try:
            if expressions.value(validation.expression) is not True:
                yield Violation(_message(validation, expressions), validation.reason)
        except ExpressionError as error:
            if policy.fails:
                yield Violation(f"expression '{validation.expression}' resulted in error: {error}")
    for mutation in policy.mutations:
        if policy.fails:
            yield Violation(f"expression '{mutation}' resulted in error: the mini cluster makes no mutations")


def _message(validation: Validation, expressions: Expressions) -> str:
    """Of an expression for the message that fails, nothing is said."""
    said: object = ""
    if validation.message_expression:
        try:
            said = expressions.value(validation.message_expression)
        except ExpressionError:
            said = ""
    plain = said.strip() if isinstance(said, str) and "\n" not in said else ""
    return plain or validation.message or f"failed expression: {validation.expression}"


# --- parameters ----------------------------------------------------------------------------------


def _params(
    policy: AdmissionPolicy, binding: PolicyBinding, request: ReviewedRequest, origin: RequestOrigin
) -> Iterator[Json | None]:
    """The objects with which the policy is evaluated, one after the other. None: without parameters."""
    if policy.params is None or not binding.params:
        yield None
        return
    api_version, name = policy.params
    store = origin.webhooks.store
    kind = next((k for k in store.kinds.values() if k.kind == name and api_version in k.served), None)
    if kind is None:
        raise ExpressionError(
            f"failed to find resource referenced by paramKind: '{api_version}, Kind={name}'"
        )
    found = list(_selected(kind, binding.params, request, store))
    if not found and binding.params.get("parameterNotFoundAction") != "Allow":
        raise ExpressionError("no params found for policy binding with `Deny` parameterNotFoundAction")
    for stored in found:
        yield converted(kind, api_version, parsed(stored), origin.webhooks)


def _selected(kind: ResourceKind, ref: Json, request: ReviewedRequest, store: Store) -> Iterator[Stored]:
    namespace = (text_in(ref, "namespace") or request.namespace) if kind.namespaced else ""
    if kind.namespaced and not namespace:
        raise ExpressionError(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
        )
    if name := text_in(ref, "name"):
        found = store.find(Key(kind.resource, namespace, name))
        if found is not None:
            yield found
        return
    selector = selector_of(ref.get("selector"))
    for stored in store.list((kind.resource,), namespace).items:
        if selector.matches(labels_of(parsed(stored))):
            yield stored


# --- what is not understood ----------------------------------------------------------------------


def unread_expressions(body: Json) -> Iterator[str]:
    """A sentence for each expression of a policy or of webhooks that cannot be evaluated here."""
    spec = part(body, "spec")
    budget = CostBudget(REVIEW_STEPS, "parsing the expressions")
    try:
        for text in _expressions_in(body if "webhooks" in body else spec):
            budget.spend(PARSING_STEPS * len(text))
            why = parsed_expression(text)
            if isinstance(why, UnreadError):
                yield f"the expression {text} is not understood, and counts as the failurePolicy says: {why}"
    except CostError:
        return  # the rest is not looked at


def _expressions_in(value: object) -> Iterator[str]:
    match value:
        case dict():
            for name, one in value.items():
                if name in ("expression", "messageExpression") and isinstance(one, str):
                    yield one
                else:
                    yield from _expressions_in(one)
        case list():
            for one in value:
                yield from _expressions_in(one)
