"""Which rules in CEL (``x-kubernetes-validations``) of a definition does an object break?

A rule that cannot be parsed is not enforced; the client that writes the definition gets a warning. As in
kube-apiserver, each evaluation of a rule has a cost budget, and so have all evaluations for a request.
"""

import re
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from reprieve.cluster.admission.cel import Rule, RuleLimitError, UnreadError, read
from reprieve.cluster.admission.cel_times import duration_of, timestamp_of
from reprieve.cluster.admission.cel_values import (
    NONE,
    CostBudget,
    CostError,
    Optional,
    Patterns,
    SenselessError,
)
from reprieve.cluster.admission.field_errors import At, ErrorType
from reprieve.cluster.admission.structural_schemas import KEYS, below
from reprieve.cluster.api.values import items, part, text_in
from reprieve.model.json import Json
from reprieve.model.sized_cache import cached_by_text

RULES = "x-kubernetes-validations"
RULE_STEPS = 100_000  # for one evaluation of one rule
REQUEST_STEPS = 500_000  # for all evaluations of one request
PARSING_STEPS = 4  # for each character of a rule
_WARNING_STEPS = 500_000
_BEFORE = "oldSelf"
MESSAGE = "messageExpression"
_LONGEST_MESSAGE = 5120
_REASONS = {
    "FieldValueForbidden": ErrorType.FORBIDDEN,
    "FieldValueRequired": ErrorType.REQUIRED,
    "FieldValueDuplicate": ErrorType.DUPLICATE,
}
_encode = msgspec.json.Encoder(order="sorted").encode


@dataclass(slots=True)
class _RuleCheck:
    """The rules of one request. Rules are parsed once for it: the definition bounds what that costs."""

    budget: CostBudget = field(default_factory=lambda: CostBudget(REQUEST_STEPS, "validation by rules"))
    patterns: Patterns = field(default_factory=Patterns)
    parsed: dict[str, Rule | UnreadError] = field(default_factory=dict)

    def check(self, at: At, schema: Json, value: Any, old: Any = None) -> None:
        """``value`` and ``old``, the stored one or None, have the types that the schema says.

        A value that has not changed is not checked again.
        """
        if value is None or value == old:
            return
        for rule in items(schema, RULES):
            self._check(at, rule, value, old)
        match value:
            case dict():
                for name, one in value.items():
                    known = below(schema, name)
                    if known is not None:
                        self.check(at[name], known, one, old.get(name) if isinstance(old, dict) else None)
            case list():
                before = _before(schema, old)
                for item, one in zip(at.items(), value, strict=True):
                    known = part(schema, "items")
                    self.check(item, known, one, before.get(_key(one, schema)) if before else None)

    def _check(self, at: At, rule: Json, value: Any, old: Any) -> None:
        text = text_in(rule, "rule")
        found = self._parsed(text)
        if isinstance(found, UnreadError):
            return
        if rule.get("optionalOldSelf") is True:
            old = NONE if old is None else Optional((old,))
        elif _BEFORE in found.variables and old is None:
            return
        names = {"self": value, _BEFORE: old}
        own = CostBudget(RULE_STEPS, f"the rule {text}")
        try:
            holds = found(names, own, self.patterns)
        except SenselessError as error:
            at.invalid(f"the rule {text} fails: {error}")
            holds = True
        if holds is not True:
            sentence = self._sentence(rule, names, own) or f"failed rule: {text}"
            _place(at, rule).refuse(_REASONS.get(text_in(rule, "reason"), ErrorType.INVALID), sentence)
        self.budget.spend(own.spent)

    def _sentence(self, rule: Json, names: Mapping[str, Any], budget: CostBudget) -> str:
        """What a rule says itself when it is broken; an expression that gives no text does not count."""
        found = self._parsed(text_in(rule, MESSAGE)) if MESSAGE in rule else None
        if isinstance(found, Rule):
            try:
                said = found(names, budget, self.patterns)
            except SenselessError:
                said = None
            if isinstance(said, str) and said.strip() and "\n" not in said.strip():
                return said.strip()[:_LONGEST_MESSAGE]
        return text_in(rule, "message")

    def _parsed(self, rule: str) -> Rule | UnreadError:
        if rule not in self.parsed:
            self.parsed[rule] = parsed_rule(rule)
        return self.parsed[rule]


