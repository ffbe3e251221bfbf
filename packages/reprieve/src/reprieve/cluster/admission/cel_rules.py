"""Which rules in CEL (``x-kubernetes-validations``) of a definition does an object break?

A rule that cannot be parsed is not enforced; the client that writes the definition gets a warning. As in
kube-apiserver, each evaluation of a rule has a cost budget, and so have all evaluations for a request.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from reprieve.cluster.admission.cel import Eval, RuleLimitError, Scope, UnreadError, read
from reprieve.cluster.admission.cel_values import CostBudget, CostError, Patterns, SenselessError
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
    parsed: dict[str, Eval | UnreadError] = field(default_factory=dict)

    def check(self, at: At, schema: Json, old: object = None) -> None:
        """``old``: the stored value, or None. A value that has not changed is not checked again."""
        value = at.value
        if value is None or value == old:
            return
        for rule in items(schema, RULES):
            self._check(at, rule, old)
        match value:
            case dict():
                for name in value:
                    known = below(schema, name)
                    if known is not None:
                        self.check(at[name], known, old.get(name) if isinstance(old, dict) else None)
            case list():
                before = _before(schema, old)
                for item in at.items():
                    known = part(schema, "items")
                    self.check(item, known, before.get(_key(item.value, schema)) if before else None)

    def _check(self, at: At, rule: Json, old: object) -> None:
        text = text_in(rule, "rule")
        found = self._parsed(text)
        if isinstance(found, UnreadError) or (_BEFORE in text and old is None):
            return
        own = CostBudget(RULE_STEPS, f"the rule {text}")
        try:
            holds = found(Scope({"self": at.value, _BEFORE: old}, own, self.patterns))
        except SenselessError as error:
            at.invalid(f"the rule {text} fails: {error}")
            holds = True
        self.budget.spend(own.spent)
        if holds is not True:
            sentence = text_in(rule, "message") or f"failed rule: {text}"
            _place(at, rule).refuse(_REASONS.get(text_in(rule, "reason"), ErrorType.INVALID), sentence)

    def _parsed(self, rule: str) -> Eval | UnreadError:
        if rule not in self.parsed:
            self.parsed[rule] = parsed_rule(rule)
        return self.parsed[rule]


def check_rules(at: At, schema: Json, old: object = None) -> None:
    """``old``: the stored object, or None. Once a budget is spent, no further rule is evaluated."""
    check = _RuleCheck()
    try:
        check.check(at, schema, old)
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


def _place(at: At, rule: Json) -> At:
    """A rule may name a field below as the one in error."""
    for step in text_in(rule, "fieldPath").split("."):
        if step:
            at = at[step]
    return at


@cached_by_text(entries=512, size=1 << 20)
def parsed_rule(rule: str) -> Eval | UnreadError:
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
        yield text_in(rule, "rule")
    known = part(schema, "properties")
    under = [*known.values(), schema.get("items"), schema.get("additionalProperties")]
    for one in under:
        if isinstance(one, dict):
            yield from _rules_below(one)