def check_rules(at: At, schema: Json, old: object = None) -> None:
    """``old``: the stored object, or None. Once a budget is spent, no further rule is evaluated."""
    check = _RuleCheck()
    try:
        check.check(at, schema, _typed(at.value, schema), _typed(old, schema))
    except CostError as error:
        at.invalid(f"{error}; no further validation rules are run")


def _before(schema: Json, old: object) -> Mapping[bytes, object]:
    """Stored items by their keys; only in lists whose items have keys is it known which was which."""
    if not isinstance(schema.get(KEYS), list) or not isinstance(old, list):
        return {}
    # Of items with equal keys, the first counts.
    return {_key(item, schema): item for item in reversed(old) if isinstance(item, dict)}


def _key(item: object, schema: Json) -> bytes:
    there = item if isinstance(item, dict) else {}
    return _encode([there.get(key) for key in schema[KEYS]])


_STEP = re.compile(r"\.([^.\[\]]+)|\[['\"]([^'\"]+)['\"]\]")


def _place(at: At, rule: Json) -> At:
    """A rule may name a field below as the one in error."""
    for step in _STEP.finditer(text_in(rule, "fieldPath")):
        at = at[step[1] or step[2]]
    return at


# --- types -----------------------------------------------------------------------------------------

_FORMATS: Mapping[str, Callable[[str], Any]] = {
    "byte": b64decode,
    "date": lambda text: timestamp_of(f"{text}T00:00:00Z"),
    "date-time": timestamp_of,
    "duration": duration_of,
}


def _typed(value: Any, schema: Json) -> Any:
    """The value as rules see it: JSON has neither doubles without a fraction nor times."""
    match value:
        case dict():
            typed = {name: _typed(one, below(schema, name) or {}) for name, one in value.items()}
            return typed if any(typed[name] is not one for name, one in value.items()) else value
        case list():
            known = part(schema, "items")
            items = [_typed(one, known) for one in value]
            return items if any(new is not one for new, one in zip(items, value, strict=True)) else value
        case str() if schema.get("type") == "string" and schema.get("format") in _FORMATS:
            try:
                return _FORMATS[schema["format"]](value)
            except (SenselessError, ValueError):
                return value
        case int() if schema.get("type") == "number" and type(value) is int:
            try:
                return float(value)
            except OverflowError:
                return value
    return value


# --- definitions -----------------------------------------------------------------------------------


@cached_by_text(entries=512, size=1 << 20)
def parsed_rule(rule: str) -> Rule | UnreadError:
    """The parsed rule, or why it cannot be parsed."""
    try:
        return read(rule, ("self", _BEFORE))
    except UnreadError as error:
        return error.with_traceback(None)  # which would keep the frames of the parser


def unread_rules(definition: Json) -> Iterator[str]:
    """A sentence for each rule of a definition that is stored and not enforced."""
    budget = CostBudget(_WARNING_STEPS, "parsing the rules")
    try:
        for version in items(part(definition, "spec"), "versions"):
            for rule in _rules_below(part(version, "schema", "openAPIV3Schema")):
                budget.spend(PARSING_STEPS * len(rule))
                why = parsed_rule(rule)
                if isinstance(why, UnreadError) and not isinstance(why, RuleLimitError):
                    yield f"the rule {rule} is kept and not followed: {why}"
    except CostError:
        return  # admission refuses such a definition


def _rules_below(schema: Json) -> Iterator[str]:
    for rule in items(schema, RULES):
        yield from (text_in(rule, name) for name in ("rule", MESSAGE) if name in rule)
    known = part(schema, "properties")
    under = [*known.values(), schema.get("items"), schema.get("additionalProperties")]
    for one in under:
        if isinstance(one, dict):
            yield from _rules_below(one)
